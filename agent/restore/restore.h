/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the originals: by the daemon, or vscalectl without it. No memory value is written below
 * use + margin unless force is set. */
#pragma once

#include "agent/state/baseline.h"
#include "agent/view/view.h"
#include "systemd/unit_conn.h"

/* The calls to systemd. They return 0 or -errno; -ENOENT: systemd knows no such unit. */
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
	const struct restore_units *units; /* NULL: the caller makes the calls to systemd itself */
	uint32_t margin_permille;
	uint64_t margin_min_bytes;
	bool force;
	bool spec_stays; /* the API server is not informed: the result says where the pod's spec
			    holds values of vscaled */
	bool keep_pods; /* the daemon restores the specs: records of pods stay until that is done */
	bool exact; /* name is a single record: of a pod its own cgroup, without its containers */
	/* Returns a static text: why the unit or container of this name must not be touched now;
	 * NULL: it may be. Called once for each one to be restored, before the first write. Nothing
	 * is written to a pending one, except that the memory of a pod is raised for the containers
	 * in it that may be touched. A NULL function: everything may be touched. */
	const char *(*pending)(void *ctx, const char *name);
	void *pending_ctx;
	bool reclaim; /* page cache that keeps an original from fitting may be reclaimed first;
			 takes time */
};

/* Called once for each record. */
typedef void restore_each_fn(void *arg, const struct restore_result *result);

/* Restores the unit, NAMESPACE/POD/CONTAINER, or NAMESPACE/POD with all its containers of that
 * name; NULL: everything. Memory is raised from the parents down, then each record is restored from
 * the children up. For a container by its own name the limit of its pod is raised too, if that is
 * needed. Records that are fully restored, or whose unit or container is gone, are removed from the
 * set; a pod that is gone gives no result. The caller saves the set. -ENOENT: no record of that
 * name. */
int restore_set(const struct restore *r, struct baseline_set *set, const char *name,
		restore_each_fn *each, void *arg);

/* Raises memory.high to the original for every record that is marked as lowered, and removes the
 * mark; changes nothing else. Returns the number of units, or the first error after having tried
 * all. */
int restore_lift(const struct restore *r, struct baseline_set *set);

/* The calls to systemd for a restore without an event loop: each call waits for PID 1. */

struct restore_systemd {
	struct restore_units units; /* for struct restore */
	const char *root;           /* put before /run; "" = this host */
	char private_socket[256];
	char system_socket[256];
	struct unit_address address;
	usec_t timeout_usec; /* of a single call; 30 s */
	usec_t total_usec;   /* of all calls together, then they fail at once; 0: no bound */
	usec_t spent_usec;
	/* A call for a container that appeared less than UNIT_CREATING_USEC ago first waits for the
	 * rest of that time. The daemon keeps track of this itself and switches it off. */
	bool waits_for_runtime;
};

/* The caller may lower the times before the first call. ret must stay where it is while units is in
 * use. -ENAMETOOLONG. */
int restore_systemd_init(struct restore_systemd *ret, const char *root);
