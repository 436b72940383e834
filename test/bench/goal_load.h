/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads for bench_goals: so many cores a second, made by rule and seed or read from a file, and the
 * pieces of work that each second brings. Everything follows from the seed.
 */
#pragma once

#include "policy/base/base.h"

#define LOAD_THREADS 4
#define LOAD_MS      1000

struct load {
	const char *name; /* borrowed */
	double *cores;    /* owned; one value holds for step_sec, and the series repeats */
	size_t count;
	uint32_t step_sec;
};

/* Microseconds of CPU that begin in each millisecond of one second. */
struct second {
	uint32_t work_usec[LOAD_MS][LOAD_THREADS];
	uint64_t total_usec;
};

struct pieces {
	uint64_t random;
	double carry_usec; /* what the last second's pieces were short of */
};

/* NULL: there is none. */
const char *load_kind(size_t i);

/* 24 h of a kind. -EINVAL: no such kind. -ENOMEM. */
int load_generate(struct load *l, const char *kind, uint64_t seed);
/* The last column of a CSV file, scaled to a mean of so many cores and cut at 3.6. 3600 values are
 * seconds, others 5 minutes each. -errno, -EBADMSG. */
int load_read(struct load *l, const char *file, double mean);
void load_drop(struct load *l);

/* The work of a second: lognormal around the series (sigma 0.15), in pieces of 10 to 50 ms that
 * begin at random moments on random threads. */
void pieces_second(struct pieces *p, const struct load *l, uint64_t second, struct second *ret);
