// SPDX-License-Identifier: Apache-2.0
/* Limits and requests, and the class that follows from them. */
#include "agent/kube/model/decode_impl.h"

static const char *const resource_keys[RESOURCE_COUNT] = {"cpu", "memory"};

void decode_resources(const struct field *n, const char *key, struct kube_resources *ret)
{
	struct field resources = field_object(n, key);
	struct field limits = field_object(&resources, "limits");
	struct field requests = field_object(&resources, "requests");

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		ret->limit[i] = field_quantity(&limits, resource_keys[i], i);
		ret->request[i] = field_quantity(&requests, resource_keys[i], i);
		/* A limit of 0 is none: the kubelet writes no quota and no memory.max for it. */
		if (ret->limit[i] == 0)
			ret->limit[i] = LIMIT_MAX;
	}
}

/* Guaranteed: every container has both limits, and requests what it is limited to. */
enum qos_class decode_qos(const struct kube_pod *p)
{
	bool any = false, all = true;

	for (size_t i = 0; i < p->container_count; i++) {
		const struct kube_resources *s = &p->containers[i].spec;

		if (p->containers[i].kind == CONTAINER_EPHEMERAL)
			continue;
		for (int r = 0; r < RESOURCE_COUNT; r++) {
			any = any || s->limit[r] != LIMIT_MAX || s->request[r] > 0;
			all = all && s->limit[r] != LIMIT_MAX && s->request[r] == s->limit[r];
		}
	}
	if (!any)
		return QOS_BEST_EFFORT;
	return all ? QOS_GUARANTEED : QOS_BURSTABLE;
}
