/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading of a parsed JSON text. Absent and null are the same: NULL, false, 0, no member. So
 * is another type than the expected one, but that is -EBADMSG: err has the first error and its
 * place, and field_error() is asked before what was read is used. */
#pragma once

#include "agent/base/json.h"
#include "agent/kube/model/decode.h"
#include <cjson/cJSON.h>

struct field {
	const cJSON *json;      /* NULL: absent */
	const struct field *up; /* must outlive this one */
	const char *key;        /* NULL: an item of an array, or the root */
	size_t index;
	struct kube_decode_error *err;
};

/* Parses one value of a text. The result is owned: cJSON_Delete(). Checked by scan_slim(). */
int field_parse(const char *text, size_t len, cJSON **ret, struct kube_decode_error *err);
static inline struct field field_root(const cJSON *json, struct kube_decode_error *err)
{
	return (struct field){.json = json, .err = err};
}

/* What is wrong with the member of that key (NULL: with n), into err, unless something was wrong
 * before. Returns the first error, -EBADMSG here. */
int field_bad(const struct field *n, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The first error of all that was read with this err. */
static inline int field_error(const struct field *n)
{
	return n->err->error;
}
/* The same for a scanner's fault. */
int field_bad_scan(struct kube_decode_error *err, const struct scan_error *fault);

bool field_has(const struct field *n, const char *key);
struct field field_object(const struct field *n, const char *key);
struct field field_array(const struct field *n, const char *key);
/* Begins with a zeroed item; false: there is no further object, or there was an error. */
bool field_next(const struct field *array, struct field *item);
/* The same for an array of strings. */
bool field_next_text(const struct field *array, struct field *item, const char **ret);
/* Borrowed. */
const char *field_text(const struct field *n, const char *key);
/* It is there and is this text. */
bool field_text_is(const struct field *n, const char *key, const char *text);
/* Owned; also -ENOMEM. */
char *field_copy(const struct field *n, const char *key);
/* A copy that passes the check, or is absent. */
char *field_name(const struct field *n, const char *key, bool (*valid)(const char *s));
bool field_bool(const struct field *n, const char *key);
/* Integers up to 2^53 - 1 either way: what JSON's numbers hold exactly. */
int64_t field_int(const struct field *n, const char *key, int64_t min, int64_t max);
/* A quantity as text or whole number: millicores, bytes. */
uint64_t field_quantity(const struct field *n, const char *key, enum resource r);
/* "2026-11-20T08:03:10Z", with or without a fraction. */
usec_t field_time(const struct field *n, const char *key);
