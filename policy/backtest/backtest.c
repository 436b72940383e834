// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/backtest.h"
#include <assert.h>
#include <errno.h>

/* A killed container needs at most this long for its memory, where samples are closer. */
#define REGROW_USEC  USEC_PER_SEC
#define P95_PERMILLE 950

const char *const backtest_policy_names[BACKTEST_POLICY_COUNT] = {
	[BACKTEST_LATENCY] = "vscaled-latency", [BACKTEST_BALANCED] = "vscaled-balanced",
	[BACKTEST_SAVINGS] = "vscaled-savings", [BACKTEST_VPA] = "vpa",
	[BACKTEST_STATIC_MAX] = "static-p100",  [BACKTEST_STATIC_P95] = "static-p95",
	[BACKTEST_CPU_FAST] = "k8s-cpu-fast",   [BACKTEST_CAPTAIN] = "captain",
	[BACKTEST_THRESHOLD] = "threshold",
};

/* How long a sample holds; the last one as long as the one before it. */
static usec_t sample_span(const struct backtest_trace *t, size_t i)
{
	assert(t->count >= 2 && i < t->count);
	i = MIN(i, t->count - 2);
	return t->samples[i + 1].at - t->samples[i].at;
}

/* ---- the oracle ---- */

/* A load of so many quanta of CPU was wanted in so many periods. */
static uint64_t quanta_at(const uint64_t *count, size_t cells, uint64_t total, uint64_t permille)
{
	uint64_t below = 0;

	for (size_t i = 0; i < cells; i++) {
		below += count[i];
		if (below * 1000 >= total * permille)
			return MAX(i, 1u) * CPU_QUANTUM_MILLI;
	}
	return cells * CPU_QUANTUM_MILLI;
}

static void count_sample(struct backtest_demand *d, const struct backtest_trace *t, size_t sample,
			 uint64_t *count, size_t cells)
{
	const uint64_t quantum_usec = CPU_QUANTUM_MILLI * BACKTEST_PERIOD_USEC / 1000;
	usec_t span = sample_span(t, sample);

	for (usec_t at = 0; at < span; at += BACKTEST_PERIOD_USEC) {
		uint64_t want = backtest_demand_next(d, t->samples[sample].micro_cores);
		size_t quanta = (want + quantum_usec - 1) / quantum_usec;

		count[quanta < cells ? quanta : cells - 1]++;
	}
}

static void oracle_cpu(const struct backtest_trace *t, uint64_t *count, size_t cells,
		       struct backtest_oracle *o)
{
	struct backtest_demand d;
	uint64_t total = 0;

	backtest_demand_init(&d, t->cpus, t->seed);
	for (size_t i = 0; i < t->count; i++)
		count_sample(&d, t, i, count, cells);
	for (size_t i = 0; i < cells; i++)
		total += count[i];
	o->max_milli = quanta_at(count, cells, total, 1000);
	o->p95_milli = quanta_at(count, cells, total, P95_PERMILLE);
}

/* How long no more than this is used. */
static usec_t memory_span(const struct backtest_trace *t, uint64_t bytes)
{
	usec_t span = 0;

	for (size_t i = 0; i < t->count; i++)
		span += t->samples[i].memory_bytes <= bytes ? sample_span(t, i) : 0;
	return span;
}

static void oracle_memory(const struct backtest_trace *t, struct backtest_oracle *o)
{
	usec_t enough = memory_span(t, LIMIT_MAX) / 1000 * P95_PERMILLE;
	uint64_t max = 0, from = 0, to;

	for (size_t i = 0; i < t->count; i++)
		max = MAX(max, t->samples[i].memory_bytes);
	to = round_up(max, PAGE_DEFAULT_BYTES) / PAGE_DEFAULT_BYTES;
	o->max_bytes = MAX(to, 1u) * PAGE_DEFAULT_BYTES;
	while (from < to) {
		uint64_t pages = (from + to) / 2;

		if (memory_span(t, pages * PAGE_DEFAULT_BYTES) >= enough)
			to = pages;
		else
			from = pages + 1;
	}
	o->p95_bytes = MAX(to, 1u) * PAGE_DEFAULT_BYTES;
}

int backtest_find_oracle(const struct backtest_trace *t, struct backtest_oracle *ret)
{
	size_t cells = t->cpus * 1000 / CPU_QUANTUM_MILLI + 1;
	OWN(drop_free) uint64_t *count = calloc(cells, sizeof *count);
	struct backtest_oracle o = {.max_bytes = LIMIT_MAX, .p95_bytes = LIMIT_MAX};

	if (count == NULL)
		return -ENOMEM;
	oracle_cpu(t, count, cells, &o);
	if (t->memory)
		oracle_memory(t, &o);
	*ret = o;
	return 0;
}

/* ---- one run ---- */

static void note_change(struct rig *r, const struct change *c, int outcome)
{
	struct backtest_result *to = &((struct backtest *)r->user)->result;
	uint64_t size = c->from > c->to ? c->from - c->to : c->to - c->from;

	if (outcome != APPLY_DONE)
		return;
	if (c->knob == KNOB_CPU_MAX) {
		to->changes_cpu++;
		to->changed_milli += cpu_milli_of(size, c->period_usec);
	} else if (c->knob == KNOB_MEM_MAX) {
		to->changes_memory++;
		to->changed_bytes += size;
	}
}

static void set_knob(struct backtest *b, struct change step)
{
	note_change(&b->rig, &step, sim_apply(&b->rig.sim, &step));
}

void backtest_set_cpu(struct backtest *b, uint64_t milli)
{
	const struct limits *l = &b->rig.sim.u.limits;
	uint64_t wanted = round_up(MAX(milli, 1u), CPU_QUANTUM_MILLI);
	uint64_t bounded = MIN(wanted, b->trace->cpus * 1000);

	set_knob(b, (struct change){.knob = KNOB_CPU_MAX,
				    .from = l->cpu_quota_usec,
				    .to = cpu_quota_of(bounded, l->cpu_period_usec),
				    .period_usec = l->cpu_period_usec});
	b->request_milli = sim_milli(&b->rig.sim);
}

void backtest_set_memory(struct backtest *b, uint64_t bytes)
{
	const struct limits *l = &b->rig.sim.u.limits;

	set_knob(b, (struct change){.knob = KNOB_MEM_MAX,
				    .from = l->mem_max,
				    .to = round_up(bytes, PAGE_DEFAULT_BYTES)});
	b->request_bytes = l->mem_max;
}

static uint64_t periods_of(usec_t span)
{
	return (span + BACKTEST_PERIOD_USEC - 1) / BACKTEST_PERIOD_USEC;
}

void backtest_begin(struct backtest *b, enum backtest_policy policy, const struct backtest_trace *t,
		    const struct backtest_oracle *o)
{
	struct limits original = {
		.cpu_quota_usec = cpu_quota_of(o->max_milli, CPU_PERIOD_DEFAULT_USEC),
		.cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
		.mem_max = o->max_bytes,
		.mem_high = LIMIT_MAX,
	};

	*b = (struct backtest){.trace = t, .oracle = o, .policy = policy};
	rig_set_up(&b->rig, &original, t->cpus, t->seed);
	for (size_t i = 0; i < t->count; i++)
		b->periods_total += periods_of(sample_span(t, i));
	b->rig.tick_usec = b->rig.sim.step_usec = BACKTEST_PERIOD_USEC;
	b->rig.user = b;
	b->rig.after = note_change;
	b->rig.sim.load.threads = t->cpus;
	b->rig.sim.load.cycle_usec = BACKTEST_PERIOD_USEC;
	/* What was recorded was running before. */
	if (t->memory)
		b->rig.sim.m.anon = t->samples[0].memory_bytes;
	backtest_demand_init(&b->demand, t->cpus, t->seed);
	b->request_milli = o->max_milli;
	b->request_bytes = o->max_bytes;
	backtest_policy_begin(b);
	/* Where it starts is no change. */
	b->result = (struct backtest_result){0};
}

static uint64_t waiting_usec(const struct sim *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->load.threads; i++)
		sum += s->pending[i];
	return sum;
}

/* Limits and requests as they stand in so many periods; in calm ones memory moves here. */
static void add_areas(struct backtest *b, uint64_t milli, size_t periods, bool calm)
{
	struct sim *s = &b->rig.sim;
	struct backtest_result *r = &b->result;
	const double seconds = (double)BACKTEST_PERIOD_USEC / USEC_PER_SEC;
	const double limit = (double)s->u.limits.mem_max * seconds;
	const double given = ((double)b->oracle->max_bytes - (double)b->request_bytes) * seconds;
	int64_t span = (int64_t)(periods * BACKTEST_PERIOD_USEC) / 1000;
	double used = (double)sim_unreclaimable(s) * seconds;

	r->limit_core_usec += milli * (uint64_t)span;
	r->given_core_usec += ((int64_t)b->oracle->max_milli - (int64_t)b->request_milli) * span;
	if (!b->trace->memory)
		return;
	/* Sums of fractions: their order is part of the result. */
	for (size_t i = 0; i < periods; i++) {
		r->limit_byte_sec += limit;
		r->used_byte_sec += used;
		r->given_byte_sec += given;
		if (!calm || (i > 0 && s->m.anon == s->load.anon_goal && s->m.debt == 0))
			continue;
		sim_step_memory(s);
		used = (double)sim_unreclaimable(s) * seconds;
	}
}

static void note_periods(struct backtest *b, uint64_t milli, uint64_t want_usec, uint64_t most_usec,
			 uint64_t throttled, size_t periods)
{
	const struct sim *s = &b->rig.sim;
	struct backtest_point *p =
		&b->result.point[b->periods * BACKTEST_POINTS / b->periods_total];

	p->periods += (uint32_t)periods;
	p->throttled += (uint32_t)throttled;
	p->demand_usec += want_usec;
	p->demand_max_usec = MAX(p->demand_max_usec, most_usec);
	p->limit_milli += milli * periods;
	p->memory_max_bytes = MAX(p->memory_max_bytes, sim_unreclaimable(s));
	p->limit_bytes = s->u.limits.mem_max;
	p->oom_kills = s->u.events.oom_kill;
	b->result.demand_core_usec += want_usec;
	b->left -= periods;
	b->periods += periods;
}

/* Runs periods in which all work is done, memory fits and no limit moves: at most count, returns
 * how many. */
static size_t run_calm(struct backtest *b, const uint32_t *want_usec, size_t count)
{
	struct sim *s = &b->rig.sim;
	const struct limits *l = &s->u.limits;
	uint64_t milli = sim_milli(s), used = s->u.cpu_usage_usec;
	uint64_t point = b->periods * BACKTEST_POINTS / b->periods_total;
	uint64_t end = ((point + 1) * b->periods_total - 1) / BACKTEST_POINTS + 1;
	uint32_t most;
	size_t n;

	if (b->skips_none || b->waiting_usec > 0 ||
	    MAX(s->m.anon, s->load.anon_goal) > MIN(l->mem_max, l->mem_high))
		return 0;
	n = sim_run_calm(s, want_usec, MIN(count, end - b->periods), &most);
	if (n == 0)
		return 0;
	add_areas(b, milli, n, true);
	s->now += n * BACKTEST_PERIOD_USEC;
	b->rig.now_real += n * BACKTEST_PERIOD_USEC;
	note_periods(b, milli, s->u.cpu_usage_usec - used, most, 0, n);
	return n;
}

static void run_period(struct backtest *b, uint32_t want_usec)
{
	struct sim *s = &b->rig.sim;
	uint64_t throttled = s->u.nr_throttled, milli = sim_milli(s);

	s->load.busy_usec = want_usec / s->load.threads;
	add_areas(b, milli, 1, false);
	sim_run(s, BACKTEST_PERIOD_USEC);
	b->rig.now_real += BACKTEST_PERIOD_USEC;
	b->waiting_usec = waiting_usec(s);
	/* First come, first served: what waits is the newest. */
	b->result.unmet_core_usec += MIN(b->waiting_usec, want_usec);
	note_periods(b, milli, want_usec, want_usec, s->u.nr_throttled - throttled, 1);
}

static void load_memory(struct backtest *b, uint64_t bytes, usec_t span)
{
	struct sim *s = &b->rig.sim;
	uint64_t up = bytes > s->m.anon ? bytes - s->m.anon : 0;

	if (!b->trace->memory)
		return;
	s->load.anon_goal = bytes;
	s->load.anon_bps = mul_div(up, USEC_PER_SEC, MAX(span, REGROW_USEC)) + PAGE_DEFAULT_BYTES;
}

/* Some of these periods, of one sample. Returns how many. */
static size_t run_some(struct backtest *b, const uint32_t *want_usec, size_t count)
{
	size_t skips = b->skips_none ? 0 : backtest_policy_skips(b, want_usec, count);
	size_t n = skips > 0 ? run_calm(b, want_usec, skips) : 0;

	if (n > 0) {
		backtest_policy_skip(b, want_usec, n);
		return n;
	}
	if (run_calm(b, want_usec, 1) == 0)
		run_period(b, *want_usec);
	backtest_policy_act(b);
	return 1;
}

void backtest_run(struct backtest *b, const struct backtest_block *k)
{
	const struct usage *u = &b->rig.sim.u;

	for (size_t i = 0; i < k->count;) {
		if (b->left == 0) {
			usec_t span = sample_span(b->trace, b->next);

			load_memory(b, b->trace->samples[b->next++].memory_bytes, span);
			b->left = periods_of(span);
		}
		i += run_some(b, k->want_usec + i, MIN(k->count - i, b->left));
	}
	b->result.span_usec = b->periods * BACKTEST_PERIOD_USEC;
	b->result.used_core_usec = u->cpu_usage_usec;
	b->result.periods = u->nr_periods;
	b->result.throttled_periods = u->nr_throttled;
	b->result.oom_kills = u->events.oom_kill;
	b->result.limit[RESOURCE_CPU] = sim_milli(&b->rig.sim);
	b->result.limit[RESOURCE_MEMORY] = u->limits.mem_max;
	b->result.request[RESOURCE_CPU] = b->request_milli;
	b->result.request[RESOURCE_MEMORY] = b->request_bytes;
}

void backtest_drop(struct backtest *b)
{
	if (b->policy <= BACKTEST_SAVINGS)
		control_drop(&b->rig.c);
	if (b->policy == BACKTEST_VPA)
		backtest_vpa_drop(&b->peer.vpa);
}

/* ---- demand ---- */

#define PIECE_USEC (20 * USEC_PER_MSEC)
/* A factor of 700 to 1300 permille, mean 1000. */
#define FACTOR_LOWEST 700
#define DIE_SIDES     301
/* Four coins come out of one random number. */
#define COINS    4
#define COIN_ONE UINT64_C(65536)

void backtest_demand_init(struct backtest_demand *d, uint32_t cpus, uint64_t seed)
{
	assert(cpus > 0 && cpus <= SIM_THREADS_MAX);
	*d = (struct backtest_demand){.random = seed, .cpus = cpus};
}

static void next_second(struct backtest_demand *d)
{
	uint64_t r = random_next(&d->random);

	d->factor_permille = FACTOR_LOWEST + (uint32_t)((r & UINT32_MAX) % DIE_SIDES) +
			     (uint32_t)((r >> 32) % DIE_SIDES);
}

static void set_load(struct backtest_demand *d, uint64_t micro_cores)
{
	uint64_t mean = micro_cores * d->factor_permille / (1000 * BACKTEST_PERIODS);

	d->micro_cores = micro_cores;
	d->mean_usec = mean;
	/* Twice as many coins as pieces, or more: a chance of at most a half. Rounding the chance
	 * up makes a piece shorter than 20 ms, and keeps the mean. */
	d->throws = COINS * ((2 * mean + COINS * PIECE_USEC - 1) / (COINS * PIECE_USEC) + 1);
	d->chance = (mean * COIN_ONE + d->throws * PIECE_USEC - 1) / (d->throws * PIECE_USEC);
}

/* How many of the coins fall, each with chance / COIN_ONE. Two coins lie in the halves of a word:
 * the sum carries where one does not fall. */
static uint64_t throw_coins(struct backtest_demand *d)
{
	const uint64_t halves = 0x100000001;
	uint64_t carry = (COIN_ONE - d->chance) * halves, up = 0;

	for (uint64_t i = 0; i < d->throws; i += COINS) {
		uint64_t r = random_next(&d->random);

		up += (((r & (COIN_ONE - 1) * halves) + carry) >> 16) & halves;
		up += (((r >> 16 & (COIN_ONE - 1) * halves) + carry) >> 16) & halves;
	}
	return d->throws - (up & UINT32_MAX) - (up >> 32);
}

uint64_t backtest_demand_next(struct backtest_demand *d, uint64_t micro_cores)
{
	uint64_t most = d->cpus * BACKTEST_PERIOD_USEC;

	if (d->period == 0)
		next_second(d);
	if (d->period == 0 || d->micro_cores != micro_cores)
		set_load(d, micro_cores);
	d->period = (d->period + 1) % BACKTEST_PERIODS;
	if (d->mean_usec == 0)
		return 0;
	return MIN(throw_coins(d) * d->mean_usec * COIN_ONE / (d->throws * d->chance), most);
}

bool backtest_block_next(struct backtest_block *k, const struct backtest_trace *t)
{
	if (k->next == 0)
		backtest_demand_init(&k->demand, t->cpus, t->seed);
	for (k->count = 0; k->count < BACKTEST_BLOCK; k->left--) {
		uint64_t want;

		if (k->left == 0 && k->next == t->count)
			break;
		if (k->left == 0)
			k->left = periods_of(sample_span(t, k->next++));
		want = backtest_demand_next(&k->demand, t->samples[k->next - 1].micro_cores);
		/* Each of the threads, one per CPU, wants the same. */
		k->want_usec[k->count++] = (uint32_t)(want - want % t->cpus);
	}
	return k->count > 0;
}
