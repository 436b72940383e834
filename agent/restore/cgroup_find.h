/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a unit's cgroup in the tree itself: works without the daemon and the bus. */
#pragma once

#include "policy/base/base.h"
#include <stddef.h>

#define CGROUP_PATH_MAX 1024

/* The folder of that inode, else one that carries the unit's name (a restarted unit has a new
 * inode). ret receives the path below root without a leading slash. -ENOENT: none. */
int cgroup_find(int root, const char *unit, uint64_t inode, char ret[static CGROUP_PATH_MAX]);
