/* SPDX-License-Identifier: Apache-2.0 */
/* The host, as found at the start, and what is known of this agent on it. */
#pragma once

#include "cgroup/discover.h"
#include "cgroup/kubepods.h"
#include <stdbool.h>
#include <stdint.h>

struct host {
	struct cg_host cg;
	char controllers[64];
	uint64_t cpu_milli;
	int root; /* cgroup root; -1: not open */
	/* The kubelet's root below it, as configured or found; "": the same. */
	char kubelet_root[KUBEPODS_PATH_MAX];
	const char *unsupported; /* why nothing here can be managed, static text; NULL: it can */
	/* Of vscaled itself: never managed, nor are its parents. "": it runs in no pod. */
	char own_cgroup[256];
	char own_namespace[64], own_pod[256];
	bool name_wrong;  /* no listed pod has a cgroup here, and other pods have; reported */
	bool cpu_manager; /* the kubelet assigns CPUs to containers: limits may be replayed at any
			     time */
};

/* Reads which cgroup and pod vscaled itself runs in; no root is open. */
void host_init(struct host *h);
/* Opens the root, and counts the CPUs. */
int host_open(struct host *h);
void host_close(struct host *h);
/* Has the pod a cgroup here? uid: the one in cgroup names. kubepods_find_pod(). */
int host_find_pod(const struct host *h, const char *uid, char ret[static KUBEPODS_PATH_MAX]);
