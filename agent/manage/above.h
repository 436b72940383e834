/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroups above units and pods, up to the root of the tree: what their limits leave, and which
 * of them was full. */
#pragma once

#include "policy/laws/ledger.h"

struct cg;

/* How often the kernel searched a cgroup for a process to kill, and when that was last seen to
 * rise. */
struct oom_seen {
	uint64_t own, all;    /* for its own limit, and with those of the cgroups in it */
	usec_t own_at, in_at; /* 0: never */
};

/* What it has counted so far is no news. */
void oom_seen_begin(struct cg *cg, struct oom_seen *s);
/* False: the kernel does not say (Linux before 5.2). cg may be NULL. */
bool oom_seen_look(struct cg *cg, struct oom_seen *s, usec_t now);
/* Was it a moment ago? Several units may be killed for one limit, and are read one by one. */
bool oom_seen_at(usec_t at, usec_t now);

struct above {
	char *path;        /* owned; "": the root of the tree; NULL: not in use */
	struct cg *cg;     /* NULL: there is none now */
	uint32_t above;    /* the one that it is in */
	uint64_t limit;    /* memory.max as of the last read; LIMIT_MAX: none */
	uint64_t current;  /* with a limit: memory.current */
	usec_t stat_at;    /* of its last memory.stat; 0: never */
	uint64_t cache;    /* then: what can be reclaimed ... */
	uint64_t inactive; /* ... and inactive_file, the kubelet's measure of that */
	struct ledger_reads reads;
	struct oom_seen ooms;
};

/* The first is the root. Others are added as entries come, and stay: slices and folders; pods with
 * a budget until above_forget(). */
struct above_table {
	int root;            /* descriptor */
	struct above *items; /* owned */
	uint32_t count;
};

void above_drop(struct above_table *t);
/* The cgroup that the one at `path` is in. */
uint32_t above_find(struct above_table *t, const char *path);
/* The pod at `path` is gone. */
void above_forget(struct above_table *t, const char *path);
/* Reads its limit and use again, and memory.stat where that is older than max_age: it sums up all
 * cgroups below. */
struct above *above_read(struct above_table *t, uint32_t id, usec_t now, usec_t max_age);
/* What its limit leaves beside memory that cannot be reclaimed; LIMIT_MAX: it has none. */
uint64_t above_room(const struct above *a);
