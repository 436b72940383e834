/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of this node, as the watch reports them, and which of them are looked after. */
#pragma once

#include "agent/annotation/annotation.h"
#include "policy/types/reason.h"

struct cg_watch_event;
struct host;
struct kube_container;
struct kube_namespaces;
struct kube_pod;
struct managed;
struct pod;
struct pod_rollout;
struct pods;
struct unit_table;

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

/* --- pod_find.c: from pod and container to cgroup, and back */
/* Searches for the cgroups of the pod now. */
void pod_scan(struct pod *p);
/* With every sample: leaves alone what runs and has not been found for long. */
void pod_check_found(struct pod *p);
/* Watches the folders in which pods appear. */
void pods_watch_parents(struct pods *pods);
void pods_unwatch(struct pods *pods);
/* An event of a folder, or of a new container's limits. False: the cookie is no pod's. */
bool pods_watch_event(struct pods *pods, const struct cg_watch_event *e);
void pod_unwatch(struct pod *p);

/* --- pod_recover.c: originals that were lost on this node */
/* The records are lost, and the spec holds limits that vscaled sent. */
bool pod_originals_lost(const struct pods *pods, const struct kube_pod *s);
/* Of such a pod: its annotation has originals. */
bool pod_recoverable(const struct kube_pod *s);
/* The records are lost and the spec holds limits that vscaled sent: takes the originals from the
 * pod's annotation, else marks it as not to be written to. */
void pod_recover(struct pod *p);
/* Without a mode: every container that has its originals again is handed back, or is about to be.
 */
bool pod_recovered(const struct pod *p);
/* The same for the pod's own cgroup, without a record; unless what stands is the original. */
void pod_recover_level(struct managed *m, const struct limits *stands);
/* The original of its level is not below those of its containers: the owner may have raised one
 * that vscaled does not size. */
void pod_level_keep(struct pod *p);
/* Is a container of it not written to because its originals are unknown? */
bool pod_in_doubt(const struct pod *p);
/* The API server reports a pod; in_table: it is managed, or was. One whose spec holds limits that
 * vscaled sent counts until it has a record or is gone: it may be annotated at any later time. */
void pod_recover_listed(struct pod *p, const struct kube_pod *s, bool in_table);
/* At each review: ends the recovery once every such pod has its originals. */
void pod_recover_end(struct pods *pods);

/* A list that lacks a pod proves nothing: storage may have been set back. Records of a pod without
 * a cgroup go when the API server deletes it, when two whole lists ABSENT_USEC apart lacked it, or
 * when none had it for ABSENT_MAX_USEC. */
#define ABSENT_USEC     (10 * USEC_PER_MIN)
#define ABSENT_MAX_USEC (8 * 24 * USEC_PER_HOUR)

/* --- pod_rollout.c: the annotation `rollout`, and what is counted of every container */
/* Puts it into effect: a container that is not sized by it gets mode Off. */
void pod_rollout_apply(const struct pod *p, struct container_rule *rule);
/* Those that an earlier run has stopped: once the records are loaded, and before the first pod. */
void pods_rollouts_load(struct pods *pods);
/* Counts what came since the last call, and stops what hurts. */
void pods_rollouts_tick(struct pods *pods);
/* The rollout of a pod; NULL: it has none, or none of its pods was counted yet. */
const struct pod_rollout *pod_rollout_of(const struct pod *p, const struct container_rule *rule);
void pods_rollouts_free(struct pods *pods);

/* --- pod_rule.c: which containers are managed, by which rule, and why the others are not */
/* What sets the values of a pod, which need not be in the table. */
struct annotation_input pod_annotations(const struct pods *pods, const struct kube_pod *spec);
/* Decides for each container of the spec; names and rules are computed again. */
void pod_apply_rules(struct pod *p);
/* The reason of the state that container i would be in if it were on this node; *error says more of
 * a mistake. */
enum state_reason pod_described(const struct pods *pods, const struct kube_pod *s, size_t i,
				struct annotation_error *error);
/* Why nothing of the pod is managed; STATE_SIZING: something may be. */
enum state_reason pod_excluded(const struct host *host, const struct kube_pod *s, bool opted_in);
/* With every sample: do its limits in spec.resources follow those of its containers? */
void pod_set_follows(struct pod *p);
/* The level may be written to as long as one of its containers may. */
void pod_set_level_rule(struct pod *p);
/* Is a container of it to be written to? */
bool pod_is_sized(const struct pod *p);

/* --- pod_spec.c: changes of a pod's spec: a value to be adopted, or vscaled's own resize */
/* The spec went from old (NULL: never seen) to p->spec. */
void pod_spec_changed(struct pod *p, const struct kube_pod *old);
/* The first time that this daemon sees a container, sized or handed back: was it resized while
 * vscaled did not run? */
void pod_spec_first(struct managed *m);
/* Adopts what the owner put into the spec and the kubelet did not refuse. */
void pod_spec_settle(struct pod *p);
/* True: the value in the cgroup is the owner's, which the next tick adopts. */
bool pod_owner_value_arrived(struct managed *m, enum resource r, uint64_t value);
/* May the values in the files come from the kubelet or the runtime, after a resize? */
bool pod_echo_pending(const struct managed *m);
/* Is the value what the runtime has on record for this container? */
bool pod_on_record(const struct managed *m, enum resource r, uint64_t value);
/* The limits that the API server reports; old: the report before, NULL: none. ended: a resize was
 * in progress then, and none is now. */
void runtime_reported(struct managed *m, const struct kube_container *now,
		      const struct kube_container *old, bool ended);
/* memory.max was found to be this. */
void runtime_wrote(struct managed *m, uint64_t mem_max);
/* At each sample: is a CPU manager at work on this node? */
void runtime_check(struct unit_table *t, bool review);
