/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of limit files and of folders in which cgroups appear. */
#pragma once

#include "cgroup/watch.h"
#include <stdbool.h>

struct inotify {
	struct cg_watch *watch;
	bool incomplete; /* inotify does not report everything: reviews find the rest */
};

/* -errno; where inotify is not available, that is logged, and 0: incomplete is set. */
int inotify_open(struct inotify *i);
/* r: of a call that needs inotify. Where that is not available, logs that once and returns 0. */
int inotify_without(struct inotify *i, int r);
void inotify_close(struct inotify *i);
