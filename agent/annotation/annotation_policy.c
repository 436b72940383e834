// SPDX-License-Identifier: Apache-2.0
/* The annotation `policy`: the resourcePolicy of a VerticalPodAutoscaler, strictly. */
#include "agent/annotation/annotation_impl.h"
#include "agent/base/escape.h"
#include "agent/config/config_table.h"
#include "agent/kube/model/field.h"
#include "agent/kube/model/names.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const resource_keys[RESOURCE_COUNT + 1] = {"cpu", "memory", NULL};

/* An unknown field is an error: its meaning is not known. */
static int only_keys(const struct field *n, const char *const *keys)
{
	const cJSON *j;

	cJSON_ArrayForEach (j, n->json) {
		char buf[ESCAPE_SIZE];
		size_t i = 0;

		while (keys[i] != NULL && strcmp(keys[i], j->string) != 0)
			i++;
		if (keys[i] == NULL)
			return field_bad(n, NULL, "\"%s\" is unknown or not supported",
					 escape_value(j->string, buf));
	}
	return 0;
}

/* VPA accepts any amount; one below the smallest amount of the key counts as the smallest. */
static int take_amount(const struct field *n, enum resource r, bool max, uint64_t *ret)
{
	const struct config_key *k = annotation_bound_key(r, max);
	char high[CONFIG_VALUE_TEXT];
	struct policy_rule rule;

	*ret = field_quantity(n, resource_keys[r], r);
	if (field_error(n) < 0 || *ret == 0)
		return field_error(n);
	*ret = MAX(*ret, k->min);
	if (*ret <= k->max)
		return 0;
	memcpy((char *)&rule + k->offset, &k->max, sizeof k->max);
	return field_bad(n, resource_keys[r], "too large; allowed: at most %s",
			 config_value_text(k, &rule, high, sizeof high));
}

static int take_amounts(const struct field *policy, bool max, struct settings *w)
{
	struct field amounts = field_object(policy, max ? "maxAllowed" : "minAllowed");
	int r = only_keys(&amounts, resource_keys);

	for (int i = 0; r == 0 && i < RESOURCE_COUNT; i++) {
		uint64_t amount = 0;

		r = take_amount(&amounts, (enum resource)i, max, &amount);
		if (amount == 0)
			continue;
		if (max) {
			w->bound[i].max = amount;
			w->has_max |= 1u << i;
		} else {
			w->bound[i].min = amount;
			w->has_min |= 1u << i;
		}
	}
	return r;
}

static int take_resources(const struct field *policy, struct settings *w)
{
	struct field list = field_array(policy, "controlledResources"), item = {0};
	const char *s;

	while (field_next_text(&list, &item, &s)) {
		if (strcmp(s, "cpu") == 0)
			w->resources |= RESOURCES_CPU;
		else if (strcmp(s, "memory") == 0)
			w->resources |= RESOURCES_MEMORY;
		else
			return field_bad(&item, NULL, "neither cpu nor memory");
	}
	/* An empty list: VPA recommends nothing. */
	if (list.json != NULL && w->resources == 0)
		w->off = true;
	return field_error(policy);
}

static int take_words(const struct field *policy, struct settings *w)
{
	const char *mode = field_text(policy, "mode");
	const char *controlled = field_text(policy, "controlledValues");

	w->off = mode != NULL && strcasecmp(mode, "Off") == 0;
	if (mode != NULL && !w->off && strcasecmp(mode, "Auto") != 0)
		return field_bad(policy, "mode", "allowed: Auto, Off");
	w->has_controlled = controlled != NULL;
	if (controlled != NULL && annotation_controlled(controlled, &w->controlled) < 0)
		return field_bad(policy, "controlledValues",
				 "allowed: RequestsAndLimits, RequestsOnly, LimitsOnly");
	return 0;
}

static int take_name(const struct field *policy, struct pod_settings *w,
		     struct container_policy *ret)
{
	const char *name = field_text(policy, "containerName");

	if (name == NULL || (strcmp(name, "*") != 0 && !kube_is_label(name)))
		return field_bad(policy, "containerName", "allowed: a container's name, or *");
	for (size_t i = 0; i < w->policy_count; i++)
		if (strcmp(w->policy[i].name, name) == 0)
			return field_bad(policy, "containerName", "\"%s\" twice", name);
	strcpy(ret->name, name);
	return 0;
}

static int take_entry(const struct field *n, struct pod_settings *w)
{
	static const char *const keys[] = {
		"containerName",    "mode", "minAllowed", "maxAllowed", "controlledResources",
		"controlledValues", NULL};
	struct container_policy *p = &w->policy[w->policy_count];
	int r;

	if (w->policy_count == POLICY_ENTRIES_MAX)
		return field_bad(n, NULL, "more than %d", POLICY_ENTRIES_MAX);
	r = only_keys(n, keys);
	if (r == 0)
		r = take_name(n, w, p);
	if (r == 0)
		r = take_words(n, &p->settings);
	if (r == 0)
		r = take_resources(n, &p->settings);
	if (r == 0)
		r = take_amounts(n, false, &p->settings);
	if (r == 0)
		r = take_amounts(n, true, &p->settings);
	if (r == 0)
		w->policy_count++;
	return r;
}

static int take_entries(const char *value, struct pod_settings *w, struct kube_decode_error *why)
{
	static const char *const keys[] = {"containerPolicies", NULL};
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	int r = field_parse(value, strlen(value), &json, why);

	if (r < 0)
		return r;
	root = field_root(json, why);
	if (!cJSON_IsObject(json))
		return field_bad(&root, NULL, "not an object");
	r = only_keys(&root, keys);
	list = field_array(&root, keys[0]);
	while (r == 0 && field_next(&list, &item))
		r = take_entry(&item, w);
	return r == 0 ? why->error : r;
}

int annotation_take_policy(const char *value, struct pod_settings *w, struct annotation_error *err)
{
	struct kube_decode_error why;
	int r;

	if (strlen(value) > KUBE_ANNOTATION_MAX)
		return annotation_bad(
			err, ANNOTATION_DOMAIN "policy: longer than the %d bytes that are read",
			KUBE_ANNOTATION_MAX);
	r = take_entries(value, w, &why);
	return r == -EBADMSG ? annotation_bad(err, ANNOTATION_DOMAIN "policy: %s", why.text) : r;
}
