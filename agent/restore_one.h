/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of restore.h for a single record. */
#pragma once

#include "agent/cgroup_find.h"
#include "agent/restore.h"
#include "cgroup/reader.h"

struct restore_target {
	const struct baseline *baseline;
	const char *unit;
	char path[CGROUP_PATH_MAX]; /* "": it has no cgroup now */
	unsigned depth;
};

/* Raises memory.max and memory.high where the original is higher. Errors show up in the next. */
void restore_grow(const struct restore *r, const struct restore_target *t);
/* All the rest, and the verdict. */
void restore_unit(const struct restore *r, const struct restore_target *t,
		  struct restore_result *ret);
/* Raises a lowered memory.high to the original. 1: done, 0: nothing to do, or -errno. */
int restore_lift_unit(const struct restore *r, const struct restore_target *t);
