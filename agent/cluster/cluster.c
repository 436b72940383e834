// SPDX-License-Identifier: Apache-2.0
/* The cluster as a part of the loop: start, stop, the clock, and the callbacks of the watch. */
#include "agent/cluster/cluster.h"
#include "agent/base/footprint.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/above_spec.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/pod/pod_absent.h"
#include "agent/pod/pods.h"
#include "agent/pod/runtime.h"
#include "policy/base/arithmetic.h"
#include "policy/types/bounds.h"
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
}

static void on_list_begin(void *ctx)
{
	struct cluster *c = ctx;

	c->list_bad = false;
	c->here = false;
	cluster_room_list(c, false);
	pods_list_begin(c->pods);
}

static void on_list_end(void *ctx)
{
	struct cluster *c = ctx;

	cluster_room_list(c, true);
	pods_list_end(c->pods, !c->list_bad);
}

static void on_trouble(void *ctx, int error, unsigned status, const char *text)
{
	struct cluster *c = ctx;

	(void)status; /* it is in the text */
	daemon_wake(c->wake);
	pods_set_live(c->pods, false);
	snprintf(c->watch_trouble, sizeof c->watch_trouble, "%s", text);
	event_tell(EVENT_API_LOST, .detail = c->watch_trouble, .error = error);
	c->bounds_due = true;
	cluster_bounds_tick(c, false);
}

static void on_healthy(void *ctx)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	pods_set_live(c->pods, true);
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
	c->tally->objects_skipped[s->why]++;
	if (s->uid[0] == '\0')
		c->list_bad = true;
	else
		pods_seen(c->pods, s->uid);
	if (s->first_time)
		event_tell(EVENT_API_OBJECT_BAD, .detail = s->text);
}

/* Are there records that vscaled would drop after an outdated list? */
static bool has_records(const struct records *records)
{
	for (size_t i = 0; i < records->baselines.count; i++)
		if (strncmp(records->baselines.items[i].key, BASELINE_POD_PREFIX,
			    strlen(BASELINE_POD_PREFIX)) == 0)
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
		.newest = has_records(c->records),
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

static void on_request_end(void *ctx, const char *verb, unsigned status)
{
	struct cluster *c = ctx;

	counters_request(c->tally, verb, status);
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
	kube_client_on_end(c->client, on_request_end, c);
	c->port = kube_port_of(c->client);
	cluster_past_start(c);
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
	c->host = pods->units->host;
	c->records = pods->records;
	c->tally = pods->units->tally;
	node_memory_set_kubelet(pods->units->memory);
	cluster_namespaces_start(c);
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
	pods_set_hooks(c->pods, &(struct pod_hooks){0});
	kube_watch_free(c->watch);
	cluster_ranges_free(c);
	cluster_kin_free(c);
	cluster_past_free(c);
	cluster_autoscalers_free(c);
	cluster_recreate_free(c);
	cluster_room_free(c);
	cluster_namespaces_free(c);
	cluster_node_free(c);
	reporter_free(c->reporter);
	recorder_free(c->recorder);
	kube_client_free(c->client);
	free(c->node);
	free(c);
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

	for (size_t i = 0; i < c->pods->count; i++) {
		const struct pod *p = c->pods->items[i];

		if (p->why != NULL || p->leaving || !outgrows_spec(p))
			continue;
		reporter_changed(c->reporter, p->spec->uid, c->wake->now);
		any = true;
	}
	return any;
}

static void count_reports(const struct cluster *c)
{
	const struct reporter_tally *from = reporter_tally(c->reporter);

	c->tally->reports_sent = from->sent;
	c->tally->room_waits = from->room_waits;
	memcpy(c->tally->reports_failed, from->answers, sizeof c->tally->reports_failed);
}

/* A connection leaves megabytes of the TLS library mapped that the next ticks have no use for. */
static void trim(struct cluster *c)
{
	uint64_t requests = kube_client_counters(c->client)->requests;

	if (requests != c->requests_trimmed)
		footprint_trim();
	c->requests_trimmed = requests;
}

/* Saves what is sent before its first byte goes out, which is after this wake-up: else vscaled
 * would take its own value for the owner's after a crash. */
static void step(struct cluster *c)
{

	reporter_step(c->reporter, c->wake->now, c->wake->now_real);
	cluster_bounds_tick(c, false);
	/* The text takes 1.6 KB per record for a moment: unmap what a handshake has left. */
	if (persist_is_dirty(c->records) && c->records->baselines.count >= MANY_RECORDS)
		footprint_trim();
	persist_baselines(c->records);
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
	const struct kube_watch_state *w = kube_watch_state(c->watch);

	runtime_check(c->units, review);
	above_spec_check(c->units);
	watch_growth(c);
	cluster_room_tick(c);
	cluster_warm_tick(c);
	cluster_kin_tick(c);
	cluster_past_tick(c);
	cluster_autoscalers_tick(c);
	cluster_namespaces_tick(c);
	cluster_node_tick(c);
	cluster_bounds_tick(c, review);
	count_reports(c);
	c->tally->watch_restarts += w->restarts - c->restarts_counted;
	c->restarts_counted = w->restarts;
	if (review) {
		/* Holds end and memory grows without an event. */
		for (size_t i = 0; i < c->pods->count; i++)
			reporter_changed(c->reporter, c->pods->items[i]->spec->uid, c->wake->now);
		cluster_node_check(c);
		cluster_ranges_tick(c);
		cluster_recreate_tick(c);
		if (pods_want_list(c->pods))
			kube_watch_relist(c->watch);
		trim(c);
	}
	if (review)
		step(c);
	else
		step_if_due(c);
}
