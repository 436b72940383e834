// SPDX-License-Identifier: Apache-2.0
/* Fills the input of /metrics and of the probes. */
#include "agent/serve/serve_metrics.h"
#include "agent/base/footprint.h"
#include "agent/config/config_source.h"
#include "agent/manage/above.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/metrics_server.h"
#include "agent/serve/serve.h"
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

static void collect_things(struct daemon *d, struct metrics_input *in)
{
	for (size_t i = 0; i < d->units.count; i++) {
		const struct managed *m = d->units.items[i];
		size_t before = in->thing_count;
		struct metrics_thing *t;

		serve_view(m, metrics_input_view, in);
		if (in->thing_count == before)
			continue;
		t = &in->things[in->thing_count - 1];
		t->oom_kills = m->control.resource[RESOURCE_MEMORY].counters.oom_kills;
		fill_spec(t, m);
		if (m->pod != NULL)
			t->above_spec_bytes = above_spec(m);
	}
}

static uint64_t invalid_pods(const struct daemon *d)
{
	uint64_t n = 0;

	for (size_t i = 0; i < d->pods.count; i++)
		n += d->pods.items[i]->error[0] != '\0';
	return n;
}

static int on_collect(void *ctx, struct metrics_input *in)
{
	struct serve *s = ctx;
	struct daemon *d = s->daemon;
	struct status_view status;

	/* The page adds to the resident size: first unmap what other work has left. */
	if (d->units.count >= MANY_UNITS)
		footprint_trim();
	metrics_input_reserve(in, d->units.count);
	serve_status(s, &status);
	metrics_input_status(in, &status);
	collect_things(d, in);
	in->counters = &d->tally;
	in->last_tick_real = d->wake.ticked_at + (usec_t)d->wake.offset_usec;
	in->state_ok = d->records.save_error == 0;
	if (d->memory.read.total != 0 && d->config.tuning.node.count) {
		in->node_reserve_bytes = d->memory.supply.reserve;
		in->node_eviction_bound = d->memory.supply.eviction != 0;
		if (d->memory.kubelet && d->memory.read.kubelet_available != UINT64_MAX)
			in->node_kubelet_available_bytes = d->memory.read.kubelet_available;
		in->node_granted_bytes = d->memory.ledger.outstanding;
	}
	in->systemd_connected = d->pid1.connected;
	in->reader_bpf = d->reader.scan != NULL;
	in->pods = d->pods.count;
	in->node_wrong = d->host.name_wrong;
	in->pods_invalid = invalid_pods(d);
	return 0;
}

/* Root needs no capability to write limit files; a read-only mount matters. */
static bool cgroup_writable(const struct daemon *d)
{
	struct statvfs fs;

	return fstatvfs(d->host.root, &fs) == 0 && !(fs.f_flag & ST_RDONLY);
}

static void on_probe(void *ctx, struct probe_input *in)
{
	const struct serve *s = ctx;
	struct daemon *d = s->daemon;

	daemon_wake(d);
	*in = (struct probe_input){
		.now = d->wake.now,
		.last_tick = d->wake.ticked_at,
		.started = d->wake.started_at,
		.interval_usec = MIN(d->config.clocks.reflex_usec, d->config.clocks.sample_usec),
		.grace_usec = d->pid1.connected ? LIVE_GRACE_USEC : 0,
		.kubernetes =
			config_cluster_wanted(&d->config.kubernetes) && d->host.unsupported == NULL,
		.pods_listed = d->pods.synced,
		.node_wrong = d->host.name_wrong,
		.standalone = d->config.unit_count > 0 && d->host.unsupported == NULL,
		.units_listed = d->pid1.listed,
		.systemd_lost =
			!d->pid1.connected && !d->pid1.absent && d->host.unsupported == NULL,
		.cgroup_writable = d->host.unsupported == NULL && cgroup_writable(d),
		.dry_run = d->host.unsupported != NULL ||
			   d->config.kubernetes.highest_mode == MODE_OFF,
		.config_valid = strcmp(s->source->result, "ok") == 0,
	};
}

static const struct metrics_ops ops = {.collect = on_collect, .probe = on_probe};

int serve_metrics_start(struct serve *s)
{
	struct daemon *d = s->daemon;
	struct listen_address at;
	int r;

	if (d->config.http.listen == NULL)
		return 0;
	r = listen_parse(d->config.http.listen, &at);
	if (r == 0)
		r = metrics_server_new(d->event, &at, &ops, s, &s->metrics);
	if (r < 0)
		message_unsupported("metrics cannot be served", d->config.http.listen, r);
	return r;
}
