/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a page; private to metrics*.c. `failed`: no memory, as metrics_page_read() returns. */
#pragma once

#include "agent/metrics/metrics.h"
#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_INFO, METRIC_TYPE_COUNT };
extern const char *const metric_type_names[METRIC_TYPE_COUNT];

struct metrics_writer {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
	enum metrics_format format;
	const struct metric *metric; /* whose family it is */
	bool labelled;               /* the series at work has a label */
};

struct metric {
	const char *name; /* of the series in the text format: counters end in _total */
	enum metric_type type;
	const char *unit;   /* "seconds"; the name's end; NULL: none */
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

/* HELP, TYPE and, where it is known, UNIT. */
void metrics_family(struct metrics_writer *w, const struct metric *m);
/* One series: its name with a suffix ("_bucket") or "", then labels, then the value. */
void metrics_series(struct metrics_writer *w, const char *suffix);
void metrics_label(struct metrics_writer *w, const char *name, const char *value);
/* value / 10^digits. */
void metrics_value(struct metrics_writer *w, uint64_t value, unsigned digits);
/* The end of a page, if the format has one. */
void metrics_end(struct metrics_writer *w);
/* "0.0001", "1.0": value / 10^digits as the label of a bucket. */
const char *metrics_bound(uint64_t value, unsigned digits, char *buf, size_t size);
/* The family's name: in OpenMetrics without _total or _info. */
int metrics_family_length(const struct metric *m, enum metrics_format format);

/* --- how a row's series are found; offsets are in the struct named */

#define EMIT(name)                                                                                 \
	void name(struct metrics_writer *w, const struct metric *m, const struct metrics_input *in)

#define EACH(name)                                                                                 \
	void name(struct metrics_writer *w, const struct metric *m, const struct metrics_thing *t)

EMIT(emit_build); /* no offset */
EMIT(emit_unsupported);
EMIT(emit_number);   /* uint64_t of metrics_input */
EMIT(emit_systemd);  /* a flag, none where systemd is not needed */
EMIT(emit_time);     /* usec_t of metrics_input; 0 has no series */
EMIT(emit_flag);     /* bool of metrics_input */
EMIT(emit_counter);  /* uint64_t of counters */
EMIT(emit_counters); /* uint64_t[count] of counters, by one label */
EMIT(emit_blocked);
EMIT(emit_changes);
EMIT(emit_requests);
EMIT(emit_span);    /* counters_span of counters */
EMIT(emit_spans);   /* counters_span[count] of counters, by one label */
EMIT(emit_managed); /* things by mode and state */
EACH(each_limits);  /* spec and applied of a resource */
EACH(each_bounds);  /* lower, target, upper, peak of a resource */
EACH(each_amount);  /* uint64_t of one metrics_resource */
EACH(each_amounts); /* the same of both, by the label resource */
EACH(each_thing);   /* uint64_t of metrics_thing */
