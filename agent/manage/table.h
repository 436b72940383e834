/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is managed: an entry is added and removed. */
#pragma once

#include "agent/manage/managed.h"

/* What identifies a new entry, before anything is known of its cgroup. */
struct managed_names {
	enum unit_kind kind;
	const char *name;
	const char *unit;
	const char *key;
	const char *history_key;
};

/* NULL: no memory. */
struct managed *managed_new(struct unit_table *t, const struct managed_names *names);
/* Takes it out of the table. Not while a plan is being made, which may name it. */
void managed_remove(struct managed *m);
void managed_free_all(struct unit_table *t);

/* --- what the laws get with a wake-up */

/* An empty plan in the memory of the table, which one plan at a time may use. */
void plan_begin(struct unit_table *t, struct plan *ret);
struct control_context daemon_context(struct unit_table *t, struct plan *plan);
