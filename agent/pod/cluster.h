/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of a Kubernetes cluster: feeds the pods (pods.h) from the API server's watch,
 * and reports their limits to the API server. Nothing here writes a cgroup, and nothing in the
 * daemon waits for any of this. */
#pragma once

#include "agent/kube/model/decode.h"
#include "agent/kube/report/reporter.h"
#include "agent/kube/watch/watch.h"
#include "agent/pod/ask.h"

struct managed;
struct pod;
struct report_view;
struct pods;
struct prior;
struct cluster_view;
struct unit_table;

/* What the API server is asked for by cluster_lists.c. */
enum cluster_list {
	LIST_HORIZONTAL = AUTOSCALER_HORIZONTAL,
	LIST_VERTICAL = AUTOSCALER_VERTICAL,
	LIST_NAMESPACES,
	LIST_NODE,
	LIST_RANGES,
	LIST_COUNT,
};

/* What is known about a namespace. */
struct namespace_entry {
	struct ask ask;
	usec_t failing_since; /* first answer that was of no use; 0: none */
	bool reported;        /* by an Event */
	/* One of them, by the table. */
	struct kube_limit_range range;
	struct kube_autoscalers autoscalers;
};

struct pod_bounds;
struct recreate;
/* What a Prometheus server is asked for. */
struct cluster_prometheus;

struct cluster {
	struct pods *pods;
	struct unit_table *units;
	struct wakeup *wake;
	const struct config *config;
	char *node;
	struct kube_client *client;
	struct kube_port port;
	struct kube_watch *watch;
	struct recorder *recorder;
	struct reporter *reporter;
	struct ask_table lists[LIST_COUNT];
	struct ask_table kin;            /* by workload */
	struct cluster_prometheus *past; /* owned; NULL: none is configured */
	struct recreate *recreate;       /* owned; NULL: not used yet */
	struct kube_node node_object;    /* cluster_node_of() */
	bool node_read;
	uint32_t namespaces_failed; /* lists, in all */
	uint64_t random;            /* of the waits before questions */
	bool room_changed;          /* requests have ended */
	bool list_bad;              /* something of the list that comes in could not be read */
	bool here;            /* one of the pods that were listed has a cgroup on this machine */
	usec_t search_at;     /* of the kubelet's root, not before ... */
	usec_t search_usec;   /* ... after so long */
	size_t searched;      /* for how many pods of the table */
	usec_t nowhere_since; /* since when pods run here and none of them is listed; 0: not so */
	char watch_trouble[256]; /* "": none */
	/* Connections that are kept open. */
	usec_t warmed_at;          /* 0: never */
	usec_t warm_wait;          /* until the connections are looked at again; 0: the shortest */
	bool warm_failed;          /* the last request */
	uint64_t requests_trimmed; /* as of the last footprint_trim() */
	bool bounds_due; /* something that cluster_bounds_tick() depends on may have changed */
};

/* --- cluster.c */
/* *ret stays NULL if Kubernetes is switched off or absent. -errno: the reason was logged. */
int cluster_start(struct pods *pods, struct cluster **ret);
void cluster_free(struct cluster *c);
/* After every reflex pass: reports memory growth, which cannot wait for the next sample. */
void cluster_check(struct cluster *c);
/* After every sample. */
void cluster_tick(struct cluster *c, bool review);

/* Where the pod's report stands; *ret has no report yet, nor where there is no API server. */
void cluster_report_view(const struct pod *p, struct report_view *ret);
void cluster_status(const struct cluster *c, struct cluster_view *ret);

/* --- cluster_report.c */
int cluster_report_start(struct cluster *c);
int cluster_facts(void *ctx, struct pod *p, struct reporter_view *ret);
/* Acts upon what the reporter's answers and its step have brought. ctx: the cluster. */
void cluster_outcomes(void *ctx);
/* Sets the bounds of the pods by whether the API server can accept a higher memory limit: after the
 * end of a request (bounds_due), and at each review for refusals that expire. */
void cluster_bounds_tick(struct cluster *c, bool review);

/* --- cluster_lists.c */
/* A pod is listed. Where it runs and no pod's cgroup is where the kubelet's root should be, that is
 * searched for. */
void cluster_node_note(struct cluster *c, const struct kube_pod *pod);
/* On the review clock. */
void cluster_node_check(struct cluster *c);
/* What it said last; NULL: not known, or no right to it (nodes: get). */
const struct kube_node *cluster_node_of(const struct cluster *c);
/* May its kubelet be sent lower memory limits? Not while its release is not known. */
bool cluster_node_decreases(const struct cluster *c);
/* Can limits of the pod's containers be changed through pods/resize? Not known: no. */
bool cluster_resizes(const struct cluster *c, const struct kube_pod *pod);

void cluster_lists_start(struct cluster *c);
/* After every sample: asks for what is unknown or old. */
void cluster_lists_tick(struct cluster *c, bool review);
void cluster_lists_free(struct cluster *c);
/* Namespaces whose LimitRanges were never answered: at once, not one at a time. */
void cluster_ranges_first(struct cluster *c);
/* NULL: no memory for it. */
const struct namespace_entry *cluster_ranges_of(struct cluster *c, const char *namespace);
/* Sets the bounds that the LimitRanges of the pod's namespace set to k. */
void cluster_range_bound(const struct kube_limit_range *range, const struct pod *p,
			 const struct kube_container *k, struct pod_bounds *b);
/* Does a VerticalPodAutoscaler size it? */
bool cluster_autoscaled(const struct pod *p);
/* Sets b->requests_stay, b->limits_frozen and what follows from them; the rest of b is filled. */
void cluster_autoscalers_bound(struct cluster *c, const struct pod *p, struct pod_bounds *b);
/* Why a request of the pod stays, borrowed; NULL: it may move. */
const char *cluster_autoscaler_of(const struct cluster *c, enum autoscaler_kind kind,
				  const struct pod *p, enum resource r);

/* --- cluster_kin.c: containers with little history start from the other pods of their workload */
extern const struct ask_kind cluster_kin_kind;
/* The labels that all pods of a workload share, percent-encoded as a label selector; "": there are
 * none. Selectors that are longer lose their last labels. */
#define CLUSTER_SELECTOR_BYTES 1024
void cluster_selector(const char *labels, char ret[static CLUSTER_SELECTOR_BYTES]);
/* The same for a pod that a client describes. -EAGAIN: it is being requested; -ENOENT: nothing is
 * known. */
int cluster_kin_describe(struct cluster *c, const struct kube_pod *pod, const char *container,
			 struct prior *ret);

/* --- cluster_prometheus.c: containers of which nothing is known, from a Prometheus server */
/* A failure is logged, and none is asked. */
void cluster_prometheus_start(struct cluster *c);
/* After every sample. */
void cluster_prometheus_tick(struct cluster *c);
void cluster_prometheus_free(struct cluster *c);

/* --- cluster_room.c: the requests of all pods of the node */
void cluster_room_put(struct cluster *c, const struct kube_pod *pod);
/* It is on this node, and cannot be read: what is known of it counts. */
void cluster_room_skipped(struct cluster *c, const char *uid);
/* A request is about to be sent: it counts before the watch shows it. */
void cluster_room_sent(const struct cluster *c, struct pod *p, const struct report_patch *patch);
/* By how much the pod's requests may rise together: the kubelet and the scheduler both have that
 * room. 0 also while the Node or another pod's deferred resize is not known to leave any. */
uint64_t cluster_room_left(const struct cluster *c, const struct pod *p, enum resource r);
void cluster_room_gone(struct cluster *c, const char *uid);
/* What the list lacked is gone. */
void cluster_room_list_end(struct cluster *c);
/* After every sample. */
void cluster_room_tick(struct cluster *c);

/* --- cluster_above.c */
/* Pods' containers that use more memory than their spec allows: found at each sample, and reported.
 */
void above_spec_check(struct unit_table *t);
/* The brake has ended while the runtime might still write a limit below use. */
void above_spec_not_held(struct managed *m);
/* By how many bytes use is above the spec; 0: it is not. */
uint64_t above_spec_bytes(const struct managed *m);

/* --- cluster_recreate.c: evictions, in mode InPlaceOrRecreate */
/* At each review. */
void cluster_recreate_tick(struct cluster *c);
void cluster_recreate_free(struct cluster *c);
