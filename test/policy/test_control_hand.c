// SPDX-License-Identifier: Apache-2.0
/* What happens to a unit from outside: pauses, external writers, restarts, odd limits and
 * observations. */
#include "test/check.h"
#include "test/policy/rig.h"

static void never_below_use(struct rig *r, const struct change *c)
{
	uint64_t use = sim_unreclaimable(&r->sim);

	if (!change_lowers(c) || c->knob != KNOB_MEM_MAX)
		return;
	CHECK(c->to >= use + MAX(use / 10, 8 * MIB));
	CHECK(c->to >= c->from - c->from / 10 - PAGE_DEFAULT_BYTES);
}

/* A pause, an Off or an adopted value in the middle of a trial: memory.high does not stay behind.
 */
static void start_trial(struct rig *r)
{
	rig_init(r, 1000, GIB, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	while (r->sim.u.limits.mem_high == LIMIT_MAX)
		rig_tick(r);
	CHECK_EQ(r->c.mem.trial.phase, MEM_HIGH);
	CHECK_EQ(r->sim.u.limits.mem_max, GIB);
}

TEST_RIG(trial_interrupted)
{
	struct policy_rule off = policy_rule_default;

	start_trial(r);
	r->c.paused = true;
	rig_tick(r);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
	CHECK_EQ(r->c.mem.trial.phase, MEM_IDLE);

	start_trial(r);
	off.mode = MODE_OFF;
	control_set_rule(&r->c, &off);
	rig_tick(r);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);

	start_trial(r);
	sim_write(&r->sim, KNOB_MEM_MAX, 800 * MIB);
	rig_adopt(r, RESOURCE_MEMORY);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
	CHECK(r->c.original.mem_high == LIMIT_MAX);
	CHECK_EQ(mem(r)->original, 800 * MIB);
	CHECK_EQ(mem(r)->limit, 800 * MIB);

	/* The daemon ended during the trial; its successor lifts memory.high at the first pass. */
	start_trial(r);
	rig_begin(r, &r->c.original);
	control_restarted(&r->c, &r->sim.u.limits, r->sim.now);
	rig_tick(r);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
}

/* The file has systemd's headroom, up to the maximum, when a shrink causes harm: nothing is left to
 * write, but the state and the journal say that the shrink was undone. */
static void undone_under_headroom(uint64_t max)
{
	struct rig r;
	uint64_t lowered;

	start_trial(&r);
	r.c.rule.mem_bytes.max = max;
	while (r.c.mem.trial.phase != MEM_MAX)
		rig_tick(&r);
	lowered = mem(&r)->limit;
	CHECK(lowered < GIB);
	sim_write(&r.sim, KNOB_MEM_MAX, MIN(max, 2 * GIB));
	rig_tick(&r);
	CHECK_EQ(mem(&r)->limit, lowered);
	/* Growth in the watch. */
	sim_grow(&r.sim, GIB, MIN(max, 2 * GIB) - 100 * MIB);
	for (int i = 0; i < 30 && r.c.mem.trial.phase != MEM_IDLE; i++)
		rig_tick(&r);
	CHECK_EQ(r.c.mem.trial.phase, MEM_IDLE);
	CHECK_EQ(mem(&r)->counters.undos, 1);
	CHECK(mem(&r)->limit >= GIB);
	CHECK_EQ(mem(&r)->last.reason, REASON_SHRINK_UNDONE);
	CHECK_EQ(mem(&r)->last.from, lowered);
	CHECK(mem(&r)->last.to >= GIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

/* The counters of one group kill, as the kernel raises them, read at each step; then a second one
 * whose group is counted in a sample without a new victim. */
TEST_RIG(group_kill_read_halfway)
{
	static const struct {
		uint64_t victims, groups, counted;
	} step[] = {{1, 0, 1}, {4, 1, 1}, {4, 1, 1}, {5, 1, 1}, {5, 2, 2}, {8, 2, 2}, {12, 3, 3}};

	rig_init(r, 1000, 64 * MIB, 2);
	rig_run(r, 5 * USEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(step); i++) {
		r->sim.u.events.max++;
		r->sim.u.events.oom_kill = step[i].victims;
		r->sim.u.events.oom_group_kill = step[i].groups;
		rig_tick(r);
		CHECK_EQ(mem(r)->counters.oom_kills, step[i].counted);
	}
}

/* What history asks for is no reason to raise the value that its owner has just set. */
TEST_RIG(owner_before_history)
{
	rig_init(r, 500, GIB, 2);
	rig_fill_history(r, 700, 100 * MIB, USEC_PER_DAY);
	r->sim.load.threads = 0;
	sim_write(&r->sim, KNOB_CPU_MAX, 50000);
	rig_adopt(r, RESOURCE_CPU);
	rig_run(r, 9 * USEC_PER_MIN);
	CHECK_EQ(cpu(r)->limit, 500);
	rig_run(r, 2 * USEC_PER_MIN);
	CHECK(cpu(r)->limit >= 700);
}

/* Killed at the limit while systemd's headroom came into the file: the successor starts with what
 * the kill asked for, though there was nothing to write. */
TEST_RIG(kill_under_headroom)
{
	struct limits fresh;

	rig_init(r, 1000, 64 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 20 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	fresh = r->sim.u.limits;
	sim_write(&r->sim, KNOB_MEM_MAX, 256 * MIB);
	r->sim.u.events.max += 10;
	r->sim.u.events.oom_kill++;
	rig_tick(r);
	CHECK_EQ(mem(r)->counters.oom_kills, 1);
	CHECK_EQ(mem(r)->limit, 256 * MIB);
	CHECK_EQ(mem(r)->last.reason, REASON_OOM_KILL);
	control_restarted(&r->c, &fresh, r->sim.now);
	CHECK_EQ(mem(r)->limit, 256 * MIB);
}

/* A slow PID 1 has written the headroom sent to it: taken back a minute after the growth. */
TEST_RIG(settle)
{
	uint64_t limit, property;
	usec_t grown;

	rig_init(r, 1000, 200 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 20 * USEC_PER_SEC);
	sim_grow(&r->sim, 10 * MIB, 300 * MIB);
	rig_run(r, 15 * USEC_PER_SEC);
	limit = mem(r)->limit;
	property = control_mem_property(&r->c, &r->t);
	CHECK(property >= r->sim.m.anon + 300 * MIB);
	CHECK(property <= 800 * MIB);
	sim_write(&r->sim, KNOB_MEM_MAX, property);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->sim.m.anon, 300 * MIB);
	grown = r->c.mem.last_growth;
	while (r->sim.u.limits.mem_max == property && r->sim.now - grown < USEC_PER_HOUR)
		rig_tick(r);
	CHECK(r->sim.now - grown >= 60 * USEC_PER_SEC);
	CHECK(r->sim.now - grown <= 71 * USEC_PER_SEC);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].last.reason, REASON_SETTLED);
	CHECK(r->sim.u.limits.mem_max >= limit);
	CHECK(r->sim.u.limits.mem_max >= 330 * MIB);
	CHECK(r->sim.u.limits.mem_max <= 450 * MIB);
	CHECK_EQ(mem(r)->limit, r->sim.u.limits.mem_max);
	rig_run(r, 10 * USEC_PER_MIN);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* The headroom is full of page cache by then: that is taken back first. */
TEST_RIG(settle_over_cache)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 20 * USEC_PER_SEC);
	sim_write(&r->sim, KNOB_MEM_MAX, 700 * MIB);
	r->sim.m.file = 500 * MIB;
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_max, 200 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK_EQ(r->sim.write_kills, 0);
}

TEST_RIG(adopt)
{
	rig_init(r, 200, 100 * MIB, 2);
	r->sim.load = sim_steady(1, 700);
	rig_run(r, USEC_PER_MIN);
	CHECK(sim_milli(&r->sim) >= 700);
	sim_write(&r->sim, KNOB_CPU_MAX, 150000);
	rig_adopt(r, RESOURCE_CPU);
	CHECK_EQ(cpu(r)->original, 1500);
	CHECK_EQ(cpu(r)->limit, 1500);
	CHECK_EQ(r->c.original.cpu_quota_usec, 150000);
	rig_run(r, 50 * USEC_PER_SEC);
	CHECK_EQ(sim_milli(&r->sim), 1500);

	sim_write(&r->sim, KNOB_MEM_MAX, 300 * MIB);
	rig_adopt(r, RESOURCE_MEMORY);
	CHECK_EQ(control_ceiling(&r->c, &r->t, RESOURCE_MEMORY, 2000), 1200 * MIB);
	/* A limit that was taken away is not given back. */
	sim_write(&r->sim, KNOB_CPU_MAX, LIMIT_MAX);
	rig_adopt(r, RESOURCE_CPU);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NO_LIMIT);
	CHECK(r->sim.u.limits.cpu_quota_usec == LIMIT_MAX);
}

TEST_RIG(reassert)
{
	rig_init(r, 500, 500 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 20 * USEC_PER_SEC);
	sim_write(&r->sim, KNOB_CPU_MAX, 10000);
	sim_write(&r->sim, KNOB_MEM_MAX, 200 * MIB);
	rig_reassert(r, RESOURCE_CPU);
	rig_reassert(r, RESOURCE_MEMORY);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->sim.u.limits.mem_max, 500 * MIB);
	CHECK_EQ(mem(r)->counters.drifts, 1);
	/* Nothing was decided. */
	CHECK_EQ(mem(r)->last.at_real, 0);
	/* An external writer raised it, and use grew beyond our value: what is put back stays above
	 * use. */
	sim_write(&r->sim, KNOB_MEM_MAX, 2 * GIB);
	r->sim.load.anon_goal = r->sim.m.anon = 900 * MIB;
	r->c.paused = true;
	rig_run(r, 5 * USEC_PER_SEC); /* and has stopped */
	r->c.paused = false;
	rig_reassert(r, RESOURCE_MEMORY);
	CHECK(r->sim.u.limits.mem_max >= 990 * MIB);
	CHECK(r->sim.u.limits.mem_max < GIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* A successor has no reading yet: its memory.max is not lowered before the first one. */
TEST_RIG(reassert_unseen)
{
	rig_init(r, 500, 500 * MIB, 2);
	rig_run(r, 20 * USEC_PER_SEC);
	rig_restart(r);
	sim_write(&r->sim, KNOB_MEM_MAX, GIB);
	r->sim.m.anon = 700 * MIB;
	rig_reassert(r, RESOURCE_MEMORY);
	CHECK_EQ(r->sim.u.limits.mem_max, GIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

TEST_RIG(restart)
{
	uint64_t milli, bytes;

	rig_init(r, 200, 100 * MIB, 2);
	r->sim.load = sim_steady(1, 700);
	sim_grow(&r->sim, 10 * MIB, 200 * MIB);
	rig_run(r, 2 * USEC_PER_MIN);
	milli = cpu(r)->limit;
	bytes = mem(r)->limit;
	CHECK(milli >= 700 && bytes >= 200 * MIB);
	/* The new cgroup has the unit's own values; what we held is put back, nothing shrinks. */
	sim_restart(&r->sim);
	sim_write(&r->sim, KNOB_CPU_MAX, 20000);
	sim_write(&r->sim, KNOB_MEM_MAX, 100 * MIB);
	control_restarted(&r->c, &r->sim.u.limits, r->sim.now);
	CHECK_EQ(cpu(r)->limit, milli);
	CHECK_EQ(mem(r)->limit, bytes);
	rig_resume(r);
	CHECK_EQ(sim_milli(&r->sim), milli);
	CHECK_EQ(r->sim.u.limits.mem_max, bytes);
	/* Reported as resumed, not as drift: there was no external write. */
	CHECK_EQ(cpu(r)->last.reason, REASON_RESUMED);
	CHECK_EQ(cpu(r)->last.from, 200);
	CHECK_EQ(mem(r)->last.reason, REASON_RESUMED);
	CHECK_EQ(cpu(r)->counters.drifts + mem(r)->counters.drifts, 0);
	rig_run(r, 5 * USEC_PER_MIN - USEC_PER_SEC);
	CHECK_EQ(cpu(r)->counters.lowers, 0);
	CHECK(r->c.history.samples > 100);
}

/* A restart resets the state of the ended container: a decrease that the ledger requested, the
 * resource blocked by an external write, and CPU pressure. */
TEST_RIG(restart_forgets)
{
	rig_init(r, 200, 100 * MIB, 2);
	r->sim.load = sim_steady(1, 700);
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(r->c.psi_cpu_ppm > 0);
	r->c.asked = (struct ledger_denied){.limit = 50 * MIB, .at = r->sim.now};
	r->c.frozen = RESOURCES_CPU;
	rig_restart(r);
	CHECK_EQ(r->c.asked.limit, 0);
	CHECK_EQ(r->c.frozen, 0);
	CHECK_EQ(r->c.psi_cpu_ppm + r->c.psi_cpu_others_ppm, 0);
}

/* Killed before its raise was written: its successor does not wait for a tick to have it. */
TEST_RIG(restart_after_kill)
{
	const struct {
		uint64_t record, limit;
	} rows[] = {
		{164 * MIB, 164 * MIB},
		{32 * MIB, 64 * MIB}, /* less than it has */
		{GIB, 256 * MIB},     /* the ceiling */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_init(r, 1000, 64 * MIB, 2);
		rig_run(r, 5 * USEC_PER_SEC);
		r->c.mem.oom_record = rows[i].record;
		sim_restart(&r->sim);
		sim_write(&r->sim, KNOB_MEM_MAX, 64 * MIB);
		control_restarted(&r->c, &r->sim.u.limits, r->sim.now);
		rig_resume(r);
		CHECK_EQ(r->sim.u.limits.mem_max, rows[i].limit);
		CHECK_EQ(mem(r)->limit, rows[i].limit);
		if (rows[i].limit > 64 * MIB)
			CHECK_EQ(mem(r)->last.reason, REASON_OOM_KILL);
	}
}

/* It ended during a shrink trial: the smaller limit may be the cause. */
TEST_RIG(restart_in_trial)
{
	rig_init(r, 2000, GIB, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	while (r->c.mem.trial.phase != MEM_MAX)
		rig_tick(r);
	CHECK(mem(r)->limit < GIB);
	rig_restart(r);
	CHECK_EQ(mem(r)->limit, GIB);
}

/* An odd period: what was decided is what is held and put back, not a rounded neighbour. */
TEST_RIG(odd_period)
{
	struct limits l = {16666, 33333, 0, GIB, LIMIT_MAX};
	uint64_t quota;

	rig_init(r, 500, GIB, 2);
	sim_init(&r->sim, &l, 2, 1);
	rig_begin(r, &l);
	control_restarted(&r->c, &l, r->sim.now);
	r->sim.load = sim_steady(2, 1500);
	rig_run(r, USEC_PER_MIN);
	CHECK(cpu(r)->counters.raises > 0);
	CHECK_EQ(cpu(r)->limit % CPU_QUANTUM_MILLI, 0);
	quota = r->sim.u.limits.cpu_quota_usec;
	sim_write(&r->sim, KNOB_CPU_MAX, 5000);
	rig_reassert(r, RESOURCE_CPU);
	CHECK_EQ(r->sim.u.limits.cpu_quota_usec, quota);
}

static void burst_fits(struct rig *r, const struct change *)
{
	CHECK(r->sim.u.limits.cpu_burst_usec <= r->sim.u.limits.cpu_quota_usec);
}

/* A burst goes down before the quota and comes back after it, never above the original. */
TEST_RIG(burst)
{
	struct limits l = {200000, 100000, 150000, GIB, LIMIT_MAX};

	rig_init(r, 2000, GIB, 2);
	sim_init(&r->sim, &l, 2, 1);
	rig_begin(r, &l);
	control_restarted(&r->c, &l, r->sim.now);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->before = burst_fits;
	r->sim.load = sim_steady(1, 200);
	rig_run(r, USEC_PER_HOUR);
	CHECK(r->sim.u.limits.cpu_quota_usec < 50000);
	CHECK_EQ(r->sim.u.limits.cpu_burst_usec, r->sim.u.limits.cpu_quota_usec);
	r->sim.load = sim_steady(2, 2000);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->sim.u.limits.cpu_burst_usec, 150000);
}

/* Bounds that contradict use: a maximum below what is in use ends at use, not below. */
TEST_RIG(max_below_use)
{
	rig_init(r, 1000, GIB, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->c.rule.mem_bytes.max = 64 * MIB;
	r->before = never_below_use;
	r->sim.m.anon = r->sim.load.anon_goal = 300 * MIB;
	rig_run(r, 4 * USEC_PER_HOUR);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.limits.mem_max >= 330 * MIB);
	CHECK(r->sim.u.limits.mem_max <= 400 * MIB);
	CHECK(mem(r)->trace.count > 0);
	CHECK_EQ(bound_trace_step(&mem(r)->trace, mem(r)->trace.count - 1).bound, BOUND_USE);
}

/* What is shown leads from the candidate to its result, also after a raise, which has its own. */
TEST_RIG(bounds_of_the_candidate)
{
	rig_init(r, 1000, 512 * MIB, 2);
	r->c.rule.mem_bytes.min = 600 * MIB;
	rig_run(r, USEC_PER_MIN / 4);
	CHECK_EQ(mem(r)->limit, 600 * MIB);
	CHECK_EQ(mem(r)->bounded, 600 * MIB);
	CHECK_EQ(mem(r)->trace.count, 1);
	CHECK_EQ(bound_trace_step(&mem(r)->trace, 0).before, mem(r)->candidate);
}

/* Observations without some groups, and a plan without room: nothing breaks. */
TEST_RIG(partial_observations)
{
	struct change steps[1];
	struct plan p = {.steps = steps};
	struct control_context x;
	struct usage u;

	rig_init(r, 200, 100 * MIB, 2);
	r->sim.load = sim_steady(1, 800);
	sim_grow(&r->sim, 10 * MIB, 300 * MIB);
	for (uint32_t i = 0; i < 2000; i++) {
		sim_run(&r->sim, USEC_PER_SEC);
		x = rig_context(r, &p);
		sim_observe(&r->sim, &u);
		u.have &= i * 2654435761u >> 8;
		if (!(u.have & USAGE_CPU))
			u.cpu_usage_usec = 0;
		p.count = 0;
		p.capacity = i % 2;
		control_observe(&r->c, &u, &x);
		control_review(&r->c, &x);
	}
	CHECK(cpu(r)->counters.raises == 0);
	CHECK(r->c.rates.used_milli <= 2000);
}

TEST(with_parameters)
{
	undone_under_headroom(GIB);
	undone_under_headroom(8 * GIB);
}
