// SPDX-License-Identifier: Apache-2.0
/* V001 to V078: bucket options, histogram, checkpoint, decay. */
#include "test/policy/same.h"
#include "test/policy/vectors_unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define T0_SEC 1234567890

static usec_t at_hour(double hours)
{
	return (usec_t)((T0_SEC + hours * 3600) * USEC_PER_SEC);
}

/* "linear max=5.0 bucket=0.3 eps=0.001", "linear 1.0/0.1/1e-15", "... ratio=1.5 ..." */
static struct histogram_options options_of(const char *setup)
{
	struct histogram_options o = {0};
	double n[4] = {0};
	int r;

	if (strncmp(setup, "...", 3) == 0)
		setup = "linear 1.0/0.1/1e-15";
	unit_numbers(setup, n, 4);
	if (strstr(setup, "ratio="))
		r = histogram_options_exponential(n[0], n[1], n[2], n[3], &o);
	else
		r = histogram_options_linear(n[0], n[1], n[2], &o);
	if (r < 0)
		o.buckets = 1;
	return o;
}

static void check_options(const struct unit_row *row)
{
	struct histogram_options o = options_of(row->setup);
	double argument = 0;

	unit_numbers(row->input, &argument, 1);
	if (strcmp(row->input, "num_buckets / last start") == 0) {
		unit_expect(row, 0, o.buckets);
		unit_expect(row, 1, o.start[o.buckets - 1]);
	} else if (strcmp(row->input, "num_buckets") == 0) {
		unit_expect(row, 0, o.buckets);
	} else if (strncmp(row->input, "bucket_start", 12) == 0) {
		unit_expect(row, 0, o.start[(int)argument]);
	} else {
		unit_expect(row, 0, histogram_find(&o, argument));
	}
}

/* Every "(value,wWEIGHT)" of the setup. */
static void add_pairs(struct histogram *h, const char *s)
{
	double value, weight;

	while ((s = strchr(s, '('))) {
		if (sscanf(s, "(%lf,w%lf)", &value, &weight) == 2)
			histogram_add(h, value, weight, at_hour(0));
		s++;
	}
}

static void check_percentile(const struct unit_row *row)
{
	struct histogram_options o = options_of(row->setup);
	double p = 0;

	unit_numbers(row->input, &p, 1);
	for (usec_t half_life = 0; half_life <= USEC_PER_HOUR; half_life += USEC_PER_HOUR) {
		OWN(histogram_drop) struct histogram h;

		histogram_init(&h, &o, half_life);
		if (strstr(row->setup, "add value i weight i"))
			for (int i = 1; i <= 4; i++)
				histogram_add(&h, i, i, at_hour(0));
		add_pairs(&h, row->setup);
		unit_expect(row, 0, histogram_percentile(&h, p));
	}
}

/* V043 adds 2.5 epsilon, V044 and V045 take one away each. */
static void check_empty(const struct unit_row *row)
{
	struct histogram_options o = options_of(row->setup);
	OWN(histogram_drop) struct histogram h;

	histogram_init(&h, &o, 0);
	if (row->id >= 43)
		histogram_add(&h, 0.1, 2.5 * o.epsilon, 0);
	for (int id = 44; id <= row->id; id++)
		histogram_subtract(&h, 0.1, o.epsilon, 0);
	unit_expect(row, 0, histogram_empty(&h));
}

static void check_sub_epsilon(const struct unit_row *row)
{
	static const struct {
		double value, epsilons;
	} adds[] = {{9.9, 3}, {0.1, 0.3}, {999.9, 0.3}};
	struct histogram_options o = options_of(row->setup);
	OWN(histogram_drop) struct histogram h;

	histogram_init(&h, &o, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(adds); i++) {
		histogram_add(&h, adds[i].value, adds[i].epsilons * o.epsilon, 0);
		unit_expect(row, i, histogram_empty(&h));
	}
	/* 0.1 is bucket 1, where nothing may begin; 999.9 shares the last one with 9.9. */
	expect_int(row->at, "min", h.min, o.buckets - 1);
}

/* V048: nothing; else "add 1 w1, 2 w100000". */
static void check_save(const struct unit_row *row)
{
	struct histogram_options o = options_of(row->setup);
	const char *s = strstr(row->setup, "; add ");
	double value, weight, got[UNIT_NUMBERS_MAX];
	struct checkpoint saved;
	OWN(histogram_drop) struct histogram h;
	uint32_t n = 0;
	int used;

	histogram_init(&h, &o, 0);
	for (s = s ? s + 6 : NULL; s && sscanf(s, "%lf w%lf%n", &value, &weight, &used) == 2;
	     s += used + (s[used] == ','))
		histogram_add(&h, value, weight, 0);
	checkpoint_save(&h, &saved);
	got[n++] = saved.total;
	if (saved.count == 0)
		got[n++] = 0;
	for (uint32_t i = 0; i < saved.count; i++) {
		got[n++] = saved.buckets[i].bucket;
		got[n++] = saved.buckets[i].weight;
	}
	unit_expect_list(row, got, n);
}

/* "load total=6 weights {0:1,1:2}", "load null" */
static int load(struct histogram *h, const char *input, int64_t reference_usec)
{
	struct checkpoint c = {.reference_usec = reference_usec};
	const char *s = strchr(input, '{');
	int used;

	if (!s)
		return checkpoint_load(h, NULL);
	unit_numbers(strstr(input, "total="), &c.total, 1);
	for (s++; sscanf(s, "%d:%u%n", &c.buckets[c.count].bucket, &c.buckets[c.count].weight,
			 &used) == 2;
	     s += used + (s[used] == ','))
		c.count++;
	return checkpoint_load(h, &c);
}

static void check_load(const struct unit_row *row)
{
	struct histogram_options o = options_of(row->setup);
	OWN(histogram_drop) struct histogram h;
	int r;

	histogram_init(&h, &o, 0);
	r = load(&h, row->input, 0);
	if (strcmp(row->expected, "error") == 0) {
		expect_int(row->at, row->expected, r < 0, 1);
		expect_int(row->at, "empty after the error", histogram_empty(&h), 1);
		return;
	}
	expect_int(row->at, "load", r, 0);
	unit_expect_list(
		row, (double[]){h.total, 0, histogram_weight(&h, 0), 1, histogram_weight(&h, 1)},
		5);
}

/* V057, V058: what was saved is there after loading. */
static void check_reload(const struct unit_row *row)
{
	struct histogram_options o = options_of("linear 10/1/1e-15");
	usec_t half_life = row->id == 58 ? USEC_PER_HOUR : 0;
	OWN(histogram_drop) struct histogram h, loaded;
	struct checkpoint saved;

	histogram_init(&h, &o, half_life);
	histogram_init(&loaded, &o, half_life);
	if (row->id == 58) {
		histogram_add(&h, 2, 1, (1234567890ULL + 360000) * USEC_PER_SEC);
	} else {
		histogram_add(&h, 1, o.epsilon, 0);
		histogram_add(&h, 2, 9999 * o.epsilon, 0);
	}
	checkpoint_save(&h, &saved);
	expect_int(row->at, "load", checkpoint_load(&loaded, &saved), 0);
	expect_int(row->at, "not empty", histogram_empty(&loaded), 0);
	expect_int(row->at, "has weights", saved.count > 0, 1);
	expect_int(row->at, "reference", saved.reference_usec, h.reference_usec);
	if (row->id == 58)
		expect_int(row->at, "reference set", saved.reference_usec > 0, 1);
}

static void check_reference(const struct unit_row *row)
{
	struct histogram_options o = options_of("linear 10/1/1e-15");
	const char *s = strstr(row->expected, "== ");
	OWN(histogram_drop) struct histogram h;
	struct tm tm = {0};
	int64_t want;

	if (!s || !strptime(s + 3, "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		expect_text(row->at, "expected", row->expected, "a time");
		return;
	}
	want = timegm(&tm) * (int64_t)USEC_PER_SEC;
	histogram_init(&h, &o, USEC_PER_HOUR);
	expect_int(row->at, "load", load(&h, row->input, want), 0);
	expect_int(row->at, "not empty", histogram_empty(&h), 0);
	expect_int(row->at, "reference", h.reference_usec, want);
}

struct sample {
	double value, weight, hour;
};

static struct histogram decaying(const struct histogram_options *o, const struct sample *s,
				 uint32_t count)
{
	struct histogram h;

	histogram_init(&h, o, USEC_PER_HOUR);
	for (uint32_t i = 0; i < count; i++)
		histogram_add(&h, s[i].value, s[i].weight, at_hour(s[i].hour));
	return h;
}

static void check_decay(const struct unit_row *row)
{
	static const struct sample old[] = {{2, 1000, 0}, {1, 1, 20}};
	static const struct sample shifted[] = {{2, 1, 0}, {1, 1, 101}};
	static const struct sample hourly[] = {{1, 1, 0}, {2, 2, 1}, {3, 3, 2}, {4, 4, 3}};
	struct histogram_options o = options_of("linear 10/1/1e-15");
	OWN(histogram_drop) struct histogram h;
	double p = 0;

	if (row->id >= 70)
		h = decaying(&o, hourly, 4);
	else
		h = decaying(&o, row->id == 69 ? shifted : old, 2);
	unit_numbers(row->input, &p, 1);
	unit_expect(row, 0, histogram_percentile(&h, p));
}

const struct unit_check unit_histogram_checks[] = {
	{1, 21, check_options, NULL},
	{22, 41, check_percentile, NULL},
	{42, 45, check_empty, NULL},
	{46, 46, check_sub_epsilon, NULL},
	{47, 47, NULL, "histograms are not merged"},
	{48, 51, check_save, NULL},
	{52, 56, check_load, NULL},
	{57, 58, check_reload, NULL},
	{59, 59, check_reference, NULL},
	{67, 77, check_decay, NULL},
	{78, 78, NULL, "histograms are not merged"},
	{0},
};
