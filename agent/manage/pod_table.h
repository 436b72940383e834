/* SPDX-License-Identifier: Apache-2.0 */
/* The annotated pods of this node: what is kept of each, and queries on the table. */
#pragma once

#include "agent/kube/model/decode.h"
#include "agent/manage/parts.h"
#include "agent/restore/restore.h"
#include "cgroup/kubepods.h"
#include "cgroup/watch.h"
#include "policy/report/recreate.h"
#include "policy/report/rollout.h"

struct cluster;
struct managed;
struct pod;
struct pod_report;
struct pods;
struct records;
struct reporter;
struct unit_table;

/* Calls to the pods' side of the API server. Every one may be NULL: there is none. */
struct pod_hooks {
	/* An Event for the pod, of type Warning. */
	void (*warn)(const struct pod *p, const char *reason, const char *action, const char *text);
	/* LimitRanges of the namespace, and what the API server refused: into b. */
	void (*bounds)(const struct pod *p, const struct kube_container *c, struct pod_bounds *b);
};

/* One container of the spec. */
struct pod_member {
	struct managed *managed; /* NULL: it is not */
	enum state_reason why;   /* why not; STATE_SIZING: it is */
	/* Not managed: its limits as they stand in its cgroup, else as in the spec. */
	uint64_t limit[RESOURCE_COUNT];
};

/* What lists said of a pod, whether it is sized or not. */
struct pod_life {
	bool listed;          /* put since pods_list_begin() */
	bool absent;          /* the last list lacked it */
	bool gone;            /* two whole lists, far apart, lacked it */
	bool sized;           /* originals are lost, and its spec holds limits that vscaled sent */
	usec_t lacking_since; /* the first whole list that lacked it; 0: the last one had it */
};

/* Its requests, as they count on the node. Written by cluster_room.c. */
struct pod_room {
	bool counted;
	bool known;        /* else it could not be read: it may have all there is */
	uint32_t deferred; /* RESOURCES_*: waits for more than it has allocated */
	uint64_t allocated[RESOURCE_COUNT]; /* KUBE_COUNT_ALLOCATED */
	uint64_t scheduled[RESOURCE_COUNT]; /* KUBE_COUNT_SCHEDULED */
	uint64_t sent[RESOURCE_COUNT];      /* in a request of vscaled's ... */
	usec_t sent_until;                  /* ... which counts until then */
	/* Of a resize that was deferred. */
	enum resource lacking;
	uint64_t lack;   /* 0: nothing */
	uint64_t others; /* allocated to the other pods at that time */
};

/* Its last eviction that was refused. Written by cluster_recreate.c. */
struct pod_evict {
	usec_t retry_at;
	enum recreate_answer told; /* reported last; RECREATE_EVICT: nothing */
};

/* A pod of the node: each one that a list or an event named, and each with records. What follows
 * `spec` is of those that are sized, or were. */
struct pod {
	struct pods *pods; /* the table it is in */
	char uid[KUBEPODS_UID_MAX];
	struct pod_life life;
	struct pod_room room;
	struct kube_pod *spec;     /* the newest; NULL: it is not looked after */
	struct pod_report *report; /* the reporter's part; NULL: none yet */
	struct pod_evict evict;
	struct pod_member *members; /* one per container of the spec */
	struct managed *level;      /* its own cgroup; NULL: not found yet */
	char *path;                 /* of its cgroup; NULL: not found yet */
	uint64_t serial;            /* of its watches */
	char *error; /* what is wrong with its annotations or its namespace's; NULL: nothing */
	enum state_reason why; /* why nothing of it is managed; STATE_SIZING: it is */
	bool sizes;     /* a container of it is to be sized, but for a VerticalPodAutoscaler */
	bool scan;      /* a cgroup may have appeared or be ready */
	bool newcomers; /* folders are watched for their limits */
	bool concerned; /* a limit of a container changed: its own has to be computed again */
	bool adopting;  /* a resize by the owner is not adopted yet */
	bool reshaped;  /* its limits in spec.resources came or went while it was sized */
	/* RESOURCES_*: its own limits in spec.resources may follow those of its containers, they
	 * do, or they go back to the originals. */
	uint32_t resizes, follows, backs;
	bool observed;            /* without a mode, by kubernetes.observe */
	bool awaits;              /* its namespace's annotations: until then nothing is decided */
	bool recovers;            /* no mode, records lost: Off until its originals stand again */
	bool leaving;             /* no longer annotated: forgotten once it is handed back */
	bool ending;              /* it finished, or is being deleted: sized in its cgroups alone */
	enum state_reason warned; /* why it is not managed, by the last Event of that */
};

/* A workload of which a share is sized, as seen on this node. */
struct pod_rollout {
	char *workload;         /* owned: "namespace/name" */
	uint32_t percent;       /* another share is another rollout */
	enum rollout_hurt hurt; /* else it is stopped */
	usec_t seen_at;         /* a pod of it was in the table */
	struct rollout state;
};

/* The table. Written by agent/pod. */
struct pods {
	struct unit_table *units;
	struct wakeup *wake;
	const struct config *config;
	const struct host *host;
	struct inotify *inotify;
	struct records *records;
	struct cluster *cluster; /* borrowed; NULL: there is no API server */
	struct pod_hooks hooks;
	struct reporter *reporter; /* borrowed; NULL: nothing is reported */
	struct pod **entries;      /* owned: every pod of the node */
	size_t entry_count;
	struct pod **items; /* those that have a spec */
	size_t count;
	uint64_t last_serial;
	struct cg *parents[KUBEPODS_PARENTS_MAX]; /* folders in which pods appear, watched; NULL:
						     none */
	bool synced;                              /* a list was complete */
	bool live;    /* the watch is open: changes are reported as they happen */
	bool missed;  /* a pod could not be added: out of memory */
	bool listing; /* a list is being received, or ended early */
	struct kube_namespaces namespaces; /* owned */
	/* They will be known: until then no pod is sized, as its namespace may opt out or set
	 * bounds, and none is taken for a pod without a mode. */
	bool namespaces_awaited;
	bool namespaces_late;         /* pods with a mode of their own enter it all the same */
	bool list_due;                /* the rules for pods may name others than before */
	bool observe_full;            /* not all are observed, and that was reported */
	struct pod_rollout *rollouts; /* owned */
	size_t rollout_count;
	usec_t rollouts_save_at; /* 0: what is stopped is on disk */
	usec_t list_wanted_at;   /* when another list was last asked for; 0: never */
};

/* Those that have a spec; every pod of the node. None may be added or removed meanwhile. */
#define PODS_FOREACH(p, pods)    ITEMS_FOREACH (p, (pods)->items, (pods)->count)
#define ENTRIES_FOREACH(p, pods) ITEMS_FOREACH (p, (pods)->entries, (pods)->entry_count)

/* The key of the originals of a container; container NULL: of the pod's own cgroup. */
void pod_key(const char *uid, const char *container, char ret[static RECORD_NAME_MAX]);
/* Is its cgroup there? uid: the one in cgroup names. */
bool pods_has_cgroup(const struct pods *pods, const char *uid);
/* NULL: there is none. */
struct pod *pods_entry(const struct pods *pods, const char *uid);
/* "default/web-0". */
struct pod *pods_named(const struct pods *pods, const char *name);
/* Events were lost: the cgroups of every pod are searched for again. */
void pods_scan_again(struct pods *pods);
/* The managed container after that one; NULL: the first one, and there is none. */
struct managed *pod_next(const struct pod *p, const struct managed *after);
#define POD_FOREACH(m, p) for (struct managed *m = pod_next(p, NULL); m; m = pod_next(p, m))
/* Of its first container that is not found; STATE_SIZING: all are. */
enum state_reason pod_unfound(const struct pod *p);
/* Is there not one managed container, and no sandbox is the reason? */
bool pods_lost(const struct pods *pods);
/* The container's name within its pod; of a pod level NULL. */
const char *pod_container_of(const struct managed *m);
/* Its container of the spec; of a unit or pod level NULL. */
const struct kube_container *pod_spec_of(const struct managed *m);

/* Does its spec set the memory limit of its own cgroup, whatever its containers need? */
static inline bool pod_has_budget(const struct pod *p)
{
	return p->spec->level_limit[RESOURCE_MEMORY] != 0 && !(p->follows & RESOURCES_MEMORY);
}
/* Its own limit in the spec before vscaled changed that; 0: it did not. */
uint64_t pod_level_original(const struct pod *p, enum resource r);
/* Has it one that vscaled leaves alone? */
static inline bool pod_level_stays(const struct pod *p, enum resource r)
{
	return p->spec->level_limit[r] != 0 && !(p->follows & (1u << r)) &&
	       pod_level_original(p, r) == 0;
}

/* Records an Event for the pod, where there is an API server. */
void __attribute__((format(printf, 4, 5))) pod_warn(const struct pod *p, const char *reason,
						    const char *action, const char *format, ...);
