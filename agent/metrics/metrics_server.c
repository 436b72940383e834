// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics_server.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the server */

struct metrics_server {
	const struct metrics_ops *ops;
	void *ctx;
	struct listen_address at;
	struct http_server *http;
};

static int answer_metrics(void *ctx, const struct http_request *, struct http_response *ret)
{
	struct metrics_server *s = ctx;

	*ret = (struct http_response){.status = 200,
				      .content_type = "text/plain; version=0.0.4; charset=utf-8"};
	return s->ops->metrics(s->ctx, &ret->stream);
}

static int answer_probe(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct metrics_server *s = ctx;

	return s->ops->probe(s->ctx, request, ret);
}

static int answer_report(void *ctx, const struct http_request *request, struct http_response *ret)
{
	struct metrics_server *s = ctx;
	char *text;
	int r = s->ops->report(s->ctx, request->path, &text);

	if (r < 0)
		return r;
	*ret = (struct http_response){
		.status = 200, .content_type = "application/json", .body = text};
	return 0;
}

static const struct http_route routes[] = {
	{"GET", "/metrics", answer_metrics}, {"GET", "/v1/report", answer_report},
	{"GET", "/livez", answer_probe},     {"GET", "/readyz", answer_probe},
	{"GET", "/healthz", answer_probe},   {"GET", "/v1/units", answer_report},
};

int metrics_server_new(sd_event *event, const struct listen_address *at,
		       const struct metrics_ops *ops, void *ctx, struct metrics_server **ret)
{
	struct metrics_server *s = calloc(1, sizeof *s);
	struct http_config config;
	int r;

	if (s == NULL)
		return -ENOMEM;
	*s = (struct metrics_server){.ops = ops, .ctx = ctx, .at = *at};
	config = (struct http_config){
		.listen = &s->at,
		.not_found_hint =
			"there are /metrics, /v1/report, /v1/units, /livez, /readyz and /healthz",
		.routes = routes,
		.route_count = ARRAY_SIZE(routes),
		.ctx = s,
	};
	r = http_server_new(event, &config, &s->http);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void metrics_server_free(struct metrics_server *s)
{
	if (s == NULL)
		return;
	http_server_free(s->http);
	free(s);
}

/* --- probes */

struct check {
	const char *name;
	bool live; /* asked by /livez too */
	bool good;
	const char *failure;
	bool warns; /* said, not failed: the limits are managed */
};

static bool loop_turns(const struct probe_input *in)
{
	usec_t last = MAX(in->last_tick, in->started);
	usec_t patience = MAX(3 * in->interval_usec, PROBE_LIVE_MIN_USEC) + in->grace_usec;

	return in->now <= last + patience;
}

/* value NULL: any, or none. */
static bool has_arg(const struct http_request *request, const char *name, const char *value)
{
	for (size_t i = 0; i < request->arg_count; i++) {
		const struct http_arg *a = &request->args[i];

		if (strcmp(a->name, name) == 0 &&
		    (value == NULL || (a->value != NULL && strcmp(a->value, value) == 0)))
			return true;
	}
	return false;
}

/* A line; false when it fails. */
static bool put_check(FILE *f, const struct check *c, const struct http_request *request)
{
	if (has_arg(request, "exclude", c->name)) {
		fprintf(f, "[+]%s excluded: ok\n", c->name);
	} else if (c->good) {
		fprintf(f, "[+]%s ok\n", c->name);
	} else {
		fprintf(f, "[%c]%s %s: %s\n", c->warns ? '!' : '-', c->name,
			c->warns ? "warning" : "failed", c->failure);
		return c->warns;
	}
	return true;
}

static bool put_checks(FILE *f, const struct probe_input *in, const struct http_request *request)
{
	bool ready = strcmp(request->path, "/readyz") == 0;
	const struct check checks[] = {
		{"loop", true, loop_turns(in), "the event loop does not run", false},
		{"config", false, in->config_valid,
		 "the configuration is not valid; the last good one is in force", false},
		{"cgroup", false, in->cgroup_writable || in->dry_run,
		 "the cgroup hierarchy cannot be written", false},
		{"pods", false, in->pods_listed || !in->kubernetes,
		 "the pods of the node are not listed yet", false},
		{"node", false, !in->node_wrong,
		 "no pod of this node's name runs here: the name is wrong", false},
		{"pod-cgroups", false, !in->pods_lost,
		 "no cgroup of the annotated pods is found: see vscalectl explain and doctor",
		 false},
		{"units", false, in->units_listed || !in->standalone,
		 "systemd has not listed its units yet", false},
		{"systemd", false, !in->systemd_lost,
		 "the connection to systemd is lost; vscaled reconnects", false},
		{"kernel", false, !in->kernel_old,
		 "older than any that is tested; limits are managed", true},
	};
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (ready || checks[i].live)
			all &= put_check(f, &checks[i], request);
	fprintf(f, "%s check %s\n", ready ? "readyz" : "livez", all ? "passed" : "failed");
	return all;
}

int probe_answer(const struct probe_input *in, const struct http_request *request,
		 struct http_response *ret)
{
	OWN(drop_free) char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool good;

	if (f == NULL)
		return -errno;
	good = put_checks(f, in, request);
	if (fclose(f) != 0)
		return -ENOMEM;
	*ret = (struct http_response){
		.status = good ? 200 : 503,
		.content_type = "text/plain; charset=utf-8",
		.body = good && !in->kernel_old && !has_arg(request, "verbose", NULL) ? strdup("ok")
										      : STEAL(text),
	};
	return ret->body != NULL ? 0 : -ENOMEM;
}
