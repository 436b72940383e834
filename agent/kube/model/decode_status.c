// SPDX-License-Identifier: Apache-2.0
/* What is no Pod: Status, LimitRanges, discovery, access reviews, names. */
#include "agent/base/escape.h"
#include "agent/kube/model/decode_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A longer Retry-After is ignored. */
#define RETRY_MAX_SEC (24 * 3600)

static int copy_text(const struct field *n, const char *key, char *buf, size_t size)
{
	const char *s;
	int r = field_text(n, key, &s);

	if (r == 0 && s != NULL)
		escape_copy(s, buf, size);
	return r;
}

/* The server repeats causes: a repetition is left out. */
static bool cause_known(const struct kube_status *s)
{
	for (uint32_t i = 0; i < s->cause_count; i++)
		if (memcmp(&s->cause[i], &s->cause[s->cause_count], sizeof s->cause[i]) == 0)
			return true;
	return false;
}

static int read_causes(const struct field *details, struct kube_status *s)
{
	struct field list, item = {0};
	int r = field_array(details, "causes", &list);

	while (r == 0 && s->cause_count < KUBE_CAUSES_MAX && (r = field_next(&list, &item)) > 0) {
		__typeof__(s->cause[0]) *c = &s->cause[s->cause_count];

		memset(c, 0, sizeof *c);
		r = copy_text(&item, "reason", c->reason, sizeof c->reason);
		if (r == 0)
			r = copy_text(&item, "field", c->field, sizeof c->field);
		if (r == 0)
			r = copy_text(&item, "message", c->message, sizeof c->message);
		if (r == 0 && !cause_known(s))
			s->cause_count++;
	}
	return r;
}

int decode_status(const struct field *n, struct kube_status *ret)
{
	int64_t code = 0, retry = 0;
	struct field details;
	const char *kind;
	int r = field_text(n, "kind", &kind);

	if (r == 0 && (kind == NULL || strcmp(kind, "Status") != 0))
		r = field_bad(n, "kind", "not a Status");
	if (r == 0)
		r = copy_text(n, "reason", ret->reason, sizeof ret->reason);
	if (r == 0)
		r = copy_text(n, "message", ret->message, sizeof ret->message);
	if (r == 0)
		r = field_int(n, "code", 0, 999, &code);
	if (r == 0)
		r = field_object(n, "details", &details);
	if (r == 0)
		r = field_int(&details, "retryAfterSeconds", 0, RETRY_MAX_SEC, &retry);
	if (r == 0)
		r = read_causes(&details, ret);
	ret->code = (uint32_t)code;
	ret->retry_after_usec = (usec_t)retry * USEC_PER_SEC;
	return r;
}

/* A proxy's page, "Too many requests": its beginning, without the line's end. */
static void plain_message(const char *text, size_t len, struct kube_status *ret)
{
	char start[sizeof ret->message];
	size_t n = MIN(len, sizeof start - 1);

	memcpy(start, text, n);
	start[n] = '\0';
	while (n > 0 && strchr(" \t\r\n", start[n - 1]) != NULL)
		start[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)start[i] >= 0x7f)
			start[i] = '?'; /* of no known encoding */
	*ret = (struct kube_status){.code = 0};
	escape_copy(start, ret->message, sizeof ret->message);
}

void kube_decode_status(const char *text, size_t len, struct kube_status *ret)
{
	struct kube_status s = {.code = 0};
	struct kube_decode_error err;
	OWN(drop_json) cJSON *json = NULL;
	struct field root;
	int r = field_parse(text, len, &json, &err);

	root = field_root(json, &err);
	if (r == 0)
		r = decode_status(&root, &s);
	if (r == 0)
		*ret = s;
	else
		plain_message(text, len, ret);
}

static int parse(const char *text, size_t len, cJSON **json, struct field *ret,
		 struct kube_decode_error *err)
{
	int r;

	*err = (struct kube_decode_error){""};
	r = field_parse(text, len, json, err);
	if (r < 0)
		return r;
	*ret = field_root(*json, err);
	return cJSON_IsObject(*json) ? 0 : field_bad(ret, NULL, "not an object");
}

/* The document's kind must be this one. */
static int parse_kind(const char *text, size_t len, const char *want, cJSON **json,
		      struct field *ret, struct kube_decode_error *err)
{
	const char *kind;
	int r = parse(text, len, json, ret, err);

	if (r == 0)
		r = field_text(ret, "kind", &kind);
	if (r == 0 && (kind == NULL || strcmp(kind, want) != 0))
		r = field_bad(ret, "kind", "not %s", want);
	return r;
}

static int has_verb(const struct field *resource, const char *verb, bool *ret)
{
	struct field list, item = {0};
	const char *s;
	int r = field_array(resource, "verbs", &list);

	while (r == 0 && (r = field_next_text(&list, &item, &s)) > 0) {
		*ret = *ret || strcmp(s, verb) == 0;
		r = 0;
	}
	return r;
}

int kube_decode_resize_offered(const char *text, size_t len, bool *ret,
			       struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	bool offered = false;
	const char *name;
	int r = parse_kind(text, len, "APIResourceList", &json, &root, err);

	if (r == 0)
		r = field_array(&root, "resources", &list);
	while (r == 0 && (r = field_next(&list, &item)) > 0) {
		r = field_text(&item, "name", &name);
		if (r == 0 && name != NULL && strcmp(name, "pods/resize") == 0)
			r = has_verb(&item, "patch", &offered);
	}
	if (r == 0)
		*ret = offered;
	return r;
}

static int read_range(const struct field *limit, struct kube_limit_range *range)
{
	static const char *const keys[RESOURCE_COUNT] = {"cpu", "memory"};
	struct field min, max, ratio;
	int r = field_object(limit, "min", &min);

	if (r == 0)
		r = field_object(limit, "max", &max);
	if (r == 0)
		r = field_object(limit, "maxLimitRequestRatio", &ratio);
	for (int i = 0; r == 0 && i < RESOURCE_COUNT; i++) {
		uint64_t low = 0, high = 0, permille = 0;

		r = field_quantity(&min, keys[i], (enum resource)i, &low);
		if (r == 0)
			r = field_quantity(&max, keys[i], (enum resource)i, &high);
		/* A ratio of "1.5" is 1500 permille, as 1.5 CPUs are 1500 millicores. */
		if (r == 0)
			r = field_quantity(&ratio, keys[i], RESOURCE_CPU, &permille);
		range->min[i] = MAX(range->min[i], low);
		if (high > 0 && (range->max[i] == 0 || high < range->max[i]))
			range->max[i] = high;
		if (permille > 0 &&
		    (range->ratio_permille[i] == 0 || permille < range->ratio_permille[i]))
			range->ratio_permille[i] = permille;
	}
	return r;
}

static int read_limit_range(const struct field *object, struct kube_limit_range *range)
{
	struct field spec, list, item = {0};
	const char *type;
	int r = field_object(object, "spec", &spec);

	if (r == 0)
		r = field_array(&spec, "limits", &list);
	while (r == 0 && (r = field_next(&list, &item)) > 0) {
		r = field_text(&item, "type", &type);
		if (r == 0 && type != NULL && strcmp(type, "Container") == 0)
			r = read_range(&item, range);
	}
	return r;
}

int kube_decode_limit_ranges(const char *text, size_t len, struct kube_limit_range *ret,
			     struct kube_decode_error *err)
{
	struct kube_limit_range range = {.min = {0}};
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	int r = parse_kind(text, len, "LimitRangeList", &json, &root, err);

	if (r == 0)
		r = field_array(&root, "items", &list);
	while (r == 0 && (r = field_next(&list, &item)) > 0)
		r = read_limit_range(&item, &range);
	if (r == 0)
		*ret = range;
	return r;
}

int kube_decode_access(const char *text, size_t len, bool *ret_allowed,
		       struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root, status;
	bool allowed = false;
	int r = parse_kind(text, len, "SelfSubjectAccessReview", &json, &root, err);

	if (r == 0)
		r = field_object(&root, "status", &status);
	if (r == 0 && !field_has(&status, "allowed"))
		r = field_bad(&status, "allowed", "missing");
	if (r == 0)
		r = field_bool(&status, "allowed", &allowed);
	if (r == 0)
		*ret_allowed = allowed;
	return r;
}
