/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to PID 1. */
#pragma once

struct unit_bus;
struct unit_port;
struct unit_table;

/* port NULL: the real PID 1, *ret is owned. Else, or where none is there or needed, *ret stays. */
int bus_start(struct unit_table *t, const struct unit_port *port, struct unit_bus **ret);
