// SPDX-License-Identifier: Apache-2.0
/* HorizontalPodAutoscalers of autoscaling/v2, as far as they depend on requests. */
#include "agent/kube/model/autoscalers.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A utilisation is use over request; an average value is not. */
static bool is_utilization(const struct field *metric)
{
	struct field target = field_object(metric, "target");

	return field_text_is(&target, "type", "Utilization");
}

static uint32_t resource_named(const struct field *metric)
{
	if (field_text_is(metric, "name", "cpu"))
		return RESOURCES_CPU;
	return field_text_is(metric, "name", "memory") ? RESOURCES_MEMORY : 0;
}

static uint32_t metric_depends_on(const struct field *item)
{
	struct field pods = field_object(item, "resource");
	struct field container = field_object(item, "containerResource");
	uint32_t resources = 0;

	if (pods.json != NULL && is_utilization(&pods))
		resources |= resource_named(&pods);
	if (container.json != NULL && is_utilization(&container))
		resources |= resource_named(&container);
	return resources;
}

/* Without metrics the API server's default is 80 % of the CPU request. */
static uint32_t depends_on(const struct field *spec)
{
	struct field list = field_array(spec, "metrics"), item = {0};
	uint32_t resources = 0;

	if (cJSON_GetArraySize(list.json) == 0)
		return RESOURCES_CPU;
	while (field_next(&list, &item))
		resources |= metric_depends_on(&item);
	return resources;
}

/* Owned texts for explain: of its target's pods, and of others. */
static int explain(struct kube_autoscaler *a, const char *name)
{
	if (asprintf(&a->why[0], "HorizontalPodAutoscaler %s scales by its utilisation", name) < 0)
		a->why[0] = NULL;
	if (asprintf(&a->why[1],
		     "HorizontalPodAutoscaler %s scales %s/%s, which may be above this pod; "
		     "if it is not: vscaled.dev/autoscaled: false",
		     name, a->kind, a->workload) < 0)
		a->why[1] = NULL;
	return a->why[0] != NULL && a->why[1] != NULL ? 0 : -ENOMEM;
}

static int add_autoscaler(const struct field *object, void *arg)
{
	struct kube_autoscalers *all = arg;
	struct field spec = field_object(object, "spec"), meta = field_object(object, "metadata");
	struct field target = field_object(&spec, "scaleTargetRef");
	const char *workload = field_text(&target, "name"), *kind = field_text(&target, "kind");
	const char *name = field_text(&meta, "name");
	uint32_t resources = depends_on(&spec);
	struct kube_autoscaler *grown;

	if (workload == NULL)
		return field_bad(&target, "name", "missing");
	/* The API server accepts any text; no workload has a name or kind that is not valid. */
	if (kind == NULL || !kube_is_kind(kind) || !kube_is_subdomain(workload))
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
	return explain(grown, name != NULL && kube_is_subdomain(name) ? name : "?");
}

int kube_decode_autoscalers(const char *text, size_t len, struct kube_autoscalers *ret,
			    struct kube_decode_error *err)
{
	OWN(kube_autoscalers_drop) struct kube_autoscalers all = {0};
	int r = decode_list(text, len, "\"HorizontalPodAutoscalerList\"", add_autoscaler, &all,
			    err);

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
