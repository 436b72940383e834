/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading of a parsed JSON text; an error names the place. Absent and null are the same and
 * leave *ret as it is; another type than the expected one is -EBADMSG, described in err. */
#pragma once

#include "agent/base/json.h"
#include "agent/kube/model/decode.h"
#include "agent/kube/model/scan.h"
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

/* What is wrong with the member of that key (NULL: with n), into err. Returns -EBADMSG. */
int field_bad(const struct field *n, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a scanner's fault. */
int field_bad_scan(struct kube_decode_error *err, const struct scan_error *fault);

bool field_has(const struct field *n, const char *key);
int field_object(const struct field *n, const char *key, struct field *ret);
int field_array(const struct field *n, const char *key, struct field *ret);
/* Begins with a zeroed item; 1: the next object is in *item, 0: there is none. */
int field_next(const struct field *array, struct field *item);
/* The same for an array of strings. */
int field_next_text(const struct field *array, struct field *item, const char **ret);
/* Borrowed; NULL when absent. */
int field_text(const struct field *n, const char *key, const char **ret);
/* Owned. */
int field_copy(const struct field *n, const char *key, char **ret);
/* A copy that passes the check, or is absent. */
int field_name(const struct field *n, const char *key, bool (*valid)(const char *s), char **ret);
int field_bool(const struct field *n, const char *key, bool *ret);
/* Integers up to 2^53 - 1 either way: what JSON's numbers hold exactly. */
int field_int(const struct field *n, const char *key, int64_t min, int64_t max, int64_t *ret);
/* A quantity as text or whole number: millicores, bytes. */
int field_quantity(const struct field *n, const char *key, enum resource r, uint64_t *ret);
/* "2026-11-20T08:03:10Z", with or without a fraction. */
int field_time(const struct field *n, const char *key, usec_t *ret);
