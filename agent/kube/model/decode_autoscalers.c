// SPDX-License-Identifier: Apache-2.0
/* HorizontalPodAutoscalers of autoscaling/v2, as far as they depend on requests. */
#include "agent/kube/model/autoscalers.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <errno.h>
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

static int read_autoscaler(const struct field *object, struct kube_autoscalers *all)
{
	struct field spec = field_object(object, "spec");
	struct field target = field_object(&spec, "scaleTargetRef");
	const char *name = field_text(&target, "name"), *kind = field_text(&target, "kind");
	uint32_t resources = depends_on(&spec);
	struct kube_autoscaler *grown;

	if (name == NULL)
		return field_bad(&target, "name", "missing");
	/* The API server accepts any text as the name; no workload has one that is not valid. */
	if (resources == 0 || !kube_is_subdomain(name))
		return 0;
	grown = reallocarray(all->items, all->count + 1, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	all->items = grown;
	all->items[all->count] = (struct kube_autoscaler){
		.workload = strdup(name),
		.kind = strdup(kind != NULL ? kind : ""),
		.resources = resources,
	};
	all->count++;
	grown += all->count - 1;
	return grown->workload != NULL && grown->kind != NULL ? 0 : -ENOMEM;
}

int kube_decode_autoscalers(const char *text, size_t len, struct kube_autoscalers *ret,
			    struct kube_decode_error *err)
{
	OWN(kube_autoscalers_drop) struct kube_autoscalers all = {0};
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	int r = decode_kind(text, len, "HorizontalPodAutoscalerList", &json, &root, err);

	if (r < 0)
		return r;
	list = field_array(&root, "items");
	while (r == 0 && field_next(&list, &item))
		r = read_autoscaler(&item, &all);
	if (r == 0)
		r = err->error;
	if (r == 0) {
		*ret = all;
		all = (struct kube_autoscalers){0};
	}
	return r;
}

void kube_autoscalers_drop(struct kube_autoscalers *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->items[i].workload);
		free(a->items[i].kind);
	}
	free(a->items);
	*a = (struct kube_autoscalers){0};
}

static bool owns_pods(const char *kind)
{
	static const char *const kinds[] = {"Deployment", "ReplicaSet", "StatefulSet",
					    "ReplicationController", "Rollout"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

uint32_t kube_autoscalers_of(const struct kube_autoscalers *a, const char *kind,
			     const char *workload)
{
	uint32_t resources = 0;

	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].workload, workload) == 0 &&
		    (kind == NULL || strcmp(a->items[i].kind, kind) == 0 ||
		     !owns_pods(a->items[i].kind)))
			resources |= a->items[i].resources;
	return resources;
}
