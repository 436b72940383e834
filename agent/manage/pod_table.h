/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of this node that asked to be sized: what is kept of each, and queries on the table. */
#pragma once

#include "agent/kube/model/pod.h"
#include "agent/restore/restore.h"
#include "cgroup/kubepods.h"
#include "cgroup/watch.h"
#include "policy/types/plan.h"

struct daemon;
struct managed;
struct pod_bounds;
struct pod_view;
struct status_view;

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
/* The container's name inside its own; of a pod level NULL. */
const char *pod_container_of(const struct managed *m);

void pod_look_again(struct pod *p);
