/* SPDX-License-Identifier: Apache-2.0 */
/* Which container of a pod an unknown cgroup can belong to, and what follows when the API server
 * reports later that it is another one's. Private to pod_find.c and pod_guess.c. */
#pragma once

#include "cgroup/kubepods.h"

struct kube_container;
struct limits;
struct managed;
struct pod;
struct pod_member;

#define POD_CHILDREN_MAX 128

/* The folders in the pod's cgroup. */
struct pod_children {
	size_t count;
	struct pod_child {
		char path[KUBEPODS_PATH_MAX];
		struct kubepods_name name;
	} item[POD_CHILDREN_MAX];
};

/* NULL: none of them has this id, or id is NULL. */
const struct pod_child *pod_child_of_id(const struct pod_children *all, const char *id);

/* No container of the spec has its id, and no managed container is attached to it. */
bool pod_child_is_unknown(const struct pod *p, const struct pod_child *c);

/* The only container of the spec, managed or not, that has no cgroup and may come to have one: a
 * cgroup that appears can only be its own. NULL: there is none, or more than one. */
const struct pod_member *pod_only_missing(const struct pod *p, const struct pod_children *all);

/* Do the limits of a new cgroup equal what the API server has of the container? */
bool pod_has_limits_of(const struct kube_container *c, const struct limits *stands);

/* m is about to be attached to a cgroup with these limits before the API server confirms it. */
void pod_note_guess(struct managed *m, const struct limits *found);

/* Cgroups that turn out to be another container's are released: their limits are put back. */
void pod_check_guesses(struct pod *p, const struct pod_children *all);
