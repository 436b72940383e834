// SPDX-License-Identifier: Apache-2.0
#include "metrics_fixture.h"
#include <errno.h>
#include <stdio.h>

void metrics_fixture_init(struct metrics_fixture *f, size_t containers)
{
	*f = (struct metrics_fixture){.names = calloc(containers + 1, sizeof *f->names)};
	for (size_t i = 0; f->names != NULL && i < containers; i++)
		snprintf(f->names[i], sizeof f->names[i], "checkout-service-7d9c5b6f8-%05zu", i);
	counters_change(&f->counters, RESOURCE_CPU, 500, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_CPU, 900, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_MEMORY, 2, 1, REASON_SHRINK);
	counters_hold(&f->counters, HOLD_NONE, HOLD_CEILING);
	counters_hold(&f->counters, HOLD_CEILING, HOLD_CEILING);
	counters_hold(&f->counters, HOLD_CEILING, HOLD_NONE);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 30);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 100);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 7 * USEC_PER_MSEC);
	counters_took(&f->counters.apply[BACKEND_CGROUP], USEC_PER_MIN);
	counters_took(&f->counters.loop_lag, 250);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 422);
	counters_request(&f->counters, "watch", 0);
	f->counters.reverted[WRITER_SYSTEMD] = 3;
	f->counters.reports_failed[REPORT_ANSWER_REFUSED] = 1;
}

void metrics_fixture_free(struct metrics_fixture *f)
{
	free(f->names);
}

static void fill(struct metrics_thing *t, size_t i)
{
	struct unit_view v;

	unit_view_init(&v);
	v.mode = MODE_AUTO;
	v.state = UNIT_MANAGED;
	v.resources[RESOURCE_CPU] = (struct resource_view){
		.controlled = true,
		.kernel = 900 + i,
		.ceiling = 4000,
		.lower = 120,
		.target = 250,
		.upper = 400,
		.peak = 870,
		.use = 312,
		.throttled_permille = 25,
		.psi_some_ppm = 12345,
		.counters = {.drifts = 2},
	};
	v.resources[RESOURCE_MEMORY] = (struct resource_view){
		.controlled = true,
		.kernel = 256 * MIB + i,
		.ceiling = GIB,
		.lower = 100 * MIB,
		.target = 128 * MIB,
		.upper = 200 * MIB,
		.peak = 190 * MIB,
		.use = 150 * MIB,
		.psi_some_ppm = 0,
		.unreclaimable_bytes = 90 * MIB,
	};
	metrics_thing_view(t, &v);
	t->resource[RESOURCE_CPU].spec = 500;
	t->resource[RESOURCE_MEMORY].spec = 256 * MIB;
	t->oom_kills = 1;
}

int metrics_fixture_collect(const struct metrics_fixture *f, size_t containers,
			    struct metrics_input *in)
{
	static const char *const units[] = {"web.service", "a\\x2db \"quoted\"\n\xff.service"};

	*in = (struct metrics_input){
		.version = VSCALED_VERSION,
		.counters = &f->counters,
		.things = in->things,
		.kubernetes = true,
		.pods = 30,
		.pods_managed = 7,
		.watch_healthy = true,
		.config_ok = true,
		.config_loaded_real = 1700000000 * USEC_PER_SEC,
		.state_ok = true,
		.last_tick_real = 1700000100 * USEC_PER_SEC + 250000,
		.wakeups = 12,
	};
	for (size_t i = 0; i < containers + ARRAY_SIZE(units); i++) {
		struct metrics_thing *t = metrics_input_add(in);

		if (t == NULL)
			return -ENOMEM;
		fill(t, i);
		if (i < ARRAY_SIZE(units)) {
			t->unit = units[i];
			continue;
		}
		t->namespace = "shop";
		t->pod = f->names[i - ARRAY_SIZE(units)];
		t->container = "app";
	}
	/* Nothing is known of the second unit's CPU, and its memory has no limit. */
	metrics_thing_init(&in->things[1]);
	in->things[1].unit = units[1];
	in->things[1].state = UNIT_WAITING;
	in->things[1].resource[RESOURCE_MEMORY].managed = true;
	in->things[1].resource[RESOURCE_MEMORY].applied = LIMIT_MAX;
	in->things[1].resource[RESOURCE_MEMORY].use = 5;
	return 0;
}
