// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics.h"
#include <string.h>

/* What its resources have is copied from a view. */
static const struct metrics_thing thing_unknown = {
	.throttled_ppm = VIEW_NONE,
	.unreclaimable_bytes = VIEW_NONE,
	.oom_kills = VIEW_NONE,
};

void metrics_input_reserve(struct metrics_input *in, size_t count)
{
	struct metrics_thing *things;

	if (count <= in->thing_capacity)
		return;
	things = reallocarray(in->things, count, sizeof *things);
	if (things == NULL)
		return;
	in->things = things;
	in->thing_capacity = count;
}

/* A new thing at the end, valid until the next one; NULL: no memory. */
static struct metrics_thing *metrics_input_add(struct metrics_input *in)
{
	if (in->thing_count == in->thing_capacity)
		metrics_input_reserve(in, MAX(in->thing_capacity * 2, (size_t)64));
	if (in->thing_count == in->thing_capacity)
		return NULL;
	in->things[in->thing_count] = thing_unknown;
	return &in->things[in->thing_count++];
}

static uint64_t reclaimable(const struct unit_view *v, enum resource r)
{
	uint64_t request = v->pod != NULL ? v->pod->resources[r].request : 0;
	uint64_t upper = v->resources[r].upper;

	if (request == 0 || request == VIEW_NONE || upper == VIEW_NONE)
		return VIEW_NONE;
	return request - MIN(request, upper);
}

static void note_resource(struct metrics_resource *to, const struct unit_view *v, enum resource r)
{
	const struct resource_view *from = &v->resources[r];

	*to = (struct metrics_resource){
		.known = from->controlled || from->target != VIEW_NONE,
		.spec = v->pod != NULL ? v->pod->resources[r].spec_limit : VIEW_NONE,
		.applied = from->kernel,
		.ceiling = from->ceiling,
		.lower = from->lower,
		.target = from->target,
		.upper = from->upper,
		.peak = from->peak,
		.reclaimable = reclaimable(v, r),
		.use = from->use,
		.psi_some_ppm = from->psi_some_ppm,
		.drifts = from->counters.drifts,
	};
}

void metrics_input_view(void *arg, const struct unit_view *v)
{
	uint64_t throttled_permille = v->resources[RESOURCE_CPU].throttled_permille;
	struct metrics_input *in = arg;
	struct metrics_thing *t;

	if (v->pod != NULL && v->pod->container == NULL)
		return;
	t = metrics_input_add(in);
	if (t == NULL) {
		in->no_memory = true;
		return;
	}
	if (v->pod != NULL) {
		t->namespace = v->pod->namespace;
		t->pod = v->pod->pod;
		t->container = v->pod->container;
		t->workload = v->pod->workload;
	} else {
		t->unit = v->name;
	}
	in->boosted += v->resources[RESOURCE_CPU].boost.limit != VIEW_NONE &&
		       v->resources[RESOURCE_CPU].boost.lent;
	t->mode = v->mode;
	t->state = v->state;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		note_resource(&t->resource[r], v, r);
	if (throttled_permille != VIEW_NONE)
		t->throttled_ppm = throttled_permille * 1000;
	t->unreclaimable_bytes = v->resources[RESOURCE_MEMORY].unreclaimable_bytes;
}

void metrics_input_status(struct metrics_input *in, const struct status_view *v)
{
	in->version = v->version;
	in->kubernetes = v->cluster.server != NULL;
	in->pods_managed = v->cluster.pod_count;
	in->watch_healthy = v->cluster.healthy;
	in->reports_waiting = v->cluster.writes_waiting;
	in->reports_refused = v->cluster.refused_count;
	in->unsupported = v->unsupported != NULL ? v->unsupported
			  : v->kernel_old        ? "kernel-old"
						 : NULL;
	in->paused = v->paused;
	in->config_ok = strcmp(v->config_result, "ok") == 0;
	in->config_loaded_real = v->config_loaded_realtime_usec;
	in->state_saved_real = v->state_saved_realtime_usec;
	in->wakeups = v->wakeups;
}

void metrics_input_drop(struct metrics_input *in)
{
	free(in->things);
	*in = (struct metrics_input){0};
}
