// SPDX-License-Identifier: Apache-2.0
#include "test/kube/reporter_rig.h"
#include "policy/quantity.h"
#include <cjson/cJSON.h>
#include <errno.h>

static size_t pod_of(const struct rig *g, const char *uid)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->pods[i].uid, uid) == 0)
			return i;
	return PODS_MAX;
}

/* --- the server */

static char *pod_json(const struct rig_pod *p)
{
	char *text = NULL;
	cJSON *root, *annotations;
	char spec[1600];

	snprintf(spec, sizeof spec,
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"lab\",\"uid\":\"%s\","
		 "\"resourceVersion\":\"%llu\",\"generation\":%llu,\"annotations\":{}},"
		 "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"app\",\"resources\":{"
		 "\"limits\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"},"
		 "\"requests\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"}}}]},"
		 "\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\","
		 "\"observedGeneration\":%llu,\"conditions\":[%s],\"containerStatuses\":[{"
		 "\"name\":\"app\",\"ready\":true,\"restartCount\":0,"
		 "\"containerID\":\"containerd://c0\","
		 "\"state\":{\"running\":{\"startedAt\":\"2026-11-20T08:00:00Z\"}},\"resources\":{"
		 "\"limits\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"},"
		 "\"requests\":{\"cpu\":\"%llum\",\"memory\":\"%llu\"}}}]}}",
		 p->uid, p->uid, (unsigned long long)p->generation * 10,
		 (unsigned long long)p->generation, (unsigned long long)p->spec.limit[0],
		 (unsigned long long)p->spec.limit[1], (unsigned long long)p->spec.request[0],
		 (unsigned long long)p->spec.request[1], (unsigned long long)p->observed,
		 p->condition, (unsigned long long)p->runtime.limit[0],
		 (unsigned long long)p->runtime.limit[1], (unsigned long long)p->runtime.request[0],
		 (unsigned long long)p->runtime.request[1]);
	root = cJSON_Parse(spec);
	annotations = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "metadata"), "annotations");
	if (p->status)
		cJSON_AddStringToObject(annotations, "vscaled.dev/status", p->status);
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}

/* The watch tells of the newest object. */
static void show(struct rig *g, struct rig_pod *p)
{
	char *text = pod_json(p);
	struct kube_decode_error err;

	kube_pod_free(p->seen);
	p->seen = NULL;
	CHECK_EQ(kube_decode_pod(text, strlen(text), &p->seen, &err), 0);
	free(text);
	if (g->reporter != NULL)
		reporter_changed(g->reporter, p->uid, g->now);
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
	show(g, p);
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
	show(g, p);
}

static const char *kind_of(const struct kube_request *r)
{
	if (strstr(r->path, "/resize?"))
		return "resize";
	return strstr(r->path, "/events") ? "event" : "status";
}

/* What recorded servers say to a resourceVersion that is not the newest. */
static bool is_stale(const struct rig *g, const struct kube_request *r)
{
	cJSON *body = cJSON_Parse(r->body);
	const cJSON *meta = cJSON_GetObjectItem(body, "metadata");
	const char *uid = cJSON_GetStringValue(cJSON_GetObjectItem(meta, "uid"));
	const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(meta, "resourceVersion"));
	size_t i = uid ? pod_of(g, uid) : PODS_MAX;
	bool stale = i < g->count && version != NULL &&
		     strtoull(version, NULL, 10) != g->pods[i].generation * 10;

	cJSON_Delete(body);
	return stale;
}

/* A write: what it does, and the pod it is about. */
static struct rig_pod *take(struct rig *g, const struct kube_request *r, const char *kind,
			    bool doit)
{
	cJSON *body = cJSON_Parse(r->body);
	const cJSON *about = cJSON_GetObjectItem(body, *kind == 'e' ? "regarding" : "metadata");
	const char *uid = cJSON_GetStringValue(cJSON_GetObjectItem(about, "uid"));
	size_t i = uid ? pod_of(g, uid) : 0; /* the series of an Event names nobody */
	struct rig_pod *p = i < g->count ? &g->pods[i] : NULL;
	char mark[32];

	CHECK(body != NULL);
	snprintf(mark, sizeof mark, "%c%zu ", *kind - 'a' + 'A', i);
	if (strlen(g->log) + strlen(mark) < sizeof g->log)
		strcat(g->log, mark);
	snprintf(g->last_body, sizeof g->last_body, "%s", r->body);
	snprintf(g->last_path, sizeof g->last_path, "%s", r->path);
	if (p != NULL && p->exists && doit) {
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

static void answer_write(struct rig *g, const struct kube_request *r, struct rig_call *c)
{
	const char *kind = kind_of(r);
	bool fails = g->fail_count > 0 && g->fail_what && strcmp(g->fail_what, kind) == 0;
	bool lost = g->down || (fails && g->fail_status == 0);
	bool stale = is_stale(g, r);
	struct rig_pod *p;

	g->writes++;
	p = take(g, r, kind, !stale && (!lost ? !fails : g->fail_but_do && !g->down));
	if (lost) {
		c->status = 0;
		g->fail_count -= fails;
	} else if (fails) {
		g->fail_count--;
		c->status = g->fail_status;
		c->body = strdup(g->fail_body ? g->fail_body : "");
		c->retry_after = g->fail_retry_after;
	} else if (stale) {
		c->status = 409;
		c->body = strdup("{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409,"
				 "\"message\":\"the object has been modified\"}");
	} else if (p == NULL) {
		c->status = 404;
		c->body = strdup("{\"kind\":\"Status\",\"reason\":\"NotFound\","
				 "\"message\":\"pods \\\"x\\\" not found\",\"code\":404}");
	} else {
		c->status = *kind == 'e' && strcmp(r->method, "POST") == 0 ? 201 : 200;
		c->body = *kind == 'e' ? strdup("{}") : pod_json(p);
	}
}

static int port_start(void *ctx, const struct kube_request *r, kube_done_fn *done, void *arg,
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

static void port_cancel(void *ctx, struct kube_call *call)
{
	struct rig_call *c = (struct rig_call *)(void *)call;

	(void)ctx;
	free(c->body);
	*c = (struct rig_call){0};
}

static void deliver(struct rig *g, struct rig_call *c)
{
	struct rig_call call = *c;
	struct kube_answer a = {
		.status = call.status,
		.error = call.status ? 0 : -ECONNREFUSED,
		.detail = call.status ? "" : "connection refused",
		.body = call.body ? call.body : "",
		.len = call.body ? strlen(call.body) : 0,
		.json = call.body && *call.body == '{',
		.retry_after_usec = call.retry_after,
	};

	(void)g;
	*c = (struct rig_call){0};
	call.done(call.arg, &a);
	free(call.body);
}

/* The kubelet replays the whole container, as recorded. */
static void kubelet(struct rig *g, struct rig_pod *p)
{
	p->kubelet_at = 0;
	p->observed = p->generation;
	p->condition = "";
	p->runtime = p->spec;
	memcpy(p->actual, p->spec.limit, sizeof p->actual);
	CHECK(p->actual[RESOURCE_MEMORY] >= p->use);
	show(g, p);
}

/* --- the daemon */

static int ev_facts(void *ctx, const char *uid, struct reporter_view *ret)
{
	struct rig *g = ctx;
	size_t i = pod_of(g, uid);
	struct rig_pod *p = &g->pods[i];

	if (i == PODS_MAX || !p->exists)
		return -ENOENT;
	reporter_fill(p->seen, ret);
	ret->facts.active = p->mode != NULL && !p->restoring;
	ret->facts.restoring = p->restoring;
	ret->facts.controlled = CONTROLLED_LIMITS;
	ret->mode = p->mode;
	ret->changed_real = 0;
	ret->containers[0].use_bytes = p->use;
	ret->containers[0].slope_bps = 0;
	ret->containers[0].growing = p->growing;
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		struct report_resource *x = &ret->containers[0].resource[r];

		x->managed = true;
		x->original_limit = r == RESOURCE_CPU ? 500 : 256 * MIB;
		x->original_request = r == RESOURCE_CPU ? 200 : 128 * MIB;
		x->held = p->held[r];
		x->held_since = p->held_since;
		x->actual = p->actual[r];
		ret->target[0][r] = 0;
	}
	return 0;
}

/* The signature is the reporter's. NOLINTNEXTLINE(readability-function-size) */
static void ev_refused(void *ctx, const char *uid, size_t container, enum resource resource,
		       uint64_t ceiling, usec_t until, const char *text)
{
	struct rig *g = ctx;
	struct rig_pod *p = &g->pods[pod_of(g, uid)];

	CHECK_EQ(container, 0);
	CHECK(until > g->now || ceiling == LIMIT_MAX);
	p->refused++;
	p->ceiling[resource] = ceiling;
	snprintf(p->why, sizeof p->why, "%s", text);
	/* CPU goes back at once, memory only where use allows. */
	if (resource == RESOURCE_CPU && ceiling != LIMIT_MAX)
		p->held[resource] = p->actual[resource] = ceiling;
}

/* What a replay put too low is raised again. */
static void ev_verify(void *ctx, const char *uid)
{
	struct rig *g = ctx;
	struct rig_pod *p = &g->pods[pod_of(g, uid)];

	p->verified++;
	memcpy(p->actual, p->held, sizeof p->actual);
}

static void ev_write(void *ctx, const char *uid, size_t container, enum resource resource)
{
	struct rig *g = ctx;
	struct rig_pod *p = &g->pods[pod_of(g, uid)];

	CHECK_EQ(container, 0);
	p->written++;
	p->actual[resource] = p->held[resource];
}

static void ev_ratified(void *ctx, const char *uid, uint64_t generation)
{
	struct rig *g = ctx;
	struct rig_pod *p = &g->pods[pod_of(g, uid)];

	p->ratified++;
	CHECK_EQ(generation, p->generation);
}

static void ev_foreign(void *ctx, const char *uid, size_t container, uint32_t resources)
{
	struct rig *g = ctx;
	struct rig_pod *p = &g->pods[pod_of(g, uid)];

	CHECK_EQ(container, 0);
	p->foreign |= resources;
	for (size_t r = 0; r < RESOURCE_COUNT; r++)
		if (resources & (1u << r)) {
			p->held[r] = p->spec.limit[r];
			p->held_since = g->now;
		}
}

static void ev_trouble(void *ctx, const char *text)
{
	struct rig *g = ctx;

	g->troubles += text != NULL;
	g->troubles_over += text == NULL;
	snprintf(g->trouble, sizeof g->trouble, "%s", text ? text : "");
}

static void ev_wake(void *ctx)
{
	((struct rig *)ctx)->wakes++;
}

static void ev_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	*ret_boot = ((struct rig *)ctx)->now;
	*ret_real = *ret_boot + 1795000000 * S;
}

/* --- the rig */

void rig_start(struct rig *g, size_t pods)
{
	struct kube_port port = {.ctx = g, .start = port_start, .cancel = port_cancel};
	struct recorder_options recorder = {.instance = "n", .ctx = g, .clock = ev_clock};
	struct reporter_options options = {
		.tuning = report_tuning_default,
		.rate = {.interval_usec = 10 * S, .burst = 20, .spread_usec = 60 * S},
		.status_interval_usec = 600 * S,
		.seed = 7,
	};
	struct reporter_events events = {g,          ev_facts, ev_refused,  ev_verify,
					 ev_write,   NULL,     ev_ratified, ev_foreign,
					 ev_trouble, ev_wake,  ev_clock};

	memset(g, 0, sizeof *g);
	g->now = 1000 * S;
	g->offers = true;
	g->latency = 20 * USEC_PER_MSEC;
	g->kubelet_delay = 2 * S;
	g->count = pods;
	for (size_t i = 0; i < pods; i++) {
		struct rig_pod *p = &g->pods[i];

		*p = (struct rig_pod){.exists = true,
				      .generation = 1,
				      .observed = 1,
				      .condition = "",
				      .mode = "Auto",
				      .use = 100 * MIB,
				      .held_since = 1};
		snprintf(p->uid, sizeof p->uid, "u%zu", i);
		p->spec.limit[0] = 500;
		p->spec.limit[1] = 256 * MIB;
		p->spec.request[0] = 200;
		p->spec.request[1] = 128 * MIB;
		p->runtime = p->spec;
		memcpy(p->held, p->spec.limit, sizeof p->held);
		memcpy(p->actual, p->spec.limit, sizeof p->actual);
	}
	CHECK_EQ(recorder_new(&port, &recorder, &g->recorder), 0);
	CHECK_EQ(reporter_new(&port, g->recorder, &options, &events, &g->reporter), 0);
	for (size_t i = 0; i < pods; i++)
		show(g, &g->pods[i]);
}

void rig_stop(struct rig *g)
{
	reporter_free(g->reporter);
	recorder_free(g->recorder);
	for (size_t i = 0; i < g->count; i++) {
		kube_pod_free(g->pods[i].seen);
		free(g->pods[i].status);
	}
	/* Every request was answered or cancelled. */
	for (size_t i = 0; i < CALLS; i++)
		CHECK(!g->calls[i].used);
}

static usec_t next_thing(const struct rig *g, usec_t end)
{
	usec_t due = reporter_due(g->reporter, g->now);

	if (due != 0)
		end = MIN(end, due);
	for (size_t i = 0; i < CALLS; i++)
		if (g->calls[i].used)
			end = MIN(end, g->calls[i].at);
	for (size_t i = 0; i < g->count; i++)
		if (g->pods[i].kubelet_at != 0)
			end = MIN(end, g->pods[i].kubelet_at);
	return MAX(end, g->now);
}

void rig_run(struct rig *g, usec_t span)
{
	usec_t end = g->now + span, now_real;
	unsigned busy = 0;

	while (g->now < end && busy < 1000) {
		usec_t next = next_thing(g, end);

		busy = next == g->now ? busy + 1 : 0;
		g->now = next;
		for (size_t i = 0; i < CALLS; i++)
			if (g->calls[i].used && g->calls[i].at <= g->now)
				deliver(g, &g->calls[i]);
		for (size_t i = 0; i < g->count; i++)
			if (g->pods[i].kubelet_at != 0 && g->pods[i].kubelet_at <= g->now)
				kubelet(g, &g->pods[i]);
		g->steps++;
		ev_clock(g, &g->now, &now_real);
		reporter_step(g->reporter, g->now, now_real);
	}
	CHECK(busy < 1000); /* no busy loop */
}

void rig_hold(struct rig *g, size_t pod, enum resource r, uint64_t value)
{
	struct rig_pod *p = &g->pods[pod];

	p->held[r] = p->actual[r] = value;
	p->held_since = g->now;
	reporter_changed(g->reporter, p->uid, g->now);
}

void rig_user_unseen(struct rig *g, size_t pod, enum resource r, uint64_t limit)
{
	struct rig_pod *p = &g->pods[pod];

	p->spec.limit[r] = limit;
	p->generation++;
	p->kubelet_at = g->now + g->kubelet_delay;
}

void rig_user(struct rig *g, size_t pod, enum resource r, uint64_t limit)
{
	rig_user_unseen(g, pod, r, limit);
	show(g, &g->pods[pod]);
}

void rig_show(struct rig *g, size_t pod)
{
	show(g, &g->pods[pod]);
}

void rig_gone(struct rig *g, size_t pod)
{
	g->pods[pod].exists = false;
	g->pods[pod].kubelet_at = 0;
}

void rig_fail(struct rig *g, const char *what, unsigned count, unsigned status, const char *body)
{
	g->fail_what = what;
	g->fail_count = count;
	g->fail_status = status;
	g->fail_body = body;
	g->fail_retry_after = 0;
	g->fail_but_do = false;
}

uint64_t rig_counted(const struct rig *g, enum reporter_verb verb, unsigned status)
{
	const struct reporter_count *counts;
	size_t n = reporter_counts(g->reporter, &counts);

	for (size_t i = 0; i < n; i++)
		if (counts[i].verb == verb && counts[i].status == status)
			return counts[i].count;
	return 0;
}
