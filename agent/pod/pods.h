/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of this node, as the watch reports them, and which of them are looked after. */
#pragma once

#include "policy/types/reason.h"
#include <stdbool.h>

struct kube_namespaces;
struct kube_pod;
struct pod;
struct pods;

/* The pod's entry, which is new where there was none; NULL: no memory, or no uid. */
struct pod *pods_note(struct pods *pods, const char *uid);
/* A pod came or changed. Takes it. */
void pods_put(struct pods *pods, struct kube_pod *pod);
/* uid: not of the pod itself, which goes. */
void pods_gone(struct pods *pods, const char *uid);
/* The pod exists, though its changes are not known. */
void pods_seen(struct pods *pods, const char *uid);
/* A list: what is not put between the two leaves the table once it has no cgroup; its originals
 * stay. Not whole: something of the list could not be read. */
void pods_list_begin(struct pods *pods);
void pods_list_end(struct pods *pods, bool whole);
/* Searches for the cgroups of pods for which one may have appeared. */
void pods_scan(struct pods *pods);
/* First in a tick: searches for cgroups, drops pods that were handed back. */
void pods_tick(struct pods *pods, bool review);
/* Another configuration: every rule is computed again. */
void pods_apply_rules(struct pods *pods);
/* The annotations of namespaces are these. Takes them; *to is empty then. */
void pods_set_namespaces(struct pods *pods, struct kube_namespaces *to);
void pods_free(struct pods *pods);
/* Its part of the reporter; NULL: there is no reporter, or no memory. */
struct pod_report *pod_reported(struct pod *p);
/* Requests a new report on the pod. */
void pod_report(struct pod *p);
/* Is a container of it still to be handed back? */
bool pod_hand_back_due(const struct pod *p);
/* An Event on an annotated pod that cannot be managed, once for each reason. */
void pod_warn_unmanaged(struct pod *p, const char *reason, enum state_reason why);
/* Another list would show whether a pod is gone, at most once in ABSENT_USEC, or the rules for pods
 * have changed. */
bool pods_want_list(struct pods *pods);
