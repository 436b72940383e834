/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kubelet and the runtime put pods and containers, for both cgroup drivers:
 *
 *	systemd	  kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podU_I_D.slice/
 *			cri-containerd-ID.scope
 *	cgroupfs  kubepods/burstable/podU-I-D/ID
 *
 * Parsing of names is pure; kubepods_find_pod() and the functions below it read the tree.
 */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

#define KUBEPODS_UID_MAX  64
#define KUBEPODS_ID_MAX   128
#define KUBEPODS_PATH_MAX 512

enum cgroup_driver { DRIVER_SYSTEMD, DRIVER_CGROUPFS, DRIVER_COUNT };

/* What a path below the cgroup root says. */
struct kubepods_name {
	enum cgroup_driver driver;
	char uid[KUBEPODS_UID_MAX]; /* with dashes */
	char id[KUBEPODS_ID_MAX];   /* of the container; "": the path is the pod's own */
	/* The systemd unit of the last part ("...pod1_2.slice", "cri-containerd-ID.scope"), as it
	 * stands in the path; "": none is. */
	char unit[256];
};

/* -EINVAL: not a pod's or container's cgroup. */
int kubepods_parse(const char *path, struct kubepods_name *ret);

/* Searches for the pod's cgroup in all places that it can have below the kubelet's --cgroup-root
 * ("/foo"; "": none) or the folder that kubepods_search() found, of every QoS class. Path relative
 * to the root. -ENOENT: there is none (yet). */
int kubepods_find_pod(int root, const char *prefix, const char *uid, char *ret, size_t size);

/* One folder in a pod's cgroup that carries a container's id: of a container, or the pause. */
typedef void kubepods_child_fn(void *arg, const char *path, const struct kubepods_name *name);
/* Calls fn for each. The number of calls, or -errno. */
int kubepods_children(int root, const char *pod_path, kubepods_child_fn *fn, void *arg);

/* The folder above all pods, whose memory.max is what the node leaves to them together. -ENOENT. */
int kubepods_top(int root, const char *prefix, char *ret, size_t size);

/* Is there the cgroup of any pod? */
bool kubepods_any_pod(int root, const char *prefix);

/* Can it be a kubelet's --cgroup-root: below the mount, not the folder of pods, not too deep? */
bool kubepods_prefix_fits(const char *prefix);
/* Searches a bounded part of the tree for the folder that has the pod with this uid (NULL: any pod)
 * below its kubepods: what serves as prefix. -ENOENT. */
int kubepods_search(int root, const char *uid, char *ret, size_t size);

/* Folders in which pods appear (those that exist): for watches. At most 9. Returns the number. */
#define KUBEPODS_PARENTS_MAX 9
int kubepods_parents(int root, const char *prefix, char ret[][KUBEPODS_PATH_MAX]);
