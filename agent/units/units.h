/* SPDX-License-Identifier: Apache-2.0 */
/* Which systemd units are managed: PID 1's list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct daemon;
struct unit_info;

void units_request_list(struct daemon *d);
/* Does it run in the cgroup that is open, and is it known what systemd stores for it? */
bool units_known(const struct daemon *d, const char *name);
void units_listed(struct daemon *d, const struct unit_info *units, size_t count);
/* Drops units that will not come back. Not while a plan is made: other entries move. */
void units_forget(struct daemon *d);
/* Applies the rules after a reload; units that have no rule any more are handed back. */
void units_apply_rules(struct daemon *d);
void drift_listed(void *ctx, int error, const struct unit_info *units, size_t count);
