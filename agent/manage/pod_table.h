/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of this node that asked to be sized. Fed with values alone: whoever watches the API
 * server calls pods_put() and its like; nothing here asks it anything.
 *	pods.c	     the table: pods come, change and go
 *	pod_rule.c   what is managed of a pod, by which rule, and why the rest is not
 *	pod_find.c   from pod and container to cgroup, and back
 *	pod_claim.c  whose cgroup is it, while the API server has not said
 *	pod_recover.c originals that were lost on this node
 *	pod_absent.c which records belong to no pod any more
 *	pod_spec.c   what changes in a spec: adopted, or our own report coming back
 *	pod_level.c  the pod's own limits, which follow those of its containers
 */
#pragma once

#include "agent/kube/model/pod.h"
#include "agent/manage/managed.h"
#include "agent/restore/restore.h"
#include "cgroup/kubepods.h"
#include "cgroup/watch.h"
#include "policy/types/plan.h"

/* What the side of the reports knows and is told. Every one may be NULL. */
struct pod_hooks {
	void *ctx;
	/* Did we send the API server a limit for this container? Then what. */
	bool (*expects)(void *ctx, const struct kube_pod *pod, const char *container,
			enum resource r, uint64_t *ret);
	/* The object is another one: looked at before expects() is asked about it. */
	void (*judge)(void *ctx, const struct kube_pod *pod);
	/* Is a resize of ours still on its way through kubelet and runtime? */
	bool (*pending)(void *ctx, const struct kube_pod *pod);
	/* Is something still to be told of it? Then a pod that is handed back is not forgotten yet.
	 */
	bool (*owes)(void *ctx, const struct kube_pod *pod);
	/* An Event for the pod: type Normal or Warning. */
	void (*note)(void *ctx, const struct kube_pod *pod, const char *type, const char *reason,
		     const char *action, const char *text);
	/* A pod that is managed came or changed; it is gone or no longer ours. */
	void (*put)(void *ctx, const struct kube_pod *pod);
	void (*gone)(void *ctx, const char *uid);
	/* LimitRanges of the namespace, and what the API server refused: into b. */
	void (*bounds)(void *ctx, const struct kube_pod *pod, const char *container,
		       struct pod_bounds *b);
	/* Where the report of a container stands, what was ratified: into v. */
	void (*view)(void *ctx, const struct kube_pod *pod, const char *container,
		     struct pod_view *v);
	/* operation and cluster of the status. */
	void (*status)(void *ctx, struct status_view *v);
};

/* One container of the spec. */
struct pod_member {
	struct managed *managed; /* NULL: it is not */
	const char *why;         /* static text: why not; NULL: it is */
	/* Not managed: its limits as they stand in its cgroup, else as in the spec. */
	uint64_t limit[RESOURCE_COUNT];
};

struct pod {
	struct daemon *daemon;
	struct kube_pod *spec;      /* the newest */
	struct pod_member *members; /* one per container of the spec */
	struct managed *level;      /* its own cgroup; NULL: not found yet */
	char *path;                 /* of its cgroup; NULL: not found yet */
	uint64_t serial;            /* of its watches */
	char error[256];            /* what is wrong with its annotations; "": nothing */
	const char *why;            /* static text: why nothing of it is managed; NULL: it is */
	bool listed;                /* put since pods_list_begin() */
	bool absent;                /* the last list lacked it, but its cgroup is there */
	bool look;                  /* a cgroup may have appeared or be ready */
	bool newcomers;             /* folders are watched for their limits */
	bool concerned;             /* a limit below it moved: its own is to be looked at */
	bool wishes;                /* the owner resized it, not adopted yet */
	bool leaving;               /* no longer annotated: forgotten once it is handed back */
	bool unsupported_told;      /* that its node is not supported */
	bool ending;                /* it finished or is being deleted: left alone */
};

/* Its spec holds sizes of ours, and its originals may be among those that were lost. */
struct sized_pod {
	char uid[KUBEPODS_UID_MAX];
	bool listed;
	usec_t lacking_since; /* the first whole list that lacked it; 0: none did */
};

/* A pod with records that the newest list did not have, or has not had so far. */
struct absent_pod {
	char uid[KUBEPODS_UID_MAX];
	bool listed;
	bool gone;    /* two whole lists, far apart, lacked it */
	usec_t since; /* the first whole list that lacked it; 0: none did */
};

struct pods {
	struct pod **items; /* owned */
	size_t count;
	uint64_t last_serial;
	struct cg *parents[6];   /* folders in which pods appear, watched; NULL: none */
	bool synced;             /* a list was complete */
	struct sized_pod *sized; /* owned; while originals are lost */
	size_t sized_count;
	bool sized_missed;         /* no memory for one of them */
	bool listing;              /* a list is coming in, or broke off */
	struct absent_pod *absent; /* owned */
	size_t absent_count;
	usec_t list_wanted_at; /* when another list was last asked for; 0: never */
};

/* --- pods.c: what the watch calls */
/* A pod came or changed. Takes it. */
void pods_put(struct daemon *d, struct kube_pod *pod);
void pods_gone(struct daemon *d, const char *uid);
/* It is there, though nothing is known of what has changed. */
void pods_seen(struct daemon *d, const char *uid);
/* A list: what is not put between the two leaves the table once it has no cgroup; its originals
 * stay (pod_absent.c). Not whole: something of the list could not be read. */
void pods_list_begin(struct daemon *d);
void pods_list_end(struct daemon *d, bool whole);

/* --- pods.c: what the daemon calls */
/* Its cgroup is there; by the uid that cgroups are named by. */
bool pods_has_cgroup(const struct daemon *d, const char *uid);
/* The originals of a pod that is in no table. */
void pods_forget_records(struct daemon *d, const char *uid);
/* An earlier life of ours sized it: there are originals to hand back. */
bool pods_has_record(const struct daemon *d, const char *uid);
struct pod *pods_find(const struct daemon *d, const char *uid);
/* "default/web-0". */
struct pod *pods_named(const struct daemon *d, const char *name);
/* Events were lost: every pod is looked at again. */
void pods_look_again(struct daemon *d);
/* Looks at the pods for which something may have appeared. */
void pods_look(struct daemon *d);
/* Before everything else of a tick: looks for cgroups, forgets what was handed back. */
void pods_tick(struct daemon *d);
/* Another configuration: every rule is made anew. */
void pods_apply_rules(struct daemon *d);
void pods_free(struct daemon *d);
/* The side of the reports is to look at it. */
void pod_tell(struct pod *p);
/* The container's name inside its own; of a pod level NULL. */
const char *pod_container_of(const struct managed *m);

/* --- pod_rule.c */
/* Decides for each container of the spec; names and rules are made anew. */
void pod_apply_rules(struct pod *p);
/* The level is ours to write to as long as one of its containers is. */
void pod_set_level_rule(struct pod *p);
/* Request, LimitRange, heap and the like, for the laws of one container. */
void pod_set_bounds(struct managed *m);

/* Is a container of it to be written to? */
bool pod_is_sized(const struct pod *p);

/* Is a container of it still to be handed back? */
bool pod_owes(const struct pod *p);

/* --- pod_recover.c */
/* The records are lost and the spec is ours: originals from its annotation, or hands off. */
void pod_recover(struct pod *p);
/* The same for the pod's own cgroup; false: what stands is the original. */
bool pod_recover_level(const struct pod *p, const struct limits *stands, struct limits *ret);
/* Is a container of it not written to for want of originals? */
bool pod_in_doubt(const struct pod *p);
/* The API server tells of a pod; in_table: it is ours, or was. One of which the spec is ours counts
 * until it has a record or is gone: it may be annotated at any later time. */
void pod_recover_listed(struct daemon *d, const struct kube_pod *s, bool in_table);
void pod_recover_gone(struct daemon *d, const char *uid);
/* A list begins, or a whole one has ended. */
void pod_recover_list(struct daemon *d, bool ended);
/* On the review clock: every pod of which the spec is ours has its originals. */
void pod_recover_end(struct daemon *d);

/* --- pod_absent.c */
/*
 * A list that lacks a pod proves nothing: the API server's storage may have been set back, and a
 * pod that is being started has no cgroup. Records of a pod without a cgroup go when the API server
 * deletes it, when two whole lists ABSENT_USEC apart lacked it, or when none had it for
 * ABSENT_MAX_USEC.
 */
#define ABSENT_USEC     (10 * USEC_PER_MIN)
#define ABSENT_MAX_USEC (8 * 24 * USEC_PER_HOUR)
/* Two whole lists lacked it, the first one at *since, which is set when it is 0. */
bool absent_is_gone(usec_t *since, usec_t now);
/* A list begins, names a pod, and ends. */
void absent_list_begin(struct daemon *d);
void absent_seen(struct daemon *d, const char *uid);
void absent_list_end(struct daemon *d, bool whole);
/* On the review clock: forgets the records of what is gone. */
void absent_tick(struct daemon *d);
/* Another list would tell whether something is gone. True once in ABSENT_USEC. */
bool pods_want_list(struct daemon *d);

/* --- pod_find.c */
void pod_look_again(struct pod *p);
/* Looks for the cgroups of the pod now. */
void pod_look(struct pod *p);
/* Watches the folders in which pods appear. */
void pods_watch_parents(struct daemon *d);
void pods_unwatch(struct daemon *d);
/* An event of a folder, or of a newcomer's limits. False: the cookie is no pod's. */
bool pods_watch_event(struct daemon *d, const struct cg_watch_event *e);
void pod_unwatch(struct pod *p);

/* --- pod_spec.c */
/* The spec went from old (NULL: never seen) to p->spec. */
void pod_spec_changed(struct pod *p, const struct kube_pod *old);
/* First sight of a container by this daemon: was it resized while nobody looked? */
void pod_spec_first(struct managed *m);
/* Adopts what the owner put into the spec and the kubelet did not refuse. */
void pod_spec_settle(struct pod *p);
/* The owner's value stands in the cgroup: it is adopted with the next tick. */
bool pod_wish_arrived(struct managed *m, enum resource r, uint64_t value);
/* Is what stands in the files the kubelet's or the runtime's doing, on our or the owner's behalf?
 */
bool pod_echo_pending(const struct managed *m);
/* Is the value what the runtime has on record for this container? */
bool pod_on_record(const struct managed *m, enum resource r, uint64_t value);
/* Does the record say that this value of its spec was sent by us? */
bool pod_sent_by_us(const struct managed *m, enum resource r, uint64_t value);

/* --- pod_level.c */
/* Adds what the pods above have to give before the plan's raises, and what is too low anyway. */
void pod_levels_raise(struct daemon *d, struct plan *plan);
/* What stands below is known: takes back what is more than its sum. */
void pod_levels_lower(struct daemon *d);
/* Every pod is looked at by the next plan. */
void pod_levels_review(struct daemon *d);
/* Its files were written by the kubelet, or by systemd for us. */
void pod_level_look(struct managed *level);
struct unit_props pod_level_props(const struct managed *level, uint32_t *ret_mask);
/* Somebody was killed in a container: the laws hear if that was because its pod was full. */
void pod_asked_full(struct managed *m, const struct usage *u);
/* systemd stores less for it than for its containers. */
bool pod_level_short(const struct managed *level);
/* The level grows so that a container can have its original again. */
void pod_make_room(struct managed *m);
/* The owner moved a container's original by this much. */
void pod_level_adopt(struct pod *p, enum resource r, uint64_t from, uint64_t to);
