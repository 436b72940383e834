/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a page; private to metrics_page.c and its tests. `failed`: no memory, as
 * metrics_page_read() returns. */
#pragma once

#include "agent/metrics/metrics.h"
#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_TYPE_COUNT };
extern const char *const metric_type_names[METRIC_TYPE_COUNT];

struct metrics_writer {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
	const struct metric *metric; /* whose family it is */
	bool labelled;               /* the series at work has a label */
};

struct metric {
	const char *name; /* counters end in _total */
	enum metric_type type;
	unsigned digits;    /* decimals in the stored integers: 3 for millicores, 6 for usec */
	const char *labels; /* for the reference: "resource, direction"; "" */
	const char *help;
	/* All series at once, or those of one thing after the other. */
	void (*emit)(struct metrics_writer *w, const struct metric *m,
		     const struct metrics_input *in);
	void (*each)(struct metrics_writer *w, const struct metric *m,
		     const struct metrics_thing *t);
	size_t offset; /* of the field, in the struct that emit reads */
	enum resource resource;
	size_t count;             /* of an array with one label ... */
	const char *const *names; /* ... and its values; NULL: not shown */
	bool kubernetes;          /* only with a cluster */
};

extern const struct metric metrics_table[];
extern const size_t metrics_table_size;

/* HELP and TYPE. */
void metrics_family(struct metrics_writer *w, const struct metric *m);
/* One series: its name with a suffix ("_bucket") or "", then labels, then the value. */
void metrics_series(struct metrics_writer *w, const char *suffix);
void metrics_label(struct metrics_writer *w, const char *name, const char *value);
/* value / 10^digits. */
void metrics_value(struct metrics_writer *w, uint64_t value, unsigned digits);
