/* SPDX-License-Identifier: Apache-2.0 */
/* One inotify instance for all cgroups: external writers, cgroups that appear and are removed.
 * Watches are set through the open folder, so they follow the cgroup and not its name. cgroupfs
 * reports a removal to the parent's watch alone and keeps the removed folder's watches: forget them
 * then. */
#pragma once

#include "cgroup/reader.h"
#include <stddef.h>

enum cg_watch_what {
	CG_WATCH_LIMIT,      /* the limit file `knob` was written, maybe by vscaled */
	CG_WATCH_CHILD_NEW,  /* the child `name` appeared */
	CG_WATCH_CHILD_GONE, /* the child `name` was removed */
	CG_WATCH_GONE,       /* the folder itself is gone (cgroupfs does not report it) */
	CG_WATCH_OVERFLOW,   /* events were lost: read everything again; cookie is 0 */
};

struct cg_watch_event {
	uint64_t cookie; /* as given when the watch was set */
	enum cg_watch_what what;
	enum knob knob;   /* CG_WATCH_LIMIT only */
	const char *name; /* CG_WATCH_CHILD_*: borrowed for the call; else NULL */
};

typedef void (*cg_watch_fn)(void *ctx, const struct cg_watch_event *event);

struct cg_watch;

/* On an error *ret is NULL, or without inotify a watch that refuses every folder. */
int cg_watch_new(struct cg_watch **ret);
void cg_watch_free(struct cg_watch *w);
static inline void drop_cg_watch(struct cg_watch **w)
{
	cg_watch_free(*w);
}

/* Borrowed; readable when cg_watch_drain() has something to report. -1: no inotify. */
int cg_watch_fd(const struct cg_watch *w);

/* Watches cpu.max, memory.max and memory.high of c, those that exist, on both levels of a container
 * that has two (levels.h); of a scope its children, too, since the second level appears later.
 * Returns how many files; after -errno none is watched under this cookie. Watching the same cgroup
 * again replaces the cookie and picks up new files. */
int cg_watch_limits(struct cg_watch *w, const struct cg *c, uint64_t cookie);
/* Watches for children of c to come and go. */
int cg_watch_children(struct cg_watch *w, const struct cg *c, uint64_t cookie);
/* Ends every watch with this cookie, also from within the callback. */
void cg_watch_forget(struct cg_watch *w, uint64_t cookie);
/* Number of watches in force. */
size_t cg_watch_count(const struct cg_watch *w);

/* Calls fn for what has happened, in order. Returns the number of calls. Bounded: under a storm it
 * returns while the descriptor is still readable, so that nothing else of the loop starves. */
int cg_watch_drain(struct cg_watch *w, cg_watch_fn fn, void *ctx);
