// SPDX-License-Identifier: Apache-2.0
#include "agent/serve/show.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "agent/view/view.h"
#include <string.h>

struct shown shown_entry(const struct managed *m)
{
	return (struct shown){.m = m, .pod = m->pod, .c = m->pod != NULL ? pod_spec_of(m) : NULL};
}

struct shown shown_unmanaged(const struct pod *p, size_t i)
{
	return (struct shown){.pod = p, .c = &p->spec->containers[i], .why = p->members[i].why};
}

/* --- single values */

/* NULL: nothing is known yet. */
static const struct control *control_of(const struct shown *s)
{
	return s->m != NULL && s->m->control.started_at != 0 ? &s->m->control : NULL;
}

/* Its state as far as it was sampled; NULL: it was not, or it does not run. */
static const struct control *sampled(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);
	bool done = c != NULL && s->m->cgroup.cg != NULL &&
		    (r == RESOURCE_CPU ? c->last_at != 0 : (c->last.have & USAGE_MEM_STAT) != 0);

	return done ? c : NULL;
}

static uint64_t set_or_none(uint64_t value)
{
	return value != 0 ? value : VIEW_NONE;
}

static uint64_t left(usec_t until, usec_t now)
{
	if (until == 0)
		return VIEW_NONE;
	return until > now ? until - now : 0;
}

/* That a pod has no cgroup may be the fault of the node's name, as readyz says. */
enum state_reason shown_reason(const struct shown *s)
{
	enum state_reason reason = s->m != NULL ? managed_reason(s->m) : s->why;
	bool unfound = state_rows[reason].state == UNIT_WAITING || reason == STATE_NO_POD_CGROUP;

	return unfound && s->pod != NULL && s->pod->pods->host->name_wrong ? STATE_NODE_NAME_WRONG
									   : reason;
}

const char *shown_reason_text(const struct shown *s)
{
	if (shown_reason(s) == STATE_NODE_NAME_WRONG)
		return state_rows[STATE_NODE_NAME_WRONG].text;
	return s->m != NULL ? managed_reason_text(s->m) : state_rows[s->why].text;
}

bool shown_controlled(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);

	return c != NULL && c->resource[r].managed;
}

uint64_t shown_kernel(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);

	if (c == NULL)
		return VIEW_NONE;
	return r == RESOURCE_CPU ? cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec)
				 : c->kernel.mem_max;
}

uint64_t shown_ceiling(const struct shown *s, enum resource r)
{
	return shown_controlled(s, r) ? control_ceiling(&s->m->control, &s->m->config->tuning, r,
							s->m->host->cpu_milli)
				      : VIEW_NONE;
}

struct range_of shown_range(const struct shown *s, enum resource r)
{
	static const struct range_of none = {VIEW_NONE, VIEW_NONE, VIEW_NONE, VIEW_NONE};
	const struct control *c = control_of(s);
	struct recommendation shown;

	if (c == NULL || c->recommendation.resource[r].target == 0)
		return none;
	shown = c->recommendation;
	control_bound_upper(
		c, (const uint64_t[]){s->m->host->cpu_milli, s->m->table->memory->read.total},
		&shown);
	return shown.resource[r];
}

uint64_t shown_use(const struct shown *s, enum resource r)
{
	const struct control *c = sampled(s, r);

	if (c == NULL)
		return VIEW_NONE;
	return r == RESOURCE_CPU ? c->rates.used_milli : c->last.mem_current;
}

uint64_t shown_psi_some(const struct shown *s, enum resource r)
{
	const struct control *c = sampled(s, r);

	if (c == NULL || !(c->sample.have & (r == RESOURCE_CPU ? USAGE_PSI_CPU : USAGE_PSI_MEM)))
		return VIEW_NONE;
	return r == RESOURCE_CPU ? c->psi_cpu_ppm : c->mem.psi_ppm;
}

uint64_t shown_throttled_permille(const struct shown *s, enum resource r)
{
	const struct control *c = r == RESOURCE_CPU ? sampled(s, r) : NULL;

	return c != NULL && c->sample.have & USAGE_THROTTLE ? c->rates.throttle_ppm / 1000
							    : VIEW_NONE;
}

uint64_t shown_unreclaimable(const struct shown *s, enum resource r)
{
	const struct control *c = r == RESOURCE_MEMORY ? sampled(s, r) : NULL;

	return c != NULL ? mem_unreclaimable(&c->last.stat) : VIEW_NONE;
}

uint64_t shown_above_spec(const struct shown *s, enum resource r)
{
	return s->m != NULL && r == RESOURCE_MEMORY ? above_spec_bytes(s->m) : VIEW_NONE;
}

uint64_t shown_drifts(const struct shown *s, enum resource r)
{
	return control_of(s) != NULL ? s->m->drift.replaced[r] : 0;
}

uint64_t shown_request(const struct shown *s, enum resource r)
{
	return s->c != NULL ? s->c->spec.request[r] : VIEW_NONE;
}

uint64_t shown_spec_limit(const struct shown *s, enum resource r)
{
	if (s->c != NULL || s->pod != NULL)
		return s->c != NULL ? s->c->spec.limit[r] : VIEW_NONE;
	return r == RESOURCE_CPU ? props_milli(&s->m->properties.stored)
				 : s->m->properties.stored.mem_max;
}

static bool has_boost(const struct control *c)
{
	return c != NULL && (c->boost.phase == BOOST_ACTIVE || c->boost.phase == BOOST_ENDING) &&
	       c->boost_now.limit_milli != VIEW_NONE;
}

bool shown_boosted(const struct shown *s)
{
	return has_boost(control_of(s)) && s->m->control.boost.written;
}

/* Of what it used. */
static uint64_t percentile(const struct shown *s, enum resource r, double p)
{
	const struct control *c = control_of(s);
	const struct histogram *h;

	if (c == NULL)
		return VIEW_NONE;
	h = r == RESOURCE_CPU ? &c->history.cpu : &c->history.memory;
	if (histogram_empty(h))
		return VIEW_NONE;
	return (uint64_t)(histogram_percentile_interpolated(h, p, 0) *
			  (r == RESOURCE_CPU ? 1000.0 : 1.0));
}

static uint64_t lowest(const struct managed *m, enum resource r)
{
	const struct control *c = &m->control;
	usec_t half_life = m->config->tuning.cpu.floor_half_life_usec;

	if (r == RESOURCE_CPU) {
		half_life = cpu_goal_of(&m->config->tuning, c->rule.goal).floor_half_life_usec;
		return floor_value(&c->cpu.floor, half_life, m->wake->now_real);
	}
	return MAX(c->rule.mem_bytes.min, floor_value(&c->mem.floor, half_life, m->wake->now_real));
}

/* --- one resource: a row for each key. BRIEF: in the list too */

#define BRIEF(key, item) view_put(o, key, item)
#define FULL(key, item)                                                                            \
	do {                                                                                       \
		if (!brief)                                                                        \
			view_put(o, key, item);                                                    \
	} while (0)
#define COUNT(number)        cJSON_CreateNumber((double)(number))
#define AMOUNT(known, value) view_amount((known) ? (uint64_t)(value) : VIEW_NONE)

static cJSON *bounds_json(const struct bound_trace *trace)
{
	struct view_json all = {.json = cJSON_CreateArray()};

	for (uint32_t i = 0; i < trace->count; i++) {
		const struct bound_step step = bound_trace_step(trace, i);
		struct view_json o = {.json = cJSON_CreateObject()};

		view_put(&o, "before", view_amount(step.before));
		view_put(&o, "after", view_amount(step.after));
		view_put(&o, "name", view_text(bound_name(step.bound)));
		view_put(&o, "text", view_text(bound_text(step.bound)));
		view_put(&all, NULL, view_end(&o));
	}
	return view_end(&all);
}

static cJSON *decision_json(const struct decision *d, enum resource r)
{
	struct view_json o = {0};
	char detail[DECISION_TEXT_BYTES];

	if (d == NULL || d->at_real == 0)
		return cJSON_CreateNull();
	decision_text(d, r, detail);
	o.json = cJSON_CreateObject();
	view_put(&o, "at", view_time(d->at_real));
	view_put(&o, "from", view_amount(d->from));
	view_put(&o, "to", view_amount(d->to));
	view_put(&o, "detail", view_text(detail));
	view_put(&o, "reason", view_text(reason_name(d->reason)));
	view_put(&o, "text", view_text(reason_text(d->reason)));
	return view_end(&o);
}

/* A shrink trial. */
static cJSON *trial_json(const struct shown *s, enum resource r)
{
	static const char *const phases[MEM_PHASE_COUNT] = {
		[MEM_RECLAIM] = "reclaim", [MEM_HIGH] = "memory.high", [MEM_MAX] = "memory.max"};
	const struct control *c = sampled(s, r);
	struct view_json o = {0};
	const struct tuning *t;
	usec_t end;

	if (c == NULL ||
	    !(r == RESOURCE_CPU ? c->cpu.trial.active : c->mem.trial.phase != MEM_IDLE))
		return cJSON_CreateNull();
	t = &s->m->config->tuning;
	end = r == RESOURCE_CPU ? c->cpu.trial.since + t->cpu.recent_usec
				: c->mem.trial.since + (c->mem.trial.phase == MEM_HIGH
								? t->memory.high_watch_usec
								: t->memory.verdict_usec);
	o.json = cJSON_CreateObject();
	view_put(&o, "phase",
		 view_text(r == RESOURCE_CPU ? "verdict" : phases[c->mem.trial.phase]));
	view_put(&o, "candidate",
		 view_amount(r == RESOURCE_CPU ? c->cpu.trial.to_milli : c->mem.trial.to));
	view_put(&o, "ends_in_usec", COUNT(left(end, s->m->wake->now)));
	return view_end(&o);
}

static cJSON *boost_json(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);
	struct view_json o = {0};
	bool ready;

	if (r != RESOURCE_CPU || !has_boost(c))
		return cJSON_CreateNull();
	ready = c->life.ready_since != 0 || c->boost.phase == BOOST_ENDING;
	o.json = cJSON_CreateObject();
	view_put(&o, "lent", cJSON_CreateBool(c->boost.written));
	view_put(&o, "limit", view_amount(c->boost_now.limit_milli));
	view_put(&o, "base", view_amount(c->boost.base_milli));
	view_put(&o, "ready_for_usec", COUNT(c->rule.boost.after_usec));
	view_put(&o, "ends_in_usec", AMOUNT(ready, left(c->boost_now.next_at, s->m->wake->now)));
	return view_end(&o);
}

static cJSON *counters_json(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);
	struct view_json o = {.json = cJSON_CreateObject()};

	view_put(&o, "raises", COUNT(c != NULL ? c->resource[r].counters.raises : 0));
	view_put(&o, "lowers", COUNT(c != NULL ? c->resource[r].counters.lowers : 0));
	view_put(&o, "undos", COUNT(c != NULL ? c->resource[r].counters.undos : 0));
	view_put(&o, "drifts", COUNT(shown_drifts(s, r)));
	view_put(&o, "foreign", COUNT(c != NULL ? drift_recent(s->m, r) : 0));
	return view_end(&o);
}

/* What it is sized by. */
static void put_sizes(struct view_json *o, const struct shown *s, enum resource r, bool brief)
{
	const struct control *c = control_of(s);
	const struct control_resource *res = c != NULL ? &c->resource[r] : NULL;
	const struct range_of range = shown_range(s, r);
	/* Its own history is not a whole interval long. */
	bool prior = c != NULL && c->own.confidence_permille[r] < 1000 &&
		     c->prior.of.resource[r].target != 0;

	BRIEF("controlled", cJSON_CreateBool(shown_controlled(s, r)));
	BRIEF("original", AMOUNT(c, res->original));
	BRIEF("limit", AMOUNT(c, res->limit));
	BRIEF("kernel", view_amount(shown_kernel(s, r)));
	FULL("floor", AMOUNT(c, lowest(s->m, r)));
	FULL("ceiling", view_amount(shown_ceiling(s, r)));
	FULL("lower", view_amount(range.lower));
	BRIEF("target", view_amount(range.target));
	FULL("upper", view_amount(range.upper));
	BRIEF("peak", view_amount(range.peak));
	BRIEF("confidence_permille",
	      COUNT(c != NULL ? c->recommendation.confidence_permille[r] : 0));
	FULL("samples", COUNT(c != NULL ? c->history.samples : 0));
	FULL("history_usec", COUNT(c != NULL ? c->history.observed_usec[r] : 0));
	FULL("prior_pods", COUNT(prior ? c->prior.pods : 0));
	FULL("prior_target", AMOUNT(prior, c->prior.of.resource[r].target));
	FULL("past_samples", COUNT(c != NULL ? c->past_samples[r] : 0));
}

/* What it does. */
static void put_use(struct view_json *o, const struct shown *s, enum resource r, bool brief)
{
	const struct control *cpu = r == RESOURCE_CPU ? sampled(s, r) : NULL;
	const struct control *memory = r == RESOURCE_MEMORY ? sampled(s, r) : NULL;
	bool is_container = s->m != NULL && s->m->kind == UNIT_KIND_CONTAINER;
	struct tally day = {0};

	if (is_container)
		day = tally_sum(&s->m->container.day, TALLY_DAY_SLOT_USEC, s->m->wake->now);
	BRIEF("use", view_amount(shown_use(s, r)));
	FULL("use_p50", view_amount(percentile(s, r, 0.5)));
	FULL("use_p90", view_amount(percentile(s, r, 0.9)));
	FULL("use_p95", view_amount(percentile(s, r, 0.95)));
	FULL("use_p99", view_amount(percentile(s, r, 0.99)));
	FULL("use_max", view_amount(percentile(s, r, 1.0)));
	BRIEF("throttled_permille", view_amount(shown_throttled_permille(s, r)));
	BRIEF("psi_some_ppm", view_amount(shown_psi_some(s, r)));
	FULL("psi_full_ppm", cJSON_CreateNull());
	FULL("psi_others_ppm",
	     AMOUNT(cpu != NULL && cpu->sample.have & USAGE_PSI_CPU, cpu->psi_cpu_others_ppm));
	FULL("day_throttled_permille",
	     AMOUNT(cpu != NULL && is_container, tally_throttled_ppm(&day) / 1000));
	FULL("day_oom_kills", AMOUNT(memory != NULL && is_container, day.kills));
	FULL("unreclaimable_bytes", view_amount(shown_unreclaimable(s, r)));
	FULL("working_set_bytes", AMOUNT(memory, mem_working_set(&memory->last)));
	FULL("slope_bytes_per_sec", COUNT(memory != NULL ? (int64_t)memory->mem.slope_bps : 0));
}

/* The newest OOM kill of this run, in words; "": none. */
static void killed_text(const struct shown *s, char ret[static DENIED_TEXT_BYTES])
{
	const struct oom_kill *k = s->m != NULL ? &s->m->control.kill : NULL;
	const char *by = k != NULL ? s->m->reported.killed_by : NULL;
	char ago[HUMAN_SIZE], limit[HUMAN_SIZE], use[HUMAN_SIZE];

	ret[0] = '\0';
	if (k != NULL && k->at != 0)
		snprintf(ret, DENIED_TEXT_BYTES, "%s ago at %s limit of %s, %s in use%s%s",
			 human_span(s->m->wake->now - k->at, ago), k->pod ? "the pod's" : "its",
			 human_amount(RESOURCE_MEMORY, k->limit, limit),
			 human_amount(RESOURCE_MEMORY, k->use, use),
			 by != NULL ? ", for the memory of " : "", by != NULL ? by : "");
}

/* What happens next. */
static void put_plan(struct view_json *o, const struct shown *s, enum resource r, bool brief)
{
	const struct control *c = control_of(s);
	const struct control_resource *res = c != NULL ? &c->resource[r] : NULL;
	enum blocked_reason blocked = c != NULL ? res->blocked : BLOCKED_NO_DATA;
	usec_t now = s->m != NULL ? s->m->wake->now : 0;
	const struct tuning *t = s->m != NULL ? &s->m->config->tuning : NULL;
	usec_t end = c != NULL && r == RESOURCE_CPU ? control_startup_end(c, t, now) : 0;
	char denied[DENIED_TEXT_BYTES], killed[DENIED_TEXT_BYTES];
	bool is_denied =
		s->m != NULL && r == RESOURCE_MEMORY && denied_text(s->m, denied, sizeof denied);

	killed_text(s, killed);
	FULL("killed", view_text(r == RESOURCE_MEMORY && killed[0] != '\0' ? killed : NULL));
	FULL("candidate", AMOUNT(shown_controlled(s, r), res->candidate));
	FULL("next_change_in_usec", AMOUNT(c, left(res->next_at, now)));
	FULL("denied", view_text(is_denied ? denied : NULL));
	FULL("startup_ends_in_usec", view_amount(left(end, now)));
	FULL("startup_ready_usec",
	     AMOUNT(end != 0 && c->startup.probed && c->startup.first_ready == 0,
		    t->startup.ready_usec));
	BRIEF("measure", view_text(r == RESOURCE_CPU ? "millicores" : "bytes"));
	BRIEF("hold", view_text(blocked_reason_name(blocked)));
	BRIEF("last", decision_json(c != NULL ? &res->last : NULL, r));
	FULL("hold_text", view_text(blocked_reason_text(blocked)));
	FULL("bounds", shown_controlled(s, r) ? bounds_json(&res->trace) : cJSON_CreateArray());
	FULL("trial", trial_json(s, r));
	FULL("boost", boost_json(s, r));
	FULL("counters", counters_json(s, r));
}

static cJSON *resource_json(const struct shown *s, enum resource r, bool brief)
{
	struct view_json o = {.json = cJSON_CreateObject()};

	put_sizes(&o, s, r, brief);
	put_use(&o, s, r, brief);
	put_plan(&o, s, r, brief);
	return view_end(&o);
}

/* --- what the pod object adds */

/* 32 of the pod, 32 of its namespace, and the keys of a rule. */
#define ANNOTATIONS_MAX 96

/* All that a pod has from a rule is from the same one. */
static cJSON *annotations_json(const struct pod *p)
{
	const struct config *config = p->pods->config;
	struct annotation_source all[ANNOTATIONS_MAX];
	const struct annotation_input input = pod_annotations(p->pods, p->spec);
	size_t n = annotation_sources(&input, all, ANNOTATIONS_MAX);
	struct view_json array = {.json = cJSON_CreateArray()};
	char source[320];

	for (size_t i = 0; i < n; i++) {
		const struct config_pod_rule *rule = all[i].rule;
		struct view_json o = {.json = cJSON_CreateObject()};

		if (rule != NULL)
			snprintf(source, sizeof source, "pods[%zu], %s:%u",
				 (size_t)(rule - config->pods), rule->file, rule->line);
		else
			snprintf(source, sizeof source, "namespace %s", p->spec->namespace);
		view_put(&o, "key", view_text(all[i].key));
		view_put(&o, "value", view_text(all[i].value));
		view_put(&o, "source",
			 view_text(rule != NULL || all[i].namespace != NULL ? source : NULL));
		view_put(&array, NULL, view_end(&o));
	}
	return view_end(&array);
}

/* "PodResizePending Deferred: ..." */
static cJSON *condition_json(const struct kube_pod *s)
{
	static const char *const pending[] = {
		[RESIZE_DEFERRED] = "PodResizePending Deferred",
		[RESIZE_INFEASIBLE] = "PodResizePending Infeasible",
	};
	static const char *const progress[] = {
		[RESIZE_IN_PROGRESS] = "PodResizeInProgress",
		[RESIZE_ERROR] = "PodResizeInProgress Error",
	};
	const char *word = s->pending != RESIZE_NOT_PENDING ? pending[s->pending]
			   : s->progress != RESIZE_IDLE     ? progress[s->progress]
							    : NULL;
	char text[320];

	if (word == NULL)
		return cJSON_CreateNull();
	snprintf(text, sizeof text, "%s%s%s", word, s->resize_message != NULL ? ": " : "",
		 s->resize_message != NULL ? s->resize_message : "");
	return cJSON_CreateString(text);
}

/* NULL: its pod has no rollout, or it has no laws. */
static const struct container_rule *rollout_rule(const struct shown *s)
{
	const struct managed *m = s->m;
	const struct container_rule *rule;

	if (m == NULL || m->kind != UNIT_KIND_CONTAINER || !m->container.annotated)
		return NULL;
	rule = &m->container.rule;
	return rule->has_rollout && rule->rollout != ROLLOUT_NONE ? rule : NULL;
}

/* What the annotation makes of it. */
static cJSON *rollout_json(const struct shown *s)
{
	const struct container_rule *rule = rollout_rule(s);
	const struct pod_rollout *r;
	char text[160];

	if (rule == NULL)
		return cJSON_CreateNull();
	r = pod_rollout_of(s->m->pod, rule);
	if (rule->rollout == ROLLOUT_STOPPED)
		snprintf(text, sizeof text,
			 "%u %% of its workload's pods, stopped on this node: the "
			 "sized pods were %s",
			 rule->rollout_percent,
			 rollout_hurt_texts[r != NULL ? r->hurt : ROLLOUT_UNHURT]);
	else
		snprintf(text, sizeof text,
			 "%u %% of its workload's pods are sized: this one is %s",
			 rule->rollout_percent,
			 rule->rollout == ROLLOUT_SIZED ? "sized" : "not sized");
	return cJSON_CreateString(text);
}

static const char *request_stays(const struct pod_bounds *b, enum resource r,
				 const struct report_view *report)
{
	bool unknown = b->requests_unknown && !b->guaranteed;
	bool autoscaled = b->requests_stay & (1u << r);
	bool swaps = b->swaps && r == RESOURCE_MEMORY;

	if (b->pod_requests)
		return "the pod has resources of its own, whose requests count";
	if ((autoscaled || swaps || unknown) && report->autoscaler[r] != NULL)
		return report->autoscaler[r];
	if (autoscaled)
		return "an autoscaler depends on it";
	if (swaps)
		return "the kubelet resizes no memory request of a container that may swap";
	return unknown ? "autoscalers or LimitRanges of the namespace are not known yet" : NULL;
}

/* memory, RestartContainer */
static const char *restart_of(const struct managed *m, enum resource r)
{
	const struct kube_container *c = pod_spec_of(m);

	if (c == NULL || !(c->restart_on_resize & (1u << r)))
		return NULL;
	return r == RESOURCE_MEMORY && m->container.rule.allow_restart ? "allowed" : "never";
}

static cJSON *spec_json(const struct shown *s, enum resource r, const struct report_view *report)
{
	static const struct pod_resource_bounds unbounded;
	bool memory = r == RESOURCE_MEMORY;
	const struct managed *m = s->m != NULL && s->m->kind == UNIT_KIND_CONTAINER ? s->m : NULL;
	const struct pod_resource_bounds *b = m != NULL ? &m->control.pod.resource[r] : &unbounded;
	usec_t now = m != NULL ? m->wake->now : 0;
	bool refused = b->refused != 0 && b->refused_until > now;
	uint64_t unratified = m != NULL && memory ? control_unratified(&m->control) : LIMIT_MAX;
	struct view_json o = {.json = cJSON_CreateObject()};

	view_put(&o, "request", view_amount(shown_request(s, r)));
	view_put(&o, "request_stays",
		 view_text(m != NULL ? request_stays(&m->control.pod, r, report) : NULL));
	view_put(&o, "spec_limit", view_amount(shown_spec_limit(s, r)));
	view_put(&o, "ratified", AMOUNT(report->ratified, shown_spec_limit(s, r)));
	view_put(&o, "admin_min", view_amount(set_or_none(b->admin.min)));
	view_put(&o, "admin_max", view_amount(set_or_none(b->admin.max)));
	view_put(&o, "range_min", view_amount(set_or_none(b->namespace.min)));
	view_put(&o, "range_max", view_amount(set_or_none(b->namespace.max)));
	view_put(&o, "ratio_permille", view_amount(set_or_none(b->ratio_permille)));
	view_put(&o, "refused", AMOUNT(refused, b->refused));
	view_put(&o, "refused_for_usec", AMOUNT(refused, b->refused_until - now));
	view_put(&o, "unratified_max", AMOUNT(unratified != LIMIT_MAX, unratified));
	view_put(&o, "restart", view_text(m != NULL ? restart_of(m, r) : NULL));
	view_put(&o, "above_spec", view_amount(set_or_none(shown_above_spec(s, r))));
	view_put(&o, "ahead_usec", AMOUNT(memory, report->ahead_usec));
	return view_end(&o);
}

static cJSON *report_json(const struct report_view *v)
{
	struct view_json o = {.json = cJSON_CreateObject()};

	view_put(&o, "detail", view_text(v->detail));
	view_put(&o, "sent_at", view_time(v->sent_realtime_usec));
	view_put(&o, "state", view_text(report_view_state_names[v->state]));
	return view_end(&o);
}

static const char *const qos_names[QOS_COUNT] = {"Guaranteed", "Burstable", "BestEffort"};

static cJSON *pod_json(const struct shown *s)
{
	const struct kube_container *c = s->c;
	const struct pod *p = s->pod;
	struct report_view report = {.ahead_usec = VIEW_NONE};
	struct view_json o = {.json = cJSON_CreateObject()};
	bool sized = s->m != NULL && s->m->kind == UNIT_KIND_CONTAINER;
	bool heap = c != NULL && (c->heap.bytes > 0 || c->heap.permille > 0);

	if (c != NULL)
		cluster_report_view(p, &report);
	view_put(&o, "uid", view_text(p->spec->uid));
	view_put(&o, "workload", view_text(p->spec->workload));
	view_put(&o, "qos_class", view_text(qos_names[p->spec->qos]));
	view_put(&o, "controlled_values",
		 view_text(sized ? controlled_names[s->m->container.rule.controlled] : NULL));
	view_put(&o, "ready", cJSON_CreateBool(c != NULL ? c->ready : p->spec->ready));
	view_put(&o, "restarts", COUNT(c != NULL ? c->restarts : 0));
	view_put(&o, "condition", condition_json(p->spec));
	view_put(&o, "heap_runtime", view_text(heap ? heap_runtime_names[c->heap.runtime] : NULL));
	view_put(&o, "heap_bytes", AMOUNT(c, set_or_none(c->heap.bytes)));
	view_put(&o, "heap_permille", AMOUNT(c, set_or_none(c->heap.permille)));
	view_put(&o, "annotation_error", view_text(p->error));
	view_put(&o, "rollout", rollout_json(s));
	view_put(&o, "annotations", annotations_json(p));
	view_put(&o, "report", report_json(&report));
	view_put(&o, "cpu", spec_json(s, RESOURCE_CPU, &report));
	view_put(&o, "memory", spec_json(s, RESOURCE_MEMORY, &report));
	return view_end(&o);
}

cJSON *shown_json(const struct shown *s, bool brief)
{
	struct view_json object = {.json = cJSON_CreateObject()}, *o = &object;
	const struct kube_pod *spec = s->pod != NULL ? s->pod->spec : NULL;
	const struct managed *m = s->m;
	char name[RECORD_NAME_MAX] = "";
	const struct state_row *state = &state_rows[shown_reason(s)];

	if (m == NULL && spec != NULL)
		snprintf(name, sizeof name, "%s/%s/%s", spec->namespace, spec->name, s->c->name);
	BRIEF("name", view_text(m != NULL ? m->name : name));
	BRIEF("cgroup", view_text(m != NULL && m->cgroup.cg != NULL ? m->cgroup.path : NULL));
	BRIEF("state_reason", view_text(shown_reason_text(s)));
	/* Of every one, so that a list can be filtered. */
	BRIEF("namespace", view_text(spec != NULL ? spec->namespace : NULL));
	BRIEF("pod", view_text(spec != NULL ? spec->name : NULL));
	BRIEF("container", view_text(s->c != NULL ? s->c->name : NULL));
	BRIEF("kind", view_text(unit_kind_names[m != NULL ? m->kind : UNIT_KIND_CONTAINER]));
	BRIEF("mode", view_text(m != NULL ? managed_mode_name(m) : mode_name(MODE_OFF)));
	BRIEF("state", view_text(unit_state_names[state->state]));
	BRIEF("reason", view_text(state->name));
	FULL("remedy", view_text(state->remedy));
	BRIEF("cpu", resource_json(s, RESOURCE_CPU, brief));
	BRIEF("memory", resource_json(s, RESOURCE_MEMORY, brief));
	FULL("kubernetes", s->pod != NULL ? pod_json(s) : cJSON_CreateNull());
	return view_end(o);
}

/* --- the report: what is not known, or has no limit, has no key */

static void add_text(struct view_json *o, const char *key, const char *text)
{
	if (text != NULL)
		view_put(o, key, cJSON_CreateString(text));
}

static void add_amount(struct view_json *o, const char *key, uint64_t amount)
{
	if (amount != VIEW_NONE && amount != LIMIT_MAX)
		view_put(o, key, COUNT(amount));
}

static cJSON *report_resource(const struct shown *s, enum resource r)
{
	const struct control *c = control_of(s);
	const struct range_of range = shown_range(s, r);
	struct view_json o = {.json = cJSON_CreateObject()};
	uint64_t kernel = shown_kernel(s, r);
	struct range allowed = {0};

	if (s->m != NULL && s->m->kind == UNIT_KIND_CONTAINER)
		allowed = control_request_range(&s->m->control, r);
	add_amount(&o, "request", set_or_none(shown_request(s, r)));
	add_amount(&o, "limit", kernel == VIEW_NONE && s->c != NULL ? s->c->spec.limit[r] : kernel);
	add_amount(&o, "original", c != NULL ? c->resource[r].original : VIEW_NONE);
	add_amount(&o, "use_p50", percentile(s, r, 0.5));
	add_amount(&o, "use_p95", percentile(s, r, 0.95));
	add_amount(&o, "use_max", percentile(s, r, 1.0));
	add_amount(&o, "lower", range.lower);
	add_amount(&o, "target", range.target);
	add_amount(&o, "upper", range.upper);
	add_amount(&o, "peak", range.peak);
	add_amount(&o, "min", set_or_none(allowed.min));
	add_amount(&o, "max", set_or_none(allowed.max));
	return view_end(&o);
}

/* What happened to it in the last day, or since vscaled watches it. */
static void add_recent(struct view_json *o, const struct managed *m)
{
	const struct tally day = tally_sum(&m->container.day, TALLY_DAY_SLOT_USEC, m->wake->now);

	if (day.time_usec == 0)
		return;
	add_amount(o, "counted_usec", day.time_usec);
	add_amount(o, "throttled_permille", tally_throttled_ppm(&day) / 1000);
	add_amount(o, "oom_kills", day.kills);
	add_amount(o, "undos", day.undos);
}

static cJSON *report_container(const struct shown *s)
{
	const struct control *c = control_of(s);
	const struct container_rule *rollout = rollout_rule(s);
	const struct kube_pod *spec = s->pod != NULL ? s->pod->spec : NULL;
	struct view_json o = {.json = cJSON_CreateObject()};

	add_text(&o, "namespace", spec != NULL ? spec->namespace : NULL);
	add_text(&o, "workload", spec != NULL ? spec->workload : s->m->name);
	add_text(&o, "owner", spec != NULL ? spec->owner : "Unit");
	add_text(&o, "pod", spec != NULL ? spec->name : NULL);
	add_text(&o, "container", spec != NULL ? s->c->name : NULL);
	add_text(&o, "qos_class", spec != NULL ? qos_names[spec->qos] : NULL);
	add_text(&o, "mode", s->m != NULL ? managed_mode_name(s->m) : mode_name(MODE_OFF));
	add_amount(&o, "confidence_permille",
		   c != NULL ? recommendation_confidence(&c->recommendation) : 0);
	add_amount(&o, "trust_permille", c != NULL ? control_trust(c, RESOURCE_CPU) : 0);
	if (rollout != NULL) {
		add_text(&o, "rollout", rollout_part_names[rollout->rollout]);
		add_amount(&o, "rollout_percent", rollout->rollout_percent);
	}
	if (s->m != NULL && s->m->kind == UNIT_KIND_CONTAINER)
		add_recent(&o, s->m);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		view_put(&o, resource_names[r], report_resource(s, r));
	return view_end(&o);
}

void report_json_add(void *report, const struct shown *s)
{
	struct report_json *r = report;
	cJSON *o;
	char *text;

	if (s->pod != NULL && (s->c == NULL || s->pod->spec->workload == NULL))
		return;
	/* One at a time: all of a large node would be several MiB. */
	o = report_container(s);
	text = o != NULL ? cJSON_PrintUnformatted(o) : NULL;
	cJSON_Delete(o);
	if (text == NULL) {
		r->failed = true;
		return;
	}
	fprintf(r->file, "%s%s", r->count++ > 0 ? "," : "", text);
	free(text);
}
