/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the values of a JSON text begin and end, without building anything: lists are cut into
 * their items, and what nobody reads is blanked out, before a parser sees a byte. Strict RFC 8259
 * in UTF-8, nesting, number of values and length of numbers capped: whatever passes here, cJSON
 * parses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SCAN_DEPTH_MAX 64u
/* A parser's heap per value is about 100 bytes. A pod has a few hundred. */
#define SCAN_VALUES_MAX 65536u

struct span {
	const char *s;
	size_t len;
};

/* What is wrong, and where; static text. */
struct scan_error {
	const char *what;
	size_t at;
};

/* One value in the whole text: its span without the blanks around it. The number of values is not
 * capped here: nothing is built. -EBADMSG. */
int scan_document(const char *text, size_t len, struct span *ret, struct scan_error *err);

/* Checks one value and overwrites what is never read, managedFields' fieldsV1, with blanks: half of
 * a pod. -EBADMSG; -E2BIG: too many values. */
int scan_slim(char *text, size_t len, struct scan_error *err);

/* The members of an object or the items of an array that was scanned; begin with *at NULL. Keys are
 * spans between their quotes, as written; of an item the key is empty. */
bool scan_next(const struct span *container, const char **at, struct span *ret_key,
	       struct span *ret_value);
bool span_is(const struct span *s, const char *text);
