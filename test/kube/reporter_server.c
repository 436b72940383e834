// SPDX-License-Identifier: Apache-2.0
#include "policy/base/quantity.h"
#include "test/kube/reporter_rig.h"
#include <cjson/cJSON.h>
#include <errno.h>

static size_t pod_of(const struct rig *g, const char *uid)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->pods[i].uid, uid) == 0)
			return i;
	return PODS_MAX;
}

static char *pod_json(const struct rig_pod *p)
{
	char *text = NULL;
	cJSON *root, *annotations;
	char spec[1600];

	snprintf(spec, sizeof spec,
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\","
		 "\"resourceVersion\":\"%llu\",\"generation\":%llu,\"annotations\":{}},"
		 "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"app\","
		 "\"resources\":{\"limits\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"},"
		 "\"requests\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"}}}]},"
		 "\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\","
		 "\"observedGeneration\":%llu,\"conditions\":[%s],\"containerStatuses\":[{\"name\":"
		 "\"app\",\"ready\":true,\"restartCount\":0,\"containerID\":\"containerd://c0\","
		 "\"state\":{\"running\":{\"startedAt\":\"2026-11-20T08:00:00Z\"}},"
		 "\"resources\":{\"limits\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"},"
		 "\"requests\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"}}}]}}",
		 p->uid, p->space ? p->space : "lab", p->uid,
		 (unsigned long long)p->generation * 10, (unsigned long long)p->generation,
		 (unsigned long long)p->spec.limit[0], (unsigned long long)p->spec.limit[1],
		 (unsigned long long)p->spec.request[0], (unsigned long long)p->spec.request[1],
		 (unsigned long long)p->observed, p->condition,
		 (unsigned long long)p->runtime.limit[0], (unsigned long long)p->runtime.limit[1],
		 (unsigned long long)p->runtime.request[0],
		 (unsigned long long)p->runtime.request[1]);
	root = cJSON_Parse(spec);
	annotations = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "metadata"), "annotations");
	if (p->status)
		cJSON_AddStringToObject(annotations, "vscaled.dev/status", p->status);
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}

/* The watch reports the newest object. */
void server_show(struct rig *g, struct rig_pod *p)
{
	char *text = pod_json(p);
	struct kube_decode_error err;

	kube_pod_free(p->seen);
	p->seen = NULL;
	CHECK_EQ(kube_decode_pod(text, strlen(text), &p->seen, &err), 0);
	free(text);
	if (g->reporter != NULL)
		reporter_changed(p->report);
}

static void take_amounts(const cJSON *o, uint64_t *amounts)
{
	const char *cpu = cJSON_GetStringValue(cJSON_GetObjectItem(o, "cpu"));
	const char *memory = cJSON_GetStringValue(cJSON_GetObjectItem(o, "memory"));

	if (cpu)
		CHECK_EQ(quantity_parse_cpu(cpu, &amounts[RESOURCE_CPU]), 0);
	if (memory)
		CHECK_EQ(quantity_parse_bytes(memory, &amounts[RESOURCE_MEMORY]), 0);
}

static void take_resize(struct rig *g, struct rig_pod *p, const cJSON *body)
{
	const cJSON *list = cJSON_GetObjectItem(cJSON_GetObjectItem(body, "spec"), "containers");
	const cJSON *resources = cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "resources");
	struct kube_values_of_spec before = p->spec;

	take_amounts(cJSON_GetObjectItem(resources, "limits"), p->spec.limit);
	take_amounts(cJSON_GetObjectItem(resources, "requests"), p->spec.request);
	/* What makes the whole worth while. */
	CHECK(p->spec.limit[RESOURCE_MEMORY] >= p->use);
	p->resizes++;
	if (memcmp(&before, &p->spec, sizeof before) == 0)
		return;
	p->generation++;
	p->kubelet_at = g->now + g->kubelet_delay;
	server_show(g, p);
}

static void take_status(struct rig *g, struct rig_pod *p, const cJSON *body)
{
	const cJSON *annotations =
		cJSON_GetObjectItem(cJSON_GetObjectItem(body, "metadata"), "annotations");
	const char *value =
		cJSON_GetStringValue(cJSON_GetObjectItem(annotations, "vscaled.dev/status"));

	free(p->status);
	p->status = value ? strdup(value) : NULL;
	p->statuses++;
	server_show(g, p);
}

static const char *kind_of(const struct kube_request *r)
{
	if (strstr(r->path, "/resize?"))
		return "resize";
	return strstr(r->path, "/events") ? "event" : "status";
}

#define CONFLICT                                                                                   \
	"{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409,\"message\":\"modified\"}"

/* Recorded servers refuse what names another resourceVersion than the newest. */
static bool is_stale(const struct rig_pod *p, const cJSON *meta)
{
	const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(meta, "resourceVersion"));

	return version != NULL && strtoull(version, NULL, 10) != p->generation * 10;
}

/* A write: what it does, and the pod it is about. */
static struct rig_pod *take(struct rig *g, const struct kube_request *r, const char *kind,
			    bool doit, bool *ret_stale)
{
	cJSON *body = cJSON_Parse(r->body);
	const cJSON *about = cJSON_GetObjectItem(body, *kind == 'e' ? "regarding" : "metadata");
	const char *uid = cJSON_GetStringValue(cJSON_GetObjectItem(about, "uid"));
	size_t i = uid ? pod_of(g, uid) : 0; /* the PATCH of an Event's series names no pod */
	struct rig_pod *p = i < g->count ? &g->pods[i] : NULL;
	char mark[32];

	CHECK(body != NULL);
	snprintf(mark, sizeof mark, "%c%zu ", *kind - 'a' + 'A', i);
	if (strlen(g->log) + strlen(mark) < sizeof g->log)
		strcat(g->log, mark);
	snprintf(g->last_body, sizeof g->last_body, "%s", r->body);
	snprintf(g->last_path, sizeof g->last_path, "%s", r->path);
	*ret_stale = p != NULL && *kind == 'r' && is_stale(p, about);
	if (p != NULL && p->exists && doit && !*ret_stale) {
		if (*kind == 'r')
			take_resize(g, p, body);
		else if (*kind == 's')
			take_status(g, p, body);
		else
			p->events++;
	}
	cJSON_Delete(body);
	return p != NULL && p->exists ? p : NULL;
}

static void count_answer(struct rig *g, const char *kind, unsigned status)
{
	if (kind != NULL && *kind != 'e')
		g->counted[*kind == 'r'][status]++;
}

static void answer_write(struct rig *g, const struct kube_request *r, struct rig_call *c)
{
	const char *kind = kind_of(r);
	bool fails = g->fail_count > 0 && g->fail_what && strcmp(g->fail_what, kind) == 0 &&
		     (g->fail_where == NULL || strstr(r->path, g->fail_where) != NULL);
	bool lost = g->down || (fails && g->fail_status == 0);
	bool stale;
	struct rig_pod *p;

	g->writes++;
	c->kind = kind;
	p = take(g, r, kind, !lost ? !fails : g->fail_but_do && !g->down, &stale);
	if (lost) {
		c->status = 0;
		g->fail_count -= fails;
	} else if (fails) {
		g->fail_count--;
		c->at += g->fail_latency;
		c->status = g->fail_status;
		c->body = strdup(g->fail_body ? g->fail_body : "");
		c->retry_after = g->fail_retry_after;
	} else if (stale) {
		c->status = 409;
		c->body = strdup(CONFLICT);
	} else if (p == NULL) {
		c->status = 404;
		c->body = strdup("{\"kind\":\"Status\",\"reason\":\"NotFound\","
				 "\"message\":\"pods \\\"x\\\" not found\",\"code\":404}");
	} else {
		c->status = *kind == 'e' && strcmp(r->method, "POST") == 0 ? 201 : 200;
		c->body = *kind == 'e' ? strdup("{}") : pod_json(p);
	}
}

int server_start(void *ctx, const struct kube_request *r, kube_done_fn *done, void *arg,
		 struct kube_call **ret)
{
	struct rig *g = ctx;
	struct rig_call *c = g->calls;

	while (c < g->calls + CALLS && c->used)
		c++;
	CHECK(c < g->calls + CALLS);
	g->requests++;
	*c = (struct rig_call){.used = true, .at = g->now + g->latency, .done = done, .arg = arg};
	if (strcmp(r->path, "/api/v1") != 0) {
		answer_write(g, r, c);
	} else if (!g->down) {
		c->status = 200;
		c->body =
			strdup(g->offers ? "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
					   "\"resources\":[{\"name\":\"pods/resize\",\"kind\":"
					   "\"Pod\",\"namespaced\":true,\"verbs\":[\"get\","
					   "\"patch\",\"update\"]}]}"
					 : "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
					   "\"resources\":[]}");
	}
	*ret = (struct kube_call *)(void *)c;
	return 0;
}

void server_cancel(void *ctx, struct kube_call *call)
{
	struct rig_call *c = (struct rig_call *)(void *)call;

	count_answer(ctx, c->kind, 0);
	free(c->body);
	*c = (struct rig_call){0};
}

void server_deliver(struct rig *g, struct rig_call *c)
{
	struct rig_call call = *c;
	struct kube_answer a = {
		.status = call.status,
		.error = call.status ? 0 : -ECONNREFUSED,
		.detail = call.status ? "" : "connection refused",
		.body = call.body ? call.body : "",
		.len = call.body ? strlen(call.body) : 0,
		.retry_after_usec = call.retry_after,
	};

	count_answer(g, call.kind, call.status);
	*c = (struct rig_call){0};
	call.done(call.arg, &a);
	rig_outcomes(g);
	free(call.body);
}

/* The kubelet replays the whole container, as recorded. */
void server_kubelet(struct rig *g, struct rig_pod *p)
{
	p->kubelet_at = 0;
	p->observed = p->generation;
	p->condition = "";
	p->runtime = p->spec;
	memcpy(p->actual, p->spec.limit, sizeof p->actual);
	CHECK(p->actual[RESOURCE_MEMORY] >= p->use);
	server_show(g, p);
}
