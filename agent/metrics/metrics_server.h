/* SPDX-License-Identifier: Apache-2.0 */
/* Serves /metrics, /v1/report, /v1/units, /livez, /readyz and /healthz over TCP, and nothing else:
 * every client that reaches the port may read them. The control API stays on its Unix socket. */
#pragma once

#include "agent/http/http.h"

/* /livez and /readyz: "ok", or what is wrong; ?verbose, ?exclude=NAME. Liveness checks only whether
 * the loop runs: an agent that cannot reach the API server still sizes. */

/* A write to memory.max can hold the loop for seconds while the kernel reclaims. */
#define PROBE_LIVE_MIN_USEC (10 * USEC_PER_SEC)

struct probe_input {
	usec_t now;       /* boottime */
	usec_t last_tick; /* 0: none yet: counts from started */
	usec_t started;
	usec_t interval_usec; /* between two ticks */
	usec_t grace_usec;    /* what may hold the loop longer than usual: a restore; 0: nothing */
	bool kubernetes;      /* pods are managed ... */
	bool pods_listed;     /* ... and their first list is done */
	bool node_wrong;      /* ... and no pod in it runs here */
	bool pods_lost;       /* ... or none of the annotated ones is found */
	bool standalone;      /* units are managed ... */
	bool units_listed;    /* ... and systemd has listed them */
	bool systemd_lost;    /* the connection to PID 1, where one is needed */
	bool cgroup_writable; /* the hierarchy is mounted for writing */
	bool dry_run;         /* nothing is ever written: mode Off everywhere, or asked for */
	bool config_valid;    /* of the last load */
	bool kernel_old;      /* than any that is tested */
};

/* The answer to /livez, /healthz or /readyz: 200, or 503. */
int probe_answer(const struct probe_input *in, const struct http_request *request,
		 struct http_response *ret);

struct metrics_ops {
	/* The page of a scrape. -errno: answered with 500. */
	int (*metrics)(void *ctx, struct http_stream *ret);
	/* /livez, /healthz or /readyz; must not wait for another process. */
	http_handler *probe;
	/* Of /v1/report or /v1/units: the same text as the control API's, owned. -errno: answered
	 * with 500. */
	int (*report)(void *ctx, const char *path, char **ret);
};

struct metrics_server;

/* Listens. ops and ctx must outlive it. -EADDRINUSE, -EACCES, -EADDRNOTAVAIL ... */
int metrics_server_new(sd_event *event, const struct listen_address *at,
		       const struct metrics_ops *ops, void *ctx, struct metrics_server **ret);
void metrics_server_free(struct metrics_server *s);
