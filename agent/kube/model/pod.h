/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent needs of a Pod, as plain values. decode.c fills it; nothing here decides. CPU in
 * millicores, memory in bytes. The caller of the decoder owns it. */
#pragma once

#include "policy/laws/heap.h"
#include "policy/types/limits.h"

enum qos_class { QOS_GUARANTEED, QOS_BURSTABLE, QOS_BEST_EFFORT, QOS_COUNT };

enum container_kind {
	CONTAINER_APP,
	CONTAINER_SIDECAR, /* an init container with restartPolicy Always */
	CONTAINER_INIT,    /* read, never sized */
	CONTAINER_EPHEMERAL,
	CONTAINER_KIND_COUNT
};

/* One value of a container, as a bit. */
#define KUBE_LEAF_LIMIT(r)   (1u << (r))
#define KUBE_LEAF_REQUEST(r) (1u << (RESOURCE_COUNT + (r)))

/* LIMIT_MAX: no limit, also where 0 stands. A request of 0: none. */
struct kube_resources {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT];
};

struct kube_container {
	char *name;
	enum container_kind kind;
	struct kube_resources spec; /* desired */
	/* KUBE_LEAF_*: values of spec that managedFields say vscaled has set through pods/resize,
	 * and those that another manager has set or applied; an Apply of a value shares it. In
	 * neither: not known, as when entries were cleared or merged. */
	uint8_t ours, others;
	struct kube_resources status; /* containerStatuses[].resources, the runtime's record */
	bool has_status;              /* status was there */
	/* containerStatuses[].allocatedResources: what the kubelet has admitted. */
	uint64_t allocated[RESOURCE_COUNT];
	bool has_allocated;
	uint32_t restart_on_resize; /* RESOURCES_*: resizePolicy RestartContainer */
	bool probed;       /* has a readiness or startup probe: not Ready as soon as it runs */
	usec_t probe_usec; /* a failing liveness or startup probe ends it after this; 0: none */
	char *id;          /* without the runtime's prefix; NULL: never started */
	bool running;
	bool ready;
	uint32_t restarts;
	uint32_t oom_run;         /* the run of it that was OOM-killed last, from 1 on; 0: none */
	usec_t started_real;      /* state.running.startedAt; 0: not running */
	struct heap_ceiling heap; /* of its language runtime, from command, args and env */
	uint64_t heap_request;    /* as in struct pod_bounds */
};

/* status.conditions, while they hold. */
enum resize_pending { RESIZE_NOT_PENDING, RESIZE_DEFERRED, RESIZE_INFEASIBLE };
enum resize_progress { RESIZE_IDLE, RESIZE_IN_PROGRESS, RESIZE_ERROR };

#define ANNOTATION_DOMAIN "vscaled.dev/"
/* The longest value that is read: `policy` of 64 containers at a quarter of a KiB. */
#define KUBE_ANNOTATION_MAX 16384
/* Of vscaled.dev/status: vscaled never writes a longer one. */
#define KUBE_STATUS_MAX (64 * 1024)

struct kube_annotation {
	char *key; /* without the domain: "mode" */
	char *value;
};

struct kube_pod {
	char *uid;        /* metadata.uid */
	char *cgroup_uid; /* the uid in the cgroup's name: of a static pod its config hash */
	char *namespace;
	char *name;
	char *node;     /* NULL: not scheduled */
	char *workload; /* ReplicaSet without the template hash, CronJob, else the owner, else name
			 */
	char *owner;    /* the kind that workload names: "Deployment", "CronJob"; NULL: none */
	bool owned;     /* it has a controller, and workload is named after that */
	char *labels;   /* "app=web,tier=front", in the order of the object; NULL: none */
	char *resource_version; /* opaque */
	uint64_t generation;
	uint64_t observed_generation; /* 0: not reported */
	enum qos_class qos;
	char *phase; /* "Unknown" when not reported */
	int32_t priority;
	usec_t created_real;
	bool ready;
	usec_t containers_ready_real; /* since when all of them are; 0: they are not */
	bool deleting;                /* has a deletionTimestamp */
	bool mirror;                  /* of a static pod */
	bool windows;
	bool runtime_class; /* it names a runtime */
	bool once;          /* restartPolicy Never: an ended container is not restarted */
	bool vpa;           /* a VerticalPodAutoscaler has marked it as its own */
	bool pod_resources; /* spec.resources: it has resources of its own */
	bool claims;        /* ResourceClaims give it CPU or memory beside its spec (KEP-5517) */
	uint64_t level_limit[RESOURCE_COUNT];     /* of spec.resources; 0: none */
	uint64_t level_request[RESOURCE_COUNT];   /* likewise; 0: none */
	uint64_t level_allocated[RESOURCE_COUNT]; /* of status.allocatedResources; 0: none */
	uint64_t overhead[RESOURCE_COUNT];
	enum resize_pending pending;
	usec_t pending_real; /* since when; 0: not stated */
	enum resize_progress progress;
	char *resize_message;    /* of the condition; NULL: none */
	bool resize_newest_ours; /* vscaled last wrote spec resources through /resize */
	bool resize_ours;        /* vscaled is among the field managers that own a part of it */
	struct kube_annotation *annotations; /* those of vscaled.dev/ alone */
	size_t annotation_count;
	struct kube_container *containers; /* init containers and sidecars first, as in the spec */
	size_t container_count;
};

void kube_pod_free(struct kube_pod *p); /* the members and *p; NULL is fine */
static inline void drop_kube_pod(struct kube_pod **p)
{
	kube_pod_free(*p);
}
/* The value; NULL: the list has no such key. */
const char *kube_annotation_find(const struct kube_annotation *list, size_t count, const char *key);
void kube_annotations_free(struct kube_annotation *list, size_t count);
static inline const char *kube_pod_annotation(const struct kube_pod *p, const char *key)
{
	return kube_annotation_find(p->annotations, p->annotation_count, key);
}
/* Of its workload; a pod without a controller is its own. */
static inline const char *kube_pod_kind(const struct kube_pod *p)
{
	return p->owner != NULL ? p->owner : "Pod";
}
/* The limit that the kubelet or the runtime may write at any moment: the limit of the spec, or the
 * lower one that the kubelet reports while it does not carry out the spec (Deferred, Infeasible,
 * error). LIMIT_MAX: none. */
uint64_t kube_pod_limit_held(const struct kube_pod *p, const struct kube_container *c,
			     enum resource r);
/* Does a change of a container's limit or request alone change its class? With spec.resources that
 * follows from them alone. */
static inline bool kube_pod_class_of_containers(const struct kube_pod *p, enum qos_class class)
{
	return p->qos == class && !p->pod_resources;
}
const struct kube_container *kube_pod_container(const struct kube_pod *p, const char *name);
static inline enum value_owner kube_owner(const struct kube_container *c, unsigned leaf)
{
	return (c->others & leaf) != 0 ? OWNER_OTHER
	       : (c->ours & leaf) != 0 ? OWNER_VSCALED
				       : OWNER_UNKNOWN;
}

/* What a pod takes of its node's allocatable resources. */
enum kube_count {
	KUBE_COUNT_SPEC,      /* its spec */
	KUBE_COUNT_ALLOCATED, /* what the kubelet admits others beside: what it has admitted */
	/* What the scheduler places and preempts others beside: the highest of spec, allocated and
	 * actual. */
	KUBE_COUNT_SCHEDULED,
	KUBE_COUNT_LIMIT, /* the limits of its spec, of the containers that have one */
};
/* With init containers, sidecars, overhead and pod-level requests, as both count them; 0 of a pod
 * that has ended. */
uint64_t kube_pod_request(const struct kube_pod *p, enum resource r, enum kube_count how);
/* What its init containers need, each beside the sidecars before it. */
uint64_t kube_pod_start(const struct kube_pod *p, enum resource r, enum kube_count how);
/* By how much the requests of its containers may rise beside an init container that requests more
 * than they do together, so that the pod's stays. */
uint64_t kube_pod_slack(const struct kube_pod *p, enum resource r);

/* What a node lacks for a resize, out of the kubelet's message for a Deferred one:
 * "Node didn't have enough resource: cpu, requested: 1550, used: 1300, capacity: 2000"
 * (k8s.io/kubernetes pkg/scheduler/framework/plugins/noderesources, InsufficientResourceError).
 * *ret_amount > 0: requests of other pods, in millicores or bytes, that have to end first. False:
 * not such a message, or of another resource. */
bool kube_parse_lack(const char *message, enum resource *ret, uint64_t *ret_amount);
