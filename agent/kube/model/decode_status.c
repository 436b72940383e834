// SPDX-License-Identifier: Apache-2.0
/* What is no Pod: Status, LimitRanges, discovery, access reviews, names. */
#include "agent/base/escape.h"
#include "agent/kube/model/decode_impl.h"
#include <stdio.h>
#include <string.h>

/* A longer Retry-After is ignored. */
#define RETRY_MAX_SEC (24 * 3600)

static void copy_text(const struct field *n, const char *key, char *buf, size_t size)
{
	const char *s = field_text(n, key);

	if (s != NULL)
		escape_copy(s, buf, size);
}

/* The server repeats causes: a repetition is left out. */
static bool cause_known(const struct kube_status *s)
{
	for (uint32_t i = 0; i < s->cause_count; i++)
		if (memcmp(&s->cause[i], &s->cause[s->cause_count], sizeof s->cause[i]) == 0)
			return true;
	return false;
}

static void read_causes(const struct field *details, struct kube_status *s)
{
	struct field list = field_array(details, "causes"), item = {0};

	while (s->cause_count < KUBE_CAUSES_MAX && field_next(&list, &item)) {
		__typeof__(s->cause[0]) *c = &s->cause[s->cause_count];

		memset(c, 0, sizeof *c);
		copy_text(&item, "reason", c->reason, sizeof c->reason);
		copy_text(&item, "field", c->field, sizeof c->field);
		copy_text(&item, "message", c->message, sizeof c->message);
		if (!cause_known(s))
			s->cause_count++;
	}
}

static int decode_status(const struct field *n, struct kube_status *ret)
{
	struct field details = field_object(n, "details");

	if (!field_text_is(n, "kind", "Status"))
		return field_bad(n, "kind", "not a Status");
	copy_text(n, "reason", ret->reason, sizeof ret->reason);
	copy_text(n, "message", ret->message, sizeof ret->message);
	ret->code = (uint32_t)field_int(n, "code", 0, 999);
	ret->retry_after_usec =
		(usec_t)field_int(&details, "retryAfterSeconds", 0, RETRY_MAX_SEC) * USEC_PER_SEC;
	read_causes(&details, ret);
	return field_error(n);
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
	/* A webhook may write invalid details: the message counts all the same. */
	if (r == 0 || s.message[0] != '\0')
		*ret = s;
	else
		plain_message(text, len, ret);
}

/* The document, owned by the caller; its kind must be this one. */
static int decode_kind(const char *text, size_t len, const char *want, cJSON **json,
		       struct field *ret, struct kube_decode_error *err)
{
	int r = decode_object(text, len, json, err);

	if (r < 0)
		return r;
	*ret = field_root(*json, err);
	return field_text_is(ret, "kind", want) ? 0 : field_bad(ret, "kind", "not %s", want);
}

static bool has_verb(const struct field *resource, const char *verb)
{
	struct field list = field_array(resource, "verbs"), item = {0};
	bool found = false;
	const char *s;

	while (field_next_text(&list, &item, &s))
		found |= strcmp(s, verb) == 0;
	return found;
}

int kube_decode_resize_offered(const char *text, size_t len, bool *ret,
			       struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	bool offered = false;
	int r = decode_kind(text, len, "APIResourceList", &json, &root, err);

	if (r < 0)
		return r;
	list = field_array(&root, "resources");
	while (field_next(&list, &item))
		if (field_text_is(&item, "name", "pods/resize"))
			offered |= has_verb(&item, "patch");
	if (err->error == 0)
		*ret = offered;
	return err->error;
}

static void read_range(const struct field *limit, struct kube_range_bounds *range)
{
	struct field min = field_object(limit, "min"), max = field_object(limit, "max");
	struct field ratio = field_object(limit, "maxLimitRequestRatio");

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		uint64_t low = field_quantity(&min, resource_names[i], i);
		uint64_t high = field_quantity(&max, resource_names[i], i);
		/* A ratio of "1.5" is 1500 permille, as 1.5 CPUs are 1500 millicores. */
		uint64_t permille = field_quantity(&ratio, resource_names[i], RESOURCE_CPU);

		range->min[i] = MAX(range->min[i], low);
		if (high > 0 && (range->max[i] == 0 || high < range->max[i]))
			range->max[i] = high;
		if (permille > 0 &&
		    (range->ratio_permille[i] == 0 || permille < range->ratio_permille[i]))
			range->ratio_permille[i] = permille;
	}
}

static int read_limit_range(const struct field *object, void *arg)
{
	struct kube_limit_range *range = arg;
	struct field spec = field_object(object, "spec");
	struct field list = field_array(&spec, "limits"), item = {0};

	while (field_next(&list, &item)) {
		if (field_text_is(&item, "type", "Container"))
			read_range(&item, &range->container);
		else if (field_text_is(&item, "type", "Pod"))
			read_range(&item, &range->pod);
	}
	return 0;
}

int kube_decode_limit_ranges(const char *text, size_t len, struct kube_limit_range *ret,
			     struct kube_decode_error *err)
{
	struct kube_limit_range range = {.container = {.min = {0}}};
	int r = decode_list(text, len, "\"LimitRangeList\"", read_limit_range, &range, err);

	if (r == 0)
		*ret = range;
	return r;
}

int kube_decode_access(const char *text, size_t len, bool *ret_allowed,
		       struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root, status;
	bool allowed;
	int r = decode_kind(text, len, "SelfSubjectAccessReview", &json, &root, err);

	if (r < 0)
		return r;
	status = field_object(&root, "status");
	if (!field_has(&status, "allowed"))
		return field_bad(&status, "allowed", "missing");
	allowed = field_bool(&status, "allowed");
	if (err->error == 0)
		*ret_allowed = allowed;
	return err->error;
}

static void copy(const struct field *n, const char *key, char *ret, size_t size)
{
	const char *text = field_text(n, key);

	if (text != NULL && (size_t)snprintf(ret, size, "%s", text) >= size)
		field_bad(n, key, "longer than %zu bytes", size - 1);
}

int kube_decode_lease(const char *text, size_t len, struct kube_lease *ret,
		      struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_lease lease = {.holder = ""};
	struct field root, meta, spec;
	int r = decode_kind(text, len, "Lease", &json, &root, err);

	if (r < 0)
		return r;
	meta = field_object(&root, "metadata");
	spec = field_object(&root, "spec");
	copy(&meta, "resourceVersion", lease.version, sizeof lease.version);
	copy(&spec, "holderIdentity", lease.holder, sizeof lease.holder);
	lease.renewed_real = field_time(&spec, "renewTime");
	if (err->error == 0 && lease.version[0] == '\0')
		field_bad(&meta, "resourceVersion", "missing");
	if (err->error == 0)
		*ret = lease;
	return err->error;
}

int kube_decode_node(const char *text, size_t len, struct kube_node *ret,
		     struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_node node = {.kubelet_version = ""};
	struct field root, status, allocatable, info;
	int r = decode_kind(text, len, "Node", &json, &root, err);

	if (r < 0)
		return r;
	status = field_object(&root, "status");
	allocatable = field_object(&status, "allocatable");
	info = field_object(&status, "nodeInfo");
	copy(&info, "kubeletVersion", node.kubelet_version, sizeof node.kubelet_version);
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		node.allocatable[i] = field_quantity(&allocatable, resource_names[i], i);
	if (err->error == 0)
		*ret = node;
	return err->error;
}
