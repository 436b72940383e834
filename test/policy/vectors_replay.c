// SPDX-License-Identifier: Apache-2.0
/* The recorded files that are the state of a stream of samples after a certain row. */
#include "policy/types/profile.h"
#include "test/policy/vectors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 128

static void missing(const struct csv *at, const char *what)
{
	fprintf(stderr, "row %llu: the samples hold no %s\n", (unsigned long long)at->row, what);
	exit(EXIT_FAILURE);
}

/* Finds the first row of a stream, from here on or from the start. */
static void seek_stream(struct csv *samples, const char *stream, const struct csv *at)
{
	for (int pass = 0; pass < 2; pass++) {
		while (csv_next(samples)) {
			if (strcmp(csv_text(samples, "stream"), stream) == 0) {
				csv_unread(samples);
				return;
			}
		}
		csv_rewind(samples);
	}
	missing(at, stream);
}

/* Steps to the next sample of the stream with i <= last; false when there is none. */
static bool next_sample(struct csv *samples, const char *stream, int64_t last)
{
	if (!csv_next(samples))
		return false;
	if (strcmp(csv_text(samples, "stream"), stream) == 0 && csv_int(samples, "i") <= last)
		return true;
	csv_unread(samples);
	return false;
}

struct decay {
	struct csv *samples;
	char stream[NAME_SIZE];
	int64_t after_i;
	struct histogram h;
};

static void decay_apply(struct decay *d)
{
	const struct csv *s = d->samples;
	usec_t now = (usec_t)csv_int(s, "time_unix_s") * USEC_PER_SEC;
	double value = csv_double(s, "value"), weight = csv_double(s, "weight");

	if (strcmp(csv_text(s, "op"), "add") == 0)
		histogram_add(&d->h, value, weight, now);
	else if (strcmp(csv_text(s, "op"), "sub") == 0)
		histogram_subtract(&d->h, value, weight, now);
	else
		missing(s, "known op");
}

/* Brings the histogram to the row that `want` speaks of. */
static void decay_advance(struct decay *d, const struct csv *want)
{
	const char *stream = csv_text(want, "stream");
	int64_t after_i = csv_int(want, "after_i");

	if (strcmp(d->stream, stream) != 0 || after_i < d->after_i) {
		snprintf(d->stream, sizeof d->stream, "%s", stream);
		seek_stream(d->samples, stream, want);
		csv_next(d->samples);
		histogram_drop(&d->h);
		histogram_init(&d->h, vectors_options(csv_text(d->samples, "kind")),
			       (usec_t)csv_int(d->samples, "half_life_s") * USEC_PER_SEC);
		csv_unread(d->samples);
	}
	while (next_sample(d->samples, stream, after_i))
		decay_apply(d);
	d->after_i = after_i;
}

/* Calls check for every row of a file with the histogram as it was then. */
static void decay_run(const char *dir, const char *base,
		      void (*check)(const struct csv *want, const struct histogram *h))
{
	struct csv *want = csv_open(dir, base);
	struct decay d = {.samples = csv_open(dir, "decay_samples")};

	while (csv_next(want)) {
		decay_advance(&d, want);
		check(want, &d.h);
	}
	histogram_drop(&d.h);
	csv_close(d.samples);
	csv_close(want);
}

static void check_percentile(const struct csv *want, const struct histogram *h)
{
	expect_double(want, "value", histogram_percentile(h, csv_double(want, "p")),
		      csv_double(want, "value"));
}

static void check_checkpoint(const struct csv *want, const struct histogram *h)
{
	char text[CSV_LINE_MAX];
	struct checkpoint saved;

	checkpoint_save(h, &saved);
	expect_int(want, "reference_unix_s", saved.reference_usec / (int64_t)USEC_PER_SEC,
		   csv_int(want, "reference_unix_s"));
	expect_near(want, "total_weight", saved.total, csv_double(want, "total_weight"), 1e-15);
	expect_text(want, "bucket_weights", vectors_weights(&saved, text, sizeof text),
		    csv_text(want, "bucket_weights"));
	expect_int(want, "is_empty", histogram_empty(h), csv_bool(want, "is_empty"));
}

static void check_reload(const struct csv *want, const struct histogram *h)
{
	struct checkpoint saved;
	OWN(histogram_drop) struct histogram loaded;

	checkpoint_save(h, &saved);
	histogram_init(&loaded, h->options, (usec_t)h->half_life_usec);
	expect_int(want, "load", checkpoint_load(&loaded, &saved), 0);
	expect_double(want, "value_after_save_and_load",
		      histogram_percentile(&loaded, csv_double(want, "p")),
		      csv_double(want, "value_after_save_and_load"));
}

void run_decay_percentiles(const char *dir)
{
	decay_run(dir, "decay_percentiles", check_percentile);
}

void run_decay_checkpoints(const char *dir)
{
	decay_run(dir, "decay_checkpoints", check_checkpoint);
}

void run_decay_reload_percentiles(const char *dir)
{
	decay_run(dir, "decay_reload_percentiles", check_reload);
}

struct e2e {
	struct csv *samples;
	char stream[NAME_SIZE];
	int64_t after_i;
	struct backtest_vpa vpa; /* the column of vscalectl backtest */
};

static void e2e_start(struct e2e *e, const char *stream)
{
	snprintf(e->stream, sizeof e->stream, "%s", stream);
	backtest_vpa_drop(&e->vpa);
	backtest_vpa_init(&e->vpa, RESOURCES_BOTH, 0);
}

static enum vpa_sample e2e_apply(struct e2e *e)
{
	const struct csv *s = e->samples;
	usec_t now = (usec_t)csv_int(s, "time_unix_s") * USEC_PER_SEC;
	const char *kind = csv_text(s, "kind");

	if (strcmp(kind, "cpu_m") == 0)
		return vpa_add_cpu(&e->vpa.container, csv_int(s, "value"), now);
	if (strcmp(kind, "mem_b") == 0)
		return vpa_add_memory(&e->vpa.container, csv_int(s, "value"), now);
	if (strcmp(kind, "oom") != 0)
		missing(s, "known kind");
	return backtest_vpa_killed(&e->vpa, csv_int(s, "request_bytes"), now);
}

void run_e2e_input(const char *dir)
{
	struct e2e e = {.samples = csv_open(dir, "e2e_input")};

	while (csv_next(e.samples)) {
		if (strcmp(e.stream, csv_text(e.samples, "stream")) != 0)
			e2e_start(&e, csv_text(e.samples, "stream"));
		expect_int(e.samples, "accepted", e2e_apply(&e) == VPA_SAMPLE_ACCEPTED,
			   csv_bool(e.samples, "accepted"));
	}
	backtest_vpa_drop(&e.vpa);
	csv_close(e.samples);
}

static void e2e_advance(struct e2e *e, const struct csv *want)
{
	const char *stream = csv_text(want, "stream");
	int64_t after_i = csv_int(want, "after_i");

	if (strcmp(e->stream, stream) != 0 || after_i < e->after_i) {
		seek_stream(e->samples, stream, want);
		e2e_start(e, stream);
	}
	while (next_sample(e->samples, stream, after_i))
		e2e_apply(e);
	e->after_i = after_i;
}

static void check_recommendation(const struct csv *want, const struct backtest_vpa *v)
{
	const struct vpa_aggregate *a = &v->aggregate;
	static const char *const amounts[VPA_BOUND_COUNT][RESOURCE_COUNT] = {
		[VPA_LOWER] = {"cpu_lower_m", "mem_lower_b"},
		[VPA_TARGET] = {"cpu_target_m", "mem_target_b"},
		[VPA_UPPER] = {"cpu_upper_m", "mem_upper_b"},
	};
	static const char *const percentiles[VPA_BOUND_COUNT][RESOURCE_COUNT] = {
		[VPA_LOWER] = {"cpu_p50", "mem_p50"},
		[VPA_TARGET] = {"cpu_p90", "mem_p90"},
		[VPA_UPPER] = {"cpu_p95", "mem_p95"},
	};
	const struct histogram *histograms[RESOURCE_COUNT] = {&a->cpu, &a->memory};
	struct vpa_recommendation got;

	vpa_estimate(&v->aggregate, &vpa_rules_default,
		     (uint32_t)csv_int(want, "containers_in_pod"), v->resources, &got);
	expect_int(want, "total_samples", (int64_t)a->samples, csv_int(want, "total_samples"));
	for (int b = 0; b < VPA_BOUND_COUNT; b++) {
		for (int r = 0; r < RESOURCE_COUNT; r++) {
			double p = histogram_percentile(histograms[r],
							vpa_rules_default.percentile[b]);

			expect_int(want, amounts[b][r], got.amount[b][r],
				   csv_int(want, amounts[b][r]));
			expect_double(want, percentiles[b][r], p,
				      csv_double(want, percentiles[b][r]));
		}
	}
}

void run_e2e_recommendation(const char *dir)
{
	struct csv *want = csv_open(dir, "e2e_recommendation");
	struct e2e e = {.samples = csv_open(dir, "e2e_input")};

	while (csv_next(want)) {
		e2e_advance(&e, want);
		check_recommendation(want, &e.vpa);
	}
	backtest_vpa_drop(&e.vpa);
	csv_close(e.samples);
	csv_close(want);
}
