// SPDX-License-Identifier: Apache-2.0
/* What answers: the operations of the control API, metrics and probes. */
#include "agent/serve/serve.h"
#include "agent/base/process.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/metrics/metrics_server.h"
#include "agent/pod/cluster.h"
#include "agent/serve/metrics.h"
#include "agent/serve/show.h"
#include "agent/units/lifecycle.h"
#include "agent/view/view.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- the operations of the control API */

/* A restore that waits for PID 1 holds the loop; the liveness probe must not fail for it. */
#define LIVE_GRACE_USEC (30 * USEC_PER_SEC)

/* It is gone for good: no list has it. */
static bool has_ended(const struct shown *s)
{
	return state_rows[shown_reason(s)].state == UNIT_ENDED;
}

/* Pod levels follow their containers: `explain` shows one. Then the containers that are not
 * managed, with the reason. */
static void each_shown(const struct serve *s, bool unmanaged, shown_fn *each, void *arg)
{
	struct shown x;

	for (size_t i = 0; i < s->units->count; i++) {
		x = shown_entry(s->units->items[i]);
		if (x.m->kind != UNIT_KIND_POD && !has_ended(&x))
			each(arg, &x);
	}
	for (size_t k = 0; unmanaged && k < s->pods->count; k++)
		for (size_t i = 0; i < s->pods->items[k]->spec->container_count; i++) {
			x = shown_unmanaged(s->pods->items[k], i);
			if (s->pods->items[k]->members[i].managed == NULL && !has_ended(&x))
				each(arg, &x);
		}
}

static void list_one(void *array, const struct shown *x)
{
	view_put(array, NULL, shown_json(x, true));
}

static int serve_list(void *ctx, cJSON **ret)
{
	struct view_json array = {.json = cJSON_CreateArray()};
	const struct serve *s = ctx;

	daemon_wake(s->wake);
	each_shown(s, true, list_one, &array);
	*ret = view_end(&array);
	return 0;
}

/* A container that is not managed. */
static int unmanaged_named(const struct pods *pods, const char *name, struct shown *ret)
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
		*ret = shown_unmanaged(p, i);
		return 0;
	}
	return -ENOENT;
}

int serve_named(const struct serve *s, const char *name, struct shown *ret)
{
	const struct managed *m = managed_find(s->units, name);

	if (m == NULL)
		return unmanaged_named(s->pods, name, ret);
	*ret = shown_entry(m);
	return 0;
}

static int serve_explain(void *ctx, const char *name, cJSON **ret)
{
	const struct serve *s = ctx;
	struct shown x;
	int r;

	daemon_wake(s->wake);
	r = serve_named(s, name, &x);
	if (r == 0)
		*ret = shown_json(&x, false);
	return r;
}

static uint32_t managed_count(const struct unit_table *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->items[i]->cgroup.cg != NULL && managed_state(t->items[i]) == UNIT_MANAGED &&
		     t->items[i]->kind != UNIT_KIND_POD;
	return n;
}

/* server NULL: standalone. */
static struct cluster_view cluster_of(const struct serve *s)
{
	struct cluster_view v = {0};

	if (*s->cluster != NULL)
		cluster_status(*s->cluster, &v);
	return v;
}

#define NUMBER(value) cJSON_CreateNumber((double)(value))

/* What it has done so far, and what that has cost. */
static void put_cost(struct view_json *o, const struct serve *s)
{
	const struct counters *n = s->units->tally;
	const struct counters_span *lag = &n->loop_lag;
	struct process_facts process;

	process_read(&process);
	view_put(o, "wakeups", NUMBER(s->wake->count));
	view_put(o, "loop_lag_max_usec", NUMBER(lag->max_usec));
	view_put(o, "loop_lag_mean_usec", NUMBER(lag->count > 0 ? lag->sum_usec / lag->count : 0));
	view_put(o, "scan_usec", NUMBER(n->scan[SCAN_SAMPLE].last_usec));
	view_put(o, "look_usec", NUMBER(n->scan[SCAN_REFLEX].last_usec));
	view_put(o, "writes", NUMBER(n->apply[BACKEND_CGROUP].count));
	view_put(o, "write_failures", NUMBER(n->apply_failed[BACKEND_CGROUP]));
	view_put(o, "reader", view_text(reader_name(s->units->reader)));
	view_put(o, "reader_detail", view_text(s->units->reader->detail));
	view_put(o, "rss_bytes", NUMBER(process.resident_bytes));
	view_put(o, "cpu_usec", NUMBER(process.cpu_usec));
}

static cJSON *serve_status(void *ctx)
{
	struct view_json object = {.json = cJSON_CreateObject()}, *o = &object;
	const struct serve *s = ctx;
	const struct records *saved = s->units->records;
	const struct host *host = s->host;
	struct cluster_view cluster;

	daemon_wake(s->wake);
	cluster = cluster_of(s);
	view_put(o, "version", view_text(VSCALED_VERSION));
	view_put(o, "pid", NUMBER(getpid()));
	view_put(o, "uptime_usec", NUMBER(s->wake->now - s->wake->started_at));
	view_put(o, "operation",
		 view_text(cluster.server == NULL      ? "standalone"
			   : s->config->unit_count > 0 ? "kubernetes and units"
						       : "kubernetes"));
	view_put(o, "managed_count", NUMBER(managed_count(s->units)));
	view_put(o, "paused", cJSON_CreateBool(s->units->paused));
	view_put(o, "unsupported", view_text(host->unsupported));
	view_put(o, "config_path", view_text(s->source->path));
	view_put(o, "config_result", view_text(s->source->result));
	view_put(o, "config_loaded_at", view_time(s->source->loaded_real));
	view_put(o, "state_directory", view_text(s->config->paths.state_dir));
	view_put(o, "state_result", view_text(saved->result[0] ? saved->result : "not saved yet"));
	view_put(o, "state_saved_at", view_time(saved->saved_real));
	view_put(o, "bus_connected", cJSON_CreateBool(s->units->pid1->connected));
	view_put(o, "cgroup_mount", view_text(host->cg.mount));
	view_put(o, "controllers", view_text(host->controllers));
	view_put(o, "psi", cJSON_CreateBool(host->cg.psi));
	view_put(o, "kernel", view_text(host->cg.kernel));
	view_put(o, "kernel_old", cJSON_CreateBool(host->cg.kernel_old));
	put_cost(o, s);
	view_put(o, "cluster",
		 cluster.server != NULL ? view_cluster(&cluster) : cJSON_CreateNull());
	return view_end(o);
}

static int make_report(struct serve *s, bool unmanaged, char **ret)
{
	OWN(drop_free) char *text = NULL;
	struct report_json report = {0};
	size_t size;

	daemon_wake(s->wake);
	report.file = open_memstream(&text, &size);
	if (report.file == NULL)
		return -ENOMEM;
	/* A node's name is a DNS subdomain: nothing to escape. */
	fprintf(report.file, "{\"version\":%d,\"node\":\"%s\",\"containers\":[",
		REPORT_JSON_VERSION, cluster_of(s).node ?: "");
	each_shown(s, unmanaged, report_json_add, &report);
	fputs("]}\n", report.file);
	if (fclose(report.file) != 0 || report.failed)
		return -ENOMEM;
	*ret = STEAL(text);
	return 0;
}

static int serve_report(void *ctx, char **ret)
{
	return make_report(ctx, true, ret);
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

static int serve_probe(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct serve *s = ctx;
	struct probe_input in;

	daemon_wake(s->wake);
	in = (struct probe_input){
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
		.cgroup_writable = s->host->unsupported == NULL && s->host->cg.writable,
		.dry_run = s->host->unsupported != NULL ||
			   s->config->kubernetes.highest_mode == MODE_OFF,
		.kernel_old = s->host->cg.kernel_old,
		.config_valid = strcmp(s->source->result, "ok") == 0,
	};
	return probe_answer(&in, request, ret);
}

static const struct control_ops control_ops = {
	.status = serve_status,
	.list = serve_list,
	.explain = serve_explain,
	.report = serve_report,
	.pause = serve_pause,
	.resume = serve_resume,
	.restore = serve_restore,
	.config = serve_config,
	.recommend = serve_recommend,
	.probe = serve_probe,
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

/* --- /metrics and the probes */

/* From this number of units on, the page of a scrape is large. */
#define MANY_UNITS 250

static void add_units(struct unit_table *t, struct metrics_page *p)
{
	UNITS_FOREACH (m, t) {
		const struct shown x = shown_entry(m);

		if ((x.pod == NULL || x.c != NULL) && !has_ended(&x))
			metrics_page_add(p, &x);
	}
}

static void count_pods(const struct pods *pods, struct metrics_page *in)
{
	in->pods = pods->count;
	for (size_t i = 0; i < pods->count; i++) {
		in->unfound[pod_unfound(pods->items[i])]++;
		in->pods_invalid += pods->items[i]->error != NULL;
		for (size_t k = 0; k < pods->items[i]->spec->container_count; k++)
			if (pods->items[i]->members[k].managed == NULL)
				in->reasons[pods->items[i]->members[k].why]++;
	}
	for (size_t i = 0; i < pods->rollout_count; i++)
		in->rollouts_stopped += pods->rollouts[i].hurt != ROLLOUT_UNHURT;
}

static int on_metrics(void *ctx, struct http_stream *ret)
{
	struct metrics_page *in;
	struct serve *s = ctx;

	/* The page adds to the resident size: first unmap what other work has left. */
	if (s->units->count >= MANY_UNITS)
		footprint_trim();
	in = calloc(1, sizeof *in);
	if (in == NULL)
		return -ENOMEM;
	daemon_wake(s->wake);
	in->unsupported = s->host->unsupported;
	in->kernel_old = s->host->cg.kernel_old;
	in->paused = s->units->paused;
	in->wakeups = s->wake->count;
	in->config_loaded_real = s->source->loaded_real;
	in->state_saved_real = s->units->records->saved_real;
	in->cluster = cluster_of(s);
	in->config_ok = strcmp(s->source->result, "ok") == 0;
	add_units(s->units, in);
	in->revision = vscaled_revision;
	in->counters = *s->units->tally;
	in->last_tick_real = s->wake->ticked_at + (usec_t)s->wake->offset_usec;
	in->state_ok = s->units->records->save_error == 0 && !s->units->records->failed;
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
	process_read(&in->process);
	if (in->units.failed) {
		metrics_page_free(in);
		return -ENOMEM;
	}
	*ret = (struct http_stream){metrics_page_read, metrics_page_free, in};
	return 0;
}

static int on_report(void *ctx, const char *path, char **ret)
{
	cJSON *units = NULL, *answer;

	if (strcmp(path, "/v1/report") == 0)
		return make_report(ctx, false, ret);
	serve_list(ctx, &units);
	answer = cJSON_CreateObject();
	*ret = cJSON_AddItemToObject(answer, "units", units) ? cJSON_PrintUnformatted(answer)
							     : NULL;
	cJSON_Delete(answer);
	return *ret != NULL ? 0 : -ENOMEM;
}

static const struct metrics_ops metrics_ops = {
	.metrics = on_metrics, .probe = serve_probe, .report = on_report};

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
