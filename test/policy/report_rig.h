/* SPDX-License-Identifier: Apache-2.0 */
/* A pod of two containers, a server and a kubelet for the tests of policy/report/report.h. */
#pragma once

#include "policy/report/report.h"
#include "test/check.h"

#define RIG_CONTAINERS 2
#define CPU            RESOURCE_CPU
#define MEM            RESOURCE_MEMORY
#define S              USEC_PER_SEC

struct report_rig {
	struct report_tuning t;
	struct report_node n;
	struct report_facts f;
	struct report_container c[RIG_CONTAINERS];
	struct report_state *s;
	struct report_decision d;
	usec_t now;
};

static inline struct report_resource *rig_res(struct report_rig *g, size_t i, size_t r)
{
	return &g->c[i].resource[r];
}

/* Both containers: 500m of 200m requested, 256Mi of 128Mi; use 100 MiB; long held. */
static inline void rig_init(struct report_rig *g)
{
	memset(g, 0, sizeof *g);
	g->t = report_tuning_default;
	/* The first lead of a growth as the next ones; test_report_ramp.c has the default. */
	g->t.first_ahead_usec = g->t.ahead_usec;
	/* Decreases at any time; test_report_window.c has the default. */
	g->t.decrease_every_usec = 0;
	g->now = 1000 * S;
	g->f = (struct report_facts){
		.generation = 1,
		.observed_generation = 1,
		.echoed = true,
		.active = true,
		.offered = true,
		.containers = g->c,
		.container_count = RIG_CONTAINERS,
	};
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		g->c[i] = (struct report_container){.use_bytes = 100 * MIB};
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(g, i, r);

			x->managed = true;
			x->spec_limit = r == RESOURCE_CPU ? 500 : 256 * MIB;
			x->spec_request = r == RESOURCE_CPU ? 200 : 128 * MIB;
			x->original_limit = x->held = x->actual = x->spec_limit;
			x->original_request = x->spec_request;
			x->held_since = 1;
		}
	}
	g->s = report_state_new(RIG_CONTAINERS);
	report_observed(&g->t, g->s, &g->f, g->now);
}

static inline void rig_free(struct report_rig *g)
{
	free(g->s);
}

static inline void rig_set_held(struct report_rig *g, size_t i, size_t r, uint64_t value)
{
	struct report_resource *x = rig_res(g, i, r);

	x->held = x->actual = value;
	x->held_since = g->now;
}

static inline bool rig_decide(struct report_rig *g)
{
	report_decide(&g->t, &g->n, g->s, &g->f, g->now, &g->d);
	if (g->d.moot)
		report_cut_moot(g->s, g->now);
	return g->d.send;
}

static inline bool rig_later(struct report_rig *g, usec_t pause)
{
	g->now += pause;
	return rig_decide(g);
}

static inline const struct report_item *rig_item(const struct report_rig *g, uint32_t i)
{
	for (size_t k = 0; k < g->d.patch.count; k++)
		if (g->d.patch.item[k].container == i)
			return &g->d.patch.item[k];
	return NULL;
}

/* The limit in the body; 0: it is not named. */
static inline uint64_t rig_limit(const struct report_rig *g, uint32_t i, size_t r)
{
	const struct report_item *item = rig_item(g, i);

	return item != NULL && (item->limits & (1u << r)) ? item->limit[r] : 0;
}

/* The limit that the request leaves in the spec, whether it names it or not. */
static inline uint64_t rig_after(const struct report_rig *g, uint32_t i, size_t r)
{
	uint64_t named = rig_limit(g, i, r);

	return named != 0 ? named : g->c[i].resource[r].spec_limit;
}

static inline uint64_t rig_request(const struct report_rig *g, uint32_t i, size_t r)
{
	const struct report_item *item = rig_item(g, i);

	return item != NULL && (item->requests & (1u << r)) ? item->request[r] : 0;
}

/* What a server does with the body. */
static inline void rig_store(struct report_rig *g)
{
	bool changed = false;

	for (size_t k = 0; k < g->d.patch.count; k++) {
		const struct report_item *item = &g->d.patch.item[k];

		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(g, item->container, r);

			if (item->limits & (1u << r)) {
				changed |= x->spec_limit != item->limit[r];
				x->spec_limit = item->limit[r];
			}
			if (item->requests & (1u << r)) {
				changed |= x->spec_request != item->request[r];
				x->spec_request = item->request[r];
			}
		}
	}
	if (changed) {
		g->f.generation++;
		g->f.echoed = false;
	}
}

static inline void rig_sent(struct report_rig *g)
{
	report_sent(g->s, &g->f, &g->d.patch, g->now);
}

static inline uint32_t rig_answer(struct report_rig *g, enum report_answer_kind kind,
				  uint32_t resources)
{
	struct report_answer a = {.kind = kind, .resources = resources};

	return report_answered(&g->t, &g->n, g->s, &g->f, &a, g->now);
}

/* Sends what was decided; the server takes it. */
static inline uint32_t rig_accept(struct report_rig *g)
{
	rig_sent(g);
	rig_store(g);
	return rig_answer(g, REPORT_ANSWER_OK, 0);
}

static inline uint32_t rig_observe(struct report_rig *g)
{
	return report_observed(&g->t, g->s, &g->f, g->now);
}

/* The kubelet does it: takes it in, then is done. Returns the changes of the end. */
static inline uint32_t rig_echo(struct report_rig *g)
{
	g->f.observed_generation = g->f.generation;
	g->f.in_progress = true;
	rig_observe(g);
	g->f.in_progress = false;
	g->f.echoed = true;
	return rig_observe(g);
}

/* Taken, and done by the kubelet. */
static inline void rig_fulfil(struct report_rig *g)
{
	rig_accept(g);
	rig_echo(g);
}

/* A raise of CPU and memory of the first container, decided and on its way. */
static inline void send_raise(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 0, MEM, 512 * MIB);
	CHECK(rig_later(g, 60 * S));
	rig_sent(g);
}

static inline void accept_raise(struct report_rig *g)
{
	send_raise(g);
	rig_store(g);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
}

static inline uint64_t allows(const struct report_rig *g, size_t r)
{
	usec_t until;

	return report_allows(g->s, 0, (enum resource)r, g->now, &until);
}

/* Opens and closes a rig around a test. */
#define WITH(g) for (struct report_rig g, *p_ = (rig_init(&g), &g); p_; rig_free(p_), p_ = NULL)

/* A test that is given a rig. */
#define TEST_RIG(name)                                                                             \
	static void with_rig_##name(struct report_rig *g);                                         \
	TEST(name)                                                                                 \
	{                                                                                          \
		WITH(rig) with_rig_##name(&rig);                                                   \
	}                                                                                          \
	static void with_rig_##name(struct report_rig *g)

/* The same with false and true. */
#define TEST_RIG_BOTH(name, parameter)                                                             \
	static void with_rig_##name(struct report_rig *g, bool parameter);                         \
	TEST_BOTH(name, parameter)                                                                 \
	{                                                                                          \
		WITH(rig) with_rig_##name(&rig, parameter);                                        \
	}                                                                                          \
	static void with_rig_##name(struct report_rig *g, bool parameter)
