// SPDX-License-Identifier: Apache-2.0
/* Fills the input of /metrics and of the probes. */
#include "agent/base/footprint.h"
#include "agent/base/revision.h"
#include "agent/config/config.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/wake.h"
#include "agent/metrics/metrics_server.h"
#include "agent/serve/serve.h"
#include "agent/view/report_json.h"
#include <string.h>
#include <sys/statvfs.h>

/* A restore that waits for PID 1 holds the loop. */
#define LIVE_GRACE_USEC (30 * USEC_PER_SEC)
/* From this number of units on, the page of a scrape is large. */
#define MANY_UNITS 250

static void fill_spec(struct metrics_thing *t, const struct managed *m)
{
	if (m->kind != UNIT_KIND_UNIT)
		return; /* a container's stands in its view */
	t->resource[RESOURCE_CPU].spec = props_milli(&m->properties.stored);
	t->resource[RESOURCE_MEMORY].spec = m->properties.stored.mem_max;
}

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
		fill_spec(thing, m);
		if (m->pod != NULL)
			thing->above_spec_bytes = above_spec_bytes(m);
	}
}

static uint64_t invalid_pods(const struct pods *pods)
{
	uint64_t n = 0;

	for (size_t i = 0; i < pods->count; i++)
		n += pods->items[i]->error[0] != '\0';
	return n;
}

static void count_unfound(const struct pods *pods, struct metrics_input *in)
{
	static const char *const words[UNFOUND_COUNT] = {
		[UNFOUND_POD] = "pod-cgroup",
		[UNFOUND_DRIVER] = "cgroup-driver",
		[UNFOUND_SANDBOX] = "sandbox",
		[UNFOUND_PROCESS] = "sandbox-processes",
	};

	for (size_t i = 0; i < UNFOUND_COUNT; i++)
		in->left_alone[i].reason = words[i];
	for (size_t i = 0; i < pods->count; i++)
		in->left_alone[pod_unfound(pods->items[i])].pods++;
}

static uint64_t stopped_rollouts(const struct pods *pods)
{
	uint64_t n = 0;

	for (size_t i = 0; i < pods->rollout_count; i++)
		n += pods->rollouts[i].hurt != ROLLOUT_UNHURT;
	return n;
}

static int on_collect(void *ctx, struct metrics_input *in)
{
	struct serve *s = ctx;
	struct status_view status;

	/* The page adds to the resident size: first unmap what other work has left. */
	if (s->units->count >= MANY_UNITS)
		footprint_trim();
	metrics_input_reserve(in, s->units->count);
	serve_status(s, &status);
	metrics_input_status(in, &status);
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
	in->pods = s->pods->count;
	in->node_wrong = s->host->name_wrong;
	count_unfound(s->pods, in);
	in->pods_invalid = invalid_pods(s->pods);
	in->rollouts_stopped = stopped_rollouts(s->pods);
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

static const struct metrics_ops ops = {
	.collect = on_collect, .probe = on_probe, .report = on_report};

int serve_metrics_start(struct serve *s)
{
	struct listen_address at;
	int r;

	if (s->config->http.listen == NULL)
		return 0;
	r = listen_parse(s->config->http.listen, &at);
	if (r == 0)
		r = metrics_server_new(s->wake->event, &at, &ops, s, &s->metrics);
	if (r < 0)
		message_unsupported("metrics cannot be served", s->config->http.listen, r);
	return r;
}
