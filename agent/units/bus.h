/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to PID 1. */
#pragma once

struct daemon;
struct unit_bus;
struct unit_port;

/* port NULL: the real PID 1, *ret is owned. Else, or where none is there or needed, *ret stays. */
int bus_start(struct daemon *d, const struct unit_port *port, struct unit_bus **ret);
