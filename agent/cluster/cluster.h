/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of a Kubernetes cluster: feeds the pods (pods.h) from the API server's watch,
 * and reports their limits to the API server. Nothing here writes a cgroup, and nothing in the
 * daemon waits for any of this. */
#pragma once

#include "agent/kube/report/reporter.h"
#include "agent/kube/watch/watch.h"

struct pod_view;
struct pods;
struct status_view;
struct unit_table;

/* What is known about the LimitRanges of one namespace. */
struct cluster_range {
	struct cluster *cluster;
	char *namespace;
	struct kube_limit_range range;
	struct kube_call *call; /* NULL: none under way */
	usec_t ask_at;
	bool known; /* the API server has answered, also with a refusal */
	bool used;
};

struct cluster {
	struct pods *pods;
	struct unit_table *units;
	struct wakeup *wake;
	const struct config *config;
	struct host *host;
	struct records *records;
	struct counters *tally;
	char *node;
	struct kube_client *client;
	struct kube_port port;
	struct kube_watch *watch;
	struct recorder *recorder;
	struct reporter *reporter;
	struct cluster_range **ranges; /* owned */
	size_t range_count;
	bool list_bad;        /* something of the list that comes in could not be read */
	bool here;            /* one of the pods that were listed has a cgroup on this machine */
	usec_t nowhere_since; /* since when pods run here and none of them is listed; 0: not so */
	char watch_trouble[256]; /* "": none */
	char write_trouble[256];
	/* cluster_warm.c */
	usec_t warmed_at; /* 0: never */
	usec_t warm_wait; /* until the connections are looked at again; 0: the shortest */
	bool warm_failed; /* the last request */
	uint64_t restarts_counted;
	uint64_t requests_trimmed;        /* as of the last footprint_trim() */
	char refused_uid[REPORT_UID_MAX]; /* the Event of this refusal is noted */
	usec_t refused_at;
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

/* --- cluster_facts.c */
int cluster_facts(void *ctx, const char *uid, struct reporter_view *ret);

/* --- cluster_report.c */
int cluster_report_start(struct cluster *c);

/* --- cluster_node.c */
/* A pod is listed. */
void cluster_node_note(struct cluster *c, const struct kube_pod *pod);
/* On the review clock. */
void cluster_node_check(struct cluster *c);

/* --- cluster_view.c: hooks */
void cluster_hook_view(void *ctx, const struct kube_pod *pod, const char *container,
		       struct pod_view *v);
void cluster_hook_status(void *ctx, struct status_view *v);

/* Sets the bounds of the pods by whether the API server can accept a higher memory limit: after an
 * answer or a refusal (bounds_due), and at each review for refusals that expire. */
void cluster_bounds_tick(struct cluster *c, bool review);

/* --- cluster_warm.c */
/* After every sample. */
void cluster_warm_tick(struct cluster *c);

/* --- cluster_ranges.c */
/* Requests LimitRanges that are unknown or old. */
void cluster_ranges_tick(struct cluster *c);
/* The same for namespaces whose LimitRanges were never answered: at once, not one at a time. */
void cluster_ranges_first(struct cluster *c);
/* NULL: no memory for it. */
const struct cluster_range *cluster_range_of(struct cluster *c, const char *namespace);
void cluster_ranges_free(struct cluster *c);
