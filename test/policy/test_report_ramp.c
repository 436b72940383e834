// SPDX-License-Identifier: Apache-2.0
/*
 * Ramps and short allocations, with the slope as it is measured (over the last second, or 0.2 s
 * where that is steeper) and a kubelet that writes late what it has read before: nothing is killed,
 * and a growth that was one allocation asks for little.
 */
#include "test/policy/report_lead_rig.h"

#define TICK  (S / 10)
#define TICKS 10 /* a second */

struct ramp {
	uint64_t rate;    /* bytes a second */
	uint64_t end;     /* use stops there */
	usec_t delay_max; /* from the kubelet's reading to the runtime's write */
	usec_t delay_min;
	bool alone; /* no owner resizes it */
	uint64_t seed;
	uint64_t past[TICKS + 1]; /* use, newest first */
	uint64_t to_write;
	usec_t write_at;
	bool led; /* a lead was accepted before the kubelet read that */
	unsigned kills, requests;
};

static uint64_t random_of(struct ramp *m, uint64_t below)
{
	m->seed = m->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (m->seed >> 33) % below;
}

static uint64_t slope_of(const struct ramp *m)
{
	uint64_t second = m->past[0] - m->past[TICKS];
	uint64_t fifth = (m->past[0] - m->past[2]) * 5;

	return MAX(second, fifth);
}

/* Every sync takes a snapshot of the spec and has it written later: all values of it. */
static void kubelet(struct report_rig *g, struct ramp *m)
{
	if (m->write_at != 0 && g->now >= m->write_at) {
		m->kills += m->led && m->to_write < m->past[0];
		m->write_at = 0;
		if (m->to_write == rig_res(g, 0, MEM)->spec_limit)
			rig_echo(g);
	}
	if (m->write_at == 0 && (g->f.generation != g->f.observed_generation || !g->f.echoed)) {
		m->to_write = rig_res(g, 0, MEM)->spec_limit;
		m->led = m->requests != 0;
		m->write_at = g->now + MAX(m->delay_min, 50 * USEC_PER_MSEC) +
			      random_of(m, m->delay_max - m->delay_min);
	}
}

static void tick(struct report_rig *g, struct ramp *m)
{
	struct report_resource *x = rig_res(g, 0, MEM);
	uint64_t use = m->past[0];

	g->now += TICK;
	memmove(m->past + 1, m->past, TICKS * sizeof m->past[0]);
	m->past[0] = use < m->end ? MIN(use + m->rate / TICKS, m->end) : use;
	grow(g, m->past[0], slope_of(m));
	if (m->past[0] + 3 * slope_of(m) > x->held)
		rig_set_held(g, 0, MEM, m->past[0] + 3 * slope_of(m));
	/* The owner changes the CPU limit every 2 s: each time the kubelet writes all values. */
	if (!m->alone && g->now % (2 * S) == 0) {
		rig_res(g, 0, CPU)->spec_limit ^= 512;
		g->f.generation++;
		g->f.echoed = false;
	}
	report_node_learn(&g->n, g->s, g->now);
	g->t = report_tuned(&report_tuning_default, &g->n, g->now);
	rig_observe(g);
	if (rig_decide(g)) {
		rig_accept(g);
		m->requests++;
	}
	kubelet(g, m);
}

/* A container of 256 MiB at rest, then growth. */
static void start(struct report_rig *g, struct ramp *m, uint64_t rate, uint64_t end)
{
	struct report_resource *x = rig_res(g, 0, MEM);

	*m = (struct ramp){.rate = rate, .end = end, .delay_max = 5 * S, .seed = rate};
	g->t = report_tuning_default;
	rig_res(g, 0, CPU)->managed = false; /* its owner's alone */
	x->spec_request = x->original_request = 32 * MIB;
	for (size_t i = 0; i <= TICKS; i++)
		m->past[i] = 4 * MIB;
	rig_observe(g);
}

/* A minute and a half of growth. What the kubelet has read before the first lead is not part of it:
 * no lead can overtake that (spec_replay_bytes() in agent/manage/spec.h). */
static void test_ramp(uint64_t rate, usec_t delay_max, uint64_t seed)
{
	struct ramp m;

	WITH(g)
	{
		start(&g, &m, rate, UINT64_MAX);
		m.delay_max = delay_max;
		m.seed = seed;
		for (unsigned i = 0; i < 90 * TICKS; i++)
			tick(&g, &m);
		if (seed == 1)
			printf("%3llu MB/s, kubelet up to %llu ms: %u requests in 90 s\n",
			       (unsigned long long)rate / MIB,
			       (unsigned long long)delay_max / USEC_PER_MSEC, m.requests);
		CHECK_EQ(m.kills, 0);
		CHECK(m.requests <= 6);
		/* Sustained growth has a minute of room again. */
		CHECK(rig_res(&g, 0, MEM)->spec_limit >= m.past[0] + 25 * rate);
	}
}

/* A starved node, whose runtime takes 9 to 14 s for an update. Returns the kills. */
static unsigned ramp_on_slow_node(uint64_t rate, uint64_t seed, bool alone, struct report_node *n)
{
	unsigned kills = 0;
	struct ramp m;

	WITH(g)
	{
		start(&g, &m, rate, UINT64_MAX);
		m.delay_min = 9 * S;
		m.delay_max = 14 * S;
		m.seed = seed;
		m.alone = alone;
		g.n = *n;
		g.n.carry_at = g.now; /* each ramp has a clock of its own */
		for (unsigned i = 0; i < 90 * TICKS; i++)
			tick(&g, &m);
		*n = g.n;
		kills = m.kills;
	}
	return kills;
}

/* What another pod has shown makes leads go early enough. */
static void test_slow_node(uint64_t rate)
{
	unsigned unknown = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct report_node n = {0};

		unknown += ramp_on_slow_node(rate, seed, false, &n);
		ramp_on_slow_node(rate, seed, true, &n);
		CHECK(n.carry_usec >= 9 * S);
		CHECK_EQ(ramp_on_slow_node(rate, seed, false, &n), 0);
	}
	printf("%3llu MB/s, runtime 9 to 14 s: %u kills in 30 ramps before that is known\n",
	       (unsigned long long)rate / MIB, unknown);
	CHECK(unknown > 0);
}

/* What is measured: the longest time, while it lasts already; half of it counts after 10 min. Lack
 * of room is no slowness. */
static void test_measured(void)
{
	WITH(g)
	{
		struct report_node *n = &g.n;

		report_node_learn(n, g.s, g.now);
		CHECK_EQ(n->carry_usec, 0);
		accept_raise(&g);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 0);
		g.now += 5 * S;
		report_node_learn(n, g.s, g.now);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 0);
		g.now += 9 * S;
		report_node_learn(n, g.s, g.now);
		rig_echo(&g);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 9 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now).ahead_usec, 96 * S);
		report_node_learn(n, g.s, g.now + 60 * S);
		CHECK_EQ(n->carry_usec, 14 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now + 600 * S).late_usec, 2 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now + 1200 * S).late_usec, 0);
		/* A pod that hangs. */
		rig_set_held(&g, 0, CPU, 1200);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		rig_accept(&g);
		report_node_learn(n, g.s, g.now + 200 * S);
		CHECK_EQ(n->carry_usec, 30 * S);
	}
	WITH(g)
	{
		accept_raise(&g);
		g.f.observed_generation = g.f.generation;
		g.f.pending_deferred = true;
		rig_observe(&g);
		report_node_learn(&g.n, g.s, g.now + 100 * S);
		CHECK_EQ(g.n.carry_usec, 0);
	}
}

/* One allocation of so much, and then nothing. */
static void test_allocation(uint64_t bytes, uint64_t rate)
{
	struct ramp m;

	WITH(g)
	{
		uint64_t asked;

		start(&g, &m, rate, 4 * MIB + bytes);
		for (unsigned i = 0; i < 30 * TICKS; i++)
			tick(&g, &m);
		asked = rig_res(&g, 0, MEM)->spec_limit;
		printf("%3llu MiB at %3llu MB/s: spec %llu MiB, %u requests\n",
		       (unsigned long long)bytes / MIB, (unsigned long long)rate / MIB,
		       (unsigned long long)asked / MIB, m.requests);
		CHECK_EQ(m.kills, 0);
		CHECK(asked <= with_margin(m.past[0]) + 20 * rate);
		/* It comes down to use and margin by the lease. */
		g.f.observed_generation = g.f.generation;
		for (unsigned i = 0; i < 1200 * TICKS; i++)
			tick(&g, &m);
		CHECK(rig_res(&g, 0, MEM)->spec_limit <=
		      MAX(rig_res(&g, 0, MEM)->held, with_margin(m.past[0])));
	}
}

/* An ordinary resize covers as much growth as a lead would: the kubelet writes either as late. */
static void test_ordinary_resize(bool led)
{
	WITH(g)
	{
		g.t = report_tuning_default;
		rig_set_held(&g, 1, CPU, 900);
		g.now += 60 * S;
		if (led)
			g.s->container[0].led_at = g.now - 60 * S;
		grow(&g, 130 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK(!g.d.patch.leads);
		CHECK_EQ(rig_limit(&g, 1, CPU), 900);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(130 * MIB) + (led ? 600 : 200) * MIB);
	}
}

int main(void)
{
	static const uint64_t rates[] = {10 * MIB, 50 * MIB, 200 * MIB};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		for (uint64_t seed = 1; seed <= 30; seed++) {
			test_ramp(rates[i], 200 * USEC_PER_MSEC, seed);
			test_ramp(rates[i], 5 * S, seed);
		}
	test_slow_node(10 * MIB);
	test_slow_node(50 * MIB);
	test_measured();
	test_ordinary_resize(false);
	test_ordinary_resize(true);
	test_allocation(240 * MIB, 50 * MIB);
	test_allocation(240 * MIB, 200 * MIB);
	test_allocation(200 * MIB, 10 * MIB);
	return check_result();
}
