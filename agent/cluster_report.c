// SPDX-License-Identifier: Apache-2.0
/* What the reporter asks of the daemon, and what it tells. */
#include "agent/cluster.h"
#include "policy/bounds.h"
#include "policy/quantity.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* After an outage the reports of all nodes are spread over this. */
#define SPREAD_USEC USEC_PER_MIN
/* Growth this long ago is settled: the next look would have seen more. */
#define SETTLED_USEC (10 * USEC_PER_SEC)

/* --- facts: what we hold, beside what the object says --- */

static usec_t held_since(const struct control *c, enum resource r)
{
	usec_t changed = r == RESOURCE_CPU ? c->cpu.last_change : c->mem.last_change;

	return MAX(changed, c->started_at);
}

static bool may_report(const struct managed *m)
{
	return m->ours && m->control.rule.mode != MODE_OFF && !m->control.paused &&
	       m->state == UNIT_MANAGED;
}

/* The originals stand in its cgroup again. Memory that did not fit stays, in the spec too. */
static bool is_back(const struct managed *m, enum resource r)
{
	return persist_has(m->daemon, m) &&
	       (m->cg == NULL || r != RESOURCE_MEMORY ||
		m->control.kernel.mem_max ==
			persist_original_limit(m, r, m->control.kernel.mem_max));
}

/* What was ratified goes back into the spec, though nothing is sized any more. */
static bool is_reported(const struct managed *m, enum resource r, bool restoring)
{
	const struct control *c = &m->control;

	if (c->gave_way & (1u << r))
		return false;
	return restoring ? is_back(m, r) : c->resource[r].managed && may_report(m);
}

static void fill_resource(const struct managed *m, enum resource r, bool restoring,
			  struct report_resource *ret)
{
	const struct control *c = &m->control;
	const struct control_resource *res = &c->resource[r];
	const struct daemon *d = m->daemon;
	uint64_t ceiling = control_ceiling(c, &d->config.tuning, r, d->node_milli);

	ret->managed = is_reported(m, r, restoring);
	/* Once handed back, the laws know nothing of it any more. */
	ret->original_limit =
		restoring ? persist_original_limit(m, r, ret->spec_limit) : res->original;
	ret->held = restoring ? ret->original_limit : res->limit;
	ret->held_since = held_since(c, r);
	ret->actual = r == RESOURCE_CPU
			      ? cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec)
			      : c->kernel.mem_max;
	ret->ceiling = ceiling == LIMIT_MAX ? 0 : ceiling;
	ret->original_request = persist_original_request(m, r, ret->spec_request);
	ret->request = control_request(c, r);
	/* What it holds there is of another time. */
	if (m->cg == NULL)
		ret->actual = 0;
}

/* Nobody observes what is being handed back. */
static uint64_t use_of(const struct managed *m)
{
	struct usage u = {0};

	if (m->state == UNIT_UNMANAGED && m->cg != NULL && cg_read(m->cg, USAGE_MEM_STAT, &u) == 0)
		return mem_unreclaimable(&u.stat);
	return mem_unreclaimable(&m->control.last.stat);
}

/* Slow growth is covered by what every memory limit in a request has on top of use. */
static bool grows(const struct managed *m, uint64_t use_bytes)
{
	const struct report_tuning *t = &m->daemon->config.kubernetes.report;
	const struct mem_control *mem = &m->control.mem;
	uint64_t margin = MAX(scale_permille(use_bytes, t->margin_permille), t->margin_min_bytes);

	return mul_div(mem->slope_bps, t->ahead_usec, USEC_PER_SEC) > margin ||
	       (mem->last_growth != 0 && m->daemon->now - mem->last_growth < SETTLED_USEC);
}

static void fill_container(const struct managed *m, bool restoring, struct report_container *ret)
{
	const struct control *c = &m->control;

	ret->running = m->cg != NULL;
	ret->use_bytes = use_of(m);
	ret->slope_bps = c->mem.slope_bps;
	ret->growing = grows(m, ret->use_bytes);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		fill_resource(m, r, restoring, &ret->resource[r]);
}

/* Requests move for a pod as soon as they do for one of its containers. */
static enum controlled_values controlled_of(const struct pod *p)
{
	enum controlled_values widest = CONTROLLED_LIMITS;
	bool only_requests = true, any = false;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *m = p->members[i].managed;

		if (m == NULL || !m->ours)
			continue;
		any = true;
		only_requests &= m->own.controlled == CONTROLLED_REQUESTS;
		if (m->own.controlled != CONTROLLED_LIMITS)
			widest = CONTROLLED_REQUESTS_AND_LIMITS;
	}
	return any && only_requests ? CONTROLLED_REQUESTS : widest;
}

/* What the owner put into the spec and is not adopted yet is not ours to replace. */
static bool is_active(const struct pod *p)
{
	return p->why == NULL && !p->ending && !p->wishes && pod_is_sized(p) && !p->daemon->paused;
}

static bool is_given_back(const struct managed *m)
{
	return (!m->ours || m->own.rule.mode == MODE_OFF || m->state == UNIT_RESTORED) &&
	       persist_has(m->daemon, m);
}

/* After the cgroups: until its originals stand there, its spec is left alone. */
static bool is_restoring(const struct pod *p)
{
	bool given_back = false;

	if (p->ending || p->wishes || pod_owes(p) || pod_is_sized(p))
		return false;
	for (size_t i = 0; i < p->spec->container_count; i++)
		given_back |= p->members[i].managed != NULL && is_given_back(p->members[i].managed);
	return given_back;
}

static usec_t changed_real(const struct pod *p)
{
	usec_t newest = 0;

	for (size_t i = 0; i < p->spec->container_count; i++)
		for (enum resource r = 0; p->members[i].managed != NULL && r < RESOURCE_COUNT; r++)
			newest = MAX(newest,
				     p->members[i].managed->control.resource[r].last.at_real);
	return newest;
}

static const char *mode_shown(const struct pod *p)
{
	enum mode highest = MODE_OFF;

	if (p->why != NULL || p->leaving)
		return NULL;
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL && p->members[i].managed->ours)
			highest = MAX(highest, p->members[i].managed->own.rule.mode);
	return mode_name(highest);
}

static int on_facts(void *ctx, const char *uid, struct reporter_view *ret)
{
	struct cluster *c = ctx;
	const struct pod *p = pods_find(c->daemon, uid);

	if (p == NULL)
		return -ENOENT;
	reporter_fill(p->spec, ret);
	ret->facts.active = is_active(p);
	/* What the owner put there since is his. */
	ret->facts.restoring = is_restoring(p) && reporter_expects(c->reporter, uid);
	ret->facts.controlled = controlled_of(p);
	ret->mode = mode_shown(p);
	ret->changed_real = changed_real(p);
	for (size_t i = 0; i < ret->facts.container_count; i++) {
		const struct managed *m = p->members[i].managed;

		if (m == NULL)
			continue;
		fill_container(m, ret->facts.restoring, &ret->containers[i]);
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			ret->target[i][r] = m->control.recommendation.resource[r].target;
	}
	return 0;
}

/* --- what came of it --- */

static struct managed *member_of(struct cluster *c, const char *uid, size_t container)
{
	struct pod *p = pods_find(c->daemon, uid);

	return p != NULL && container < p->spec->container_count ? p->members[container].managed
								 : NULL;
}

static void note(struct cluster *c, const struct kube_pod *pod, const char *type,
		 const char *reason, const char *action, const char *text)
{
	recorder_note(c->recorder, pod, type, reason, action, text, c->daemon->now,
		      c->daemon->now_real);
}

static void on_refused(void *ctx, const char *uid, size_t container, enum resource resource,
		       uint64_t ceiling, usec_t until, const char *text)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->daemon, uid);
	struct managed *m = member_of(c, uid, container);

	(void)ceiling; /* asked for by the bounds */
	(void)until;
	daemon_wake(c->daemon);
	if (p == NULL)
		return;
	/* Called for every value that is bound from now on: one refusal is one Event. */
	if (c->refused_at != c->daemon->now || strcmp(c->refused_uid, uid) != 0) {
		c->daemon->tally.apply_failed[BACKEND_API]++;
		note(c, p->spec, "Warning", "ResizeRefused", "Resize", text);
	}
	c->refused_at = c->daemon->now;
	snprintf(c->refused_uid, sizeof c->refused_uid, "%s", uid);
	reporter_hurry(c->reporter, uid);
	if (m == NULL)
		return;
	report_refused(m, resource, text);
	pod_set_bounds(m);
}

/* The next tick looks: nothing is written from inside an answer. */
static void on_verify(void *ctx, const char *uid)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->daemon, uid);

	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			p->members[i].managed->drift_check = true;
}

static void on_write(void *ctx, const char *uid, size_t container, enum resource resource)
{
	struct managed *m = member_of(ctx, uid, container);

	(void)resource;
	if (m != NULL)
		m->drift_check = true;
}

/* ", app cpu 200m -> 840m": the original, and what the spec has now. */
static void add_change(const struct managed *m, enum resource r, uint64_t spec, char *text,
		       size_t size)
{
	uint64_t original = m->control.resource[r].original;
	char from[QUANTITY_TEXT_SIZE], to[QUANTITY_TEXT_SIZE];
	size_t used = strlen(text);
	bool cpu = r == RESOURCE_CPU;

	if (spec == original || spec == LIMIT_MAX || original == LIMIT_MAX)
		return;
	snprintf(text + used, size - used, "%s%s %s %s -> %s", used != 0 ? ", " : "",
		 pod_container_of(m), cpu ? "cpu" : "memory",
		 cpu ? quantity_format_cpu(original, from, sizeof from)
		     : quantity_format_bytes(original, from, sizeof from),
		 cpu ? quantity_format_cpu(spec, to, sizeof to)
		     : quantity_format_bytes(spec, to, sizeof to));
}

/* The Event of the first time names values; those that follow are one series with it. */
static void note_ratified(struct cluster *c, const struct pod *p)
{
	const struct kube_pod *s = p->spec;
	char text[512] = "";

	for (size_t i = 0; i < s->container_count; i++)
		for (enum resource r = 0; p->members[i].managed != NULL && r < RESOURCE_COUNT; r++)
			add_change(p->members[i].managed, r, s->containers[i].spec.limit[r], text,
				   sizeof text);
	if (text[0] == '\0')
		note(c, s, "Normal", "Restored", "Resize", "the original limits are back");
	else
		note(c, s, "Normal", "Resized", "Resize", text);
}

/* Does the spec hold another limit than the original? */
static bool holds_ours(const struct managed *m, const struct kube_container *c)
{
	bool other = false;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		other |= c->spec.limit[r] != persist_original_limit(m, r, c->spec.limit[r]) ||
			 c->spec.request[r] != persist_original_request(m, r, c->spec.request[r]);
	return other;
}

static void on_ratified(void *ctx, const char *uid, uint64_t generation)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->daemon, uid);

	daemon_wake(c->daemon);
	if (p == NULL)
		return;
	report_ratified(p, generation);
	counters_took(&c->daemon->tally.apply[BACKEND_API],
		      c->daemon->now - reporter_sent_at(c->reporter, uid));
	/* What an earlier life of ours was told is no news. */
	if (reporter_sent_at(c->reporter, uid) != 0)
		note_ratified(c, p);
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			persist_ratified(
				c->daemon, p->members[i].managed,
				holds_ours(p->members[i].managed, &p->spec->containers[i]));
}

static void on_trouble(void *ctx, const char *text)
{
	struct cluster *c = ctx;

	daemon_wake(c->daemon);
	snprintf(c->write_trouble, sizeof c->write_trouble, "%s", text != NULL ? text : "");
	if (text != NULL)
		event_api_refuses(&(struct daemon_event){.detail = text});
}

static void on_wake(void *ctx)
{
	struct cluster *c = ctx;

	daemon_wake(c->daemon);
}

static void on_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	struct cluster *c = ctx;

	daemon_wake(c->daemon);
	*ret_boot = c->daemon->now;
	*ret_real = c->daemon->now_real;
}

/* --- what the pods ask --- */

/* The reporter sees the new spec first, and says what of it is somebody else's. */
static void hook_judge(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	reporter_judge(c->reporter, pod->uid, c->daemon->now);
}

static bool hook_expects(void *ctx, const struct kube_pod *pod, const char *container,
			 enum resource r, uint64_t *ret)
{
	struct cluster *c = ctx;
	const struct kube_container *k = kube_pod_container(pod, container);

	if (reporter_foreign(c->reporter, pod->uid, (size_t)(k - pod->containers)) & (1u << r))
		return false;
	*ret = k->spec.limit[r];
	return true;
}

static bool hook_pending(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	return reporter_pending(c->reporter, pod->uid);
}

static bool hook_owes(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	return reporter_owes(c->reporter, pod->uid);
}

static void hook_note(void *ctx, const struct kube_pod *pod, const char *type, const char *reason,
		      const char *action, const char *text)
{
	note(ctx, pod, type, reason, action, text);
}

static void hook_put(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	reporter_changed(c->reporter, pod->uid, c->daemon->now);
}

static void hook_gone(void *ctx, const char *uid)
{
	struct cluster *c = ctx;

	reporter_forget(c->reporter, uid);
	recorder_forget(c->recorder, uid);
}

static void hook_bounds(void *ctx, const struct kube_pod *pod, const char *container,
			struct pod_bounds *b)
{
	struct cluster *c = ctx;
	const struct kube_limit_range *range = cluster_range_of(c, pod->namespace);
	size_t i = (size_t)(kube_pod_container(pod, container) - pod->containers);

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct pod_resource_bounds *x = &b->resource[r];
		usec_t until = 0;
		uint64_t allowed =
			reporter_allows(c->reporter, pod->uid, i, r, c->daemon->now, &until);

		if (range != NULL) {
			x->namespace = (struct range){range->min[r], range->max[r]};
			x->ratio_permille = range->ratio_permille[r];
		}
		if (allowed != LIMIT_MAX) {
			x->refused = allowed;
			x->refused_until = until;
		}
	}
}

/* --- start --- */

int cluster_report_start(struct cluster *c)
{
	struct daemon *d = c->daemon;
	const struct config_kubernetes *k = &d->config.kubernetes;
	const struct recorder_options recorder = {
		.instance = c->node,
		.ctx = c,
		.clock = on_clock,
	};
	const struct reporter_options options = {
		.tuning = k->report,
		.rate =
			{
				.interval_usec = k->write_interval_usec,
				.burst = k->write_burst,
				.spread_usec = SPREAD_USEC,
			},
		.status_interval_usec = k->status_interval_usec,
		.seed = (uint64_t)d->now_real,
	};
	const struct reporter_events events = {
		.ctx = c,
		.facts = on_facts,
		.refused = on_refused,
		.verify = on_verify,
		.write = on_write,
		.ratified = on_ratified,
		.trouble = on_trouble,
		.wake = on_wake,
		.clock = on_clock,
	};
	int r = recorder_new(&c->port, &recorder, &c->recorder);

	if (r == 0)
		r = reporter_new(&c->port, c->recorder, &options, &events, &c->reporter);
	if (r < 0)
		return r;
	d->hooks = (struct pod_hooks){
		.ctx = c,
		.judge = hook_judge,
		.expects = hook_expects,
		.pending = hook_pending,
		.owes = hook_owes,
		.note = hook_note,
		.put = hook_put,
		.gone = hook_gone,
		.bounds = hook_bounds,
		.view = cluster_hook_view,
		.status = cluster_hook_status,
	};
	return 0;
}
