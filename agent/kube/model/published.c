// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/published.h"
#include "agent/kube/model/field.h"
#include "agent/kube/model/names.h"
#include "policy/base/base.h"
#include "policy/base/quantity.h"
#include "policy/history/history.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SAMPLES_MAX ((1LL << 53) - 1)

/* As written and read. */
static const struct {
	const char *key;
	size_t offset;
	bool bound;
} ranges[] = {
	{"lowerBound", offsetof(struct range_of, lower), true},
	{"target", offsetof(struct range_of, target), false},
	{"upperBound", offsetof(struct range_of, upper), true},
	{"peak", offsetof(struct range_of, peak), false},
};

static uint64_t *range_value(struct range_of *r, size_t i)
{
	return (uint64_t *)((char *)r + ranges[i].offset);
}

/* --- written --- */

bool kube_add_amount(cJSON *o, const char *key, enum resource r, uint64_t amount)
{
	char text[QUANTITY_TEXT_SIZE];

	if (r == RESOURCE_CPU)
		quantity_format_cpu(amount, text, sizeof text);
	else
		quantity_format_bytes(amount, text, sizeof text);
	return cJSON_AddStringToObject(o, key, text) != NULL;
}

static bool add_amount(cJSON *o, const char *key, enum resource r, uint64_t amount)
{
	if (r == RESOURCE_MEMORY)
		amount = round_up(amount, amount >= 100 * MIB ? MIB : KIB);
	return kube_add_amount(o, key, r, amount);
}

/* Exact to a thousandth. */
static bool add_confidence(cJSON *o, uint32_t permille)
{
	return cJSON_AddNumberToObject(o, "confidence", MIN(permille, 1000u) / 1000.0) != NULL;
}

static bool add_resource(cJSON *container, const struct kube_published *p, enum resource r)
{
	cJSON *o = cJSON_AddObjectToObject(container, resource_names[r]);
	struct range_of range = p->own.resource[r];
	bool ok = o != NULL;

	if (ok && p->request[r] != 0)
		ok = add_amount(o, "request", r, p->request[r]);
	if (ok && p->limit[r] != LIMIT_MAX)
		ok = add_amount(o, "limit", r, p->limit[r]);
	for (size_t i = 0; ok && i < ARRAY_SIZE(ranges); i++)
		if (!p->bare || !ranges[i].bound)
			ok = add_amount(o, ranges[i].key, r, *range_value(&range, i));
	return ok && (r == RESOURCE_CPU || add_confidence(o, p->own.confidence_permille[r]));
}

static bool add_reason(cJSON *container, const struct kube_published *p)
{
	char text[64];

	if (p->reason == NULL)
		return true;
	snprintf(text, sizeof text, "%s: %s", resource_names[p->reason_resource], p->reason);
	return cJSON_AddStringToObject(container, "reason", text) != NULL;
}

/* root["recommendation"]["containers"], made when it is not there. */
static cJSON *containers_of(cJSON *root)
{
	cJSON *o = cJSON_GetObjectItemCaseSensitive(root, "recommendation");

	if (o != NULL)
		return cJSON_GetObjectItemCaseSensitive(o, "containers");
	o = cJSON_AddObjectToObject(root, "recommendation");
	if (o == NULL || cJSON_AddNumberToObject(o, "version", KUBE_PUBLISHED_VERSION) == NULL)
		return NULL;
	return cJSON_AddObjectToObject(o, "containers");
}

bool kube_published_add(cJSON *root, const char *container, const struct kube_published *p)
{
	cJSON *list, *o;
	bool ok;

	if (p->samples == 0)
		return true;
	list = containers_of(root);
	o = list != NULL ? cJSON_AddObjectToObject(list, container) : NULL;
	ok = o != NULL;
	for (enum resource r = 0; ok && r < RESOURCE_COUNT; r++)
		if (p->own.resource[r].target != 0)
			ok = add_resource(o, p, r);
	return ok && cJSON_AddNumberToObject(o, "samples", (double)p->samples) != NULL &&
	       add_confidence(o, p->own.confidence_permille[RESOURCE_CPU]) && add_reason(o, p);
}

/* The first of these members that a container of list has is removed, from the last one on. */
static bool cut_members(cJSON *list, const char *const *keys, size_t count)
{
	for (int i = cJSON_GetArraySize(list); i-- > 0;) {
		cJSON *container = cJSON_GetArrayItem(list, i);
		bool any = false;

		for (size_t k = 0; k < count; k++)
			for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
				cJSON *o = cJSON_GetObjectItemCaseSensitive(container,
									    resource_names[r]);

				any |= cJSON_GetObjectItemCaseSensitive(o, keys[k]) != NULL;
				cJSON_DeleteItemFromObjectCaseSensitive(o, keys[k]);
			}
		if (!any)
			continue;
		/* Stands in an Event, too. */
		cJSON_DeleteItemFromObjectCaseSensitive(container, "reason");
		return true;
	}
	return false;
}

bool kube_published_cut(cJSON *root)
{
	/* Stands elsewhere in the pod, too; and what a new pod does not start from. */
	static const char *const known[] = {"request", "limit"};
	static const char *const bounds[] = {"lowerBound", "upperBound"};
	cJSON *o = cJSON_GetObjectItemCaseSensitive(root, "recommendation");
	cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "containers");
	int count = cJSON_GetArraySize(list);

	if (count == 0)
		return false;
	if (cut_members(list, known, ARRAY_SIZE(known)) ||
	    cut_members(list, bounds, ARRAY_SIZE(bounds)))
		return true;
	if (count == 1)
		cJSON_DeleteItemFromObjectCaseSensitive(root, "recommendation");
	else
		cJSON_DeleteItemFromArray(list, count - 1);
	return true;
}

/* --- read --- */

/* The annotation's object, owned by the caller. */
static int read_status(const char *text, cJSON **json, struct field *ret,
		       struct kube_decode_error *err)
{
	size_t len = strnlen(text, KUBE_STATUS_MAX + 1);
	int r = len <= KUBE_STATUS_MAX ? field_parse(text, len, json, err) : -EBADMSG;

	if (r < 0)
		return r;
	*ret = field_root(*json, err);
	return cJSON_IsObject(*json) ? 0 : -EBADMSG;
}

/* Written as text, without an exception. */
static uint64_t read_amount(const struct field *n, const char *key, enum resource r)
{
	uint64_t amount = field_text(n, key) != NULL ? field_quantity(n, key, r) : 0;

	if (amount >= INT64_MAX)
		field_bad(n, key, "too large");
	return amount;
}

/* A share of 1, exact to a thousandth. */
static uint32_t read_confidence(const struct field *n)
{
	const cJSON *j = cJSON_GetObjectItemCaseSensitive(n->json, "confidence");

	if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= 1)) {
		field_bad(n, "confidence", "not a number from 0 to 1");
		return 0;
	}
	return (uint32_t)(j->valuedouble * 1000 + 0.5);
}

static void read_range(const struct field *container, enum resource r, struct kube_published *p)
{
	struct field f = field_object(container, resource_names[r]);
	struct range_of *ret = &p->own.resource[r];

	/* Earlier releases wrote CPU's alone. */
	if (r == RESOURCE_CPU || field_has(&f, "confidence"))
		p->own.confidence_permille[r] = read_confidence(r == RESOURCE_CPU ? container : &f);

	for (size_t i = 0; f.json != NULL && i < ARRAY_SIZE(ranges); i++)
		*range_value(ret, i) = read_amount(&f, ranges[i].key, r);
	if (f.json == NULL || ret->lower != 0 || ret->upper != 0)
		return;
	p->bare = true;
	ret->lower = ret->upper = ret->target;
}

static int read_container(const struct field *c, struct kube_published *ret)
{
	struct kube_published p = {.limit = {LIMIT_MAX, LIMIT_MAX}};

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		read_range(c, r, &p);
	p.samples = (uint64_t)field_int(c, "samples", 1, SAMPLES_MAX);
	if (field_error(c) == 0 && (p.samples == 0 || !prior_is_possible(&p.own)))
		field_bad(c, NULL, "not a recommendation");
	if (field_error(c) == 0)
		*ret = p;
	return field_error(c);
}

static void read_shown(const struct field *root, const char *container,
		       uint64_t shown[static RESOURCE_COUNT])
{
	struct field list = field_object(root, "containers");
	struct field c = field_object(&list, container);

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct field f = field_object(&c, resource_names[r]);

		shown[r] = f.json != NULL ? read_amount(&f, "target", r) : 0;
	}
}

int kube_published_read(const char *text, const char *container, struct kube_published *ret,
			uint64_t shown[static RESOURCE_COUNT])
{
	OWN(drop_json) cJSON *json = NULL;
	uint64_t targets[RESOURCE_COUNT];
	struct kube_decode_error err;
	struct kube_published p;
	struct field root, top, list, c;
	int r = read_status(text, &json, &root, &err);

	if (r < 0)
		return r;
	top = field_object(&root, "recommendation");
	if (field_error(&root) == 0 && top.json == NULL)
		return -ENOENT;
	if (field_int(&top, "version", 0, INT32_MAX) != KUBE_PUBLISHED_VERSION)
		return field_error(&root) < 0 ? field_error(&root) : -ENOENT;
	list = field_object(&top, "containers");
	c = field_object(&list, container);
	if (field_error(&root) == 0 && c.json == NULL)
		return -ENOENT;
	read_shown(&root, container, targets);
	r = read_container(&c, &p);
	if (r < 0)
		return r;
	*ret = p;
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		shown[i] = targets[i];
	return 0;
}

/* --- originals --- */

static void read_resource(const struct field *container, enum resource r, struct kube_originals *o)
{
	struct field f = field_object(container, resource_names[r]);
	uint64_t limit;

	if (f.json == NULL)
		return;
	o->limit[r] = read_amount(&f, "original", r);
	o->request[r] = read_amount(&f, "originalRequest", r);
	limit = read_amount(&f, "limit", r);
	read_amount(&f, "target", r);
	/* Without a limit there is only the original request. */
	if (o->limit[r] == 0 && limit == 0 && o->request[r] != 0 && !field_has(&f, "original"))
		return;
	if (o->limit[r] == 0 || o->limit[r] >= LIMIT_MAX || limit == 0)
		field_bad(&f, "original", "missing or not positive");
}

static int read_containers(const struct field *list, const char *container,
			   struct kube_originals *ret)
{
	bool found = false;
	const cJSON *j;

	cJSON_ArrayForEach (j, list->json) {
		struct kube_originals o = {{0}, {0}};
		const struct field f = {.json = j, .up = list, .key = j->string, .err = list->err};

		if (!cJSON_IsObject(j) || !kube_is_label(j->string))
			return field_bad(list, NULL, "not containers");
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			read_resource(&f, r, &o);
		if (field_error(list) < 0)
			return field_error(list);
		if (strcmp(j->string, container) != 0)
			continue;
		/* Of two entries it is not known which one vscaled wrote. */
		if (found)
			return field_bad(list, NULL, "a container twice");
		found = true;
		*ret = o;
	}
	return found ? 0 : -ENOENT;
}

int kube_originals_read(const char *text, const char *container, struct kube_originals *ret)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_decode_error err;
	struct kube_originals o = {{0}, {0}};
	struct field root, list;
	int r = read_status(text, &json, &root, &err);

	if (r < 0)
		return r;
	list = field_object(&root, container != NULL ? "containers" : "podLevel");
	for (enum resource i = 0; container == NULL && i < RESOURCE_COUNT; i++)
		o.limit[i] = read_amount(&list, resource_names[i], i);
	r = err.error;
	if (r == 0 && (container != NULL || list.json == NULL))
		r = list.json != NULL ? read_containers(&list, container, &o) : -ENOENT;
	if (r == 0)
		*ret = o;
	return r;
}

char *kube_refusal_read(const char *text)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_decode_error err;
	struct field root;
	const char *refused;

	if (read_status(text, &json, &root, &err) < 0)
		return NULL;
	refused = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "refused"));
	return refused != NULL ? strdup(refused) : NULL;
}

bool kube_originals_fit(const struct kube_originals *o, const struct kube_container *c,
			uint32_t resources)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t request = o->request[r] != 0 ? o->request[r] : c->spec.request[r];

		if ((resources & (1u << r)) && c->spec.limit[r] != LIMIT_MAX &&
		    (o->limit[r] == 0 || request > o->limit[r]))
			return false;
	}
	return true;
}
