/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of restore.h for a single record. */
#pragma once

#include "agent/restore/cgroup_find.h"
#include "agent/restore/restore.h"
#include "cgroup/reader.h"

/* Why a target has no cgroup. */
enum restore_missing {
	RESTORE_THERE,     /* it has one */
	RESTORE_STOPPED,   /* a unit that does not run */
	RESTORE_RESTARTED, /* a container that was restarted in its pod */
	RESTORE_POD_GONE,
};

struct restore_target {
	const struct baseline *baseline;
	const char *name;           /* as shown */
	const char *unit;           /* systemd's name; NULL: systemd does not manage it */
	char path[CGROUP_PATH_MAX]; /* "": it has no cgroup now */
	enum restore_missing missing;
	bool grow_only;      /* the pod of what is restored */
	const char *pending; /* why it must not be touched now; NULL: it may be */
	unsigned depth;
	bool was_read;        /* by restore_grow(), before it wrote: */
	struct limits before; /* what stood */
};

/* Finds the cgroup and what systemd calls it. */
void restore_locate(const struct restore *r, const struct baseline *b, struct restore_target *ret);

/* Notes what stands, and raises memory.max and memory.high where the original is higher. Errors
 * show up in the next. */
void restore_grow(const struct restore *r, struct restore_target *t);
/* Restores everything else, and fills the result. */
void restore_unit(const struct restore *r, const struct restore_target *t,
		  struct restore_result *ret);
/* Raises a lowered memory.high to the original. 1: done, 0: nothing to do, or -errno. */
int restore_lift_unit(const struct restore *r, const struct restore_target *t);
