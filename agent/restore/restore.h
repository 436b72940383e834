/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting back what was there before vscaled: the daemon does it on request, vscalectl does it when
 * the daemon is dead. No memory value lands below use + margin unless force is set: it is left and
 * listed.
 */
#pragma once

#include "agent/state/baseline.h"
#include "agent/view/restore_result.h"

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
	bool spec_stays; /* nobody tells the API server: say where the pod's spec holds our values
			  */
	bool keep_pods;  /* somebody does: records of pods stay until that is done */
	/*
	 * Static text: why what has this name is not to be touched now; NULL: it may be. Asked once
	 * for each that is to be restored, before the first write. Nothing is written to what is
	 * pending, except that the memory of a pod grows, for the containers in it that may be
	 * touched. NULL in place of the function: everything may be touched.
	 */
	const char *(*pending)(void *ctx, const char *name);
	void *pending_ctx;
	bool reclaim; /* page cache that is in the way may be taken back first; takes time */
};

/* Called once for each record. */
typedef void restore_each_fn(void *arg, const struct restore_result *result);

/*
 * Restores what has that name (a unit, NAMESPACE/POD/CONTAINER, or NAMESPACE/POD with all its
 * containers), or with NULL everything: memory grows from the parents down, then each is put back
 * from the children up. A container by its own name lets its pod grow too, so that it can.
 * Records of which everything is back, or whose unit or container is gone, are removed from the
 * set; of a pod that is gone nothing is told. Saving the set is the caller's. -ENOENT: no record of
 * that name.
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
/* The name of any record as it is shown and asked for: a unit's, or that of its pod. */
const char *restore_shown_name(const struct baseline *b);
