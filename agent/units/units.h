/* SPDX-License-Identifier: Apache-2.0 */
/* Which systemd units are managed: PID 1's list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct unit_bus;
struct unit_info;
struct unit_port;
struct unit_table;

void units_request_list(struct unit_table *t);
/* Does it run in the cgroup that is open, and is it known what systemd stores for it? */
bool units_known(const struct unit_table *t, const char *name);
/* Drops units that will not come back. Not while a plan is made: other entries move. */
void units_forget(struct unit_table *t);
/* Applies the rules after a reload; units that have no rule any more are handed back. */
void units_apply_rules(struct unit_table *t);
void drift_listed(void *ctx, int error, const struct unit_info *units, size_t count);

/* The connection to PID 1. port NULL: the real PID 1, *ret is owned. Else, or where none is there
 * or needed, *ret stays. */
int bus_start(struct unit_table *t, const struct unit_port *port, struct unit_bus **ret);
