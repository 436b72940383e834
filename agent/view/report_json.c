// SPDX-License-Identifier: Apache-2.0
#include "agent/view/report_json.h"
#include "policy/types/profile.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>

static bool add_amount(cJSON *o, const char *key, uint64_t amount)
{
	return amount == VIEW_NONE || amount == LIMIT_MAX ||
	       cJSON_AddNumberToObject(o, key, (double)amount) != NULL;
}

static bool add_set(cJSON *o, const char *key, uint64_t amount)
{
	return add_amount(o, key, amount != 0 ? amount : VIEW_NONE);
}

static bool add_resource(cJSON *o, const struct unit_view *v, enum resource r)
{
	const struct resource_view *x = &v->resources[r];
	const struct pod_resource_view *p = &v->pod->resources[r];
	cJSON *to = cJSON_AddObjectToObject(o, resource_names[r]);

	return to != NULL && add_set(to, "request", p->request) &&
	       add_amount(to, "limit", x->kernel != VIEW_NONE ? x->kernel : p->spec_limit) &&
	       add_amount(to, "original", x->original) && add_amount(to, "use_p50", x->use_p50) &&
	       add_amount(to, "use_p95", x->use_p95) && add_amount(to, "use_max", x->use_max) &&
	       add_amount(to, "lower", x->lower) && add_amount(to, "target", x->target) &&
	       add_amount(to, "upper", x->upper) && add_amount(to, "peak", x->peak) &&
	       add_set(to, "min", p->request_range.min) && add_set(to, "max", p->request_range.max);
}

static bool add_recent(cJSON *o, const struct recent_view *v)
{
	return v->counted_usec == 0 ||
	       (add_amount(o, "counted_usec", v->counted_usec) &&
		add_amount(o, "throttled_permille", v->throttled_permille) &&
		add_amount(o, "oom_kills", v->oom_kills) && add_amount(o, "undos", v->undos));
}

static bool add_rollout(cJSON *o, const struct pod_view *p)
{
	return p->rollout_part == NULL ||
	       (cJSON_AddStringToObject(o, "rollout", p->rollout_part) != NULL &&
		add_amount(o, "rollout_percent", p->rollout_percent));
}

static bool add_container(cJSON *o, const struct unit_view *v)
{
	const struct pod_view *p = v->pod;
	const struct resource_view *cpu = &v->resources[RESOURCE_CPU];
	const struct resource_view *memory = &v->resources[RESOURCE_MEMORY];
	uint32_t confidence = memory->target != VIEW_NONE
				      ? MIN(cpu->confidence_permille, memory->confidence_permille)
				      : cpu->confidence_permille;

	return cJSON_AddStringToObject(o, "namespace", p->namespace) != NULL &&
	       cJSON_AddStringToObject(o, "workload", p->workload) != NULL &&
	       (p->owner == NULL || cJSON_AddStringToObject(o, "owner", p->owner) != NULL) &&
	       cJSON_AddStringToObject(o, "pod", p->pod) != NULL &&
	       cJSON_AddStringToObject(o, "container", p->container) != NULL &&
	       (p->qos_class == NULL ||
		cJSON_AddStringToObject(o, "qos_class", p->qos_class) != NULL) &&
	       cJSON_AddStringToObject(o, "mode", v->mode_text) != NULL &&
	       add_amount(o, "confidence_permille", confidence) &&
	       add_amount(o, "trust_permille", cpu->trust_permille) && add_rollout(o, p) &&
	       add_recent(o, &p->recent) && add_resource(o, v, RESOURCE_CPU) &&
	       add_resource(o, v, RESOURCE_MEMORY);
}

int report_json_begin(struct report_json *r, const char *node)
{
	*r = (struct report_json){0};
	r->file = open_memstream(&r->text, &r->size);
	if (r->file == NULL)
		return -ENOMEM;
	/* A node's name is a DNS subdomain: nothing to escape. */
	fprintf(r->file, "{\"version\":%d,\"node\":\"%s\",\"containers\":[", REPORT_JSON_VERSION,
		node != NULL ? node : "");
	return 0;
}

void report_json_add(void *arg, const struct unit_view *v)
{
	struct report_json *r = arg;
	cJSON *o;
	char *text;

	if (v->pod == NULL || v->pod->container == NULL || v->pod->workload == NULL)
		return;
	/* One at a time: all of a large node would be several MiB. */
	o = cJSON_CreateObject();
	text = o != NULL && add_container(o, v) ? cJSON_PrintUnformatted(o) : NULL;
	cJSON_Delete(o);
	if (text == NULL) {
		r->failed = true;
		return;
	}
	fprintf(r->file, "%s%s", r->count++ > 0 ? "," : "", text);
	free(text);
}

int report_json_end(struct report_json *r, char **ret)
{
	fputs("]}\n", r->file);
	if (fclose(r->file) != 0 || r->failed) {
		free(r->text);
		return -ENOMEM;
	}
	*ret = r->text;
	return 0;
}
