/* SPDX-License-Identifier: Apache-2.0 */
/* The numeric cases of VPA's unit tests, read from text: helpers and one table per group. */
#pragma once

#include "test/policy/vectors.h"

#define UNIT_NUMBERS_MAX 16

struct unit_row {
	const struct csv *at;
	int id;
	const char *setup;
	const char *input;
	const char *expected;
	/* Numbers of `expected`, asides in brackets left out; true and yes are 1, false and no 0.
	 */
	double number[UNIT_NUMBERS_MAX];
	uint32_t count;
};

struct unit_check {
	int first; /* ids, both included */
	int last;
	void (*check)(const struct unit_row *row); /* NULL: nothing here does this */
	const char *absent;                        /* why not */
};

/* Each ends with a row of zeros. */
extern const struct unit_check unit_histogram_checks[];
extern const struct unit_check unit_container_checks[];
extern const struct unit_check unit_limits_checks[];

/* All numbers of a text, wherever they stand; returns how many. */
uint32_t unit_numbers(const char *s, double *ret, uint32_t max);
/* The decimals as far as they are shown, so within 1e-9. */
void unit_expect(const struct unit_row *row, uint32_t index, double got);
/* Exactly these numbers are expected, in this order. */
void unit_expect_list(const struct unit_row *row, const double *got, uint32_t count);
