/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of limit files and of folders in which cgroups appear. */
#pragma once

#include "cgroup/watch.h"
#include <stdbool.h>

struct inotify {
	struct cg_watch *watch;
	bool incomplete; /* inotify does not report everything: reviews find the rest */
};
