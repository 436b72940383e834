/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups made and removed anywhere in the version 2 hierarchy, within milliseconds and without
 * watching each folder. Where it does not serve, cgroup/watch.h does the same folder by folder. */
#pragma once

#include "cgroup/bpf/probe.h"
#include <stdbool.h>

struct cg_life;

enum cg_life_what {
	CG_LIFE_MADE,
	CG_LIFE_REMOVED,
	CG_LIFE_LOST, /* the ring was full: read the whole tree again */
};

struct cg_life_event {
	enum cg_life_what what;
	uint64_t id; /* cg_id() of it; CG_LIFE_LOST: 0 */
	const char
		*path; /* from the root of the hierarchy, borrowed; NULL: too long for a record */
	uint64_t lost; /* CG_LIFE_LOST: events since the last such one */
};

typedef void (*cg_life_fn)(void *ctx, const struct cg_life_event *e);

/* As cg_scan_open(): *p has the result of loading the programs. */
int cg_life_open(struct cg_life **ret, struct cg_probe *p);
void cg_life_close(struct cg_life *l);
static inline void drop_cg_life(struct cg_life **l)
{
	cg_life_close(*l);
}

/* Readable when there is something to drain; borrowed. */
int cg_life_fd(const struct cg_life *l);

/* Calls hear for everything that has come. Returns how many, or -errno. */
int cg_life_drain(struct cg_life *l, cg_life_fn hear, void *ctx);

/* One record to an event; -EBADMSG. Apart from the ring, so that it can be tested. */
int cg_life_decode(const void *bytes, size_t len, struct cg_life_event *ret);
