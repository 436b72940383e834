// SPDX-License-Identifier: Apache-2.0
/* The cluster as a part of the loop: start, stop, the clock, the callbacks of the watch, and what
 * is shown of it. */
#include "agent/pod/cluster.h"
#include "agent/base/process.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/metrics/counters.h"
#include "agent/pod/pods.h"
#include "agent/view/view.h"
#include "policy/base/base.h"
#include "policy/types/reason.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define USER_AGENT   "vscaled/" VSCALED_VERSION " (linux)"
#define MANY_RECORDS 256

static_assert((int)KUBE_SKIP_COUNT == COUNTERS_SKIPS, "counters.h");

/* --- the watch --- */

static void on_put(void *ctx, struct kube_pod *pod)
{
	struct cluster *c = ctx;

	cluster_node_note(c, pod);
	cluster_room_put(c, pod);
	pods_put(c->pods, pod);
	cluster_ranges_first(c);
}

static void on_gone(void *ctx, const char *uid)
{
	struct cluster *c = ctx;

	cluster_room_gone(c, uid);
	pods_gone(c->pods, uid);
	recorder_forget(c->recorder, uid);
}

static void on_list_begin(void *ctx)
{
	struct cluster *c = ctx;

	c->list_bad = false;
	c->here = false;
	pods_list_begin(c->pods);
}

static void on_list_end(void *ctx)
{
	struct cluster *c = ctx;

	cluster_room_list_end(c);
	pods_list_end(c->pods, !c->list_bad);
}

static void on_trouble(void *ctx, int error, unsigned status, const char *text)
{
	struct cluster *c = ctx;

	(void)status; /* it is in the text */
	daemon_wake(c->wake);
	c->pods->live = false;
	snprintf(c->watch_trouble, sizeof c->watch_trouble, "%s", text);
	event_tell(EVENT_API_LOST, .detail = c->watch_trouble, .error = error);
	c->bounds_due = true;
	cluster_bounds_tick(c, false);
}

static void on_healthy(void *ctx)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	c->pods->live = true;
	if (c->watch_trouble[0] != '\0')
		event_tell(EVENT_API_BACK, .count = c->pods->count);
	c->watch_trouble[0] = '\0';
	reporter_alive(c->reporter, c->wake->now);
	cluster_ranges_first(c);
	c->bounds_due = true;
	cluster_bounds_tick(c, false);
}

static void on_skipped(void *ctx, const struct kube_skipped *s)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	c->units->tally->objects_skipped[s->why]++;
	if (s->uid[0] == '\0') {
		c->list_bad = true;
	} else {
		cluster_room_skipped(c, s->uid);
		pods_seen(c->pods, s->uid);
	}
	if (s->first_time)
		event_tell(EVENT_API_OBJECT_BAD, .detail = s->text);
}

/* Are there records that vscaled would drop after an outdated list? */
static bool has_records(const struct records *records)
{
	for (size_t i = 0; i < records->baselines.count; i++)
		if (baseline_pod(&records->baselines.items[i]) != NULL)
			return true;
	return false;
}

static int watch_start(struct cluster *c, uint64_t seed)
{
	const struct kube_watch_options options = {
		.node = c->node,
		.start_jitter_usec = c->config->kubernetes.start_jitter_usec,
		.now = c->wake->now,
		.seed = seed,
		.newest = has_records(c->pods->records),
	};
	const struct kube_watch_events events = {
		.ctx = c,
		.put = on_put,
		.gone = on_gone,
		.list_begin = on_list_begin,
		.list_end = on_list_end,
		.trouble = on_trouble,
		.healthy = on_healthy,
		.skipped = on_skipped,
	};

	return kube_watch_new(c->wake->event, c->client, &options, &events, &c->watch);
}

/* --- start --- */

static int account_load(const struct config_kubernetes *k, struct kube_config *ret,
			struct kube_config_error *err)
{
	if (k->kubeconfig != NULL)
		return kube_config_load(k->kubeconfig, k->context, ret, err);
	return kube_config_in_cluster(getenv("KUBERNETES_SERVICE_HOST"),
				      getenv("KUBERNETES_SERVICE_PORT"), KUBE_ACCOUNT_DIR, ret,
				      err);
}

static int client_start(void *ctx, const struct kube_request *request, kube_done_fn *done,
			void *arg, struct kube_call **ret)
{
	return kube_client_start(ctx, request, NULL, done, arg, ret);
}

static void client_cancel(void *, struct kube_call *call)
{
	kube_call_cancel(call);
}

static void on_request_end(void *ctx, const char *verb, unsigned status)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	counters_request(c->units->tally, verb, status);
	c->bounds_due = true;
}

static int parts_start(struct cluster *c, const struct kube_config *account)
{
	uint64_t seed;
	int r;

	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed = c->wake->now ^ (uint64_t)getpid();
	c->random = seed;
	c->node = config_node_name(&c->config->kubernetes);
	if (c->node == NULL)
		return -ENOMEM;
	r = kube_client_new(c->wake->event, account, USER_AGENT, &c->client);
	if (r < 0)
		return r;
	kube_client_on_end(c->client, on_request_end, cluster_outcomes, c);
	c->port = (struct kube_port){c->client, client_start, client_cancel, &c->wake->now};
	cluster_lists_start(c);
	cluster_prometheus_start(c);
	r = cluster_report_start(c);
	if (r < 0)
		return r;
	return watch_start(c, seed);
}

int cluster_start(struct pods *pods, struct cluster **ret)
{
	struct cluster *c;
	const struct config_kubernetes *k = &pods->config->kubernetes;
	struct kube_config account = {0};
	struct kube_config_error err;
	int r;

	if (!config_cluster_wanted(&pods->config->kubernetes))
		return 0;
	r = account_load(k, &account, &err);
	if (r < 0) {
		message_unsupported("the API server cannot be used", err.text, r);
		return r;
	}
	if (account.insecure)
		event_tell(EVENT_API_INSECURE, .file = k->kubeconfig);
	c = calloc(1, sizeof *c);
	if (c == NULL) {
		kube_config_free(&account);
		return -ENOMEM;
	}
	c->pods = pods;
	c->units = pods->units;
	c->wake = pods->wake;
	c->config = pods->config;
	pods->units->memory->kubelet = true;
	pods->namespaces_awaited |= k->namespace_annotations;
	r = parts_start(c, &account);
	kube_config_free(&account);
	if (r < 0) {
		message_unsupported("the API server's client cannot be started", NULL, r);
		cluster_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void cluster_free(struct cluster *c)
{
	if (c == NULL)
		return;
	c->pods->cluster = NULL;
	c->pods->hooks = (struct pod_hooks){0};
	kube_watch_free(c->watch);
	cluster_lists_free(c);
	cluster_prometheus_free(c);
	cluster_recreate_free(c);
	c->pods->reporter = NULL;
	PODS_FOREACH (p, c->pods)
		p->report = NULL; /* of the reporter, which frees it */
	reporter_free(c->reporter);
	recorder_free(c->recorder);
	kube_client_free(c->client);
	free(c->node);
	free(c);
}

/* --- connections are kept open for resizes: the handshake of a new one runs in the loop and holds
 * up the raises of a growing container --- */

/* kube-apiserver closes a connection that had no request for 90 s. */
#define EVERY_USEC (75 * USEC_PER_SEC)
/* Where a proxy closes it earlier it is opened again after this time, doubled with each failure up
 * to EVERY_USEC: a thousand agents must not open connections to an overloaded server. */
#define AGAIN_USEC   (10 * USEC_PER_SEC)
#define TIMEOUT_USEC (10 * USEC_PER_SEC)
/* More pods than one may grow at the same time. */
#define CONNECTIONS_MAX 2

static bool may_lead(const struct pod *p)
{
	if (p->why != STATE_SIZING || p->leaving || p->ending)
		return false;
	POD_FOREACH (m, p)
		if (m->container.annotated && managed_state(m) == UNIT_MANAGED &&
		    m->control.rule.mode != MODE_OFF &&
		    m->control.resource[RESOURCE_MEMORY].managed)
			return true;
	return false;
}

/* The pods whose memory limits may have to be sent at once, up to CONNECTIONS_MAX. */
static size_t needed(const struct cluster *c)
{
	size_t n = 0;

	if (c->units->paused || !reporter_offered(c->reporter))
		return 0;
	for (size_t i = 0; i < c->pods->count && n < CONNECTIONS_MAX; i++)
		n += may_lead(c->pods->items[i]);
	return n;
}

static void on_warmed(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;

	if (a->error != 0 || a->status / 100 != 2)
		c->warm_failed = true;
}

static usec_t next_wait(const struct cluster *c, bool closed)
{
	usec_t wait = MAX(c->warm_wait, AGAIN_USEC);
	bool soon = c->wake->now - c->warmed_at < wait + AGAIN_USEC / 2;

	return c->warm_failed || (closed && soon) ? MIN(2 * wait, EVERY_USEC) : AGAIN_USEC;
}

static void keep_warm(struct cluster *c)
{
	/* From the server's memory, and without a right of the agent's. */
	const struct kube_request request = {
		.method = "GET", .path = "/version", .timeout_usec = TIMEOUT_USEC};
	usec_t now = c->wake->now, since = now - c->warmed_at;
	bool first = c->warmed_at == 0, closed;
	size_t count;

	if (!kube_watch_state(c->watch)->healthy ||
	    (!first && since < MAX(c->warm_wait, AGAIN_USEC)) || kube_client_requests(c->client))
		return;
	count = needed(c);
	closed = kube_client_idle(c->client) < count;
	if (count == 0 || (!first && since < EVERY_USEC && !closed && !c->warm_failed))
		return;
	c->warm_wait = first ? 0 : next_wait(c, closed);
	c->warm_failed = false;
	c->warmed_at = now;
	/* At the same time, each takes a connection of its own. */
	for (size_t i = 0; i < count; i++)
		if (c->port.start(c->port.ctx, &request, on_warmed, c, NULL) < 0)
			return;
}

/* --- the clock --- */

/* Could the spec have to be raised before the next review? The report decides
 * (policy/report/report.h); this skips those that are far from it. */
static bool is_near(const struct managed *m, uint64_t spec)
{
	const struct report_tuning *t = &m->config->kubernetes.report;
	const struct control *c = &m->control;
	uint64_t use = mem_use(&c->last), room;

	if (spec == LIMIT_MAX || !c->resource[RESOURCE_MEMORY].managed ||
	    (c->mem.slope_bps == 0 && c->kernel.mem_max <= spec))
		return false;
	room = MAX(scale_permille(use, t->margin_permille), t->margin_min_bytes);
	return spec <
	       add_sat(use, MAX(room, mul_div(c->mem.slope_bps, t->ahead_usec / 2, USEC_PER_SEC)));
}

static bool outgrows_spec(const struct pod *p)
{
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL &&
		    is_near(p->members[i].managed,
			    p->spec->containers[i].spec.limit[RESOURCE_MEMORY]))
			return true;
	return false;
}

/* Growth cannot wait for the review: the kubelet acts within seconds, and with the memory limits of
 * the spec. True: a pod may outgrow its spec. */
static bool watch_growth(struct cluster *c)
{
	bool any = false;

	PODS_FOREACH (p, c->pods) {
		if (p->why != STATE_SIZING || p->leaving || !outgrows_spec(p))
			continue;
		reporter_changed(pod_reported(p));
		any = true;
	}
	return any;
}

/* Saves what is sent before its first byte goes out, which is after this wake-up: else vscaled
 * would take its own value for the owner's after a crash. */
static void step(struct cluster *c)
{
	struct records *records = c->pods->records;

	while (reporter_step(c->reporter, c->wake->now, c->wake->now_real))
		cluster_outcomes(c);
	cluster_bounds_tick(c, false);
	/* The text takes 1.6 KB per record for a moment: unmap what a handshake has left. */
	if (persist_is_dirty(records) && records->baselines.count >= MANY_RECORDS)
		footprint_trim();
	persist_baselines(records);
}

static void step_if_due(struct cluster *c)
{
	usec_t now = c->wake->now, due = reporter_due(c->reporter, now);

	if (due != 0 && due <= now)
		step(c);
}

void cluster_check(struct cluster *c)
{
	if (watch_growth(c))
		step_if_due(c);
}

void cluster_tick(struct cluster *c, bool review)
{
	const struct kube_client_counters *n = kube_client_counters(c->client);

	runtime_check(c->units, review);
	above_spec_check(c->units);
	watch_growth(c);
	cluster_room_tick(c);
	keep_warm(c);
	cluster_lists_tick(c, review);
	cluster_prometheus_tick(c);
	cluster_bounds_tick(c, review);
	c->units->tally->watch_restarts = kube_watch_state(c->watch)->restarts;
	if (!review) {
		step_if_due(c);
		return;
	}
	/* Holds end and memory grows without an event. */
	PODS_FOREACH (p, c->pods)
		reporter_changed(pod_reported(p));
	cluster_node_check(c);
	cluster_recreate_tick(c);
	if (pods_want_list(c->pods))
		kube_watch_relist(c->watch);
	/* A connection leaves megabytes of the TLS library mapped that the next ticks have no use
	 * for. */
	if (n->requests != c->requests_trimmed)
		footprint_trim();
	c->requests_trimmed = n->requests;
	step(c);
}

/* --- what status and explain show of the cluster --- */

static const enum report_view_state states[REPORT_BLOCK_COUNT] = {
	[REPORT_BLOCK_NONE] = REPORT_VIEW_NONE,
	[REPORT_BLOCK_OFFERED] = REPORT_VIEW_CGROUP_ONLY,
	[REPORT_BLOCK_INACTIVE] = REPORT_VIEW_NONE,
	[REPORT_BLOCK_SENT] = REPORT_VIEW_SENT,
	[REPORT_BLOCK_WAIT] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_ECHO] = REPORT_VIEW_SENT,
	[REPORT_BLOCK_CONDITION] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_REFUSED] = REPORT_VIEW_REFUSED,
	[REPORT_BLOCK_UNSAFE] = REPORT_VIEW_CGROUP_ONLY,
	[REPORT_BLOCK_MEMORY] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_LEASE] = REPORT_VIEW_LEASE,
	[REPORT_BLOCK_SMALL] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_INTERVAL] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_CONTESTED] = REPORT_VIEW_REFUSED,
	[REPORT_BLOCK_ROOM] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_NODE] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_DECREASE] = REPORT_VIEW_CGROUP_ONLY,
	[REPORT_BLOCK_WINDOW] = REPORT_VIEW_WAITING,
};

void cluster_report_view(const struct pod *p, struct report_view *ret)
{
	const struct cluster *c = p->pods->cluster;
	const struct kube_pod *pod = p->spec;
	const char *refusal;
	usec_t sent, ahead;

	if (c == NULL)
		return;
	sent = reporter_state(p->report)->sent_at;
	refusal = reporter_refusal(p->report);
	ahead = reporter_ahead(c->reporter, pod, !cluster_node_decreases(c), c->wake->now);
	ret->state = states[reporter_block(p->report)];
	if (ret->state != REPORT_VIEW_NONE)
		ret->detail = cluster_resizes(c, pod)
				      ? report_block_name(reporter_block(p->report))
				      : "no pod with spec.resources can be resized before 1.36";
	/* The spec may have all that it can have: shows the refusal that bounds it. */
	if (refusal != NULL &&
	    (ret->state == REPORT_VIEW_NONE || ret->state == REPORT_VIEW_REFUSED ||
	     pod->pending != RESIZE_NOT_PENDING)) {
		ret->state = REPORT_VIEW_REFUSED;
		ret->detail = refusal;
	}
	if (pod->pending == RESIZE_DEFERRED)
		ret->state = REPORT_VIEW_DEFERRED;
	if (sent != 0)
		ret->sent_realtime_usec = c->wake->now_real - (c->wake->now - sent);
	ret->ratified = sent != 0 && report_expects(reporter_state(p->report));
	if (ahead < c->config->kubernetes.report.ahead_usec)
		ret->ahead_usec = ahead;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		for (enum autoscaler_kind kind = 0; kind < AUTOSCALER_KIND_COUNT; kind++)
			if (cluster_autoscaler_of(c, kind, p, r) != NULL)
				ret->autoscaler[r] = cluster_autoscaler_of(c, kind, p, r);
}

void cluster_status(const struct cluster *c, struct cluster_view *ret)
{
	const struct kube_watch_state *w = kube_watch_state(c->watch);
	const struct kube_client_counters *n = kube_client_counters(c->client);
	const char *trouble = c->units->host->name_wrong
				      ? "no pod of this node's name runs here: "
					"kubernetes.nodeName or NODE_NAME is wrong"
			      : pods_lost(c->pods) ? "no cgroup of the annotated pods is found: "
						     "see vscalectl explain"
			      : c->watch_trouble[0] != '\0' ? c->watch_trouble
							    : reporter_trouble(c->reporter);

	*ret = (struct cluster_view){
		.server = kube_client_server(c->client),
		.node = c->node,
		.synced = w->synced,
		.healthy = w->healthy,
		.trouble = trouble[0] != '\0' ? trouble : NULL,
		.resize_offered = reporter_offered(c->reporter),
		.pod_count = c->pods->count,
		.writes_waiting = reporter_waiting(c->reporter),
		.refused_count = reporter_refused(c->reporter),
		.requests = n->requests,
		.failures = n->failures,
	};
	if (w->last_event_at != 0)
		ret->last_event_realtime_usec =
			c->wake->now_real - (c->wake->now - w->last_event_at);
	for (size_t i = 0; i < c->pods->count && ret->cgroup_driver == NULL; i++)
		if (c->pods->items[i]->level != NULL)
			ret->cgroup_driver =
				c->pods->items[i]->level->unit != NULL ? "systemd" : "cgroupfs";
}
