// SPDX-License-Identifier: Apache-2.0
/*
 * Random lives of a unit: loads, configurations, outcomes, foreign writers, restarts, clock steps.
 * Whatever happens, no step that the laws plan breaks the invariant, a bound or the write order.
 *
 * VSCALED_SEED repeats a run, VSCALED_ROUNDS makes it longer.
 */
#include "test/policy/property_pod.h"
#include <errno.h>
#include <inttypes.h>

#define TICKS 1000

static uint64_t brakes_seen, steps_seen, lowered_seen, raised_seen, undone_seen;

/* ---- invariants ---- */

static void check_memory(const struct rig *r, const struct change *c)
{
	const struct tuning_memory *t = &r->t.memory;
	uint64_t seen = mem_use(&r->c.last);

	if (c->knob == KNOB_MEM_HIGH && change_lowers(c))
		CHECK(c->to >= seen);
	/* The owner's own line is never raised by the brake. */
	if (c->knob == KNOB_MEM_HIGH && c->reason == REASON_BRAKE)
		CHECK(c->to <= control_mem_high(&r->c, r->c.kernel.mem_max));
	if (c->knob != KNOB_MEM_MAX)
		return;
	CHECK(c->to % PAGE_DEFAULT_BYTES == 0 || c->reason == REASON_DRIFT ||
	      c->reason == REASON_SHRINK_UNDONE);
	if (!change_lowers(c))
		return;
	lowered_seen++;
	CHECK(c->to >= mem_with_margin(t, seen));
	CHECK_EQ(c->margin_bytes, mem_write_margin(t, c->to));
	CHECK(r->c.last_at != 0);
}

/* A value that is not merely put back lies within the bounds. */
static void check_bounds(const struct rig *r, const struct change *c)
{
	enum resource res = knobs[c->knob].resource;
	uint64_t ceiling = control_ceiling(&r->c, &r->t, res, r->sim.cpus * 1000);
	uint64_t to = c->to;

	if (c->knob != KNOB_MEM_MAX && c->knob != KNOB_CPU_MAX)
		return;
	if (c->knob == KNOB_CPU_MAX) {
		CHECK(c->to >= CPU_QUOTA_MIN_USEC);
		to = r->c.resource[res].pending.to;
		CHECK(cpu_quota_of(to, c->period_usec) == c->to);
	}
	if (c->reason == REASON_DRIFT || c->reason == REASON_SHRINK_UNDONE)
		return;
	check_pod(r, res, to, change_lowers(c));
	if (!change_lowers(c)) {
		raised_seen++;
		/* The kernel's smallest quota may lie above a tiny maximum. */
		if (c->knob == KNOB_CPU_MAX)
			ceiling = MAX(ceiling,
				      round_up(cpu_milli_of(CPU_QUOTA_MIN_USEC, c->period_usec),
					       CPU_QUANTUM_MILLI));
		CHECK(to <= ceiling);
		CHECK(c->to != LIMIT_MAX);
		return;
	}
	if (c->reason == REASON_SHRINK && r->c.rule.scale_down) {
		uint64_t min =
			res == RESOURCE_CPU ? r->c.rule.cpu_milli.min : r->c.rule.mem_bytes.min;

		CHECK(to >= MIN(min, ceiling));
	}
	CHECK(r->c.rule.scale_down || c->reason != REASON_SHRINK || refused(r, res));
}

static void before(struct rig *r, const struct change *c)
{
	const struct control_resource *res = &r->c.resource[knobs[c->knob].resource];

	steps_seen++;
	undone_seen += c->reason == REASON_SHRINK_UNDONE;
	check_memory(r, c);
	check_bounds(r, c);
	CHECK(c->from != c->to || c->knob == KNOB_MEM_RECLAIM);
	if (r->c.rule.mode == MODE_OFF || r->c.paused || !res->managed || r->c.pod.limits_stay)
		CHECK(c->reason == REASON_LIFT || c->reason == REASON_DRIFT ||
		      (c->reason == REASON_BRAKE && !change_lowers(c)));
}

static void after(struct rig *r, const struct change *c, int outcome)
{
	const struct limits *l = &r->sim.u.limits;

	CHECK_EQ(r->sim.write_kills, 0);
	CHECK(l->cpu_burst_usec <= l->cpu_quota_usec);
	if (outcome == APPLY_DONE && c->knob == KNOB_MEM_MAX && change_lowers(c))
		CHECK(l->mem_max >= sim_unreclaimable(&r->sim));
}

/* Writes fail in every way there is. */
static bool interfere(struct rig *, const struct change *c, int *ret)
{
	static const int outcomes[] = {APPLY_REFUSED, APPLY_GONE,  APPLY_PARTIAL, APPLY_UNCHANGED,
				       -EIO,          -EOPNOTSUPP, -ENODEV};

	if (!chance(100))
		return false;
	*ret = outcomes[pick(ARRAY_SIZE(outcomes))];
	/* Unchanged is said only where it is so. */
	if (*ret == APPLY_UNCHANGED || (*ret == APPLY_PARTIAL && c->knob != KNOB_MEM_RECLAIM))
		*ret = APPLY_REFUSED;
	return true;
}

/* ---- random lives ---- */

static uint64_t random_span(usec_t usual)
{
	static const usec_t odd[] = {0, 1, USEC_PER_SEC, USEC_PER_DAY, UINT64_MAX / 2, UINT64_MAX};

	return chance(700) ? usual : odd[pick(ARRAY_SIZE(odd))];
}

static uint32_t random_share(uint32_t usual)
{
	static const uint32_t odd[] = {0, 1, 500, 1000, 1001, 1000000, UINT32_MAX};

	return chance(700) ? usual : odd[pick(ARRAY_SIZE(odd))];
}

static void odd_spans(struct tuning *t)
{
	usec_t *spans[] = {&t->history.half_life_usec,
			   &t->history.confidence_usec,
			   &t->history.mem_window_usec,
			   &t->cpu.raise_interval_usec,
			   &t->cpu.recent_usec,
			   &t->cpu.shrink_interval_usec,
			   &t->cpu.floor_half_life_usec,
			   &t->memory.time_to_limit_usec,
			   &t->memory.slope_ahead_usec,
			   &t->memory.property_ahead_usec,
			   &t->memory.shrink_history_usec,
			   &t->memory.shrink_quiet_usec,
			   &t->memory.shrink_interval_usec,
			   &t->memory.high_watch_usec,
			   &t->memory.verdict_usec,
			   &t->memory.backoff_max_usec,
			   &t->memory.gap_min_bytes,
			   &t->memory.oom_min_bytes,
			   &t->memory.margin_min_bytes,
			   &t->common.start_quiet_usec,
			   &t->common.foreign_window_usec};

	for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
		if (chance(200))
			*spans[i] = random_span(*spans[i]);
}

static void odd_shares(struct tuning *t)
{
	uint32_t *shares[] = {&t->history.lower_permille,
			      &t->history.target_permille,
			      &t->history.upper_permille,
			      &t->history.peak_permille,
			      &t->history.margin_permille,
			      &t->cpu.throttle_target_ppm,
			      &t->cpu.step_max_permille,
			      &t->cpu.evidence_permille,
			      &t->cpu.shrink_below_permille,
			      &t->cpu.shrink_step_permille,
			      &t->cpu.verdict_periods,
			      &t->memory.raise_permille,
			      &t->memory.ceiling_permille,
			      &t->memory.gap_permille,
			      &t->memory.oom_permille,
			      &t->memory.margin_permille,
			      &t->memory.working_set_permille,
			      &t->memory.shrink_step_permille,
			      &t->memory.psi_ppm,
			      &t->common.deadband_up_permille,
			      &t->common.deadband_down_permille,
			      &t->common.foreign_max};

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		if (chance(200))
			*shares[i] = random_share(*shares[i]);
}

static void random_tuning(struct tuning *t)
{
	*t = tuning_default;
	/* Short clocks, so that trials come in a life of minutes. */
	if (chance(700)) {
		t->common.start_quiet_usec = pick(60) * USEC_PER_SEC;
		t->memory.shrink_history_usec = pick(120) * USEC_PER_SEC;
		t->memory.shrink_quiet_usec = pick(60) * USEC_PER_SEC;
		t->memory.shrink_interval_usec = pick(20) * USEC_PER_SEC;
		t->memory.verdict_usec = pick(30) * USEC_PER_SEC;
		t->cpu.shrink_interval_usec = pick(20) * USEC_PER_SEC;
		t->cpu.recent_usec = pick(120) * USEC_PER_SEC;
		t->history.confidence_usec = USEC_PER_SEC + pick(600) * USEC_PER_SEC;
	}
	if (chance(600))
		return;
	odd_spans(t);
	odd_shares(t);
	t->history.algorithm = chance(300) ? ALGORITHM_VPA : ALGORITHM_DEFAULT;
}

static void random_rule(struct rig *r)
{
	struct policy_rule rule = {
		.mode = chance(900) ? MODE_AUTO : (enum mode)pick(MODE_COUNT),
		.resources = chance(900) ? RESOURCES_BOTH : (uint32_t)pick(4),
		.scale_down = chance(900),
		.cpu_milli = random_range(2000),
		.mem_bytes = random_range(GIB),
	};

	control_set_rule(&r->c, &rule);
}

static void random_load(struct sim *s)
{
	static const uint64_t rates[] = {0, 1, 5, 20, 50, 100, 200};

	s->load = (struct sim_load){
		.threads = (uint32_t)(1 + pick(4)),
		.busy_usec = pick(120) * USEC_PER_MSEC,
		.cycle_usec = pick(4) == 0 ? 0 : (1 + pick(20)) * 50 * USEC_PER_MSEC,
		.jitter_usec = pick(2) * pick(USEC_PER_SEC),
		.drops = chance(700),
		.anon_bps = rates[pick(ARRAY_SIZE(rates))] * MIB,
		.anon_goal = pick(1500) * MIB,
		.cache_bps = chance(500) ? pick(200) * MIB : 0,
		.cache_set = pick(2000) * MIB,
		.cache_active = (uint32_t)pick(1001),
		.cache_matters = chance(500),
	};
}

static void random_start(struct rig *r)
{
	struct limits l = {
		.cpu_quota_usec = chance(100) ? LIMIT_MAX : 1000 + pick(400000),
		.cpu_period_usec = chance(800) ? 100000 : 1000 + pick(999001),
		.mem_max = chance(100) ? LIMIT_MAX : round_down(pick(2 * GIB), PAGE_DEFAULT_BYTES),
		.mem_high = LIMIT_MAX,
	};

	if (chance(200) && l.mem_max != LIMIT_MAX)
		l.mem_high = round_down(pick(l.mem_max + MIB), PAGE_DEFAULT_BYTES);
	if (chance(200) && l.cpu_quota_usec != LIMIT_MAX)
		l.cpu_burst_usec = pick(l.cpu_quota_usec);
	rig_init(r, 1000, GIB, (uint32_t)(1 + pick(4)));
	random_tuning(&r->t);
	sim_init(&r->sim, &l, r->sim.cpus, random_next(&random_state));
	r->sim.step_usec = 20 * USEC_PER_MSEC;
	r->tick_usec = chance(500) ? 100 * USEC_PER_MSEC : USEC_PER_SEC;
	r->wakes = chance(500);
	r->review_usec = chance(500) ? 10 * r->tick_usec : r->tick_usec;
	rig_begin(r, &l);
	control_restarted(&r->c, &l, r->sim.now);
	random_rule(r);
	if (chance(500))
		random_pod(r);
	random_load(&r->sim);
	r->sim.m.kernel = pick(20 * MIB);
	r->before = before;
	r->after = after;
	r->interfere = chance(500) ? interfere : NULL;
	r->next_review = r->sim.now + r->review_usec;
}

/* An external write, handled in one of three ways: put back, adopted, or ignored as an echo. */
static void foreign_write(struct rig *r)
{
	enum resource res = (enum resource)pick(RESOURCE_COUNT);
	uint64_t bytes = round_up(sim_unreclaimable(&r->sim) + pick(GIB), PAGE_DEFAULT_BYTES);

	if (res == RESOURCE_CPU)
		sim_write(&r->sim, KNOB_CPU_MAX, chance(50) ? LIMIT_MAX : 1000 + pick(300000));
	else if (chance(800))
		sim_write(&r->sim, KNOB_MEM_MAX, chance(50) ? LIMIT_MAX : bytes);
	else
		sim_write(&r->sim, KNOB_MEM_HIGH, chance(300) ? LIMIT_MAX : bytes);
	if (!r->c.resource[res].managed)
		return;
	switch (pick(3)) {
	case 0:
		rig_reassert(r, res);
		break;
	case 1:
		rig_adopt(r, res);
		break;
	default:
		break;
	}
}

/* PID 1 writes a value that it was sent earlier. */
static void late_property(struct rig *r, uint64_t stored)
{
	if (round_down(stored, PAGE_DEFAULT_BYTES) < sim_unreclaimable(&r->sim) || stored == 0)
		return;
	sim_write(&r->sim, KNOB_MEM_MAX, stored);
	if (chance(500) && r->c.resource[RESOURCE_MEMORY].managed)
		rig_reassert(r, RESOURCE_MEMORY);
}

static void random_event(struct rig *r, uint64_t *stored)
{
	switch (pick(9)) {
	case 0:
		random_load(&r->sim);
		break;
	case 1:
		sim_allocate(&r->sim, pick(300) * MIB);
		break;
	case 2:
		foreign_write(r);
		break;
	case 3:
		random_rule(r);
		if (chance(500))
			random_pod(r);
		break;
	case 4:
		r->c.paused = chance(100);
		r->c.gave_way = chance(50) ? RESOURCES_BOTH : 0;
		break;
	case 5:
		rig_restart(r);
		break;
	case 6:
		*stored = control_mem_property(&r->c, &r->t);
		CHECK(*stored >= r->c.resource[RESOURCE_MEMORY].limit);
		break;
	case 7:
		late_property(r, *stored);
		break;
	default:
		r->now_real += pick(2 * USEC_PER_DAY) - USEC_PER_DAY;
		break;
	}
}

/*
 * The brake (memory.high): a container held at it gets a higher one within two seconds and a pass,
 * unless room was made meanwhile. Where writes fail or nothing may be written, the kernel's state
 * is not ours.
 */
static void check_brake(const struct rig *r)
{
	static uintptr_t of; /* the rig that these are of */
	static uint64_t max;
	static usec_t since;
	const struct limits *l = &r->sim.u.limits;
	bool held = mem_brake_owns(&r->c.mem, l->mem_high) && l->mem_high == r->c.kernel.mem_high &&
		    sim_unreclaimable(&r->sim) >= l->mem_high && r->interfere == NULL;

	if (of != (uintptr_t)r || !held || max != l->mem_max || since > r->sim.now) {
		of = (uintptr_t)r;
		max = l->mem_max;
		since = held ? r->sim.now : UINT64_MAX;
		return;
	}
	brakes_seen++;
	CHECK(r->sim.now - since <= 2 * USEC_PER_SEC);
}

static void check_state(const struct rig *r)
{
	const struct control *c = &r->c;

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		CHECK(c->resource[i].blocked < BLOCKED_COUNT);
		CHECK(c->resource[i].trace.count <= BOUND_TRACE_MAX);
		CHECK(c->resource[i].last.reason < REASON_COUNT);
		check_request(r, i);
	}
	CHECK(c->mem.trial.phase < MEM_PHASE_COUNT);
	CHECK(c->rates.throttle_ppm <= 1000000);
}

static void one_life(void)
{
	struct rig r;
	uint64_t stored = 0;

	random_start(&r);
	for (int i = 0; i < TICKS; i++) {
		rig_tick(&r);
		if (chance(40))
			random_event(&r, &stored);
		check_state(&r);
		check_brake(&r);
	}
}

/* ---- no thrashing ---- */

/* A load that varies but keeps its character, with the documented constants: after the first hours
 * the limits are found, and changes are rare. */
static void calm_life(void)
{
	struct rig r;
	struct sim_load load;
	uint32_t cpu = 0, memory = 0;
	const uint32_t hours = 6;

	rig_init(&r, 200 + pick(1800), (200 + pick(800)) * MIB, 4);
	r.sim.step_usec = 50 * USEC_PER_MSEC;
	rig_fill_history(&r, 100 + pick(500), (50 + pick(100)) * MIB, USEC_PER_DAY);
	load = (struct sim_load){
		.threads = (uint32_t)(1 + pick(4)),
		.busy_usec = (1 + pick(5)) * 50 * USEC_PER_MSEC,
		.cycle_usec = (1 + pick(40)) * 100 * USEC_PER_MSEC,
		.jitter_usec = pick(2 * USEC_PER_SEC),
		.drops = true,
		.anon_bps = 20 * MIB,
		.cache_bps = chance(300) ? 50 * MIB : 0,
		.cache_set = 2 * GIB,
	};
	r.sim.load = load;
	for (int minute = 0; minute < 120 + 60 * (int)hours; minute++) {
		if (minute == 120) {
			cpu = r.count[KNOB_CPU_MAX];
			memory = r.count[KNOB_MEM_MAX];
		}
		r.sim.load.anon_goal = (60 + pick(80)) * MIB;
		r.sim.load.busy_usec = load.busy_usec / 2 + pick(load.busy_usec);
		rig_run(&r, USEC_PER_MIN);
	}
	CHECK((r.count[KNOB_CPU_MAX] - cpu) / hours <= 6);
	CHECK((r.count[KNOB_MEM_MAX] - memory) / hours <= 8);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
	CHECK_EQ(r.sim.write_kills, 0);
}

int main(void)
{
	uint64_t seed = rig_number_from("VSCALED_SEED", 20260101);
	uint64_t rounds = rig_number_from("VSCALED_ROUNDS", 300);

	fprintf(stderr, "VSCALED_SEED=%" PRIu64 " VSCALED_ROUNDS=%" PRIu64 "\n", seed, rounds);
	for (uint64_t i = 0; i < rounds; i++) {
		int failed = check_failures;

		random_state = seed + i;
		one_life();
		if (i % 50 == 0)
			calm_life();
		if (check_failures == failed)
			continue;
		fprintf(stderr, "in the life of VSCALED_SEED=%" PRIu64 " VSCALED_ROUNDS=1\n",
			seed + i);
		if (check_failures > 20)
			break;
	}
	fprintf(stderr,
		"%" PRIu64 " ticks, %" PRIu64 " steps, %" PRIu64 " raises, %" PRIu64
		" of memory.max down, %" PRIu64 " undone\n",
		rounds * TICKS, steps_seen, raised_seen, lowered_seen, undone_seen);
	CHECK(rounds < 100 || (raised_seen > rounds && lowered_seen > rounds));
	CHECK(rounds < 100 || brakes_seen > 0);
	CHECK(rounds < 100 || (qos_seen > 0 && requests_seen > 0));
	return check_result();
}
