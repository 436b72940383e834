/* SPDX-License-Identifier: Apache-2.0 */
/* Serves /metrics, /v1/report, /livez, /readyz and /healthz over TCP, and nothing else: every
 * client that reaches the port may read them. The control API stays on its Unix socket. */
#pragma once

#include "agent/http/http.h"
#include "agent/metrics/metrics.h"
#include "agent/metrics/probe.h"

struct metrics_ops {
	/* At a scrape; everything but in->process. -errno: answered with 500. */
	int (*collect)(void *ctx, struct metrics_input *in);
	/* At a probe; must not wait for another process. */
	void (*probe)(void *ctx, struct probe_input *in);
	/* Text of view/report_json.h, owned. -errno: answered with 500. */
	int (*report)(void *ctx, char **ret);
};

struct metrics_server;

/* Listens. ops and ctx must outlive it. -EADDRINUSE, -EACCES, -EADDRNOTAVAIL ... */
int metrics_server_new(sd_event *event, const struct listen_address *at,
		       const struct metrics_ops *ops, void *ctx, struct metrics_server **ret);
void metrics_server_free(struct metrics_server *s);
