// SPDX-License-Identifier: Apache-2.0
/* What answers: views of pods and units, the operations of the control API, metrics and probes. */
#include "agent/serve/serve.h"
#include "agent/base/footprint.h"
#include "agent/base/process.h"
#include "agent/base/revision.h"
#include "agent/config/config.h"
#include "agent/control_api/control_api.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/metrics/metrics_server.h"
#include "agent/pod/pod_rollout.h"
#include "agent/pod/pod_rule.h"
#include "agent/units/lifecycle.h"
#include "agent/view/decision_text.h"
#include "agent/view/report_json.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* --- pods: what the pod object adds, and containers that are not managed */

/* 32 of the pod, 32 of its namespace, and the keys of a rule. */
#define SERVE_ANNOTATIONS_MAX 96

/* A view and the memory for it. */
struct serve_pod {
	struct pod_view view;
	struct annotation_view annotations[SERVE_ANNOTATIONS_MAX];
	char source[320];
	char namespace[80];
	char condition[320];
	char rollout[160];
};

static uint64_t set_or_none(uint64_t value)
{
	return value != 0 ? value : VIEW_NONE;
}

static const char *request_stays(const struct pod_bounds *b, enum resource r)
{
	if (b->requests_stay & (1u << r))
		return "an autoscaler depends on it";
	if (b->swaps && r == RESOURCE_MEMORY)
		return "the kubelet resizes no memory request of a container that may swap";
	return b->requests_unknown && !b->guaranteed ? "autoscalers or LimitRanges of the "
						       "namespace are not known yet"
						     : NULL;
}

static void view_bounds(struct pod_view *v, const struct managed *m)
{
	usec_t now = m->wake->now;
	const struct kube_container *c = pod_spec_of(m);
	uint32_t restart = c != NULL ? c->restart_on_resize : 0;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct pod_resource_bounds *b = &m->control.pod.resource[r];
		struct pod_resource_view *to = &v->resources[r];

		to->request_range = control_request_range(&m->control, r);
		to->admin_min = set_or_none(b->admin.min);
		to->admin_max = set_or_none(b->admin.max);
		to->range_min = set_or_none(b->namespace.min);
		to->range_max = set_or_none(b->namespace.max);
		to->ratio_permille = set_or_none(b->ratio_permille);
		if (restart & (1u << r))
			to->restart = r == RESOURCE_MEMORY && m->container.rule.allow_restart
					      ? "allowed"
					      : "never";
		if (r == RESOURCE_MEMORY && control_unratified(&m->control) != LIMIT_MAX)
			to->unratified_max = control_unratified(&m->control);
		to->request_stays = request_stays(&m->control.pod, r);
		if (b->refused == 0 || b->refused_until <= now)
			continue;
		to->refused = b->refused;
		to->refused_for_usec = b->refused_until - now;
	}
}

static void view_container(struct pod_view *v, const struct kube_container *c)
{
	v->container = c->name;
	v->ready = c->ready;
	v->restarts = c->restarts;
	v->heap_bytes = set_or_none(c->heap.bytes);
	v->heap_permille = set_or_none(c->heap.permille);
	if (c->heap.bytes > 0 || c->heap.permille > 0)
		v->heap_runtime = heap_runtime_names[c->heap.runtime];
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		v->resources[r].request = c->spec.request[r];
		v->resources[r].spec_limit = c->spec.limit[r];
	}
}

/* "PodResizePending Deferred: ..." */
static const char *condition_of(const struct kube_pod *s, char *ret, size_t size)
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

	if (word == NULL)
		return NULL;
	snprintf(ret, size, "%s%s%s", word, s->resize_message != NULL ? ": " : "",
		 s->resize_message != NULL ? s->resize_message : "");
	return ret;
}

/* All that a pod has from a rule is from the same one. */
static void view_annotations(const struct pod *p, struct serve_pod *ret)
{
	const struct config *config = p->pods->config;
	struct annotation_source all[SERVE_ANNOTATIONS_MAX];
	const struct annotation_input input = pod_annotations(p->pods, p->spec);
	size_t n = annotation_sources(&input, all, SERVE_ANNOTATIONS_MAX);

	ret->view.annotations = ret->annotations;
	ret->view.annotation_count = n;
	snprintf(ret->namespace, sizeof ret->namespace, "namespace %s", p->spec->namespace);
	for (size_t i = 0; i < n; i++) {
		const struct config_pod_rule *rule = all[i].rule;

		ret->annotations[i] = (struct annotation_view){.key = all[i].key,
							       .value = all[i].value,
							       .source = rule != NULL ? ret->source
									 : all[i].namespace != NULL
										 ? ret->namespace
										 : NULL};
		if (rule != NULL)
			snprintf(ret->source, sizeof ret->source, "pods[%zu], %s:%u",
				 (size_t)(rule - config->pods), rule->file, rule->line);
	}
}

static void view_rollout(struct pod_view *v, const struct managed *m, char *text, size_t size)
{
	const struct container_rule *rule = &m->container.rule;
	const struct pod_rollout *r = pod_rollout_of(m->pod, rule);

	if (!rule->has_rollout || rule->rollout == ROLLOUT_NONE || !m->container.annotated)
		return;
	if (rule->rollout == ROLLOUT_STOPPED)
		snprintf(text, size,
			 "%u %% of its workload's pods, stopped on this node: the "
			 "sized pods were %s",
			 rule->rollout_percent,
			 rollout_hurt_texts[r != NULL ? r->hurt : ROLLOUT_UNHURT]);
	else
		snprintf(text, size, "%u %% of its workload's pods are sized: this one is %s",
			 rule->rollout_percent,
			 rule->rollout == ROLLOUT_SIZED ? "sized" : "not sized");
	v->rollout = text;
	v->rollout_part = rollout_part_names[rule->rollout];
	v->rollout_percent = rule->rollout_percent;
}

static void view_recent(struct pod_view *v, const struct managed *m)
{
	const struct tally day = tally_sum(&m->container.day, TALLY_DAY_SLOT_USEC, m->wake->now);

	v->recent = (struct recent_view){
		.counted_usec = day.time_usec,
		.throttled_permille = tally_throttled_ppm(&day) / 1000,
		.oom_kills = day.kills,
		.undos = day.undos,
	};
}

/* c NULL: the pod itself; m NULL: not managed. */
static void serve_pod_view(const struct pod *p, const struct kube_container *c,
			   const struct managed *m, struct serve_pod *ret)
{
	static const char *const qos[QOS_COUNT] = {"Guaranteed", "Burstable", "BestEffort"};
	static const char *const controlled[CONTROLLED_COUNT] = {"LimitsOnly", "RequestsAndLimits",
								 "RequestsOnly"};
	const struct pod_hooks *h = &p->pods->hooks;
	const struct kube_pod *s = p->spec;
	struct pod_view *v = &ret->view;

	pod_view_init(v);
	v->namespace = s->namespace;
	v->pod = s->name;
	v->uid = s->uid;
	v->workload = s->workload;
	v->owner = s->owner;
	v->qos_class = qos[s->qos];
	v->ready = s->ready;
	v->condition = condition_of(s, ret->condition, sizeof ret->condition);
	v->annotation_error = p->error[0] != '\0' ? p->error : NULL;
	view_annotations(p, ret);
	if (c != NULL)
		view_container(v, c);
	if (m != NULL && m->kind == UNIT_KIND_CONTAINER) {
		v->controlled_values = controlled[m->container.rule.controlled];
		view_bounds(v, m);
		view_rollout(v, m, ret->rollout, sizeof ret->rollout);
		view_recent(v, m);
		v->resources[RESOURCE_MEMORY].above_spec = set_or_none(above_spec_bytes(m));
	}
	if (h->view != NULL && c != NULL)
		h->view(h->ctx, s, c->name, v);
}

/* One that is in the spec and not in the table. */
static void show(const struct pod *p, size_t i, control_unit_fn *each, void *arg)
{
	const struct kube_container *c = &p->spec->containers[i];
	struct serve_pod more;
	struct unit_view v;
	char name[RECORD_NAME_MAX];

	snprintf(name, sizeof name, "%s/%s/%s", p->spec->namespace, p->spec->name, c->name);
	unit_view_init(&v);
	serve_pod_view(p, c, NULL, &more);
	v.name = name;
	v.kind = UNIT_KIND_CONTAINER;
	v.pod = &more.view;
	v.state = UNIT_UNMANAGED;
	v.state_reason = p->members[i].why;
	each(arg, &v);
}

/* One of them. False: there is none of this name. */
static bool serve_unmanaged_named(const struct pods *pods, const char *name, control_unit_fn *each,
				  void *arg)
{
	const char *slash = strrchr(name, '/');
	const struct pod *p = NULL;
	char pod[RECORD_NAME_MAX];

	if (slash != NULL && (size_t)(slash - name) < sizeof pod) {
		snprintf(pod, sizeof pod, "%.*s", (int)(slash - name), name);
		p = pods_named(pods, pod);
	}
	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++) {
		if (p->members[i].managed != NULL ||
		    strcmp(p->spec->containers[i].name, slash + 1) != 0)
			continue;
		show(p, i, each, arg);
		return true;
	}
	return false;
}

/* --- units */

static uint64_t left(usec_t until, usec_t now)
{
	if (until == 0)
		return VIEW_NONE;
	return until > now ? until - now : 0;
}

static void view_percentiles(struct resource_view *v, const struct histogram *h, double scale)
{
	const struct {
		uint64_t *field;
		double p;
	} rows[] = {
		{&v->use_p50, 0.5},  {&v->use_p90, 0.9}, {&v->use_p95, 0.95},
		{&v->use_p99, 0.99}, {&v->use_max, 1.0},
	};

	if (histogram_empty(h))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		*rows[i].field =
			(uint64_t)(histogram_percentile_interpolated(h, rows[i].p, 0) * scale);
}

static void view_recommendation(struct resource_view *v, const struct managed *m, enum resource r)
{
	const struct control *c = &m->control;
	const uint64_t node[RESOURCE_COUNT] = {m->host->cpu_milli, m->table->memory->read.total};
	struct recommendation shown = c->recommendation;
	const struct range_of *range = &shown.resource[r];

	control_bound_upper(c, node, &shown);

	v->confidence_permille = c->recommendation.confidence_permille[r];
	v->trust_permille = control_trust(c, r);
	v->samples = c->history.samples;
	v->history_usec = c->history.observed_usec[r];
	v->past_samples = c->past_samples[r];
	/* Its own history is not a whole interval long. */
	if (c->own.confidence_permille[r] < 1000 && c->prior.of.resource[r].target != 0) {
		v->prior_pods = c->prior.pods;
		v->prior_target = c->prior.of.resource[r].target;
	}
	if (range->target == 0)
		return;
	v->lower = range->lower;
	v->target = range->target;
	v->upper = range->upper;
	v->peak = range->peak;
}

static void view_decision(struct resource_view *v, const struct decision *last, enum resource r,
			  char detail[static DECISION_TEXT_BYTES])
{
	if (last->at_real == 0)
		return;
	decision_text(last, r, detail);
	v->last = (struct decision_view){
		.at_realtime_usec = last->at_real,
		.from = last->from,
		.to = last->to,
		.reason = last->reason,
		.detail = detail,
	};
}

static void view_boost(struct boost_view *v, const struct control *c, usec_t now)
{
	const struct boost_decision *d = &c->boost_now;
	bool ready = c->life.ready_since != 0 || c->boost.phase == BOOST_ENDING;

	if (c->boost.phase != BOOST_ACTIVE && c->boost.phase != BOOST_ENDING)
		return;
	*v = (struct boost_view){
		.lent = c->boost.written,
		.limit = d->limit_milli,
		.base = c->boost.base_milli,
		.ready_for_usec = c->rule.boost.after_usec,
		.ends_in_usec = ready ? left(d->next_at, now) : VIEW_NONE,
	};
}

static void view_startup(struct resource_view *v, const struct managed *m)
{
	const struct startup *s = &m->control.startup;
	usec_t end = control_startup_end(&m->control, &m->config->tuning, m->wake->now);

	if (end == 0)
		return;
	v->startup_ends_in_usec = left(end, m->wake->now);
	v->startup_ready_usec =
		s->probed && s->first_ready == 0 ? m->config->tuning.startup.ready_usec : VIEW_NONE;
}

static void view_cpu(struct resource_view *v, const struct managed *m)
{
	const struct control *c = &m->control;

	view_percentiles(v, &c->history.cpu, 1000.0);
	view_boost(&v->boost, c, m->wake->now);
	view_startup(v, m);
	v->kernel = cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec);
	v->floor = floor_value(&c->cpu.floor, m->config->tuning.cpu.floor_half_life_usec,
			       m->wake->now_real);
	if (c->last_at == 0)
		return;
	v->use = c->rates.used_milli;
	if (c->sample.have & USAGE_THROTTLE)
		v->throttled_permille = c->rates.throttle_ppm / 1000;
	if (c->sample.have & USAGE_PSI_CPU) {
		v->psi_some_ppm = c->psi_cpu_ppm;
		v->psi_others_ppm = c->psi_cpu_others_ppm;
	}
	if (c->cpu.trial.active)
		v->trial = (struct trial_view){
			.phase = "verdict",
			.candidate = c->cpu.trial.to_milli,
			.ends_in_usec = left(c->cpu.trial.since + m->config->tuning.cpu.recent_usec,
					     m->wake->now),
		};
}

static void view_memory(struct resource_view *v, const struct managed *m)
{
	static const char *const phases[MEM_PHASE_COUNT] = {
		[MEM_RECLAIM] = "reclaim", [MEM_HIGH] = "memory.high", [MEM_MAX] = "memory.max"};
	const struct control *c = &m->control;
	const struct tuning *t = &m->config->tuning;
	usec_t span =
		c->mem.trial.phase == MEM_HIGH ? t->memory.high_watch_usec : t->memory.verdict_usec;

	view_percentiles(v, &c->history.memory, 1.0);
	v->kernel = c->kernel.mem_max;
	v->floor = MAX(c->rule.mem_bytes.min,
		       floor_value(&c->mem.floor, t->cpu.floor_half_life_usec, m->wake->now_real));
	if (!(c->last.have & USAGE_MEM_STAT))
		return;
	v->use = c->last.mem_current;
	if (c->sample.have & USAGE_PSI_MEM)
		v->psi_some_ppm = c->mem.psi_ppm;
	v->unreclaimable_bytes = mem_unreclaimable(&c->last.stat);
	v->working_set_bytes = mem_working_set(&c->last);
	v->slope_bytes_per_sec = (int64_t)c->mem.slope_bps;
	if (c->mem.trial.phase != MEM_IDLE)
		v->trial = (struct trial_view){
			.phase = phases[c->mem.trial.phase],
			.candidate = c->mem.trial.to,
			.ends_in_usec = left(c->mem.trial.since + span, m->wake->now),
		};
}

static void view_resource(struct resource_view *v, const struct managed *m, enum resource r,
			  char *detail)
{
	const struct control *c = &m->control;
	const struct control_resource *res = &c->resource[r];

	v->controlled = res->managed;
	v->original = res->original;
	v->limit = res->limit;
	v->ceiling = res->managed ? control_ceiling(c, &m->config->tuning, r, m->host->cpu_milli)
				  : VIEW_NONE;
	v->blocked = res->blocked;
	v->next_change_in_usec = left(res->next_at, m->wake->now);
	v->counters = (struct counter_view){
		.raises = res->counters.raises,
		.lowers = res->counters.lowers,
		.undos = res->counters.undos,
		.drifts = m->drift.replaced[r],
		.foreign = drift_recent(m, r),
		.oom_kills = res->counters.oom_kills,
	};
	if (m->cgroup.cg == NULL)
		v->kernel = VIEW_NONE;
	if (res->managed) {
		v->candidate = res->candidate;
		v->bounds = res->trace;
	}
	view_recommendation(v, m, r);
	view_decision(v, &res->last, r, detail);
	if (r == RESOURCE_CPU)
		view_cpu(v, m);
	else
		view_memory(v, m);
}

static void show_state(struct unit_view *v, const struct managed *m)
{
	v->state = m->state;
	v->state_reason = m->state_reason;
	if (m->state == UNIT_RESTORED || m->state == UNIT_UNMANAGED)
		return;
	if (m->paused) {
		v->state = UNIT_PAUSED;
		v->state_reason = "by vscalectl pause";
	} else if (m->cgroup.cg != NULL && !m->originals.saved &&
		   m->control.rule.mode != MODE_OFF) {
		v->state = UNIT_UNMANAGED;
		v->state_reason = "its original values are not on disk yet";
	} else if (m->pod != NULL && m->pod->error[0] != '\0' && m->container.annotated) {
		v->state = UNIT_FROZEN;
		v->state_reason = m->pod->error;
	}
}

void serve_view(const struct managed *m, control_unit_fn *each, void *arg)
{
	char detail[RESOURCE_COUNT][DECISION_TEXT_BYTES], denied[DENIED_TEXT_BYTES];
	struct serve_pod pod;
	struct unit_view v;

	unit_view_init(&v);
	v.name = m->name;
	v.kind = m->kind;
	if (m->pod != NULL) {
		serve_pod_view(m->pod, pod_spec_of(m), m, &pod);
		v.pod = &pod.view;
	}
	v.cgroup = m->cgroup.path;
	v.mode = managed_mode(m);
	v.mode_text = managed_mode_name(m);
	show_state(&v, m);
	if (m->control.started_at != 0)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			view_resource(&v.resources[r], m, r, detail[r]);
	if (denied_text(m, denied, sizeof denied))
		v.resources[RESOURCE_MEMORY].denied = denied;
	each(arg, &v);
}

/* --- the operations of the control API */

/* A restore that waits for PID 1 holds the loop; the liveness probe must not fail for it. */
#define LIVE_GRACE_USEC (30 * USEC_PER_SEC)

static int serve_list(void *ctx, control_unit_fn *each, void *arg)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	/* Pod levels follow their containers: `explain` shows one. */
	for (size_t i = 0; i < s->units->count; i++)
		if (s->units->items[i]->kind != UNIT_KIND_POD)
			serve_view(s->units->items[i], each, arg);
	/* The containers that are not managed, with the reason. */
	for (size_t k = 0; k < s->pods->count; k++)
		for (size_t i = 0; i < s->pods->items[k]->spec->container_count; i++)
			if (s->pods->items[k]->members[i].managed == NULL)
				show(s->pods->items[k], i, each, arg);
	return 0;
}

static int serve_explain(void *ctx, const char *name, control_unit_fn *each, void *arg)
{
	const struct serve *s = ctx;
	const struct managed *m = managed_find(s->units, name);

	daemon_wake(s->wake);
	if (m == NULL)
		return serve_unmanaged_named(s->pods, name, each, arg) ? 0 : -ENOENT;
	serve_view(m, each, arg);
	return 0;
}

static uint32_t managed_count(const struct unit_table *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->items[i]->cgroup.cg != NULL && t->items[i]->state == UNIT_MANAGED &&
		     t->items[i]->kind != UNIT_KIND_POD;
	return n;
}

void serve_status(void *ctx, struct status_view *ret)
{
	const struct serve *s = ctx;
	const struct counters_span *lag = &s->units->tally->loop_lag;
	struct process_facts process;

	process_read(&process);
	daemon_wake(s->wake);
	*ret = (struct status_view){
		.version = VSCALED_VERSION,
		.pid = (uint32_t)getpid(),
		.uptime_usec = s->wake->now - s->wake->started_at,
		.operation = "standalone",
		.managed_count = managed_count(s->units),
		.paused = s->units->paused,
		.unsupported = s->host->unsupported,
		.config_path = s->source->path,
		.config_result = s->source->result,
		.config_loaded_realtime_usec = s->source->loaded_real,
		.state_directory = s->config->paths.state_dir,
		.state_result =
			s->units->records->result[0] ? s->units->records->result : "not saved yet",
		.state_saved_realtime_usec = s->units->records->saved_real,
		.bus_connected = s->units->pid1->connected,
		.cgroup_mount = s->host->cg.mount,
		.controllers = s->host->controllers,
		.psi = s->host->cg.psi,
		.kernel = s->host->cg.kernel,
		.kernel_old = s->host->cg.kernel_old,
		.wakeups = s->wake->count,
		.loop_lag_max_usec = lag->max_usec,
		.loop_lag_mean_usec = lag->count > 0 ? lag->sum_usec / lag->count : 0,
		.scan_usec = s->units->tally->scan[SCAN_SAMPLE].last_usec,
		.look_usec = s->units->tally->scan[SCAN_REFLEX].last_usec,
		.writes = s->units->tally->apply[BACKEND_CGROUP].count,
		.write_failures = s->units->tally->apply_failed[BACKEND_CGROUP],
		.reader = reader_name(s->units->reader),
		.reader_detail = s->units->reader->detail,
		.rss_bytes = process.resident_bytes,
		.cpu_usec = process.cpu_usec,
	};
	if (s->pods->hooks.status != NULL)
		s->pods->hooks.status(s->pods->hooks.ctx, ret);
}

static int serve_pause(void *ctx, const char *name)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	return lifecycle_pause(s->units, name);
}

static int serve_resume(void *ctx, const char *name)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	return lifecycle_resume(s->units, name);
}

static int serve_restore(void *ctx, const char *name, bool force, control_result_fn *each,
			 void *arg)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	return lifecycle_restore(s->hand_back, name, force, each, arg);
}

static cJSON *serve_config(void *ctx)
{
	const struct serve *s = ctx;

	return config_dump_json(s->config);
}

static bool serve_live(void *ctx, const char **ret_why)
{
	const struct serve *s = ctx;
	usec_t interval = MIN(s->config->clocks.reflex_usec, s->config->clocks.sample_usec);
	bool turns;

	daemon_wake(s->wake);
	turns = s->wake->now - s->wake->ticked_at <= 3 * interval + LIVE_GRACE_USEC;
	*ret_why = turns ? NULL : "the event loop does not run";
	return turns;
}

static bool serve_ready(void *ctx, const char **ret_why)
{
	const struct serve *s = ctx;

	*ret_why = s->units->pid1->connected || s->units->pid1->absent ? NULL
								       : "systemd does not answer";
	return *ret_why == NULL;
}

static const struct control_ops control_ops = {
	.status = serve_status,
	.list = serve_list,
	.explain = serve_explain,
	.pause = serve_pause,
	.resume = serve_resume,
	.restore = serve_restore,
	.config = serve_config,
	.recommend = serve_recommend,
	.live = serve_live,
	.ready = serve_ready,
};

static gid_t socket_group(const struct config *config)
{
	const struct group *g =
		config->paths.socket_group ? getgrnam(config->paths.socket_group) : NULL;

	return g != NULL ? g->gr_gid : (gid_t)-1;
}

int serve_start(struct serve *s)
{
	http_server_free(STEAL(s->server));
	s->api = (struct control_api){.ops = &control_ops, .ctx = s};
	return control_server_new(s->wake->event, &s->api, s->config->paths.socket,
				  socket_group(s->config), &s->server);
}

void serve_stop(struct serve *s)
{
	http_server_free(STEAL(s->server));
	metrics_server_free(STEAL(s->metrics));
}

bool serve_reachable(const struct serve *s)
{
	return s->server != NULL && http_server_reachable(s->server);
}

/* --- the input of /metrics and of the probes */

/* From this number of units on, the page of a scrape is large. */
#define MANY_UNITS 250

static void collect_things(struct unit_table *t, struct metrics_input *in)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct managed *m = t->items[i];
		size_t before = in->thing_count;
		struct metrics_thing *thing;

		serve_view(m, metrics_input_view, in);
		if (in->thing_count == before)
			continue;
		thing = &in->things[in->thing_count - 1];
		thing->oom_kills = m->control.resource[RESOURCE_MEMORY].counters.oom_kills;
		if (m->pod != NULL) {
			thing->above_spec_bytes = above_spec_bytes(m);
		} else {
			thing->resource[RESOURCE_CPU].spec = props_milli(&m->properties.stored);
			thing->resource[RESOURCE_MEMORY].spec = m->properties.stored.mem_max;
		}
	}
}

static void count_pods(const struct pods *pods, struct metrics_input *in)
{
	static const char *const words[UNFOUND_COUNT] = {
		[UNFOUND_POD] = "pod-cgroup",
		[UNFOUND_DRIVER] = "cgroup-driver",
		[UNFOUND_SANDBOX] = "sandbox",
		[UNFOUND_PROCESS] = "sandbox-processes",
	};

	for (size_t i = 0; i < UNFOUND_COUNT; i++)
		in->left_alone[i].reason = words[i];
	in->pods = pods->count;
	for (size_t i = 0; i < pods->count; i++) {
		in->left_alone[pod_unfound(pods->items[i])].pods++;
		in->pods_invalid += pods->items[i]->error[0] != '\0';
	}
	for (size_t i = 0; i < pods->rollout_count; i++)
		in->rollouts_stopped += pods->rollouts[i].hurt != ROLLOUT_UNHURT;
}

static int on_collect(void *ctx, struct metrics_input *in)
{
	struct serve *s = ctx;

	/* The page adds to the resident size: first unmap what other work has left. */
	if (s->units->count >= MANY_UNITS)
		footprint_trim();
	metrics_input_reserve(in, s->units->count);
	serve_status(s, &in->status);
	in->config_ok = strcmp(in->status.config_result, "ok") == 0;
	collect_things(s->units, in);
	in->revision = vscaled_revision;
	in->counters = s->units->tally;
	in->last_tick_real = s->wake->ticked_at + (usec_t)s->wake->offset_usec;
	in->state_ok = s->units->records->save_error == 0;
	if (s->units->memory->read.total != 0 && s->config->tuning.node.count) {
		in->node_reserve_bytes = s->units->memory->supply.reserve;
		in->node_eviction_bound = ledger_evicts(&s->units->memory->supply);
		if (node_memory_kubelet(s->units->memory) != LIMIT_MAX)
			in->node_kubelet_available_bytes = node_memory_kubelet(s->units->memory);
		in->node_granted_bytes = s->units->memory->ledger.outstanding;
	}
	in->systemd_connected = s->units->pid1->connected;
	in->systemd_absent = s->units->pid1->absent;
	in->reader_bpf = s->units->reader->scan != NULL;
	in->node_wrong = s->host->name_wrong;
	count_pods(s->pods, in);
	return 0;
}

static int on_report(void *ctx, char **ret)
{
	const struct serve *s = ctx;
	struct report_json report;
	struct status_view status;
	int r;

	serve_status(ctx, &status);
	r = report_json_begin(&report, status.cluster.node);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->units->count; i++)
		serve_view(s->units->items[i], report_json_add, &report);
	return report_json_end(&report, ret);
}

/* Root needs no capability to write limit files; a read-only mount matters. */
static bool cgroup_writable(const struct host *host)
{
	struct statvfs fs;

	return fstatvfs(host->root, &fs) == 0 && !(fs.f_flag & ST_RDONLY);
}

static void on_probe(void *ctx, struct probe_input *in)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	*in = (struct probe_input){
		.now = s->wake->now,
		.last_tick = s->wake->ticked_at,
		.started = s->wake->started_at,
		.interval_usec = MIN(s->config->clocks.reflex_usec, s->config->clocks.sample_usec),
		.grace_usec = s->units->pid1->connected ? LIVE_GRACE_USEC : 0,
		.kubernetes = config_cluster_wanted(&s->config->kubernetes) &&
			      s->host->unsupported == NULL,
		.pods_listed = s->pods->synced,
		.node_wrong = s->host->name_wrong,
		.pods_lost = pods_lost(s->pods),
		.standalone = s->config->unit_count > 0 && s->host->unsupported == NULL,
		.units_listed = s->units->pid1->listed,
		.systemd_lost = !s->units->pid1->connected && !s->units->pid1->absent &&
				s->host->unsupported == NULL,
		.cgroup_writable = s->host->unsupported == NULL && cgroup_writable(s->host),
		.dry_run = s->host->unsupported != NULL ||
			   s->config->kubernetes.highest_mode == MODE_OFF,
		.kernel_old = s->host->cg.kernel_old,
		.config_valid = strcmp(s->source->result, "ok") == 0,
	};
}

static const struct metrics_ops metrics_ops = {
	.collect = on_collect, .probe = on_probe, .report = on_report};

int serve_metrics_start(struct serve *s)
{
	struct listen_address at;
	int r;

	if (s->config->http.listen == NULL)
		return 0;
	r = listen_parse(s->config->http.listen, &at);
	if (r == 0)
		r = metrics_server_new(s->wake->event, &at, &metrics_ops, s, &s->metrics);
	if (r < 0)
		message_unsupported("metrics cannot be served", s->config->http.listen, r);
	return r;
}
