/* SPDX-License-Identifier: Apache-2.0 */
/* What a container may use beside its limits: CPUs, processes, swap. `cpuset.cpus` is empty unless
 * the static CPU manager names CPUs, for all containers; crun names them at the second level alone
 * (levels.h). */
#pragma once

#include "cgroup/reader.h"

/* Is `cpuset.cpus` of either level set? -ENOENT: no cpuset controller here; else -errno. */
int cg_has_cpus(struct cg *c, bool *ret);

/* Processes and threads of the container, `pids.current`. Errors as above. */
int cg_count_threads(struct cg *c, uint32_t *ret);

/* Is `memory.swap.max` above 0? Errors as above. */
int cg_may_swap(struct cg *c, bool *ret);

/* How many CPUs it may run on: `cpuset.cpus.effective` of the innermost level. Errors as above. */
int cg_count_cpus(struct cg *c, uint32_t *ret);
