// SPDX-License-Identifier: Apache-2.0
/* The recorded files whose rows stand alone. */
#include "test/policy/vectors.h"
#include <stdio.h>
#include <string.h>

#define DAY_USEC ((usec_t)USEC_PER_DAY)

void run_bucket_starts(const char *dir)
{
	struct csv *c = csv_open(dir, "bucket_starts");

	while (csv_next(c)) {
		const struct histogram_options *o = vectors_options(csv_text(c, "kind"));

		expect_double(c, "start", o->start[csv_int(c, "bucket")], csv_double(c, "start"));
		expect_int(c, "num_buckets", o->buckets, csv_int(c, "num_buckets"));
		expect_double(c, "epsilon", o->epsilon, csv_double(c, "epsilon"));
	}
	csv_close(c);
}

void run_find_bucket(const char *dir)
{
	struct csv *c = csv_open(dir, "find_bucket");

	while (csv_next(c))
		expect_int(c, "bucket",
			   histogram_find(vectors_options(csv_text(c, "kind")),
					  csv_double(c, "value")),
			   csv_int(c, "bucket"));
	csv_close(c);
}

void run_single_value(const char *dir)
{
	struct csv *c = csv_open(dir, "single_value");

	while (csv_next(c)) {
		bool cpu = strcmp(csv_text(c, "kind"), "cpu") == 0;
		const struct histogram_options *o = cpu ? &histogram_cpu : &histogram_memory;
		double unit = cpu ? 1000 : 1, value = csv_double(c, "value") / unit, end;
		int64_t target, minimum = vpa_rules_default.pod_minimum[!cpu];
		OWN(histogram_drop) struct histogram h;

		histogram_init(&h, o, DAY_USEC);
		histogram_add(&h, value, 1.0, 1767225600 * USEC_PER_SEC);
		end = histogram_percentile(&h, 0.9);
		target = vpa_with_margin(vpa_amount(end * unit), vpa_rules_default.margin);
		expect_int(c, "bucket", histogram_find(o, value), csv_int(c, "bucket"));
		expect_double(c, "percentile_value", end, csv_double(c, "percentile_value"));
		expect_int(c, "target_after_margin", target, csv_int(c, "target_after_margin"));
		expect_int(c, "with_pod_min_1_container", vpa_with_minimum(target, minimum, 1),
			   csv_int(c, "with_pod_min_1_container"));
	}
	csv_close(c);
}

/* One value per bound from columns like "cpu_lower_m". */
static void read_recommendation(const struct csv *c, struct vpa_recommendation *ret)
{
	static const char *const columns[VPA_BOUND_COUNT][RESOURCE_COUNT] = {
		[VPA_LOWER] = {"cpu_lower_m", "mem_lower_b"},
		[VPA_TARGET] = {"cpu_target_m", "mem_target_b"},
		[VPA_UPPER] = {"cpu_upper_m", "mem_upper_b"},
	};

	ret->resources = 1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY;
	for (int b = 0; b < VPA_BOUND_COUNT; b++)
		for (int r = 0; r < RESOURCE_COUNT; r++)
			ret->amount[b][r] = csv_int(c, columns[b][r]);
}

void run_update_decisions(const char *dir)
{
	struct csv *c = csv_open(dir, "update_decisions");

	while (csv_next(c)) {
		const int64_t request[] = {csv_int(c, "cpu_request_m"),
					   csv_int(c, "mem_request_b")};
		struct vpa_recommendation rec;
		int64_t oom_run_s = csv_int(c, "last_oom_run_s");
		struct vpa_pod_run run = {
			.age_usec = (usec_t)csv_int(c, "pod_age_s") * USEC_PER_SEC,
			.oom_killed = oom_run_s >= 0,
			.oom_run_usec = oom_run_s < 0 ? 0 : (usec_t)oom_run_s * USEC_PER_SEC,
		};
		struct vpa_priority p;

		read_recommendation(c, &rec);
		p = vpa_update_priority(request, &rec);
		expect_int(c, "outside_range", p.outside_range, csv_bool(c, "outside_range"));
		expect_int(c, "scale_up", p.scale_up, csv_bool(c, "scale_up"));
		expect_double(c, "resource_diff", p.resource_diff, csv_double(c, "resource_diff"));
		expect_int(c, "accepted", vpa_update_accepted(&p, &run), csv_bool(c, "accepted"));
	}
	csv_close(c);
}

void run_round_up(const char *dir)
{
	struct csv *c = csv_open(dir, "round_up");

	while (csv_next(c)) {
		int64_t got = -1;

		expect_int(c, "outcome",
			   vpa_round_up(csv_int(c, "value"), csv_int(c, "scale"), &got), 0);
		expect_int(c, "rounded", got, csv_int(c, "rounded"));
	}
	csv_close(c);
}
