/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting back what was there before vscaled: the daemon does it on request, vscalectl does it when
 * the daemon is dead. No memory value lands below use + margin unless force is set: it is left and
 * listed.
 */
#pragma once

#include "agent/baseline.h"
#include "agent/restore_result.h"

/* systemd's side. unit_set and the like return 0 or -errno; -ENOENT: it knows no such unit. */
struct restore_units {
	void *ctx;
	/* One call with all properties of the mask. */
	int (*set)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask);
	/* -EOPNOTSUPP: cannot be read back here. */
	int (*get)(void *ctx, const char *unit, struct unit_props *ret);
	/* Removes our runtime drop-ins of the mask's properties. */
	int (*drop)(void *ctx, const char *unit, uint32_t mask);
};

struct restore {
	int root;                          /* folder of the cgroup mount */
	const struct restore_units *units; /* NULL: the caller sees to systemd itself */
	uint32_t margin_permille;
	uint64_t margin_min_bytes;
	bool force;
	bool reclaim; /* page cache that is in the way may be taken back first; takes time */
};

/* Called once for each record. */
typedef void restore_each_fn(void *arg, const struct restore_result *result);

/*
 * Restores the unit of that name, or with NULL every one: memory grows from the parents down, then
 * each is put back from the children up. Records of which everything is back, or whose unit is
 * gone, are removed from the set; saving it is the caller's. -ENOENT: no record of that name.
 */
int restore_set(const struct restore *r, struct baseline_set *set, const char *name,
		restore_each_fn *each, void *arg);

/*
 * Takes back the lowered memory.high of every record that is marked with it, nothing else, and
 * unmarks it. The number of units lifted, or the first error after having tried all.
 */
int restore_lift(const struct restore *r, struct baseline_set *set);

/* "web.service" of "unit:web.service"; NULL for keys of another kind. */
const char *restore_unit_name(const struct baseline *b);
