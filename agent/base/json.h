/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: a strict scanner, and the one place where what it accepts becomes a tree of cJSON. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Finds where the values of a JSON text begin and end without building a tree, and cuts
 * a member that is hardly read. Strict RFC 8259; nesting, values and numbers are capped.
 */

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

/* Checks that the text is one value; *ret is its span without the blanks around it. The number of
 * values is not capped here, because nothing is built. -EBADMSG. */
int scan_document(const char *text, size_t len, struct span *ret, struct scan_error *err);

/* Writes what is needed of a scanned object in its place, never longer, padded with blanks; returns
 * how many values that has. */
typedef size_t scan_cut_fn(char *text, size_t len);

/* Iterates over the members of an object, or the items of an array, that was scanned; begin with
 * *at NULL. A key is the span between its quotes, as written; the key of an item is empty. */
bool scan_next(const struct span *container, const char **at, struct span *ret_key,
	       struct span *ret_value);
/* The same in two steps, also where the end of the text is missing: the key, with *at moved to the
 * value, and the value. False: the text ends before. */
bool scan_key(const struct span *container, const char **at, struct span *ret_key);
bool scan_value(const struct span *container, const char **at, struct span *ret_value);
bool span_is(const struct span *s, const char *text);

static inline void drop_json(cJSON **j)
{
	cJSON_Delete(*j);
}

/* One value, owned. -EBADMSG: not JSON, err says what is wrong; -ENOMEM. */
int json_parse(const char *text, size_t len, cJSON **ret, struct scan_error *err);
/* The same of an object of the API server, each object fieldsV1 of its managedFields, half of a
 * pod, cut: it changes the text. -E2BIG: too many values. */
int json_parse_slim(char *text, size_t len, scan_cut_fn *cut, cJSON **ret, struct scan_error *err);

/* An object or array that is filled; json NULL, as any item: memory is short. */
struct view_json {
	cJSON *json;
	bool failed;
};

/* Takes item over. key NULL: into an array. */
void view_put(struct view_json *o, const char *key, cJSON *item);
/* Owned by the caller; NULL when memory was short at any step. */
cJSON *view_end(struct view_json *o);
cJSON *view_text(const char *text); /* NULL: null */
