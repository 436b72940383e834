/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of one struct: a line of `name=value` fields in a fixed order, one space between.
 * There is exactly one way to write a value, and reading refuses every other. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define RECORD_NAME_MAX 1024
/* 128 bits in hex and the NUL; "" is written as "-". */
#define RECORD_ID_SIZE 33

enum record_type {
	RECORD_NAME,    /* char *, owned, not empty; all but plain printable bytes as %XX */
	RECORD_TEXT,    /* the same, or NULL, which is "-"; "-" itself comes back as NULL */
	RECORD_U64,     /* uint64_t up to max */
	RECORD_LIMIT,   /* uint64_t, LIMIT_MAX as "max" */
	RECORD_I64,     /* int64_t */
	RECORD_U32,     /* uint32_t up to max */
	RECORD_DOUBLE,  /* double, finite, not negative: the 16 hex digits of its bits */
	RECORD_ID,      /* char[RECORD_ID_SIZE], lower case hex digits */
	RECORD_WEIGHTS, /* double[max], finite: "index:bits,..." ascending without zeros, "-" if
			   none */
};

struct record_field {
	const char *name;
	enum record_type type;
	size_t offset;
	uint64_t max; /* the largest number, or the length of an array */
};

struct record_layout {
	const struct record_field *fields;
	size_t count;
	size_t size; /* of the struct */
};

/* Writes the line with its newline; whether f took it is for the caller to ask (ferror). */
void record_write(FILE *f, const struct record_layout *l, const void *record);

/* The lines of an array. *ret is owned, with a NUL after it. Needs no more memory than the text and
 * RECORD_TEXT_STEP. -ENOMEM. */
#define RECORD_TEXT_STEP (128 * KIB)
int record_encode(const struct record_layout *l, const void *items, size_t count, char **ret,
		  size_t *ret_len);

/* Reads a line without its newline. -EBADMSG or -ENOMEM; *ret is untouched then. */
int record_read(const struct record_layout *l, const char *line, size_t len, void *ret);

/* Frees the names in a record and zeroes it. */
void record_clear(const struct record_layout *l, void *record);

/* Calls each() for every line of text; a last line without newline is -EBADMSG. */
int record_lines(const char *text, size_t len,
		 int (*each)(void *ctx, const char *line, size_t line_len), void *ctx);
