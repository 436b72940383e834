// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/rig.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define STEP_DEFAULT_USEC (10 * USEC_PER_MSEC)
/* Above memory.high without anything to reclaim: two seconds for a mebibyte (kernel, 6.12). */
#define CRAWL_BPS (MIB / 2)
/* Share of a step that a read lost to a refault costs. */
#define REFAULT_STALL_PERMILLE 500

void sim_init(struct sim *s, const struct limits *l, uint32_t cpus, uint64_t seed)
{
	*s = (struct sim){
		.cpus = cpus,
		.step_usec = STEP_DEFAULT_USEC,
		.now = USEC_PER_HOUR,
		.random = seed,
		.u.limits = *l,
	};
	s->next_cycle = s->now;
	s->next_period = s->now;
}

uint64_t sim_unreclaimable(const struct sim *s)
{
	return s->m.anon + s->m.shmem + s->m.kernel + s->m.sock + s->m.locked_file;
}

static uint64_t charged(const struct sim *s)
{
	return sim_unreclaimable(s) + s->m.file;
}

uint64_t sim_milli(const struct sim *s)
{
	return cpu_milli_of(s->u.limits.cpu_quota_usec, s->u.limits.cpu_period_usec);
}

/* ---- CPU ---- */

static void refill(struct sim *s)
{
	const struct limits *l = &s->u.limits;

	if (l->cpu_quota_usec == LIMIT_MAX)
		return;
	s->runtime_usec =
		MIN(s->runtime_usec + l->cpu_quota_usec, l->cpu_quota_usec + l->cpu_burst_usec);
}

static void end_period(struct sim *s)
{
	while (s->timer_on && s->now >= s->next_period) {
		s->u.nr_periods++;
		s->u.nr_throttled += s->throttled;
		refill(s);
		s->next_period += s->u.limits.cpu_period_usec;
		if (s->idle && !s->throttled)
			s->timer_on = false;
		s->idle = !s->throttled;
		s->throttled = false;
	}
}

static void start_timer(struct sim *s)
{
	usec_t period = s->u.limits.cpu_period_usec;

	if (s->timer_on)
		return;
	if (s->now >= s->next_period)
		s->next_period += ((s->now - s->next_period) / period + 1) * period;
	s->timer_on = true;
	refill(s);
}

static void arrivals(struct sim *s)
{
	const struct sim_load *l = &s->load;

	if (l->cycle_usec == 0 || s->now < s->next_cycle)
		return;
	for (uint32_t i = 0; i < l->threads; i++) {
		if (l->drops)
			s->pending[i] = 0;
		s->pending[i] += l->busy_usec;
	}
	s->next_cycle += l->cycle_usec;
	if (l->jitter_usec > 0)
		s->next_cycle += random_next(&s->random) % l->jitter_usec;
	if (s->next_cycle < s->now)
		s->next_cycle = s->now + l->cycle_usec;
}

/* One thread on one CPU for a step. */
static void run_thread(struct sim *s, uint32_t i, bool limited)
{
	usec_t want = MIN(s->pending[i], s->step_usec);
	usec_t got = s->throttled ? 0 : want;

	if (limited && !s->throttled) {
		got = MIN(got, s->runtime_usec);
		s->runtime_usec -= got;
		s->throttled = got < want;
	}
	s->pending[i] -= got;
	s->u.cpu_usage_usec += got;
	s->u.throttled_usec += want - got;
	if (got > 0)
		s->idle = false;
}

static void step_cpu(struct sim *s)
{
	bool limited = s->u.limits.cpu_quota_usec != LIMIT_MAX, waited = false;
	uint32_t running = 0, threads = s->load.threads,
		 first = threads > 0 ? s->turn % threads : 0;

	end_period(s);
	arrivals(s);
	for (uint32_t k = 0; k < threads; k++) {
		uint32_t i = first + k < threads ? first + k : first + k - threads;

		if (s->pending[i] == 0)
			continue;
		if (running == s->cpus) {
			waited = true;
			break;
		}
		if (limited && running == 0)
			start_timer(s);
		running++;
		run_thread(s, i, limited);
	}
	s->turn += waited;
	if (s->throttled)
		s->u.psi_cpu_usec += s->step_usec;
}

size_t sim_run_calm(struct sim *s, const uint32_t *want_usec, size_t count, uint32_t *ret_most)
{
	uint64_t quota = s->u.limits.cpu_quota_usec, used = 0, ended = 0;
	bool timer_on = s->timer_on, idle = s->idle;
	uint32_t most = 0;
	size_t n = 0;

	for (; n < count && want_usec[n] <= quota; n++) {
		ended += sim_timer_pass(&timer_on, &idle, want_usec[n] > 0);
		used += want_usec[n];
		most = MAX(most, want_usec[n]);
	}
	/* Else start_timer() sets both. */
	if (n > 0 && timer_on) {
		s->runtime_usec = quota - want_usec[n - 1];
		s->next_period = s->now + n * s->u.limits.cpu_period_usec;
	}
	s->timer_on = timer_on;
	s->idle = idle;
	s->u.cpu_usage_usec += used;
	s->u.nr_periods += ended;
	s->next_cycle += n * s->load.cycle_usec;
	*ret_most = most;
	return n;
}

/* ---- memory ---- */

static void drop_file(struct sim *s, uint64_t bytes)
{
	s->m.file -= MIN(bytes, s->m.file - MIN(s->m.dirty, s->m.file));
}

/* Charges that stand above a limit: reclaim, then the limit's own way. */
static void squeeze(struct sim *s)
{
	const struct limits *l = &s->u.limits;
	uint64_t now = charged(s);

	s->u.mem_peak = MAX(s->u.mem_peak, MIN(now, l->mem_max));
	if (now <= MIN(l->mem_high, l->mem_max))
		return;
	if (now > l->mem_high) {
		s->u.events.high++;
		drop_file(s, charged(s) - l->mem_high);
	}
	if (charged(s) > l->mem_max) {
		s->u.events.max++;
		drop_file(s, charged(s) - l->mem_max);
	}
	if (charged(s) > l->mem_max) {
		s->u.events.oom_kill++;
		s->m.anon = 0;
		s->m.debt = 0;
	}
}

static void stall(struct sim *s, usec_t span)
{
	s->u.psi_mem_usec += span;
	s->m.stalled_usec += span;
}

/* Each thread is delayed by 64 s x (overage / memory.high)^2 for 256 KiB, for 2 s at most, and not
 * for less than 10 ms (mem_cgroup_handle_over_high()); a huge page is one charge. */
static uint64_t crawl_bps(const struct sim *s)
{
	uint64_t high = s->u.limits.mem_high, over = sim_unreclaimable(s) - high;
	uint64_t ppm = mul_div(over, 1000000, MAX(high, (uint64_t)1));
	usec_t delay = MIN(mul_div(ppm * ppm, 512, 1000000), 2 * USEC_PER_SEC);

	if (s->load.allocators == 0)
		return CRAWL_BPS;
	return delay < 10 * USEC_PER_MSEC
		       ? UINT64_MAX
		       : mul_div(2 * MIB * s->load.allocators, USEC_PER_SEC, delay);
}

static void grow_anon(struct sim *s)
{
	uint64_t bps = s->load.anon_bps, add;
	bool crawls = sim_unreclaimable(s) >= s->u.limits.mem_high;

	if (s->m.anon >= s->load.anon_goal) {
		/* A smaller goal is memory given back. */
		s->m.anon = s->load.anon_goal;
		s->m.debt = 0;
		return;
	}
	if (crawls) {
		bps = MIN(bps, crawl_bps(s));
		stall(s, s->step_usec);
	}
	s->m.debt += mul_div(bps, s->step_usec, USEC_PER_SEC);
	add = MIN(round_down(s->m.debt, PAGE_DEFAULT_BYTES), s->load.anon_goal - s->m.anon);
	s->m.debt -= MIN(add, s->m.debt);
	s->m.anon += add;
}

/* Reads go round the set: what is not resident is read in, and counts as a refault when it was
 * there before. */
static void read_files(struct sim *s)
{
	uint64_t bytes = mul_div(s->load.cache_bps, s->step_usec, USEC_PER_SEC);
	uint64_t room = MIN(s->u.limits.mem_max, s->u.limits.mem_high), missing, miss;
	uint64_t set = s->load.cache_set;

	if (bytes == 0 || set == 0)
		return;
	missing = set > s->m.file ? set - s->m.file : 0;
	miss = mul_div(bytes, missing, set);
	room = room > charged(s) ? room - charged(s) : 0;
	s->m.file += MIN(miss, missing);
	if (miss <= room || miss == 0)
		return;
	/* Full: pages are thrown out and come back. */
	s->cache_cursor += miss;
	s->u.stat.refaults += s->cache_cursor / PAGE_DEFAULT_BYTES;
	s->cache_cursor %= PAGE_DEFAULT_BYTES;
	if (s->load.cache_matters)
		stall(s, mul_div(s->step_usec, REFAULT_STALL_PERMILLE * miss, 1000 * bytes));
}

void sim_step_memory(struct sim *s)
{
	grow_anon(s);
	read_files(s);
	squeeze(s);
}

void sim_run(struct sim *s, usec_t span)
{
	usec_t end = s->now + span;

	while (s->now < end) {
		step_cpu(s);
		sim_step_memory(s);
		s->now += s->step_usec;
	}
}

void sim_observe(const struct sim *s, struct usage *ret)
{
	struct mem_stat *stat = &ret->stat;

	*ret = s->u;
	ret->have = USAGE_CPU | USAGE_THROTTLE | USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_PEAK |
		    USAGE_MEM_EVENTS | USAGE_PSI_CPU | USAGE_PSI_MEM | USAGE_CPU_LIMIT |
		    USAGE_MEM_LIMIT;
	ret->mem_current = charged(s);
	stat->anon = s->m.anon;
	stat->shmem = s->m.shmem;
	stat->kernel = s->m.kernel;
	stat->sock = s->m.sock;
	/* The kernel's lists: what is locked is in none of the others. */
	stat->unevictable = MIN(s->m.locked, s->m.anon) + s->m.locked_file;
	stat->active_anon = s->m.anon - MIN(s->m.locked, s->m.anon) + s->m.shmem;
	stat->file = s->m.file + s->m.shmem + s->m.locked_file;
	stat->active_file = scale_permille(s->m.file, s->load.cache_active);
	stat->inactive_file = s->m.file - stat->active_file;
}

/* ---- writes ---- */

static void set_quota(struct sim *s, uint64_t quota, uint64_t period)
{
	s->u.limits.cpu_quota_usec = quota;
	if (period != 0)
		s->u.limits.cpu_period_usec = period;
	/* The kernel refills and wakes all threads at once. */
	s->runtime_usec = 0;
	refill(s);
	s->throttled = false;
}

void sim_write(struct sim *s, enum knob knob, uint64_t value)
{
	uint64_t page = round_down(value, PAGE_DEFAULT_BYTES), kills = s->u.events.oom_kill;
	bool lower = page < s->u.limits.mem_max;

	switch (knob) {
	case KNOB_CPU_MAX:
		s->u.limits.cpu_burst_usec = MIN(s->u.limits.cpu_burst_usec, value);
		set_quota(s, value, 0);
		break;
	case KNOB_CPU_BURST:
		s->u.limits.cpu_burst_usec = value;
		break;
	case KNOB_MEM_HIGH:
		s->u.limits.mem_high = page;
		drop_file(s, charged(s) > page ? charged(s) - page : 0);
		break;
	case KNOB_MEM_MAX:
		s->u.limits.mem_max = page;
		squeeze(s);
		s->write_kills += lower ? s->u.events.oom_kill - kills : 0;
		break;
	default:
		break;
	}
}

static int apply_max(struct sim *s, const struct change *c)
{
	uint64_t to = round_down(c->to, PAGE_DEFAULT_BYTES);

	if (to == s->u.limits.mem_max)
		return APPLY_UNCHANGED;
	if (to < s->u.limits.mem_max && add_sat(charged(s), c->margin_bytes) > to)
		return APPLY_REFUSED;
	sim_write(s, KNOB_MEM_MAX, to);
	return APPLY_DONE;
}

static int apply_reclaim(struct sim *s, const struct change *c)
{
	uint64_t want = MIN(c->to, 64 * MIB);
	bool enough = s->m.file >= want;

	drop_file(s, want);
	return enough ? APPLY_DONE : APPLY_PARTIAL;
}

int sim_apply(struct sim *s, const struct change *c)
{
	switch (c->knob) {
	case KNOB_CPU_MAX:
		assert(c->to >= CPU_QUOTA_MIN_USEC && c->period_usec >= 1000);
		if (c->to == s->u.limits.cpu_quota_usec)
			return APPLY_UNCHANGED;
		sim_write(s, KNOB_CPU_MAX, c->to);
		return APPLY_DONE;
	case KNOB_CPU_BURST:
		if (c->to > s->u.limits.cpu_quota_usec)
			return -EINVAL;
		sim_write(s, KNOB_CPU_BURST, c->to);
		return APPLY_DONE;
	case KNOB_MEM_HIGH:
		sim_write(s, KNOB_MEM_HIGH, c->to);
		return APPLY_DONE;
	case KNOB_MEM_MAX:
		return apply_max(s, c);
	case KNOB_MEM_RECLAIM:
		return apply_reclaim(s, c);
	default:
		return -EINVAL;
	}
}

/* ---- the rig ---- */

/* 2026-01-01T00:00:00Z */
#define START_REAL (1767225600 * USEC_PER_SEC)

void rig_set_up(struct rig *r, const struct limits *l, uint32_t cpus, uint64_t seed)
{
	memset(r, 0, sizeof *r);
	r->t = tuning_default;
	r->tick_usec = USEC_PER_SEC;
	r->sample_usec = USEC_PER_SEC;
	r->review_usec = 10 * USEC_PER_SEC;
	r->now_real = START_REAL;
	sim_init(&r->sim, l, cpus, seed);
	r->next_review = r->sim.now + r->review_usec;
}

struct control_context rig_context(struct rig *r, struct plan *p)
{
	return (struct control_context){
		.tuning = &r->t,
		.node_milli = r->sim.cpus * 1000,
		.tick_usec = r->tick_usec,
		.now = r->sim.now,
		.now_real = r->now_real,
		.plan = p,
		.ledger = r->ledger != NULL ? r->ledger(r) : NULL,
	};
}

static int carry_out(struct rig *r, const struct change *step)
{
	int outcome;

	if (r->before != NULL)
		r->before(r, step);
	if (r->interfere == NULL || !r->interfere(r, step, &outcome))
		outcome = sim_apply(&r->sim, step);
	if (outcome == APPLY_DONE) {
		r->changes++;
		r->count[step->knob]++;
	}
	if (sim_milli(&r->sim) != LIMIT_MAX)
		r->max_milli = MAX(r->max_milli, sim_milli(&r->sim));
	if (r->sim.u.limits.mem_max != LIMIT_MAX)
		r->max_bytes = MAX(r->max_bytes, r->sim.u.limits.mem_max);
	if (r->after != NULL)
		r->after(r, step, outcome);
	return outcome;
}

void rig_apply(struct rig *r, struct plan *p)
{
	struct change follow[CONTROL_STEPS_MAX];

	plan_sort(p);
	for (size_t i = 0; i < p->count; i++) {
		struct plan next = {.steps = follow, .capacity = ARRAY_SIZE(follow)};
		struct plan none = {0};
		struct control_context x = rig_context(r, &next);
		int outcome = carry_out(r, &p->steps[i]);

		control_applied(&r->c, &p->steps[i], outcome, &x);
		x.plan = &none;
		for (size_t f = 0; f < next.count; f++) {
			outcome = carry_out(r, &follow[f]);
			control_applied(&r->c, &follow[f], outcome, &x);
		}
	}
}

void rig_note_reads(struct rig *r, uint32_t have)
{
	for (; have != 0; have &= have - 1)
		r->reads[__builtin_ctz(have)]++;
}

/* What a reflex pass asks for, in stages. */
static void pass(struct rig *r, const struct control_context *x)
{
	struct usage all, u = {0};
	uint32_t want, tried = 0, have;

	sim_observe(&r->sim, &all);
	have = all.have;
	while ((want = control_reflex_wants(&r->c, &u) & ~tried) != 0) {
		all.have = have & want;
		usage_merge(&u, &all);
		tried |= want;
	}
	rig_note_reads(r, u.have);
	control_reflex_pass(&r->c, &u, x);
}

void rig_decide(struct rig *r)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);
	struct usage u;

	control_boost(&r->c, &x);
	if (r->sim.now >= r->next_sample) {
		r->next_sample = r->sim.now + r->sample_usec;
		sim_observe(&r->sim, &u);
		rig_note_reads(r, u.have);
		control_observe(&r->c, &u, &x);
	} else {
		pass(r, &x);
	}
	if (r->sim.now >= r->next_review) {
		r->next_review = r->sim.now + r->review_usec;
		control_review(&r->c, &x);
	}
	rig_apply(r, &p);
}
