/* SPDX-License-Identifier: Apache-2.0 */
/* What answers vscalectl, Prometheus and the kubelet's probes. */
#pragma once

#include "agent/control_api/control_api.h"

struct cluster;
struct config_source;
struct hand_back;
struct http_server;
struct metrics_server;
struct pods;
struct shown;
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
/* Serves Prometheus and the kubelet's probes. 0 also if no address is configured. */
int serve_metrics_start(struct serve *s);

/* The entry, or the container that is not managed. -ENOENT. */
int serve_named(const struct serve *s, const char *name, struct shown *ret);

/* POST /v1/recommendation: what a pod that is only described would need. ctx: struct serve. The
 * answer, owned; NULL: ret_why says what is wrong with the text, and is "" where memory is short.
 */
cJSON *serve_recommend(void *ctx, const char *text, size_t len, char *ret_why, size_t why_size);
