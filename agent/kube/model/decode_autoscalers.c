// SPDX-License-Identifier: Apache-2.0
/* HorizontalPodAutoscalers of autoscaling/v2, as far as they depend on requests, and
 * VerticalPodAutoscalers of autoscaling.k8s.io/v1. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t resource_named(const struct field *metric)
{
	if (field_text_is(metric, "name", "cpu"))
		return RESOURCES_CPU;
	return field_text_is(metric, "name", "memory") ? RESOURCES_MEMORY : 0;
}

/* A utilisation is use over request; an average value is not. */
static uint32_t metric_depends_on(const struct field *item, const char *source)
{
	struct field metric = field_object(item, source), target = field_object(&metric, "target");

	return field_text_is(&target, "type", "Utilization") ? resource_named(&metric) : 0;
}

/* Without metrics the API server's default is 80 % of the CPU request. */
static uint32_t depends_on(const struct field *spec)
{
	struct field list = field_array(spec, "metrics"), item = {0};
	uint32_t resources = 0;

	if (cJSON_GetArraySize(list.json) == 0)
		return RESOURCES_CPU;
	while (field_next(&list, &item))
		resources |= metric_depends_on(&item, "resource") |
			     metric_depends_on(&item, "containerResource");
	return resources;
}

static uint32_t policy_sizes(const struct field *policy)
{
	struct field list = field_array(policy, "controlledResources"), item = {0};
	uint32_t resources = list.json == NULL ? RESOURCES_BOTH : 0;
	const char *name;

	while (field_next_text(&list, &item, &name))
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if (strcmp(name, resource_names[r]) == 0)
				resources |= 1u << r;
	return field_text_is(policy, "mode", "Off") ? 0 : resources;
}

/* Of any container, since those of its pods are not known. Off only recommends; what Initial has
 * set is marked on the pods. */
static uint32_t sizes(const struct field *spec)
{
	struct field update = field_object(spec, "updatePolicy");
	struct field policies = field_object(spec, "resourcePolicy");
	struct field list = field_array(&policies, "containerPolicies"), item = {0};
	uint32_t resources = 0, others = RESOURCES_BOTH;

	if (field_text_is(&update, "updateMode", "Off") ||
	    field_text_is(&update, "updateMode", "Initial"))
		return 0;
	while (field_next(&list, &item)) {
		resources |= policy_sizes(&item);
		if (field_text_is(&item, "containerName", "*"))
			others = 0;
	}
	return resources | others;
}

static const struct {
	const char *name, *target, *own, *other;
	uint32_t (*resources)(const struct field *spec);
} kinds[AUTOSCALER_KIND_COUNT] = {
	[AUTOSCALER_HORIZONTAL] = {"HorizontalPodAutoscaler", "scaleTargetRef",
				   "scales by its utilisation", "scales", depends_on},
	[AUTOSCALER_VERTICAL] = {"VerticalPodAutoscaler", "targetRef", "sizes it", "sizes", sizes},
};

/* Owned texts for explain: of its target's pods, and of others. */
static int explain(struct kube_autoscaler *a, enum autoscaler_kind kind, const char *name)
{
	if (asprintf(&a->why[0], "%s %s %s", kinds[kind].name, name, kinds[kind].own) < 0)
		a->why[0] = NULL;
	if (asprintf(&a->why[1],
		     "%s %s %s %s/%s, which may be above this pod; "
		     "if it is not: vscaled.dev/autoscaled: false",
		     kinds[kind].name, name, kinds[kind].other, a->kind, a->workload) < 0)
		a->why[1] = NULL;
	return a->why[0] != NULL && a->why[1] != NULL ? 0 : -ENOMEM;
}

static int add_autoscaler(const struct field *object, void *arg)
{
	struct kube_autoscalers *all = arg;
	struct field spec = field_object(object, "spec"), meta = field_object(object, "metadata");
	struct field target = field_object(&spec, kinds[all->kind].target);
	const char *workload = field_text(&target, "name"), *kind = field_text(&target, "kind");
	const char *name = field_text(&meta, "name");
	uint32_t resources = kinds[all->kind].resources(&spec);
	struct kube_autoscaler *grown;

	if (workload == NULL && all->kind == AUTOSCALER_HORIZONTAL)
		return field_bad(&target, "name", "missing");
	/* The API server accepts any text; no workload has a name or kind that is not valid. */
	if (workload == NULL || kind == NULL || !kube_is_kind(kind) ||
	    !kube_is_subdomain(workload) || (all->kind == AUTOSCALER_VERTICAL && resources == 0))
		return 0;
	grown = reallocarray(all->items, all->count + 1, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	all->items = grown;
	grown += all->count++;
	*grown = (struct kube_autoscaler){
		.workload = strdup(workload),
		.kind = strdup(kind),
		.resources = resources,
		.traced = kube_owns_pods(kind),
	};
	if (grown->workload == NULL || grown->kind == NULL)
		return -ENOMEM;
	return explain(grown, all->kind, name != NULL && kube_is_subdomain(name) ? name : "?");
}

int kube_decode_autoscalers(enum autoscaler_kind kind, const char *text, size_t len,
			    struct kube_autoscalers *ret, struct kube_decode_error *err)
{
	OWN(kube_autoscalers_drop) struct kube_autoscalers all = {.kind = kind};
	char list[64];
	int r;

	snprintf(list, sizeof list, "\"%sList\"", kinds[kind].name);
	r = decode_list(text, len, list, add_autoscaler, &all, err);
	if (r < 0)
		return r;
	*ret = all;
	all = (struct kube_autoscalers){0};
	return 0;
}

void kube_autoscalers_drop(struct kube_autoscalers *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->items[i].workload);
		free(a->items[i].kind);
		free(a->items[i].why[0]);
		free(a->items[i].why[1]);
	}
	free(a->items);
	*a = (struct kube_autoscalers){0};
}

static bool is_of(const struct kube_autoscaler *a, const char *kind, const char *workload)
{
	return strcmp(a->kind, kind) == 0 && strcmp(a->workload, workload) == 0;
}

void kube_autoscalers_owner(struct kube_autoscalers *a, const char *kind, const char *workload)
{
	for (size_t i = 0; i < a->count; i++)
		a->items[i].traced |= is_of(&a->items[i], kind, workload);
}

const char *kube_autoscaler_of(const struct kube_autoscalers *a, const char *kind,
			       const char *workload, bool above, enum resource r)
{
	const char *why[2] = {NULL, NULL};
	bool own = false;

	for (size_t i = 0; i < a->count; i++) {
		const struct kube_autoscaler *x = &a->items[i];
		bool other = !is_of(x, kind, workload);

		own |= !other;
		if ((x->resources & (1u << r)) != 0 &&
		    !(other && (x->traced || strcmp(x->kind, kind) == 0)))
			why[other] = x->why[other];
	}
	return own || !above ? why[0] : why[1];
}
