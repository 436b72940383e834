// SPDX-License-Identifier: Apache-2.0
#include "test/kube/reporter_rig.h"
#include <errno.h>

static int ev_facts(void *ctx, struct pod *pod, struct reporter_view *ret)
{
	struct rig *g = ctx;
	struct rig_pod *p = (struct rig_pod *)pod;

	if (!p->exists)
		return -ENOENT;
	reporter_fill(p->seen, ret);
	ret->facts.active = p->mode != NULL && !p->restoring;
	ret->facts.restoring = p->restoring;
	ret->facts.controlled = CONTROLLED_LIMITS;
	ret->mode = p->mode;
	ret->changed_real = 0;
	ret->containers[0].use_bytes = p->use;
	ret->containers[0].slope_bps = p->slope;
	ret->containers[0].growing = p->growing || p->slope > 0;
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
	if (g->alter != NULL)
		g->alter(g, ret);
	return 0;
}

static void refused(struct rig *g, struct rig_pod *p, enum resource resource, const char *text)
{
	usec_t until;
	uint64_t ceiling = report_allows(reporter_state(p->report), 0, resource, g->now, &until);

	CHECK(until > g->now || ceiling == LIMIT_MAX);
	p->refused++;
	p->ceiling[resource] = ceiling;
	snprintf(p->why, sizeof p->why, "%s", text);
	/* CPU goes back at once, memory only where use allows. */
	if (resource == RESOURCE_CPU && ceiling != LIMIT_MAX)
		p->held[resource] = p->actual[resource] = ceiling;
}

static void all_refused(struct rig *g, struct rig_pod *p, const struct report_outcome *o)
{
	bool any = false;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		CHECK(o->refused[r] <= 1);
		if (o->refused[r] != 0)
			refused(g, p, r, o->text);
		any |= o->refused[r] != 0;
	}
	if (!any)
		refused(g, p, RESOURCE_CPU, o->text);
}

static void foreign(struct rig *g, struct rig_pod *p)
{
	uint32_t resources = reporter_foreign(p->report, 0);

	p->foreign |= resources;
	for (size_t r = 0; r < RESOURCE_COUNT; r++)
		if (resources & (1u << r)) {
			p->held[r] = p->spec.limit[r];
			p->held_since = g->now;
		}
}

static void act(struct rig *g, struct rig_pod *p, const struct report_outcome *o)
{
	if (o->changes & REPORT_CHANGE_REFUSED)
		all_refused(g, p, o);
	if (o->changes & REPORT_CHANGE_FOREIGN)
		foreign(g, p);
	if (o->changes & REPORT_CHANGE_RATIFIED) {
		p->ratified++;
		CHECK_EQ(o->generation, p->generation);
	}
	/* What a replay put too low is raised again. */
	if (o->changes & REPORT_CHANGE_VERIFY) {
		p->verified++;
		memcpy(p->actual, p->held, sizeof p->actual);
	}
	g->bounds += (o->changes & REPORTER_BOUNDS) != 0;
	if (o->changes & REPORTER_SENDING)
		reporter_send(p->report);
}

void rig_outcomes(struct rig *g)
{
	struct report_outcome o;

	while (reporter_next(g->reporter, &o)) {
		if (o.pod == NULL) {
			snprintf(g->trouble, sizeof g->trouble, "%s",
				 reporter_trouble(g->reporter));
			g->troubles += g->trouble[0] != '\0';
			g->troubles_over += g->trouble[0] == '\0';
		} else {
			act(g, (struct rig_pod *)o.pod, &o);
		}
		free(o.text);
	}
}

void rig_step(struct rig *g)
{
	while (reporter_step(g->reporter, g->now, g->now + 1795000000 * S))
		rig_outcomes(g);
}

/* --- the rig */

void rig_start(struct rig *g, size_t pods)
{
	struct kube_port port = {
		.ctx = g, .start = server_start, .cancel = server_cancel, .now = &g->now};
	struct reporter_options options = {
		.facts = ev_facts,
		.ctx = g,
		.tuning = report_tuning_default,
		.rate = {.interval_usec = 10 * S, .burst = 20, .spread_usec = 60 * S},
		.status_interval_usec = 600 * S,
		.seed = 7,
		.tally = &g->tally,
	};

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
	CHECK_EQ(recorder_new(&port, "n", &g->recorder), 0);
	CHECK_EQ(reporter_new(&port, g->recorder, &options, &g->reporter), 0);
	for (size_t i = 0; i < pods; i++) {
		g->pods[i].report =
			reporter_add(g->reporter, (struct pod *)&g->pods[i], g->pods[i].uid);
		server_show(g, &g->pods[i]);
	}
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
	usec_t end = g->now + span;
	unsigned busy = 0;

	while (g->now < end && busy < 1000) {
		usec_t next = next_thing(g, end);

		busy = next == g->now ? busy + 1 : 0;
		g->now = next;
		for (size_t i = 0; i < CALLS; i++)
			if (g->calls[i].used && g->calls[i].at <= g->now)
				server_deliver(g, &g->calls[i]);
		for (size_t i = 0; i < g->count; i++)
			if (g->pods[i].kubelet_at != 0 && g->pods[i].kubelet_at <= g->now)
				server_kubelet(g, &g->pods[i]);
		g->steps++;
		rig_step(g);
	}
	CHECK(busy < 1000); /* no busy loop */
}

void rig_set_held(struct rig *g, size_t pod, enum resource r, uint64_t value)
{
	struct rig_pod *p = &g->pods[pod];

	p->held[r] = p->actual[r] = value;
	p->held_since = g->now;
	reporter_changed(p->report);
}

void rig_grow(struct rig *g, size_t pod, uint64_t use, uint64_t slope)
{
	struct rig_pod *p = &g->pods[pod];

	p->use = use;
	p->slope = slope;
	reporter_changed(p->report);
}

void rig_show(struct rig *g, size_t pod)
{
	server_show(g, &g->pods[pod]);
}

void rig_gone(struct rig *g, size_t pod)
{
	g->pods[pod].exists = false;
	g->pods[pod].kubelet_at = 0;
}

void rig_forget(struct rig *g, size_t pod)
{
	reporter_forget(g->pods[pod].report);
	g->pods[pod].report = NULL;
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

unsigned rig_counted(const struct rig *g, const char *kind, unsigned status)
{
	return g->counted[*kind == 'r'][status];
}
