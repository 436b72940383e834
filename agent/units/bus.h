/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to PID 1. */
#pragma once

struct daemon;
struct unit_port;

/* port NULL: the real PID 1. */
int bus_start(struct daemon *d, const struct unit_port *port);
