/* SPDX-License-Identifier: Apache-2.0 */
/* What answers vscalectl, Prometheus and the kubelet's probes. */
#pragma once

#include "agent/control_api/control_api.h"

struct cluster;
struct config_source;
struct hand_back;
struct http_server;
struct kube_container;
struct managed;
struct metrics_server;
struct pod;
struct pods;
struct unit_table;

struct serve {
	struct unit_table *units;
	struct pods *pods;
	struct cluster *const *cluster; /* of a NULL: standalone */
	struct wakeup *wake;
	const struct config *config;
	const struct host *host;
	struct hand_back *hand_back;
	const struct config_source *source;
	struct control_api api;
	struct http_server *server;     /* the control socket; NULL: it is not open */
	struct metrics_server *metrics; /* NULL: none is configured */
};

/* Opens the control socket, after closing the one that is open. */
int serve_start(struct serve *s);
void serve_stop(struct serve *s);
/* Can a client connect to the control socket? */
bool serve_reachable(const struct serve *s);
/* Passes the view of one managed unit or container to each. */
void serve_view(const struct managed *m, control_unit_fn *each, void *arg);
/* ctx: struct serve. */
void serve_status(void *ctx, struct status_view *ret);

/* Serves Prometheus and the kubelet's probes. 0 also if no address is configured. */
int serve_metrics_start(struct serve *s);

/* POST /v1/recommendation: what a pod that is only described would need. ctx: struct serve. The
 * answer, owned; NULL: ret_why says what is wrong with the text, and is "" where memory is short.
 */
cJSON *serve_recommend(void *ctx, const char *text, size_t len, char *ret_why, size_t why_size);

/* serve_pod.c */
/* 32 of the pod, 32 of its namespace, and the keys of a rule. */
#define SERVE_ANNOTATIONS_MAX 96

/* A view and the memory for it. */
struct serve_pod {
	struct pod_view view;
	struct annotation_view annotations[SERVE_ANNOTATIONS_MAX];
	char source[320];
	char namespace[80];
	char condition[320];
	char rollout[160];
};

/* c NULL: the pod itself; m NULL: not managed. */
void serve_pod_view(const struct pod *p, const struct kube_container *c, const struct managed *m,
		    struct serve_pod *ret);
/* The containers that are not managed, with the reason. */
void serve_unmanaged(const struct pods *pods, control_unit_fn *each, void *arg);
/* One of them. False: there is none of this name. */
bool serve_unmanaged_named(const struct pods *pods, const char *name, control_unit_fn *each,
			   void *arg);
