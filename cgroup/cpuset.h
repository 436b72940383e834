/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that a container may use. `cpuset.cpus` is empty unless the static CPU manager names
 * CPUs, for all containers; crun names them at the second level alone (levels.h). */
#pragma once

#include "cgroup/reader.h"

/* Is `cpuset.cpus` of either level set? -ENOENT: no cpuset controller here; else -errno. */
int cg_has_cpus(struct cg *c, bool *ret);

/* Processes and threads of the container, `pids.current`. Errors as above. */
int cg_count_threads(struct cg *c, uint32_t *ret);

/* How many CPUs it may run on: `cpuset.cpus.effective` of the innermost level. Errors as above. */
int cg_count_cpus(struct cg *c, uint32_t *ret);
