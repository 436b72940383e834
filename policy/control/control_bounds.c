// SPDX-License-Identifier: Apache-2.0
#include "policy/control/control_impl.h"

/* The kernel treats a larger value as "max"; no node has as much. */
#define MEM_CEILING_MAX (1024 * 1024 * 1024 * GIB)

static const struct range *range_of(const struct control *c, enum resource r)
{
	return r == RESOURCE_CPU ? &c->rule.cpu_milli : &c->rule.mem_bytes;
}

uint64_t control_refused(const struct control *c, enum resource r)
{
	const struct pod_resource_bounds *p = &c->pod.resource[r];
	uint64_t quantum = quantum_of(r, c->page_bytes);

	if (p->refused == 0 || c->last_at >= p->refused_until)
		return LIMIT_MAX;
	return MAX(round_down(p->refused, quantum), quantum);
}

uint64_t control_unratified(const struct control *c)
{
	uint64_t max = pod_unratified_max(&c->pod, c->resource[RESOURCE_MEMORY].original);

	return round_down(max, c->page_bytes);
}

/* It bounds decreases only: the runtime ran with the held limit. */
static uint64_t heap_bound(const struct control *c)
{
	struct heap_ceiling heap = c->pod.heap;

	if (c->pod.heap_request != 0)
		heap.bytes = mul_div(heap.bytes, c->start_request, c->pod.heap_request);
	return MIN(heap_floor(&heap, c->start_mem_bytes),
		   round_down(c->resource[RESOURCE_MEMORY].limit, c->page_bytes));
}

/* A HorizontalPodAutoscaler depends on it, or may do so; or the kubelet takes no other. */
static bool request_stays(const struct control *c, enum resource r)
{
	return c->pod.pod_requests || (c->pod.swaps && r == RESOURCE_MEMORY) ||
	       (c->pod.requests_stay & (1u << r)) != 0 ||
	       (c->pod.requests_unknown && !c->pod.guaranteed);
}

/* What was set of a resource: by the owner, the administrator and the namespace. It holds for
 * limits and requests. */
static void fill_set(const struct control *c, enum resource r, struct bounds *b)
{
	const struct pod_resource_bounds *p = &c->pod.resource[r];
	const struct range *range = range_of(c, r);

	b->value[BOUND_USER_MIN] = range->min;
	b->value[BOUND_USER_MAX] = range->max;
	b->value[BOUND_ADMIN_MIN] = p->admin.min;
	b->value[BOUND_ADMIN_MAX] = p->admin.max;
	b->value[BOUND_RANGE_MIN] = p->namespace.min;
	b->value[BOUND_RANGE_MAX] = p->namespace.max;
}

/* The bounds that only a container of a pod has. */
static void fill_pod(const struct control *c, enum resource r, struct bounds *b)
{
	const struct pod_resource_bounds *p = &c->pod.resource[r];
	uint64_t refused = control_refused(c, r);
	/* The request stays where it is when the limit moves. */
	bool fixed = p->request != 0 && (!c->pod.requests_move || request_stays(c, r));

	b->value[BOUND_BUDGET] = p->budget;
	b->value[BOUND_HEAP] = r == RESOURCE_MEMORY ? heap_bound(c) : 0;
	/* Without a target the request has nowhere to go yet. */
	if (p->request != 0 && p->ratio_permille != 0 &&
	    (fixed || (!c->pod.guaranteed && c->recommendation.resource[r].target == 0)))
		b->value[BOUND_RANGE_RATIO] = scale_permille(p->request, p->ratio_permille);
	if (fixed)
		b->value[BOUND_REQUEST] = MAX(b->value[BOUND_REQUEST], p->request);
	/* Where the request follows, a request must fit below the limit. */
	if (c->pod.qos_near && !c->pod.guaranteed)
		b->value[BOUND_QOS] = add_sat(fixed ? p->request : b->quantum, b->quantum);
	/* Memory that grows is bounded as unratified growth is: to end it at what was accepted
	 * would end the process. */
	if (refused != LIMIT_MAX && (r == RESOURCE_CPU || c->pod.unratified_permille == 0))
		b->value[BOUND_REFUSED] = refused;
}

static void fill_bounds(const struct control *c, const struct tuning *t, enum resource r,
			uint64_t node_milli, struct bounds *ret)
{
	struct bounds b = {.quantum = quantum_of(r, c->page_bytes)};

	fill_set(c, r, &b);
	b.value[BOUND_REQUEST] = b.quantum;
	if (r == RESOURCE_CPU) {
		b.value[BOUND_CEILING] = MAX(node_milli, b.quantum);
		/* The kernel takes no quota below 1 ms, whatever the period. */
		if (c->kernel.cpu_period_usec != 0)
			b.value[BOUND_REQUEST] =
				CPU_QUOTA_MIN_USEC * 1000 / c->kernel.cpu_period_usec;
	} else {
		uint64_t ceiling = range_of(c, r)->max != 0
					   ? LIMIT_MAX
					   : scale_permille(c->resource[r].original,
							    t->memory.ceiling_permille);

		ceiling = MAX(ceiling, b.quantum);
		b.value[BOUND_CEILING] = MIN(ceiling, MEM_CEILING_MAX);
	}
	fill_pod(c, r, &b);
	*ret = b;
}

/* Bounds growth only, not what is sent: else no higher limit could ever be ratified. */
static void fill_growth(const struct control *c, enum resource r, struct bounds *b)
{
	uint64_t max = control_unratified(c);

	if (r == RESOURCE_MEMORY && max != LIMIT_MAX)
		b->value[BOUND_UNRATIFIED] = max;
}

/* Only memory needs a grant; contention for CPU is left to weights. */
uint64_t control_bound(struct control *c, const struct control_context *x, enum resource r,
		       uint64_t desired, struct bound_trace *trace)
{
	struct bounds b;

	fill_bounds(c, x->tuning, r, x->node_milli, &b);
	fill_growth(c, r, &b);
	if (r == RESOURCE_MEMORY && x->ledger != NULL)
		b.value[BOUND_LEDGER] = control_taped(
			x, ledger_most(x->ledger, c->target, bounds_apply(&b, desired, NULL)));
	return bounds_apply(&b, desired, trace);
}

uint64_t control_bound_raise(struct control *c, const struct control_context *x, uint64_t desired,
			     enum reason reason)
{
	struct bounds b;

	fill_bounds(c, x->tuning, RESOURCE_MEMORY, x->node_milli, &b);
	fill_growth(c, RESOURCE_MEMORY, &b);
	if (x->ledger != NULL)
		b.value[BOUND_LEDGER] =
			control_grant(c, x, bounds_apply(&b, desired, NULL), reason);
	return bounds_apply(&b, desired, NULL);
}

uint64_t control_bound_back(struct control *c, const struct control_context *x, enum resource r,
			    uint64_t desired)
{
	struct bounds b;

	fill_bounds(c, x->tuning, r, x->node_milli, &b);
	b.value[BOUND_REFUSED] = 0;
	return bounds_apply(&b, desired, NULL);
}

uint64_t control_ceiling(const struct control *c, const struct tuning *t, enum resource r,
			 uint64_t node_milli)
{
	struct bounds b;

	fill_bounds(c, t, r, node_milli, &b);
	return bounds_ceiling(&b);
}

uint64_t control_floor(const struct control *c, const struct tuning *t, enum resource r,
		       uint64_t node_milli)
{
	struct bounds b;

	fill_bounds(c, t, r, node_milli, &b);
	return bounds_floor(&b);
}

/* Heap and QoS class bound decreases; they are no reason for a raise. */
uint64_t control_minimum(const struct control *c, const struct control_context *x, enum resource r)
{
	struct bounds b;
	uint64_t floor;

	fill_bounds(c, x->tuning, r, x->node_milli, &b);
	b.value[BOUND_HEAP] = b.value[BOUND_QOS] = 0;
	floor = bounds_floor(&b);
	return floor > b.quantum ? floor : 0;
}

/* A restart is expensive: the limit after it should last for a while. */
#define RESTART_PERMILLE 1500

uint64_t control_restart_limit(const struct control *c, const struct tuning *t, bool killed)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t held = MAX(res->limit, c->kernel.mem_max);
	uint64_t ceiling = control_ceiling(c, t, RESOURCE_MEMORY, 0);
	bool full = res->at_ceiling && held >= MIN(ceiling, control_unratified(c));
	uint64_t desired = MAX(held, c->mem.oom_record);

	if (!res->managed || held == LIMIT_MAX || (!killed && !full))
		return 0;
	if (full)
		desired = MAX(desired, scale_permille(held, RESTART_PERMILLE));
	return MIN(round_up(desired, c->page_bytes), ceiling);
}

/* The bounds of a request by its limit: not above it, a quantum below it where the QoS class
 * depends on it, and within the LimitRange's ratio. */
static void fill_request(const struct control *c, enum resource r, uint64_t limit, struct bounds *b)
{
	uint64_t ratio = c->pod.resource[r].ratio_permille, most = limit;

	if (limit == LIMIT_MAX)
		return;
	if (c->pod.qos_near)
		most -= MIN(most, b->quantum);
	if (ratio != 0)
		b->value[BOUND_REQUEST] = request_of_ratio(limit, ratio);
	b->value[BOUND_CEILING] = MAX(most, b->quantum);
}

bool control_sizes_request(const struct control *c, enum resource r)
{
	return (c->pod.requests_move || c->pod.limits_stay) && c->pod.resource[r].request != 0 &&
	       ((c->rule.resources | c->rule.requests) & (1u << r));
}

/* What other pods claim takes no more than half of the original limit away: any user may have
 * written it. */
#define CLAIMED_PERMILLE 500u

uint32_t control_trust(const struct control *c, enum resource r)
{
	uint32_t known = MIN(c->recommendation.confidence_permille[r], 1000u);

	return MIN(known, c->own.confidence_permille[r] + CLAIMED_PERMILLE);
}

/* The request that goes with this limit; 0: leave it as it is. */
static uint64_t request_beside(const struct control *c, enum resource r, uint64_t limit)
{
	uint64_t target = c->recommendation.resource[r].target;
	struct bounds b = {.quantum = quantum_of(r, c->page_bytes)};

	if (!control_sizes_request(c, r) || request_stays(c, r))
		return 0;
	if (c->pod.guaranteed)
		return c->pod.requests_move && limit != LIMIT_MAX ? limit : 0;
	if (target == 0)
		return 0;
	/* The kubelet evicts first what uses more memory than it requested. */
	if (r == RESOURCE_MEMORY)
		target = MAX(target, mem_use(&c->last));
	fill_set(c, r, &b);
	fill_request(c, r, limit, &b);
	return bounds_apply(&b, target, NULL);
}

struct range control_request_range(const struct control *c, enum resource r)
{
	const struct pod_resource_bounds *p = &c->pod.resource[r];
	uint64_t ratio = p->ratio_permille, limit = c->resource[r].original, max;
	struct bounds b = {.quantum = quantum_of(r, c->page_bytes)};

	fill_set(c, r, &b);
	b.value[BOUND_RANGE_MIN] = p->container_range.min;
	b.value[BOUND_RANGE_MAX] = p->container_range.max;
	if (ratio != 0 && limit != LIMIT_MAX && !c->pod.guaranteed)
		b.value[BOUND_REQUEST] = request_of_ratio(limit, ratio);
	max = bounds_ceiling(&b);
	return (struct range){.min = bounds_floor(&b), .max = max != LIMIT_MAX ? max : 0};
}

void control_bound_upper(const struct control *c, const uint64_t node[RESOURCE_COUNT],
			 struct recommendation *ret)
{
	const uint64_t most[RESOURCE_COUNT] = {control_request_range(c, RESOURCE_CPU).max,
					       control_request_range(c, RESOURCE_MEMORY).max};

	prior_bound_upper(ret, node);
	prior_bound_upper(ret, most);
}

uint64_t control_request(const struct control *c, enum resource r)
{
	/* Beside the old limit it could be too low. */
	if (c->rule.freeze || (c->prior_new && c->rule.mode == MODE_AUTO))
		return 0;
	if (c->rule.mode == MODE_INITIAL)
		return c->initial_request[r];
	return request_beside(c, r, control_lasting(c, r));
}

/* A request waits, so that a short change does not reach the API server. What a new container
 * starts with is known for longer than that: from other pods, or from before it started. */
#define BIRTH_USEC     (10 * USEC_PER_MIN)
#define KNOWN_PERMILLE 7 /* of a day: 10 min */

bool control_known_at_birth(const struct control *c, enum resource r, usec_t now)
{
	usec_t age = now - MIN(c->life.started_at, now);
	bool young = c->life.started_at != 0 && age < BIRTH_USEC;
	bool older = c->history.observed_usec[r] >= age + BIRTH_USEC;

	return young && (older || c->prior.of.confidence_permille[r] >= KNOWN_PERMILLE);
}

usec_t control_request_since(const struct control *c, enum resource r, usec_t now)
{
	if (c->rule.mode == MODE_INITIAL || control_known_at_birth(c, r, now))
		return 0;
	return c->resource[r].request_since != 0 ? c->resource[r].request_since : now;
}

void control_note_requests(struct control *c, const struct control_context *x)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct control_resource *res = &c->resource[r];
		uint64_t spec = c->pod.resource[r].request, to = control_request(c, r);
		bool up = to > spec;
		uint64_t apart = up ? to - spec : spec - to;

		if (to == 0 || apart < scale_permille(spec, REQUEST_APART_PERMILLE))
			res->request_since = 0;
		else if (res->request_since == 0 || res->request_up != up)
			res->request_since = x->now;
		res->request_up = up;
	}
}

void control_fix_requests(struct control *c, const struct control_context *x)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct control_resource *res = &c->resource[r];
		bool planned = res->planned_at == x->now && !c->boost.written;
		bool known = c->recommendation.confidence_permille[r] > 0;
		uint64_t limit = planned ? res->pending.to : control_lasting(c, r);

		c->initial_request[r] = known ? request_beside(c, r, limit) : 0;
	}
}
