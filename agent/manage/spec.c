// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/spec.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/base/arithmetic.h"

bool limit_same(enum resource r, uint64_t a, uint64_t b)
{
	uint64_t quantum = r == RESOURCE_CPU ? CPU_QUANTUM_MILLI : MEM_PAGE_BYTES;

	return a == b || (a != LIMIT_MAX && b != LIMIT_MAX &&
			  (r == RESOURCE_CPU ? round_up(a, quantum) == round_up(b, quantum)
					     : round_down(a, quantum) == round_down(b, quantum)));
}

bool spec_sent_by_us(const struct managed *m, enum resource r, uint64_t value)
{
	const struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || !b->ratified)
		return false;
	/* A record from before these values were stored says no more than that. */
	return b->sent[r] == 0 || limit_same(r, value, b->sent[r]) ||
	       limit_same(r, value, b->sent_over[r]) || limit_same(r, value, b->sent_before[r]);
}

static bool differs(uint64_t a, uint64_t b, enum resource r)
{
	/* The CPU value is computed from shares and quota, and may differ by a millicore. */
	return MAX(a, b) - MIN(a, b) > (r == RESOURCE_CPU ? 1 : 0);
}

/* The spec has a limit that the runtime does not have yet, and that vscaled did not send. */
static bool is_external(const struct managed *m, const struct kube_container *c, enum resource r)
{
	uint64_t limit = c->spec.limit[r];

	return limit != LIMIT_MAX && c->status.limit[r] != LIMIT_MAX &&
	       differs(limit, c->status.limit[r], r) &&
	       (limit == m->control.resource[r].original || !spec_sent_by_us(m, r, limit));
}

static bool requests_external(const struct managed *m, const struct kube_container *c)
{
	return m->container.rule.controlled == CONTROLLED_LIMITS &&
	       m->pod->spec->qos != QOS_GUARANTEED &&
	       (differs(c->spec.request[RESOURCE_CPU], c->status.request[RESOURCE_CPU],
			RESOURCE_CPU) ||
		c->spec.request[RESOURCE_MEMORY] != c->status.request[RESOURCE_MEMORY]);
}

bool spec_resize_under_way(const struct managed *m, const struct kube_container *c)
{
	return c->running && c->has_status && m->pod->spec->pending == RESIZE_NOT_PENDING &&
	       (is_external(m, c, RESOURCE_CPU) || is_external(m, c, RESOURCE_MEMORY) ||
		requests_external(m, c));
}

bool spec_resize_read(const struct managed *m, const struct kube_container *c)
{
	return m->container.resize_read_at != 0 && c->running && c->has_status &&
	       m->pod->spec->pending == RESIZE_NOT_PENDING;
}

uint64_t spec_replay_bytes(const struct managed *m, const struct kube_container *c)
{
	uint64_t asked =
		m->container
			.owner_value[RESOURCE_MEMORY]; /* what the kubelet may have read by now */

	if (!m->host->cpu_manager && !spec_resize_under_way(m, c) && !spec_resize_read(m, c))
		return asked;
	return asked != 0 ? MIN(asked, m->container.runtime_mem_max) : m->container.runtime_mem_max;
}
