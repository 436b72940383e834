/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of this node that asked to be sized: added, changed, removed. Works on values alone: the
 * watch of the API server calls pods_put() and its like; nothing here sends a request.
 */
#pragma once

#include <stdbool.h>

struct daemon;
struct kube_pod;
struct pod;

/* A pod came or changed. Takes it. */
void pods_put(struct daemon *d, struct kube_pod *pod);
void pods_gone(struct daemon *d, const char *uid);
/* It is there, though nothing is known of what has changed. */
void pods_seen(struct daemon *d, const char *uid);
/* A list: what is not put between the two leaves the table once it has no cgroup; its originals
 * stay (pod_absent.c). Not whole: something of the list could not be read. */
void pods_list_begin(struct daemon *d);
void pods_list_end(struct daemon *d, bool whole);
/* Looks at the pods for which something may have appeared. */
void pods_look(struct daemon *d);
/* Before everything else of a tick: looks for cgroups, forgets what was handed back. */
void pods_tick(struct daemon *d);
/* Another configuration: every rule is made anew. */
void pods_apply_rules(struct daemon *d);
void pods_free(struct daemon *d);
/* The side of the reports is to look at it. */
void pod_tell(struct pod *p);
/* Is a container of it still to be handed back? */
bool pod_owes(const struct pod *p);
/* One Event of a pod that asks for more. */
void unsupported_tell(struct pod *p);
