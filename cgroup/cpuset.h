/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run where. The kubelet's static CPU manager names CPUs for every container, also for
 * those that share them; otherwise `cpuset.cpus` of a container is empty.
 */
#pragma once

#include "cgroup/reader.h"

/* Has anybody written `cpuset.cpus`? -ENOENT: there is no cpuset controller here; else -errno. */
int cg_has_cpus(struct cg *c, bool *ret);
