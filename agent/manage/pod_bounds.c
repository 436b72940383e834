// SPDX-License-Identifier: Apache-2.0
/* Bounds of one container for the laws: request, LimitRange, heap and the like. */
#include "agent/manage/pod_bounds.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"

static bool qos_near(const struct managed *m, const struct kube_pod *s)
{
	OWN(drop_free)
	struct pod_qos_part *parts = calloc(s->container_count * RESOURCE_COUNT + 1, sizeof *parts);
	size_t n = 0;

	if (parts == NULL)
		return true;
	for (size_t i = 0; i < s->container_count; i++) {
		const struct kube_container *c = &s->containers[i];
		const struct managed *other = m->pod->members[i].managed;

		for (enum resource r = 0; c->kind != CONTAINER_EPHEMERAL && r < RESOURCE_COUNT; r++)
			parts[n++] = (struct pod_qos_part){
				.limit = c->spec.limit[r],
				.request = c->spec.request[r],
				.moves = other != NULL && other->container.annotated &&
					 (other->container.rule.rule.resources & (1u << r)),
			};
	}
	return s->qos == QOS_BURSTABLE && pod_qos_near(parts, n);
}

/* What vscaled raised along with the limit of a Guaranteed pod is no floor: the original is. */
static uint64_t request_of(const struct managed *m, const struct kube_container *c, enum resource r)
{
	uint64_t request = c->spec.request[r];

	return m->pod->spec->qos == QOS_GUARANTEED ? persist_original_request(m, r, request)
						   : request;
}

void pod_set_bounds(struct managed *m)
{
	const struct kube_pod *s = m->pod->spec;
	const struct kube_container *c = pod_spec_of(m);
	const struct pod_hooks *h = &m->pod->pods->hooks;
	struct pod_bounds b = {0};

	if (c == NULL)
		return;
	b.guaranteed = s->qos == QOS_GUARANTEED;
	b.qos_near = qos_near(m, s);
	b.requests_move = m->container.rule.controlled == CONTROLLED_REQUESTS_AND_LIMITS;
	b.limits_stay = m->container.rule.controlled == CONTROLLED_REQUESTS;
	b.not_ready = !s->ready;
	b.priority = s->priority;
	b.qos = (uint8_t)s->qos;
	b.heap = c->heap;
	b.replay_mem_bytes = spec_replay_bytes(m, c);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		b.resource[r].request = request_of(m, c, r);
		b.resource[r].accepted = kube_pod_limit_held(s, c, r);
	}
	b.resource[RESOURCE_CPU].admin = m->config->kubernetes.cpu_milli;
	b.resource[RESOURCE_MEMORY].admin = m->config->kubernetes.mem_bytes;
	if (h->bounds != NULL)
		h->bounds(h->ctx, s, c->name, &b);
	control_set_pod(&m->control, &b);
}
