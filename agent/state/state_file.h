/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of every file that vscaled stores: one header line, then the body.
 *	vscaled NAME VERSION LENGTH CRC32C\n
 * with VERSION and LENGTH in decimal and, in eight hex digits, the checksum of all else.
 */
#pragma once

#include "policy/base/base.h"
#include <stddef.h>
#include <stdio.h>

/* The text form of one struct: a line of `name=value` fields in a fixed order, one space between.
 * There is exactly one way to write a value, and reading refuses every other. */

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

/* Reads a line without its newline. -EBADMSG or -ENOMEM; *ret is all 0 then. */
int record_read(const struct record_layout *l, const char *line, size_t len, void *ret);

/* Frees the names in a record and zeroes it. */
void record_clear(const struct record_layout *l, void *record);

/* One line, without its newline. */
typedef int record_line_fn(void *ctx, const char *line, size_t len);

/* Calls each() for every line of text; a last line without newline is -EBADMSG. */
int record_lines(const char *text, size_t len, record_line_fn *each, void *ctx);

struct state_kind {
	const char *name; /* also the name of the file */
	uint32_t version; /* the one written and read */
	size_t max_bytes; /* of the body */
};

#define STATE_ASIDE_MAX 64

struct state_file {
	char *body; /* owned, NUL after the last byte */
	size_t len;
};

void state_file_free(struct state_file *f);

/* Replaces the file: temporary file, fsync, rename, fsync of the folder. On failure the file that
 * was there is whole (only when the very last fsync fails is it already the new one).
 * -EFBIG: more than max_bytes. */
int state_file_save(int dir, const struct state_kind *k, const char *body, size_t len);

/* -ENOENT: there is none. -EBADMSG: damaged or too large; -EPROTONOSUPPORT: written by another
 * version. In these two cases the file is set aside under another name, which goes to aside
 * (STATE_ASIDE_MAX bytes; "" in every other case, and when even the renaming failed). */
int state_file_load(int dir, const struct state_kind *k, char *aside, struct state_file *ret);

/* The same, and record_lines(): a body with a line that is -EBADMSG is set aside as well. */
int state_file_load_lines(int dir, const struct state_kind *k, char *aside, record_line_fn *each,
			  void *ctx);

/* All of it, in as many calls as that takes. 0 or -errno. */
int state_write_all(int fd, const char *p, size_t len);

/* The version that a file says it has, whatever follows it. -EBADMSG: it is no file of this kind.
 */
int state_file_version(const struct state_kind *k, const char *text, size_t len, uint32_t *ret);

/* The strict part, on bytes already read. 0, -EBADMSG, -EPROTONOSUPPORT, -ENOMEM. */
int state_file_parse(const struct state_kind *k, const char *text, size_t len,
		     struct state_file *ret);

/* Arrays that are sorted by the first member of their items, a char *key. */

/* The index of the key, or the index at which it would be inserted. */
size_t sorted_array_position(const void *items, size_t count, size_t size, const char *key);
/* NULL: the array does not have the key. */
void *sorted_array_find(const void *items, size_t count, size_t size, const char *key);
/* Returns the array with a gap at that index; the caller fills the gap and counts it. The old array
 * is freed. NULL: no memory, the old array is unchanged. */
void *sorted_array_make_room(void *items, size_t count, size_t size, size_t at);
