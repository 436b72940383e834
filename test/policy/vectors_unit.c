// SPDX-License-Identifier: Apache-2.0
/* Reads unit_test_vectors and hands each row to the function that its id belongs to. */
#include "test/policy/vectors_unit.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct unit_check *const groups[] = {
	unit_histogram_checks,
	unit_container_checks,
	unit_limits_checks,
};

uint32_t unit_numbers(const char *s, double *ret, uint32_t max)
{
	uint32_t n = 0;

	while (*s && n < max) {
		bool sign = *s == '-' && isdigit((unsigned char)s[1]);
		char *end;

		if (!isdigit((unsigned char)*s) && !sign) {
			s++;
			continue;
		}
		ret[n++] = strtod(s, &end);
		s = end;
	}
	return n;
}

/* Copies a text without what stands in brackets behind a space. */
static void drop_asides(const char *s, char *buf, size_t size)
{
	size_t used = 0;
	int depth = 0;

	for (; *s && used + 1 < size; s++) {
		if (*s == '(' && (depth > 0 || (used > 0 && buf[used - 1] == ' ')))
			depth++;
		if (depth == 0)
			buf[used++] = *s;
		if (*s == ')' && depth > 0)
			depth--;
	}
	buf[used] = '\0';
}

/* Numbers, and the words that stand for 1 and 0. */
static uint32_t read_expected(const char *s, double *ret)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {{"true", 1}, {"yes", 1}, {"false", 0}, {"no", 0}};
	char text[256], *save, *token;
	uint32_t n = 0;

	drop_asides(s, text, sizeof text);
	for (token = strtok_r(text, " ,", &save); token; token = strtok_r(NULL, " ,", &save)) {
		n += unit_numbers(token, ret + n, UNIT_NUMBERS_MAX - n);
		for (size_t i = 0; i < ARRAY_SIZE(words) && n < UNIT_NUMBERS_MAX; i++)
			if (strcmp(token, words[i].word) == 0)
				ret[n++] = words[i].value;
	}
	return n;
}

void unit_expect(const struct unit_row *row, uint32_t index, double got)
{
	if (index >= row->count)
		expect_text(row->at, "expected", row->expected, "one number more");
	else
		expect_near(row->at, row->expected, got, row->number[index], 1e-9);
}

void unit_expect_list(const struct unit_row *row, const double *got, uint32_t count)
{
	expect_int(row->at, "numbers expected", row->count, count);
	for (uint32_t i = 0; i < count; i++)
		unit_expect(row, i, got[i]);
}

static const struct unit_check *find(int id)
{
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		for (const struct unit_check *c = groups[g]; c->first; c++)
			if (id >= c->first && id <= c->last)
				return c;
	return NULL;
}

void run_unit_test_vectors(const char *dir)
{
	struct csv *c = csv_open(dir, "unit_test_vectors");
	uint32_t rows = 0, absent = 0;

	for (; csv_next(c); rows++) {
		const char *id = csv_text(c, "id");
		struct unit_row row = {
			.at = c,
			.id = *id == 'V' ? atoi(id + 1) : 0,
			.setup = csv_text(c, "setup"),
			.input = csv_text(c, "input"),
			.expected = csv_text(c, "expected"),
		};
		const struct unit_check *check = find(row.id);

		row.count = read_expected(row.expected, row.number);
		if (check && check->check) {
			check->check(&row);
		} else if (check) {
			absent++;
			fprintf(stderr, "%s not run: %s\n", id, check->absent);
		} else {
			expect_text(c, "no check for", id, "");
		}
	}
	fprintf(stderr, "unit_test_vectors: %u rows, %u not run\n", rows, absent);
	csv_close(c);
}
