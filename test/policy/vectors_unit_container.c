// SPDX-License-Identifier: Apache-2.0
/* V060 to V066 and V079 to V111: aggregates, estimates, memory windows, OOM kills. */
#include "test/policy/same.h"
#include "test/policy/vectors_unit.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MIB_D ((double)MIB)
/* 2017-04-18T17:35:05Z */
#define T0_SEC 1492536905

static usec_t at_hour(double hours)
{
	return (usec_t)((T0_SEC + hours * 3600) * USEC_PER_SEC);
}

static usec_t at_utc(int year, int month)
{
	struct tm tm = {.tm_year = year - 1900,
			.tm_mon = month - 1,
			.tm_mday = 1,
			.tm_hour = 2,
			.tm_min = 3,
			.tm_sec = 4};

	return (usec_t)timegm(&tm) * USEC_PER_SEC;
}

static void check_aggregate_save(const struct unit_row *row)
{
	usec_t january = at_utc(2018, 1), february = at_utc(2018, 2);
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_checkpoint c;

	vpa_aggregate_init(&a, &vpa_rules_default);
	histogram_add(&a.cpu, 1, 33, february);
	histogram_add(&a.memory, 1, 55, january);
	histogram_add(&a.memory, 10000000, 55, january);
	a.first_sample = january;
	a.last_sample = february;
	a.samples = 10;
	vpa_aggregate_save(&a, &c);
	expect_text(row->at, "version", c.version, "v3");
	expect_int(row->at, "first", (int64_t)c.first_sample, (int64_t)january);
	expect_int(row->at, "last", (int64_t)c.last_sample, (int64_t)february);
	unit_expect_list(row, (double[]){3, (double)c.samples, c.cpu.count, c.memory.count}, 4);
}

static void check_aggregate_load(const struct unit_row *row)
{
	bool valid = row->id == 62;
	struct vpa_checkpoint c = {
		.version = "v3",
		.first_sample = at_hour(0),
		.last_sample = at_hour(1),
		.samples = 20,
		.cpu = {.total = 44, .count = 1, .buckets = {{0, 10}}},
		.memory = {.total = 33, .count = 1, .buckets = {{0, 10}}},
	};
	OWN(vpa_aggregate_drop) struct vpa_aggregate a, before;

	if (!valid)
		snprintf(c.version, sizeof c.version, "foo");
	vpa_aggregate_init(&a, &vpa_rules_default);
	vpa_aggregate_init(&before, &vpa_rules_default);
	expect_int(row->at, row->expected, vpa_aggregate_load(&a, &c) == 0, valid);
	if (!valid) {
		expect_int(row->at, "untouched", memcmp(&a, &before, sizeof a), 0);
		return;
	}
	expect_int(row->at, "cpu", histogram_empty(&a.cpu), 0);
	expect_int(row->at, "memory", histogram_empty(&a.memory), 0);
	expect_int(row->at, "first", (int64_t)a.first_sample, (int64_t)at_hour(0));
	expect_int(row->at, "last", (int64_t)a.last_sample, (int64_t)at_hour(1));
	unit_expect(row, 0, (double)a.samples);
}

static void check_estimate(const struct unit_row *row)
{
	struct vpa_rules rules = vpa_rules_default;
	struct vpa_recommendation got;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;

	rules.half_life_usec = 0;
	rules.margin = 0;
	rules.percentile[VPA_TARGET] = 0.2;
	vpa_aggregate_init(&a, &rules);
	for (int i = 1; i <= 3; i++) {
		histogram_add(&a.cpu, i, 1, at_hour(0));
		histogram_add(&a.memory, i * 1e9, 1, at_hour(0));
	}
	vpa_estimate(&a, &rules, 1, 1u << RESOURCE_CPU, &got);
	expect_near(row->at, "cpu", (double)got.amount[VPA_TARGET][RESOURCE_CPU] / 1000,
		    row->number[0], row->number[2] / 100);
	rules.percentile[VPA_TARGET] = 0.5;
	vpa_estimate(&a, &rules, 1, 1u << RESOURCE_MEMORY, &got);
	expect_near(row->at, "memory", (double)got.amount[VPA_TARGET][RESOURCE_MEMORY],
		    row->number[1], row->number[2] / 100);
}

static void check_no_samples(const struct unit_row *row)
{
	double exponent = row->id == 80 ? 1 : -1;

	unit_expect(row, 0, (double)vpa_with_confidence(3140, 0, 1, exponent));
}

/* Nine CPU samples two minutes apart; V082, V083 over 24 h, V084, V085 over 18 min. */
static double confidence(const struct unit_row *row)
{
	usec_t interval = row->id < 84 ? 24 * USEC_PER_HOUR : 18 * USEC_PER_MIN;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_container c = {.aggregate = &a, .rules = &vpa_rules_default};

	vpa_aggregate_init(&a, &vpa_rules_default);
	for (usec_t i = 0; i < 9; i++)
		vpa_add_cpu(&c, 1000, at_hour(0) + i * 2 * USEC_PER_MIN);
	return vpa_confidence(&a, interval);
}

static void check_confidence(const struct unit_row *row)
{
	unit_expect(row, 0, confidence(row));
}

static void check_spread(const struct unit_row *row)
{
	double c = confidence(row);

	unit_expect(row, 0, (double)vpa_with_confidence(3140, c, 0.1, 2) / 1000);
	unit_expect(row, 1, (double)vpa_with_confidence(3140000000, c, 0.1, 2));
}

static void check_margin(const struct unit_row *row)
{
	unit_expect(row, 0, (double)vpa_with_margin(3140, 0.1) / 1000);
	unit_expect(row, 1, (double)vpa_with_margin(3140000000, 0.1));
}

static void check_minimum(const struct unit_row *row)
{
	if (row->id == 87)
		unit_expect(row, 0, (double)vpa_with_minimum(3140, 200, 1) / 1000);
	else
		unit_expect(row, 0, (double)vpa_with_minimum(400000000, 20000000, 1));
}

static void check_pod_minimum(const struct unit_row *row)
{
	const int64_t *minimum = vpa_rules_default.pod_minimum;
	uint32_t containers = row->id == 89 ? 1 : 2;

	unit_expect(row, 0, (double)vpa_with_minimum(1, minimum[RESOURCE_CPU], containers));
	unit_expect(row, 1,
		    (double)vpa_with_minimum(1000000, minimum[RESOURCE_MEMORY], containers));
}

static void check_controlled(const struct unit_row *row)
{
	struct vpa_recommendation got;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;

	vpa_aggregate_init(&a, &vpa_rules_default);
	vpa_estimate(&a, &vpa_rules_default, 1, 1u << RESOURCE_MEMORY, &got);
	expect_int(row->at, row->expected, got.resources, 1u << RESOURCE_MEMORY);
	expect_int(row->at, "cpu", got.amount[VPA_TARGET][RESOURCE_CPU], 0);
	expect_int(row->at, "memory", got.amount[VPA_TARGET][RESOURCE_MEMORY], 262144000);
}

/* What happens to a container: 'c' CPU in millicores, 'm' memory, 'o' OOM with its request. */
struct step {
	char kind;
	double value;
	double hour;
	bool rejected;
};

/* A call that the histogram must have got: '+' or '-'. */
struct call {
	char sign;
	double value;
	double hour;
};

struct scenario {
	int id;
	double window_h;
	struct step before[3];
	struct step steps[3];
	/* The numbers of the row's expected text, in its order... */
	double numbers[6];
	uint32_t count;
	/* ... and the calls they stand for. */
	struct call calls[3];
};

/* clang-format off */
static const struct scenario scenarios[] = {
	{92, 24, {}, {{'c', 3140, 0, 0}, {'c', 6280, 12, 0}, {'c', 1570, 24, 0}},
	 {3.14, 6.28, 1.57, 0.1}, 4, {{'+', 3.14, 0}, {'+', 6.28, 12}, {'+', 1.57, 24}}},
	{93, 24, {}, {{'m', 5, 0, 0}}, {5, 1, 0, 24}, 4, {{'+', 5, 24}}},
	{94, 24, {{'m', 5, 0, 0}}, {{'m', 10, 12, 0}},
	 {5, 0, 24, 10, 0, 24}, 6, {{'-', 5, 24}, {'+', 10, 24}}},
	{95, 24, {{'m', 5, 0, 0}, {'m', 10, 12, 0}}, {{'m', 2, 24, 0}},
	 {2, 1, 0, 48}, 4, {{'+', 2, 48}}},
	{96, 24, {{'c', 1570, 24, 0}},
	 {{'c', 1570, 24, 1}, {'c', -1000, 25, 1}, {'m', -1000, 25, 1}}, {}, 0, {}},
	{97, 24, {}, {{'o', 1000 * MIB_D, 0, 0}}, {1200, 0, 24}, 3, {{'+', 1200 * MIB_D, 24}}},
	{98, 24, {{'o', 1000 * MIB_D, 0, 0}}, {{'o', 999 * MIB_D, 0, 0}, {'o', 999 * MIB_D, 0, 0}},
	 {0}, 1, {}},
	{99, 24, {{'o', 1000 * MIB_D, 0, 0}}, {{'o', 2000 * MIB_D, 0, 0}},
	 {1200, 2400}, 2, {{'-', 1200 * MIB_D, 24}, {'+', 2400 * MIB_D, 24}}},
	{100, 24, {}, {{'o', MIB_D, 0, 0}}, {101}, 1, {{'+', 101 * MIB_D, 24}}},
	{101, 24, {{'m', 3000 * MIB_D, 0, 0}}, {{'o', 1000 * MIB_D, 0, 0}},
	 {3000, 3600}, 2, {{'-', 3000 * MIB_D, 24}, {'+', 3600 * MIB_D, 24}}},
	{102, 24, {{'m', 1000 * MIB_D, 0, 0}}, {{'o', 1000 * MIB_D, -30, 1}}, {}, 0, {}},
	{103, 24, {{'m', 2000 * MIB_D, 0, 0}}, {{'o', 1000 * MIB_D, 48, 0}},
	 {2400, 0, 72}, 3, {{'+', 2400 * MIB_D, 72}}},
	{104, 24, {{'m', 100 * MIB_D, 0, 0}, {'m', 2000 * MIB_D, 24, 0}},
	 {{'o', 1000 * MIB_D, 24 - 1.0 / 3600, 0}},
	 {2000, 2400, 0, 48}, 4, {{'-', 2000 * MIB_D, 48}, {'+', 2400 * MIB_D, 48}}},
	{105, 1, {{'m', 1000 * MIB_D, 0, 0}}, {{'o', 1000 * MIB_D, -2, 1}}, {}, 0, {}},
	{106, 1, {{'m', 2000 * MIB_D, 0, 0}}, {{'o', 1000 * MIB_D, 2, 0}},
	 {2400, 0, 3}, 3, {{'+', 2400 * MIB_D, 3}}},
	{107, 1, {}, {{'m', 5, 0, 0}, {'m', 10, 2, 0}},
	 {0, 1, 0, 3}, 4, {{'+', 5, 1}, {'+', 10, 3}}},
	{108, 1, {{'m', 5, 0, 0}}, {{'m', 10, 0.5, 0}},
	 {5, 10, 0, 1}, 4, {{'-', 5, 1}, {'+', 10, 1}}},
	{0},
};
/* clang-format on */

static void apply_steps(struct vpa_container *c, const struct step *steps, const struct csv *at)
{
	for (int i = 0; i < 3 && steps[i].kind; i++) {
		int64_t value = (int64_t)steps[i].value;
		usec_t now = at_hour(steps[i].hour);
		enum vpa_sample r;

		if (steps[i].kind == 'c')
			r = vpa_add_cpu(c, value, now);
		else if (steps[i].kind == 'm')
			r = vpa_add_memory(c, value, now);
		else
			r = vpa_add_oom(c, value, now);
		expect_int(at, "rejected", r == VPA_SAMPLE_REJECTED, steps[i].rejected);
	}
}

static void apply_calls(struct vpa_aggregate *a, const struct scenario *s)
{
	bool cpu = s->steps[0].kind == 'c';
	struct histogram *h = cpu ? &a->cpu : &a->memory;
	double weight = cpu ? 0.1 : 1.0;

	for (int i = 0; i < 3 && s->calls[i].sign; i++) {
		usec_t t = at_hour(s->calls[i].hour);

		if (s->calls[i].sign == '+')
			histogram_add(h, s->calls[i].value, weight, t);
		else
			histogram_subtract(h, s->calls[i].value, weight, t);
	}
}

static void check_scenario(const struct unit_row *row)
{
	struct vpa_rules rules = vpa_rules_default;
	const struct scenario *s = scenarios;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a, want;
	struct vpa_container c = {.aggregate = &a, .rules = &rules};

	while (s->id && s->id != row->id)
		s++;
	unit_expect_list(row, s->numbers, s->count);
	rules.window_usec = (usec_t)s->window_h * USEC_PER_HOUR;
	vpa_aggregate_init(&a, &rules);
	apply_steps(&c, s->before, row->at);
	expect_int(row->at, "copy", vpa_aggregate_copy(&a, &want), 0);
	apply_steps(&c, s->steps, row->at);
	apply_calls(&want, s);
	expect_int(row->at, "cpu calls", same_histogram(&a.cpu, &want.cpu), true);
	expect_int(row->at, "memory calls", same_histogram(&a.memory, &want.memory), true);
}

const struct unit_check unit_container_checks[] = {
	{60, 60, check_aggregate_save, NULL},
	{61, 62, check_aggregate_load, NULL},
	{63, 64, NULL, "a running window is saved with the rest"},
	{65, 65, NULL, "all history goes to one file in one write, so there is no order"},
	{66, 66, NULL, "there are no workers that write checkpoints"},
	{79, 79, check_estimate, NULL},
	{80, 81, check_no_samples, NULL},
	{82, 82, check_confidence, NULL},
	{83, 83, check_spread, NULL},
	{84, 84, check_confidence, NULL},
	{85, 85, check_spread, NULL},
	{86, 86, check_margin, NULL},
	{87, 88, check_minimum, NULL},
	{89, 90, check_pod_minimum, NULL},
	{91, 91, check_controlled, NULL},
	{92, 108, check_scenario, NULL},
	{109, 111, NULL, "the history has an expiry of its own"},
	{0},
};
