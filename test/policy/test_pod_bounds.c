// SPDX-License-Identifier: Apache-2.0
/* What bounds a container beside its rule: each row of pod_bounds.h in virtual time. */
#include "test/check.h"
#include "test/policy/rig.h"

/* The kubelet's memory.high, and its factor found again in it. */
TEST(memory_qos)
{
	static const struct {
		uint64_t request, limit;
		uint32_t factor;
		uint64_t high, page;
	} rows[] = {
		{64 * MIB, 128 * MIB, 900, 31129 * PAGE_DEFAULT_BYTES, 4 * KIB},  /* 121.6 MiB */
		{64 * MIB, 512 * MIB, 900, 119603 * PAGE_DEFAULT_BYTES, 4 * KIB}, /* 467.2 MiB */
		{1000, 4 * MIB, 855, 875 * PAGE_DEFAULT_BYTES, 4 * KIB},
		{16 * MIB, 64 * MIB, 1000, 64 * MIB, 4 * KIB},
		{0, 64 * MIB, 500, 32 * MIB, 64 * KIB},
		{64 * MIB, 128 * MIB, 900, 7782 * 16 * KIB, 16 * KIB},
		/* A page is more than a thousandth: the lowest factor that gives the same. */
		{30 * MIB, 32 * MIB, 875, 508 * 64 * KIB, 64 * KIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(pod_qos_high(rows[i].request, rows[i].limit, rows[i].factor, rows[i].page),
			 rows[i].high);
		CHECK_EQ(pod_qos_factor(rows[i].request, rows[i].limit, rows[i].high, rows[i].page),
			 rows[i].factor);
	}
	CHECK_EQ(pod_qos_high(64 * MIB, 64 * MIB, 900, 4 * KIB), LIMIT_MAX);
	CHECK_EQ(pod_qos_high(64 * MIB, LIMIT_MAX, 900, 4 * KIB), LIMIT_MAX);
	CHECK_EQ(pod_qos_high(64 * MIB, 128 * MIB, 0, 4 * KIB), LIMIT_MAX);
	/* An owner's: below the request, between two factors, none. */
	CHECK_EQ(pod_qos_factor(64 * MIB, 128 * MIB, 60 * MIB, 4 * KIB), 0);
	CHECK_EQ(pod_qos_factor(64 * MIB, 128 * MIB, 100 * MIB, 4 * KIB), 0);
	CHECK_EQ(pod_qos_factor(64 * MIB, 128 * MIB, LIMIT_MAX, 4 * KIB), 0);
}

static struct pod_resource_bounds *of(struct pod_bounds *p, enum resource r)
{
	return &p->resource[r];
}

/* Not below the floor, and no further above it than the deadband. */
static bool rests_on(const struct control_resource *res, uint64_t floor)
{
	return res->limit >= floor && res->limit <= floor / 9 * 10 + PAGE_DEFAULT_BYTES;
}

/* A container that needs a tenth of what it has, with a day of history. */
static void oversized(struct rig *r, const struct pod_bounds *pod)
{
	rig_init(r, 1000, 1000 * MIB, 4);
	rig_fill_history(r, 50, 50 * MIB, 2 * USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	control_set_pod(&r->c, pod);
	rig_run(r, 2 * USEC_PER_HOUR);
}

/* A container that asks for more of both than it may have. */
static void greedy(struct rig *r, const struct pod_bounds *pod)
{
	rig_init(r, 200, 100 * MIB, 4);
	control_set_pod(&r->c, pod);
	r->sim.load = sim_steady(2, 1900);
	sim_grow(&r->sim, 5 * MIB, GIB);
	rig_run(r, 3 * USEC_PER_MIN);
}

TEST_RIG(unit)
{
	struct pod_bounds none = {0};

	oversized(r, &none);
	CHECK(cpu(r)->limit < 100);
	CHECK(mem(r)->limit < 100 * MIB);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 0);
}

TEST_RIG(request)
{
	struct pod_bounds p = {0};

	of(&p, RESOURCE_CPU)->request = 305;
	of(&p, RESOURCE_MEMORY)->request = 400 * MIB + 1;
	oversized(r, &p);
	CHECK_EQ(cpu(r)->limit, 310);
	CHECK_EQ(sim_milli(&r->sim), 310);
	CHECK(rests_on(mem(r), 400 * MIB + PAGE_DEFAULT_BYTES));
	CHECK(traced(cpu(r), BOUND_REQUEST) && traced(mem(r), BOUND_REQUEST));
	CHECK_EQ(control_floor(&r->c, &r->t, RESOURCE_CPU, 4000), 310);

	/* Requests that move along are no floor. */
	p.requests_move = true;
	oversized(r, &p);
	CHECK(cpu(r)->limit < 100);
	CHECK(mem(r)->limit < 100 * MIB);
	CHECK(control_request(&r->c, RESOURCE_CPU) > 0);
	CHECK(control_request(&r->c, RESOURCE_CPU) <= cpu(r)->limit);
	CHECK(control_request(&r->c, RESOURCE_MEMORY) <= mem(r)->limit);
}

TEST_RIG(qos)
{
	struct pod_bounds p = {.qos_near = true};

	of(&p, RESOURCE_CPU)->request = 300;
	of(&p, RESOURCE_MEMORY)->request = 400 * MIB;
	oversized(r, &p);
	CHECK_EQ(cpu(r)->limit, 310);
	CHECK(rests_on(mem(r), 400 * MIB + PAGE_DEFAULT_BYTES));
	CHECK(traced(cpu(r), BOUND_QOS) && traced(mem(r), BOUND_QOS));

	/* With requests that move, the request keeps below. */
	p.requests_move = true;
	oversized(r, &p);
	CHECK(control_request(&r->c, RESOURCE_CPU) < cpu(r)->limit);
	CHECK(control_request(&r->c, RESOURCE_MEMORY) < mem(r)->limit);

	/* A limit that equals its request already is not moved for it. */
	p.requests_move = false;
	of(&p, RESOURCE_CPU)->request = 1000;
	of(&p, RESOURCE_MEMORY)->request = 1000 * MIB;
	oversized(r, &p);
	CHECK_EQ(r->changes, 0);
}

TEST(qos_near)
{
	struct pod_qos_part parts[] = {
		{500, 500, false}, {GIB, GIB, false}, {1000, 500, true}, {GIB, GIB, false}};

	CHECK(pod_qos_near(parts, 4));
	parts[2].moves = false; /* what keeps it Burstable stays as it is */
	CHECK(!pod_qos_near(parts, 4));
	parts[2].moves = true;
	parts[0].request = 0; /* never Guaranteed without it */
	CHECK(!pod_qos_near(parts, 4));
	parts[0].request = 500;
	parts[3].limit = LIMIT_MAX;
	CHECK(!pod_qos_near(parts, 4));
	CHECK(!pod_qos_near(parts, 0));
}

TEST_RIG(guaranteed)
{
	struct pod_bounds p = {.guaranteed = true};

	/* The request is not ours: the limit never goes below it ... */
	of(&p, RESOURCE_CPU)->request = 1000;
	of(&p, RESOURCE_MEMORY)->request = 1000 * MIB;
	oversized(r, &p);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 0);
	/* ... but grows: in the cgroup alone. */
	of(&p, RESOURCE_CPU)->request = 200;
	of(&p, RESOURCE_MEMORY)->request = 100 * MIB;
	greedy(r, &p);
	CHECK(cpu(r)->limit > 1000);
	CHECK(mem(r)->limit > 300 * MIB);
	/* Where it is ours: limit = request = peak. */
	p.requests_move = true;
	oversized(r, &p);
	CHECK(cpu(r)->limit < 100);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), cpu(r)->limit);
	CHECK_EQ(control_request(&r->c, RESOURCE_MEMORY), mem(r)->limit);
}

/* Mode Initial: limits and requests are those of the start, whatever history learns later. */
static void test_initial(bool guaranteed, bool limits_stay)
{
	struct pod_bounds p = {.guaranteed = guaranteed, .requests_move = !limits_stay};
	uint64_t request[RESOURCE_COUNT];
	struct rig r;

	p.limits_stay = limits_stay;
	of(&p, RESOURCE_CPU)->request = guaranteed ? 1000 : 100;
	of(&p, RESOURCE_MEMORY)->request = guaranteed ? GIB : 100 * MIB;
	rig_init(&r, 1000, GIB, 4);
	rig_fill_history(&r, 300, 200 * MIB, 6 * USEC_PER_HOUR);
	r.c.rule.mode = MODE_INITIAL;
	control_set_pod(&r.c, &p);
	r.sim.load = sim_steady(1, 300);
	r.sim.m.anon = r.sim.load.anon_goal = 150 * MIB;
	CHECK_EQ(control_request(&r.c, RESOURCE_CPU), 0);
	rig_run(&r, 11 * USEC_PER_SEC);
	CHECK(r.c.initial_done);
	CHECK_EQ(cpu(&r)->limit < 1000, !limits_stay);
	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		request[i] = control_request(&r.c, i);
		CHECK(request[i] > 0);
		CHECK(request[i] <= r.c.resource[i].limit);
		if (guaranteed)
			CHECK_EQ(request[i], r.c.resource[i].limit);
	}
	CHECK(guaranteed || (request[RESOURCE_CPU] >= 300 && request[RESOURCE_CPU] < 400));
	r.sim.load = sim_steady(1, 60);
	for (unsigned hour = 0; hour < (guaranteed ? 6 : 40); hour++) {
		rig_run(&r, USEC_PER_HOUR);
		CHECK_EQ(control_request(&r.c, RESOURCE_CPU), request[RESOURCE_CPU]);
		CHECK_EQ(control_request(&r.c, RESOURCE_MEMORY), request[RESOURCE_MEMORY]);
	}
	/* It would have moved: history has learnt better. */
	CHECK(guaranteed || r.c.recommendation.resource[RESOURCE_CPU].target < 200);
	/* The next start is sized by what is known then. */
	rig_restart(&r);
	CHECK_EQ(control_request(&r.c, RESOURCE_CPU), 0);
	rig_run(&r, 11 * USEC_PER_SEC);
	CHECK(control_request(&r.c, RESOURCE_CPU) > 0);
	CHECK(control_request(&r.c, RESOURCE_CPU) < request[RESOURCE_CPU]);
}

/* Without history at the start nothing moves, and not later either. */
TEST_RIG(initial_too_late)
{
	struct pod_bounds p = {.requests_move = true};

	of(&p, RESOURCE_CPU)->request = 100;
	rig_init(r, 1000, GIB, 4);
	r->c.rule.mode = MODE_INITIAL;
	control_set_pod(&r->c, &p);
	r->sim.load = sim_steady(1, 300);
	rig_run(r, USEC_PER_DAY);
	CHECK(r->c.recommendation.resource[RESOURCE_CPU].target > 200);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 0);
}

TEST_RIG(namespace)
{
	struct pod_bounds p = {0};

	of(&p, RESOURCE_CPU)->namespace = (struct range){205, 777};
	of(&p, RESOURCE_MEMORY)->namespace = (struct range){200 * MIB, 300 * MIB + 1};
	oversized(r, &p);
	CHECK_EQ(cpu(r)->limit, 210);
	CHECK(rests_on(mem(r), 200 * MIB));
	CHECK(traced(cpu(r), BOUND_RANGE_MIN));
	greedy(r, &p);
	CHECK_EQ(cpu(r)->limit, 770);
	CHECK_EQ(mem(r)->limit, 300 * MIB);
	CHECK_EQ(r->max_milli, 770);
	CHECK(mem(r)->at_ceiling);
	/* The pod says the same again: nothing new is to be reported. */
	control_set_pod(&r->c, &p);
	CHECK(mem(r)->at_ceiling);
	of(&p, RESOURCE_MEMORY)->namespace.max = 400 * MIB;
	control_set_pod(&r->c, &p);
	CHECK(!mem(r)->at_ceiling && cpu(r)->at_ceiling);

	p = (struct pod_bounds){0};
	of(&p, RESOURCE_CPU)->request = 100;
	of(&p, RESOURCE_CPU)->ratio_permille = 2500;
	greedy(r, &p);
	CHECK_EQ(r->max_milli, 250);
	CHECK(traced(cpu(r), BOUND_RANGE_RATIO));
	/* A request that moves keeps to the ratio by itself. */
	p.requests_move = true;
	oversized(r, &p);
	r->c.resource[RESOURCE_CPU].limit = 1000;
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 400);
}

TEST_RIG(admin)
{
	struct policy_rule rule = policy_rule_default;
	struct pod_bounds p = {0};

	of(&p, RESOURCE_CPU)->admin = (struct range){0, 500};
	of(&p, RESOURCE_MEMORY)->admin = (struct range){150 * MIB, 200 * MIB};
	rig_init(r, 200, 100 * MIB, 4);
	rule.cpu_milli.max = 4000;
	rule.mem_bytes.max = GIB;
	control_set_rule(&r->c, &rule);
	control_set_pod(&r->c, &p);
	/* A minimum raises what stands below it, without any growth. */
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK_EQ(mem(r)->limit, 150 * MIB);
	CHECK_EQ(mem(r)->last.reason, REASON_MINIMUM);
	r->sim.load = sim_steady(2, 1900);
	sim_grow(&r->sim, 5 * MIB, GIB);
	rig_run(r, 3 * USEC_PER_MIN);
	CHECK_EQ(r->max_milli, 500);
	CHECK_EQ(r->max_bytes, 200 * MIB);
}

TEST_RIG(heap)
{
	struct pod_bounds p = {.heap.bytes = 300 * MIB};
	struct limits kernel;

	oversized(r, &p);
	/* With what a JVM needs besides: a third of it. */
	CHECK(rests_on(mem(r), 400 * MIB));
	CHECK(traced(mem(r), BOUND_HEAP));
	CHECK(cpu(r)->limit < 100);
	/* A share is one of the limit that the JVM saw when it began, and stays that. */
	p = (struct pod_bounds){.heap.permille = 600};
	oversized(r, &p);
	CHECK(rests_on(mem(r), 800 * MIB));
	rig_run(r, USEC_PER_HOUR);
	CHECK(rests_on(mem(r), 800 * MIB));
	/* So does one that is made of the request, which is lowered meanwhile. */
	p = (struct pod_bounds){.heap.bytes = 300 * MIB, .heap_request = 600 * MIB};
	oversized(r, &p);
	p.heap.bytes = 100 * MIB;
	p.heap_request = 200 * MIB;
	control_set_pod(&r->c, &p);
	rig_run(r, USEC_PER_HOUR);
	CHECK(rests_on(mem(r), 400 * MIB));
	/* The next run begins with the request of today. */
	kernel = r->c.kernel;
	control_restarted(&r->c, &kernel, r->sim.now);
	rig_run(r, 2 * USEC_PER_HOUR);
	CHECK(mem(r)->limit < 300 * MIB);
	/* It raises nothing. */
	p = (struct pod_bounds){.heap.bytes = 2 * GIB};
	oversized(r, &p);
	CHECK_EQ(r->count[KNOB_MEM_MAX], 0);
}

/* The agent starts again when the limit and the request are lower than those the process began
 * with.
 */
TEST_RIG(heap_taken_over)
{
	struct pod_bounds p = {.heap.permille = 300};
	struct limits kernel;

	for (int of_request = 0; of_request < 2; of_request++) {
		if (of_request)
			p = (struct pod_bounds){.heap.bytes = 100 * MIB,
						.heap_request = 200 * MIB,
						.found_request = 600 * MIB};
		rig_init(r, 1000, 1000 * MIB, 4);
		rig_fill_history(r, 50, 50 * MIB, 2 * USEC_PER_DAY);
		r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
		control_set_pod(&r->c, &p);
		sim_write(&r->sim, KNOB_MEM_MAX, 500 * MIB);
		kernel = r->sim.u.limits;
		control_restarted(&r->c, &kernel, r->sim.now);
		control_take_over(&r->c, &kernel);
		rig_run(r, 2 * USEC_PER_HOUR);
		CHECK(rests_on(mem(r), 400 * MIB));
	}
}

/* Nor does it make a larger step of a raise that growth asks for. */
TEST_RIG(heap_and_growth)
{
	static const struct heap_ceiling heaps[] = {
		{HEAP_JVM, 2 * GIB, 0},
		{HEAP_NODE, 0, 900},
		{HEAP_GO, 4 * GIB, 0},
		{HEAP_DOTNET, 2 * GIB, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++) {
		struct pod_bounds p = {.heap = heaps[i]};

		rig_init(r, 1000, 256 * MIB, 2);
		control_set_pod(&r->c, &p);
		r->sim.load = sim_steady(1, 100);
		r->sim.m.anon = r->sim.load.anon_goal = 200 * MIB;
		rig_run(r, 10 * USEC_PER_SEC);
		sim_grow(&r->sim, MIB, 260 * MIB);
		rig_run(r, 2 * USEC_PER_MIN);
		CHECK_EQ(r->sim.u.events.oom_kill, 0);
		CHECK(mem(r)->limit > 256 * MIB && mem(r)->limit <= 300 * MIB);
	}
}

TEST_RIG(refused_cpu)
{
	struct pod_bounds p = {0};

	greedy(r, &p);
	CHECK(cpu(r)->limit > 1500);
	of(&p, RESOURCE_CPU)->refused = 605;
	of(&p, RESOURCE_CPU)->refused_until = r->sim.now + USEC_PER_HOUR;
	control_set_pod(&r->c, &p);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 600);
	CHECK_EQ(cpu(r)->last.reason, REASON_REFUSED);
	r->count[KNOB_CPU_MAX] = 0;
	rig_run(r, 59 * USEC_PER_MIN);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 0);
	CHECK_EQ(sim_milli(&r->sim), 600);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_CEILING);
	CHECK(traced(cpu(r), BOUND_REFUSED));
	/* It ends by itself. */
	rig_run(r, 2 * USEC_PER_MIN);
	CHECK(cpu(r)->limit > 1500);
}

static void never_below_use(struct rig *r, const struct change *c)
{
	uint64_t use = sim_unreclaimable(&r->sim);

	if (c->knob == KNOB_MEM_MAX && change_lowers(c))
		CHECK(c->to >= use + MAX(use / 10, 8 * MIB));
}

/* Memory goes back in steps on trial, without any history, and not below use. */
TEST_RIG(refused_memory)
{
	struct policy_rule rule = policy_rule_default;
	struct pod_bounds p = {0};
	uint64_t before;

	rig_init(r, 200, 500 * MIB, 4);
	rule.scale_down = false;
	control_set_rule(&r->c, &rule);
	r->before = never_below_use;
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 10 * USEC_PER_MIN);
	CHECK_EQ(r->changes, 0);
	of(&p, RESOURCE_MEMORY)->refused = 300 * MIB;
	of(&p, RESOURCE_MEMORY)->refused_until = r->sim.now + USEC_PER_DAY;
	control_set_pod(&r->c, &p);
	while (r->count[KNOB_MEM_MAX] == 0)
		rig_tick(r);
	CHECK_EQ(mem(r)->limit, 450 * MIB);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(mem(r)->limit, 300 * MIB);
	/* Use stands above the next refusal. */
	before = mem(r)->limit;
	of(&p, RESOURCE_MEMORY)->refused = 50 * MIB;
	control_set_pod(&r->c, &p);
	rig_run(r, 2 * USEC_PER_HOUR);
	CHECK(mem(r)->limit < before);
	CHECK(mem(r)->limit >= 108 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(traced(mem(r), BOUND_REFUSED) && traced(mem(r), BOUND_USE));
}

/* A harmful shrink trial for a refused limit is undone, to above the refused limit. */
TEST_RIG(refused_undone)
{
	struct pod_bounds p = {0};

	rig_init(r, 200, 500 * MIB, 4);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 10 * USEC_PER_MIN);
	of(&p, RESOURCE_MEMORY)->refused = 300 * MIB;
	of(&p, RESOURCE_MEMORY)->refused_until = r->sim.now + USEC_PER_DAY;
	control_set_pod(&r->c, &p);
	while (r->c.mem.trial.phase != MEM_MAX)
		rig_tick(r);
	CHECK_EQ(r->sim.u.limits.mem_max, 450 * MIB);
	sim_allocate(&r->sim, 300 * MIB);
	sim_grow(&r->sim, 30 * MIB, 460 * MIB);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.limits.mem_max, 500 * MIB);
	CHECK_EQ(mem(r)->counters.undos, 1);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* What a restart would be worth: nothing, before a kill or the end of what may be held. */
TEST_RIG(restart_limit)
{
	struct pod_bounds p = {.unratified_permille = 2000};

	of(&p, RESOURCE_MEMORY)->accepted = 100 * MIB;
	rig_init(r, 200, 100 * MIB, 4);
	control_set_pod(&r->c, &p);
	r->sim.load.anon_bps = 2 * MIB;
	r->sim.m.anon = 60 * MIB;
	r->sim.load.anon_goal = 120 * MIB;
	rig_run(r, 30 * USEC_PER_SEC);
	CHECK(mem(r)->limit > 120 * MIB && mem(r)->limit < 200 * MIB);
	CHECK_EQ(control_restart_limit(&r->c, &r->t, false), 0);
	CHECK_EQ(control_restart_limit(&r->c, &r->t, true), mem(r)->limit);
	/* On to the end of it. */
	r->sim.load.anon_goal = 198 * MIB;
	rig_run(r, 40 * USEC_PER_SEC);
	CHECK_EQ(mem(r)->limit, 200 * MIB);
	CHECK(mem(r)->at_ceiling);
	CHECK_EQ(control_restart_limit(&r->c, &r->t, false), 300 * MIB);
	/* Within the ceiling: four times the original. */
	of(&p, RESOURCE_MEMORY)->accepted = 300 * MIB;
	control_set_pod(&r->c, &p);
	r->sim.load.anon_goal = 299 * MIB;
	rig_run(r, 60 * USEC_PER_SEC);
	CHECK_EQ(mem(r)->limit, 300 * MIB);
	CHECK_EQ(control_restart_limit(&r->c, &r->t, false), 400 * MIB);
	/* A minute without asking for more is no reason any longer. */
	r->sim.load.anon_bps = 0;
	r->sim.m.anon = r->sim.load.anon_goal = 150 * MIB;
	rig_run(r, 3 * USEC_PER_MIN);
	CHECK_EQ(control_restart_limit(&r->c, &r->t, false), 0);
}

TEST_RIG(held)
{
	struct pod_bounds p = {.limits_stay = true};

	of(&p, RESOURCE_CPU)->request = 1000;
	of(&p, RESOURCE_MEMORY)->request = 1000 * MIB;
	oversized(r, &p);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_REQUESTS_ONLY);
	CHECK(control_request(&r->c, RESOURCE_CPU) > 0);
	CHECK(control_request(&r->c, RESOURCE_CPU) < 100);

	p = (struct pod_bounds){.not_ready = true};
	oversized(r, &p);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NOT_READY);
	CHECK_EQ(mem(r)->blocked, BLOCKED_NOT_READY);
	greedy(r, &p);
	CHECK(cpu(r)->limit > 1000);
}

TEST(with_parameters)
{
	test_initial(false, false);
	test_initial(true, false);
	test_initial(false, true);
}
