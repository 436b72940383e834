// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "cgroup/reader.h"
#include "cgroup/writer.h"
#include "policy/base/base.h"

bool limit_same(enum resource r, uint64_t a, uint64_t b)
{
	return r == RESOURCE_CPU ? round_up(a, CPU_QUANTUM_MILLI) == round_up(b, CPU_QUANTUM_MILLI)
				 : cg_mem_kept(a) == cg_mem_kept(b);
}

/* Rounded up, as runc does for PID 1: the least quota of 33 ms is 30.3m, and 40m there. */
static uint64_t in_file(uint64_t milli, uint64_t period_usec)
{
	if (period_usec == 0)
		return milli;
	return cpu_milli_of(add_sat(cpu_quota_of(milli, period_usec), (period_usec - 1) / 1000),
			    period_usec);
}

bool limit_same_file(enum resource r, uint64_t a, uint64_t b, uint64_t period_usec)
{
	return r == RESOURCE_CPU ? limit_same(r, in_file(a, period_usec), in_file(b, period_usec))
				 : limit_same(r, a, b);
}

void limits_as_spec(struct limits *l, uint64_t spec_milli)
{
	uint64_t exact = cpu_quota_exact(spec_milli, l->cpu_period_usec);

	if (exact < CPU_QUOTA_MIN_USEC &&
	    limit_same_file(RESOURCE_CPU, limit_amount(l, RESOURCE_CPU), spec_milli,
			    l->cpu_period_usec))
		l->cpu_quota_usec = exact;
}

bool spec_sent_by_us(const struct managed *m, enum resource r, uint64_t value)
{
	const struct baseline *b = m->record;
	const struct kube_container *c = pod_spec_of(m);
	bool present = c != NULL && value == c->spec.limit[r];
	enum value_owner owner = present ? kube_owner(c, KUBE_LEAF_LIMIT(r)) : OWNER_UNKNOWN;

	if (b == NULL || !b->ratified)
		return false;
	if (owner != OWNER_UNKNOWN)
		return owner == OWNER_VSCALED;
	/* A record from before these values were stored says no more than that. */
	return b->sent[r] == 0 || limit_same(r, value, b->sent[r]) ||
	       limit_same(r, value, b->sent_over[r]) || limit_same(r, value, b->sent_before[r]);
}

bool spec_is_owners(const struct managed *m, const struct kube_container *c)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t limit = c->spec.limit[r];

		if (!limit_same(r, limit, persist_original_limit(m, r, limit)) &&
		    !spec_sent_by_us(m, r, limit))
			return true;
	}
	return false;
}

static bool differs(uint64_t a, uint64_t b, enum resource r)
{
	/* The CPU value is computed from shares and quota, and may differ by a millicore. */
	return MAX(a, b) - MIN(a, b) > (r == RESOURCE_CPU ? 1 : 0);
}

/* The spec has a limit that the runtime does not have yet, and that vscaled did not send. */
static bool is_external(const struct managed *m, const struct kube_container *c, enum resource r)
{
	uint64_t limit = c->spec.limit[r], period = m->control.kernel.cpu_period_usec;
	/* The kubelet reads the status of CPU from the quota. */
	uint64_t seen = r == RESOURCE_CPU ? in_file(limit, period) : limit;

	return limit != LIMIT_MAX && c->status.limit[r] != LIMIT_MAX &&
	       differs(limit, c->status.limit[r], r) && differs(seen, c->status.limit[r], r) &&
	       (limit == m->control.resource[r].original || !spec_sent_by_us(m, r, limit));
}

static bool requests_external(const struct managed *m, const struct kube_container *c)
{
	return m->container.rule.controlled == CONTROLLED_LIMITS &&
	       !kube_pod_class_of_containers(m->pod->spec, QOS_GUARANTEED) &&
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

/* It had one a moment ago, and has not reported since that it has carried out the spec. */
static bool spec_resize_read(const struct managed *m, const struct kube_container *c)
{
	return m->container.resize_read_at != 0 && c->running && c->has_status &&
	       m->pod->spec->pending == RESIZE_NOT_PENDING;
}

/* The memory limit that the runtime may write at any moment: its present one, while a CPU manager
 * is at work or the kubelet carries out an external resize, or one of CPU (pod_spec.c). A lower
 * limit in the spec counts, of any writer: one of vscaled may be stored late. 0: it writes none.
 * *ret_due: a resize is under way, so that it will be written within seconds. */
static uint64_t spec_replay_bytes(const struct managed *m, const struct kube_container *c,
				  bool *ret_due)
{
	uint64_t spec = c->spec.limit[RESOURCE_MEMORY], runtime = m->container.runtime_mem_max;
	uint64_t status = c->has_status ? c->status.limit[RESOURCE_MEMORY] : LIMIT_MAX;
	bool lower = status != LIMIT_MAX && spec < status;

	*ret_due = spec_resize_under_way(m, c) || spec_resize_read(m, c);
	if (!m->host->cpu_manager && !*ret_due)
		return lower ? spec : 0;
	return lower ? MIN(spec, runtime) : runtime;
}

/* --- bounds of one container for the laws: request, LimitRange, heap and the like --- */

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
					 ((other->container.rule.rule.resources |
					   other->container.rule.rule.requests) &
					  (1u << r)),
			};
	}
	return kube_pod_class_of_containers(s, QOS_BURSTABLE) && pod_qos_near(parts, n);
}

/* What vscaled raised along with the limit of a Guaranteed pod is no floor: the original is. */
static uint64_t request_of(const struct managed *m, const struct kube_container *c, enum resource r)
{
	uint64_t request = c->spec.request[r];

	return kube_pod_class_of_containers(m->pod->spec, QOS_GUARANTEED)
		       ? persist_original_request(m, r, request)
		       : request;
}

void pod_set_bounds(struct managed *m)
{
	const struct kube_pod *s = m->pod->spec;
	const struct kube_container *c = pod_spec_of(m);
	struct pod_bounds b = {0};

	if (c == NULL)
		return;
	b.guaranteed = kube_pod_class_of_containers(s, QOS_GUARANTEED);
	b.qos_near = qos_near(m, s);
	/* A limit that is left out may still be sized (start.c). */
	b.limits_stay = m->container.rule.controlled == CONTROLLED_REQUESTS &&
			m->control.rule.resources == 0;
	b.requests_move = m->container.rule.controlled != CONTROLLED_LIMITS && !b.limits_stay;
	b.not_ready = !s->ready;
	b.priority = s->priority;
	b.qos = (uint8_t)s->qos;
	b.heap = c->heap;
	b.heap_request = c->heap_request;
	b.replay_mem_bytes = spec_replay_bytes(m, c, &b.replay_due);
	b.probe_usec = c->probe_usec;
	if (s->qos == QOS_BURSTABLE)
		b.found_request = persist_original_request(m, RESOURCE_MEMORY,
							   c->spec.request[RESOURCE_MEMORY]);
	/* LimitedSwap gives swap to Burstable pods alone. */
	if (s->qos == QOS_BURSTABLE && m->cgroup.cg != NULL)
		(void)cg_may_swap(m->cgroup.cg, &b.swaps);
	if (b.replay_mem_bytes == 0 || m->cgroup.cg == NULL ||
	    cg_count_threads(m->cgroup.cg, &b.threads) < 0)
		b.threads = 0;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		b.resource[r].request = request_of(m, c, r);
		b.resource[r].budget = m->pod->follows & (1u << r) ? 0 : s->level_limit[r];
		b.resource[r].accepted = kube_pod_limit_held(s, c, r);
	}
	b.resource[RESOURCE_CPU].admin = m->config->kubernetes.cpu_milli;
	b.resource[RESOURCE_MEMORY].admin = m->config->kubernetes.mem_bytes;
	b.pod_requests = s->pod_resources;
	if (m->pod->pods->hooks.bounds != NULL)
		m->pod->pods->hooks.bounds(m->pod, c, &b);
	control_set_pod(&m->control, &b);
}

void pod_bound_all(const struct pod *p)
{
	POD_FOREACH (m, p)
		pod_set_bounds(m);
}
