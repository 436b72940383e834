// SPDX-License-Identifier: Apache-2.0
#include "test/policy/rig.h"
#include <stdlib.h>

static double **kept;
static size_t kept_count;

/*
 * Rigs stand on the stacks of tests, which end where they like. So what their histories own has its
 * full size from the start, and stays where it is until the program ends.
 */
static void keep_weights(struct histogram *h)
{
	kept = reallocarray(kept, kept_count + 1, sizeof(*kept));
	if (kept == NULL || histogram_reserve(h, 0, HISTOGRAM_BUCKETS - 1) < 0)
		abort();
	kept[kept_count++] = h->weight;
}

void rig_begin(struct rig *r, const struct limits *original)
{
	control_init(&r->c, &r->t, &policy_rule_default, original);
	keep_weights(&r->c.history.cpu);
	keep_weights(&r->c.history.memory);
}

void rig_init(struct rig *r, uint64_t cpu_milli, uint64_t mem_max, uint32_t cpus)
{
	struct limits l = {
		.cpu_quota_usec = cpu_quota_of(cpu_milli, CPU_PERIOD_DEFAULT_USEC),
		.cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
		.mem_max = mem_max,
		.mem_high = LIMIT_MAX,
	};

	rig_set_up(r, &l, cpus, 1);
	rig_begin(r, &l);
	control_restarted(&r->c, &l, r->sim.now);
}

struct sim_load sim_steady(uint32_t threads, uint64_t milli)
{
	return (struct sim_load){
		.threads = threads,
		.busy_usec = milli * 100 / threads,
		.cycle_usec = 100 * USEC_PER_MSEC,
	};
}

void sim_allocate(struct sim *s, uint64_t bytes)
{
	s->m.anon += bytes;
	s->load.anon_goal = MAX(s->load.anon_goal, s->m.anon);
	/* The same limit again squeezes. */
	sim_write(s, KNOB_MEM_MAX, s->u.limits.mem_max);
}

void sim_grow(struct sim *s, uint64_t rate, uint64_t goal)
{
	s->load.anon_bps = rate;
	s->load.anon_goal = goal;
}

void sim_restart(struct sim *s)
{
	struct limits l = s->u.limits;

	s->u = (struct usage){.limits = l};
	s->m = (struct sim_memory){.kernel = s->m.kernel};
	for (uint32_t i = 0; i < SIM_THREADS_MAX; i++)
		s->pending[i] = 0;
	s->timer_on = s->idle = s->throttled = false;
	s->next_cycle = s->now;
}

/* memory.events speaks: at once, and not more often than the kernel does. */
static void wake(struct rig *r)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);
	const struct mem_events *e = &r->sim.u.events;
	struct usage u;

	if (e->max == r->woken.max && e->high == r->woken.high && e->oom_kill == r->woken.oom_kill)
		return;
	r->woken = *e;
	sim_observe(&r->sim, &u);
	u.have = USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_EVENTS;
	rig_note_reads(r, u.have);
	control_reflex_pass(&r->c, &u, &x);
	rig_apply(r, &p);
}

void rig_pass(struct rig *r)
{
	usec_t end = r->sim.now + r->tick_usec;

	while (r->sim.now < end) {
		usec_t most = r->wakes ? 10 * USEC_PER_MSEC : r->tick_usec;
		usec_t piece = MIN(most, end - r->sim.now);

		sim_run(&r->sim, piece);
		r->now_real += piece;
		if (r->wakes && r->sim.now < end)
			wake(r);
	}
}

void rig_tick(struct rig *r)
{
	rig_pass(r);
	rig_decide(r);
}

void rig_answer(struct rig *r)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);
	struct usage u;

	sim_observe(&r->sim, &u);
	u.have &= USAGE_CPU | USAGE_THROTTLE;
	control_throttled(&r->c, &u, &x);
	rig_apply(r, &p);
}

static void report(struct rig *r, struct rig_reports *p)
{
	bool late = random_next(&p->random) % 1000 < p->late_permille;
	usec_t wait = late ? 1 + random_next(&p->random) % (p->late_most / USEC_PER_MSEC) : 0;

	p->armed = false;
	p->answer_at = r->sim.now + wait * USEC_PER_MSEC;
	p->period_end = r->sim.next_period;
}

/* As tick_throttled(): after the period it comes too late. */
static void answer_report(struct rig *r, struct rig_reports *p)
{
	uint32_t before = r->changes;

	p->answer_at = 0;
	p->armed = r->sim.now >= p->period_end;
	if (p->armed)
		return;
	rig_answer(r);
	p->armed = r->changes > before || r->c.cpu.period.echo;
}

/* 6 ms at a time on average. */
static void run_ms(struct rig *r, struct rig_reports *p)
{
	uint32_t cpus = r->sim.cpus;
	uint64_t dice = random_next(&p->random) % 1000;

	p->stolen = p->stolen ? dice >= 1000 / 6 : dice < p->stolen_permille / 6;
	r->sim.cpus = p->stolen ? 0 : cpus;
	sim_run(&r->sim, USEC_PER_MSEC);
	r->sim.cpus = cpus;
	r->now_real += USEC_PER_MSEC;
	if (p->each != NULL)
		p->each(r);
}

void rig_tick_reported(struct rig *r, struct rig_reports *p)
{
	usec_t end = r->sim.now + r->tick_usec;

	p->armed |= p->answer_at == 0 && control_answers_throttling(&r->c, &r->t);
	r->sim.step_usec = USEC_PER_MSEC;
	while (r->sim.now < end) {
		run_ms(r, p);
		if (p->stolen)
			continue;
		if (p->armed && r->sim.throttled)
			report(r, p);
		if (p->answer_at != 0 && r->sim.now >= p->answer_at)
			answer_report(r, p);
	}
	rig_decide(r);
}

void rig_run(struct rig *r, usec_t span)
{
	usec_t end = r->sim.now + span;

	while (r->sim.now < end)
		rig_tick(r);
}

usec_t rig_until(struct rig *r, bool (*done)(const struct rig *r), usec_t most)
{
	usec_t begin = r->sim.now;

	while (!done(r)) {
		if (r->sim.now - begin >= most)
			return LIMIT_MAX;
		rig_tick(r);
	}
	return r->sim.now - begin;
}

static void with_plan(struct rig *r, enum resource res,
		      void (*f)(struct control *, const struct limits *, enum resource,
				const struct control_context *))
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);

	f(&r->c, &r->sim.u.limits, res, &x);
	rig_apply(r, &p);
}

void rig_reassert(struct rig *r, enum resource res)
{
	with_plan(r, res, control_reassert);
}

static void resume(struct control *c, const struct limits *kernel, enum resource,
		   const struct control_context *x)
{
	control_resume(c, kernel, x);
}

void rig_resume(struct rig *r)
{
	with_plan(r, RESOURCE_MEMORY, resume);
}

void rig_adopt(struct rig *r, enum resource res)
{
	with_plan(r, res, control_adopt);
}

void rig_restart(struct rig *r)
{
	sim_restart(&r->sim);
	control_restarted(&r->c, &r->sim.u.limits, r->sim.now);
}

void rig_fill_history(struct rig *r, uint64_t milli, uint64_t bytes, usec_t span)
{
	const usec_t piece = USEC_PER_MIN;
	struct cpu_rates rates = {.span_usec = piece,
				  .active_usec = piece,
				  .used_milli = milli,
				  .demand_milli = milli};

	for (usec_t done = 0; done < span; done += piece) {
		r->now_real += piece;
		history_add_cpu(&r->c.history, &rates, r->now_real);
		history_add_memory(&r->c.history, &r->t.history, bytes, false, r->now_real);
		history_observe_memory(&r->c.history, piece);
	}
}

struct usage rig_memory(uint64_t anon, uint64_t file, uint64_t max)
{
	return (struct usage){
		.have = USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_LIMIT | USAGE_MEM_EVENTS |
			USAGE_PSI_MEM,
		.mem_current = anon + file,
		.stat = {.anon = anon, .file = file, .inactive_file = file},
		.limits = {.mem_max = max, .mem_high = LIMIT_MAX},
	};
}

uint64_t rig_number_from(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s != NULL ? strtoull(s, NULL, 0) : otherwise;
}
