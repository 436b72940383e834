/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a CSV file with a header line, plain or gzip, row by row, fields by column name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#define CSV_FIELDS_MAX 24
#define CSV_LINE_MAX   16384

struct csv {
	gzFile file;
	uint64_t row;
	char header[CSV_LINE_MAX];
	char line[CSV_LINE_MAX];
	const char *column[CSV_FIELDS_MAX];
	const char *field[CSV_FIELDS_MAX];
	uint32_t count;
	bool kept; /* csv_unread(): the next csv_next() gives the same row again */
};

/* dir/base.csv.gz or dir/base.csv; exits with a message when there is none. */
struct csv *csv_open(const char *dir, const char *base);
void csv_close(struct csv *c);
bool csv_next(struct csv *c);
void csv_unread(struct csv *c);
void csv_rewind(struct csv *c);

/* Exit with a message when there is no such column or it does not hold what is asked for. */
const char *csv_text(const struct csv *c, const char *column);
double csv_double(const struct csv *c, const char *column);
int64_t csv_int(const struct csv *c, const char *column);
bool csv_bool(const struct csv *c, const char *column);
