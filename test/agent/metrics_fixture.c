// SPDX-License-Identifier: Apache-2.0
#include "metrics_fixture.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void metrics_fixture_init(struct metrics_fixture *f, size_t containers)
{
	*f = (struct metrics_fixture){.names = calloc(containers + 1, sizeof *f->names),
				      .workload = "checkout-service"};
	for (size_t i = 0; f->names != NULL && i < containers; i++)
		snprintf(f->names[i], sizeof f->names[i], "checkout-service-7d9c5b6f8-%05zu", i);
	counters_change(&f->counters, RESOURCE_CPU, 500, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_CPU, 900, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_MEMORY, 2, 1, REASON_SHRINK);
	counters_blocked(&f->counters, BLOCKED_NONE, BLOCKED_CEILING);
	counters_blocked(&f->counters, BLOCKED_CEILING, BLOCKED_CEILING);
	counters_blocked(&f->counters, BLOCKED_CEILING, BLOCKED_NONE);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 30);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 100);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 7 * USEC_PER_MSEC);
	counters_took(&f->counters.apply[BACKEND_CGROUP], USEC_PER_MIN);
	counters_took(&f->counters.loop_lag, 250);
	counters_took(&f->counters.scan[SCAN_REFLEX], 90);
	counters_took(&f->counters.scan[SCAN_SAMPLE], 800);
	counters_took(&f->counters.raise[SINCE_WAKE], 90);
	counters_took(&f->counters.raise[SINCE_DUE], 700);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 422);
	counters_request(&f->counters, "watch", 0);
	f->counters.reverted[WRITER_SYSTEMD] = 3;
	f->counters.reports.room_waits = 2;
	f->counters.reports.answers[REPORT_ANSWER_REFUSED] = 1;
}

void metrics_fixture_free(struct metrics_fixture *f)
{
	free(f->names);
}

/* unit or pod: NULL for the other one. */
static void add(struct metrics_input *in, size_t i, const char *unit, const char *pod,
		const char *workload)
{
	struct metrics_thing *t = metrics_input_add(in);

	if (t == NULL)
		return;
	*t = (struct metrics_thing){
		.namespace = pod != NULL ? "shop" : NULL,
		.pod = pod,
		.container = pod != NULL ? "app" : NULL,
		.workload = workload,
		.unit = unit,
		.mode = MODE_AUTO,
		.state = UNIT_MANAGED,
		.resource = {{.known = true,
			      .spec = 500,
			      .applied = 900 + i,
			      .ceiling = 4000,
			      .lower = 120,
			      .target = 250,
			      .upper = 400,
			      .peak = 870,
			      .reclaimable = pod != NULL ? 600 : VIEW_NONE,
			      .use = 312,
			      .psi_some_ppm = 12345,
			      .drifts = 2},
			     {.known = true,
			      .spec = pod != NULL ? 256 * MIB : VIEW_NONE,
			      .applied = 256 * MIB + i,
			      .ceiling = GIB,
			      .lower = 100 * MIB,
			      .target = 128 * MIB,
			      .upper = 200 * MIB,
			      .peak = 190 * MIB,
			      .reclaimable = pod != NULL ? 0 : VIEW_NONE,
			      .use = 150 * MIB}},
		.throttled_ppm = 25000,
		.unreclaimable_bytes = 90 * MIB,
		.oom_kills = 1,
	};
}

int metrics_fixture_collect(const struct metrics_fixture *f, size_t containers,
			    struct metrics_input *in)
{
	static const char *const units[] = {"web.service", "a\\x2db \"quoted\"\n\xff.service"};

	*in = (struct metrics_input){
		.cluster = {.server = "https://x", .healthy = true, .pod_count = 7},
		.config_loaded_real = 1700000000 * USEC_PER_SEC,
		.wakeups = 12,
		.counters = &f->counters,
		.things = in->things,
		.pods = 30,
		.config_ok = true,
		.state_ok = true,
		.last_tick_real = 1700000100 * USEC_PER_SEC + 250000,
	};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		add(in, i, units[i], NULL, NULL);
	for (size_t i = 0; i < containers; i++)
		add(in, i + ARRAY_SIZE(units), NULL, f->names[i], f->workload);
	if (in->thing_count != containers + ARRAY_SIZE(units))
		return -ENOMEM;
	/* Nothing is known of the second unit's CPU, and its memory has no limit. */
	in->things[1] = (struct metrics_thing){
		.unit = units[1],
		.mode = MODE_OFF,
		.state = UNIT_WAITING,
		.throttled_ppm = VIEW_NONE,
		.unreclaimable_bytes = VIEW_NONE,
		.oom_kills = VIEW_NONE,
	};
	in->things[1].resource[RESOURCE_MEMORY] = (struct metrics_resource){
		.known = true,
		.spec = VIEW_NONE,
		.applied = LIMIT_MAX,
		.ceiling = VIEW_NONE,
		.lower = VIEW_NONE,
		.target = VIEW_NONE,
		.upper = VIEW_NONE,
		.peak = VIEW_NONE,
		.reclaimable = VIEW_NONE,
		.use = 5,
		.psi_some_ppm = VIEW_NONE,
		.drifts = VIEW_NONE,
	};
	return 0;
}

char *metrics_fixture_render(struct metrics_input *in, size_t step)
{
	OWN(drop_free) char *piece = malloc(step);
	struct metrics_page *page;
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *out;

	if (piece == NULL || metrics_page_new(in, &page) < 0)
		return NULL;
	out = open_memstream(&text, &size);
	while ((n = metrics_page_read(page, piece, step)) > 0)
		fwrite(piece, 1, (size_t)n, out);
	fclose(out);
	metrics_page_free(page);
	return n == 0 ? text : NULL;
}
