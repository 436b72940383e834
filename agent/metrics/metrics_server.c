// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics_server.h"
#include <errno.h>

struct metrics_server {
	const struct metrics_ops *ops;
	void *ctx;
	struct listen_address at;
	struct http_server *http;
};

static int answer_metrics(void *ctx, const struct http_request *, struct http_response *ret)
{
	OWN(metrics_input_drop) struct metrics_input in = {0};
	struct metrics_server *s = ctx;
	struct metrics_page *page;
	int r = s->ops->collect(s->ctx, &in);

	if (r < 0)
		return r;
	process_read(&in.process);
	r = metrics_page_new(&in, &page);
	if (r < 0)
		return r;
	*ret = (struct http_response){
		.status = 200,
		.content_type = "text/plain; version=0.0.4; charset=utf-8",
		.stream = {metrics_page_read, metrics_page_free, page},
	};
	return 0;
}

static int answer_probe(struct metrics_server *s, enum probe_kind kind,
			const struct http_request *request, struct http_response *ret)
{
	struct probe_input in = {0};

	s->ops->probe(s->ctx, &in);
	return probe_answer(&in, kind, request, ret);
}

static int answer_report(void *ctx, const struct http_request *, struct http_response *ret)
{
	struct metrics_server *s = ctx;
	char *text;
	int r = s->ops->report(s->ctx, &text);

	if (r < 0)
		return r;
	*ret = (struct http_response){
		.status = 200, .content_type = "application/json", .body = text};
	return 0;
}

static int answer_live(void *ctx, const struct http_request *request, struct http_response *ret)
{
	return answer_probe(ctx, PROBE_LIVE, request, ret);
}

static int answer_ready(void *ctx, const struct http_request *request, struct http_response *ret)
{
	return answer_probe(ctx, PROBE_READY, request, ret);
}

static const struct http_route routes[] = {
	{"GET", "/metrics", answer_metrics}, {"GET", "/v1/report", answer_report},
	{"GET", "/livez", answer_live},      {"GET", "/readyz", answer_ready},
	{"GET", "/healthz", answer_live},
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
		.not_found_hint = "there are /metrics, /v1/report, /livez, /readyz and /healthz",
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
