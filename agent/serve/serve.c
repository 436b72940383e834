// SPDX-License-Identifier: Apache-2.0
/* The operations of the control API. */
#include "agent/serve/serve.h"
#include "agent/base/process.h"
#include "agent/config/config.h"
#include "agent/control_api/control_api.h"
#include "agent/http/http.h"
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
#include "agent/units/lifecycle.h"
#include "agent/view/decision_text.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A restore that waits for PID 1 holds the loop; the liveness probe must not fail for it. */
#define LIVE_GRACE_USEC (30 * USEC_PER_SEC)

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

static int serve_list(void *ctx, control_unit_fn *each, void *arg)
{
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	/* Pod levels follow their containers: `explain` shows one. */
	for (size_t i = 0; i < s->units->count; i++)
		if (s->units->items[i]->kind != UNIT_KIND_POD)
			serve_view(s->units->items[i], each, arg);
	serve_unmanaged(s->pods, each, arg);
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

/* --- the server --- */

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

static const struct control_ops ops = {
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
	s->api = (struct control_api){.ops = &ops, .ctx = s};
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
