/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded series as CSV. The first line names the columns; a comma, semicolon or tab separates
 * them. The names that are known: series.c, vscalectl(1). A time is of an epoch in seconds or
 * finer, or of ISO 8601. In each series a time is at least 0.1 s after the one before it, the last
 * at most 366 days after the first; a gap of more than a day is left out, and one of more than ten
 * minutes and ten times the interval before it. Where a cell is empty the value before holds.
 */
#pragma once

#include "policy/backtest/backtest.h"

struct series {
	char *name;                      /* owned; "": the file has no column of names */
	struct backtest_sample *samples; /* owned */
	size_t count, capacity;
	size_t gaps; /* left out */
	size_t lone; /* samples left out with them */
	usec_t left_out_usec;
};

struct series_file {
	struct series *series; /* owned, each of two samples or more */
	size_t count, capacity;
	bool memory;
	size_t empty;     /* cells */
	size_t too_short; /* series left out: fewer than two samples */
	char unused[160]; /* names of columns, for people; "": none */
};

struct series_error {
	size_t line; /* 1 is the header */
	char what[240];
};

/* text: ended by NUL, changed. cpus: of the machine; 0: not given, which percent need. -EBADMSG: e
 * says where, why and what to do; -ENOMEM. */
int series_parse(char *text, uint32_t cpus, struct series_file *ret, struct series_error *ret_e);
void series_drop(struct series_file *f);
