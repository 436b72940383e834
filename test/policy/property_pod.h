/* SPDX-License-Identifier: Apache-2.0 */
/* Random pods and what must hold for their containers. For test_property.c alone. */
#pragma once

#include "test/check.h"
#include "test/policy/rig.h"

static uint64_t random_state;
static uint64_t qos_seen, requests_seen;

static uint64_t pick(uint64_t below)
{
	return random_next(&random_state) % below;
}

static bool chance(uint64_t permille)
{
	return pick(1000) < permille;
}

static struct range random_range(uint64_t unit)
{
	struct range r = {0};

	if (chance(300))
		r.min = 1 + pick(unit);
	if (chance(300))
		r.max = 1 + pick(4 * unit);
	if (chance(20))
		r.max = LIMIT_MAX - 1;
	return r;
}

/* Most units are no containers of a pod. */
static void random_pod(struct rig *r)
{
	static const uint64_t scale[RESOURCE_COUNT] = {2000, GIB};
	struct pod_bounds p = {
		.guaranteed = chance(200),
		.qos_near = chance(300),
		.requests_move = chance(300),
		.limits_stay = chance(50),
		.not_ready = chance(100),
		.heap.bytes = chance(200) ? pick(GIB) : 0,
		.heap.permille = chance(200) ? (uint32_t)pick(1001) : 0,
	};

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		struct pod_resource_bounds *b = &p.resource[i];

		b->request = chance(700) ? 1 + pick(scale[i]) : 0;
		b->admin = random_range(scale[i]);
		b->namespace = random_range(scale[i]);
		b->ratio_permille = chance(200) ? 1000 + pick(9000) : 0;
		b->refused = chance(100) ? 1 + pick(2 * scale[i]) : 0;
		b->refused_until = r->sim.now + pick(USEC_PER_HOUR);
	}
	if (chance(100))
		p = (struct pod_bounds){0};
	control_set_pod(&r->c, &p);
}

static bool refused(const struct rig *r, enum resource res)
{
	const struct pod_resource_bounds *p = &r->c.pod.resource[res];

	return p->refused != 0 && r->c.last_at < p->refused_until;
}

/*
 * What a pod forbids, worked out anew and not by the rows of enum bound. Bounds that contradict
 * each other leave the later one, so each is held against what comes after it.
 */
static void check_pod(const struct rig *r, enum resource res, uint64_t to, bool lowers)
{
	const struct pod_bounds *pod = &r->c.pod;
	const struct pod_resource_bounds *p = &pod->resource[res];
	uint64_t q = res == RESOURCE_CPU ? CPU_QUANTUM_MILLI : PAGE_DEFAULT_BYTES;
	uint64_t least = round_up(pod->requests_move ? 0 : p->request, q) + q;
	uint64_t most = refused(r, res) ? MAX(p->refused, q) : LIMIT_MAX;

	CHECK(!pod->limits_stay);
	if (!lowers) {
		CHECK(to <= most);
		/* Nothing that comes after it asks for more. */
		if (p->admin.max != 0 &&
		    MAX(p->namespace.min, least) <= round_down(p->admin.max, q))
			CHECK(to <= MAX(p->admin.max, 2 * q));
		if (p->namespace.max != 0 && least <= round_down(p->namespace.max, q))
			CHECK(to <= MAX(p->namespace.max, 2 * q));
		return;
	}
	most = MIN(most, control_ceiling(&r->c, &r->t, res, r->sim.cpus * 1000));
	if (!pod->requests_move)
		CHECK(to >= MIN(p->request, most));
	if (pod->qos_near && !pod->guaranteed && !pod->requests_move && p->request != 0) {
		CHECK(to > p->request || to >= most);
		qos_seen++;
	}
	CHECK(to >= MIN(p->namespace.min, most));
	if (res == RESOURCE_MEMORY && r->c.rule.mem_bytes.max == 0)
		CHECK(to >= MIN(pod->heap.bytes, most));
}

/* Requests that go out with the limits keep the class and the LimitRange. */
static void check_request(const struct rig *r, enum resource res)
{
	const struct pod_bounds *pod = &r->c.pod;
	const struct pod_resource_bounds *p = &pod->resource[res];
	uint64_t request = control_request(&r->c, res), limit = r->c.resource[res].limit;
	uint64_t q = res == RESOURCE_CPU ? CPU_QUANTUM_MILLI : PAGE_DEFAULT_BYTES;

	if (request == 0)
		return;
	requests_seen++;
	CHECK(pod->requests_move || pod->limits_stay);
	if (limit == LIMIT_MAX)
		return;
	CHECK(request <= MAX(limit, q));
	if (pod->guaranteed)
		CHECK_EQ(request, limit);
	else if (pod->qos_near)
		CHECK(request < limit || limit <= 2 * q);
	/* A quantum of room for the class may cost more than the ratio allows. */
	if (p->ratio_permille >= 1000 && !pod->qos_near && limit >= 10 * q)
		CHECK(mul_div(round_up(request, q) + q, p->ratio_permille, 1000) >= limit);
}
