// SPDX-License-Identifier: Apache-2.0
/*
 * What each goal costs in limit area and throttling, beside static limits that know the future and
 * Autothrottle's Captain, for the same work: bandwidth control in steps of a millisecond
 * (policy/backtest/sim.h), four threads, original limit 4 cores, a day after 26 h of warm-up.
 *
 * bench_goals [--seeds N] [--hours N] [KIND | FILE.csv=MEAN_CORES]...: default all kinds, seed 1.
 */
#include "policy/backtest/captain.h"
#include "policy/backtest/rig.h"
#include "policy/base/arithmetic.h"
#include "test/bench/goal_load.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS             USEC_PER_MSEC
#define CPUS           8
#define ORIGINAL_MILLI 4000
#define WARM_SEC       (26 * 3600)
#define HOUR_SEC       3600
/* Looks lie across two periods. */
#define PHASE (37 * MS)
/* Work behind an unlimited run by more than this share of a second's: the second is late. */
#define LATE_DIVISOR 10
#define WANTS        4001

enum kind { STATIC, GOAL, CAPTAIN };

static const struct policy {
	const char *name;
	enum kind kind;
	enum goal goal;
	double below; /* STATIC: this share of the periods wants no more */
} policies[] = {
	{"static-p99.99", STATIC, 0, 0.9999}, {"static-p99", STATIC, 0, 0.99},
	{"static-p98", STATIC, 0, 0.98},      {"captain", CAPTAIN, 0, 0},
	{"latency", GOAL, GOAL_LATENCY, 0},   {"balanced", GOAL, GOAL_BALANCED, 0},
	{"savings", GOAL, GOAL_SAVINGS, 0},
};

static uint32_t hours = 24;

/* What an unlimited run leaves behind. */
struct free_run {
	uint32_t *left_usec;  /* of each second */
	uint64_t want[WANTS]; /* periods by millicores */
};

struct outcome {
	double area_core_sec, demand_core_sec;
	uint64_t periods, throttled, late_sec, changes;
};

struct run {
	const struct policy *policy;
	struct rig rig;
	struct captain captain;
	uint64_t used_usec, throttled; /* when it last looked */
	uint64_t changes;
};

static uint64_t left(const struct sim *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LOAD_THREADS; i++)
		sum += s->pending[i];
	return sum;
}

static void run_span(struct sim *s, const struct second *w, uint32_t from_ms, uint32_t to_ms)
{
	for (uint32_t ms = from_ms; ms < to_ms; ms++) {
		for (uint32_t i = 0; i < LOAD_THREADS; i++)
			s->pending[i] += w->work_usec[ms][i];
		sim_run(s, MS);
	}
}

static struct limits limits_of(uint64_t milli)
{
	return (struct limits){
		.cpu_quota_usec = milli == LIMIT_MAX ? LIMIT_MAX : milli * 100,
		.cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
		.mem_max = LIMIT_MAX,
		.mem_high = LIMIT_MAX,
	};
}

static struct pieces pieces_of(uint64_t seed)
{
	return (struct pieces){.random = seed * 104729 + 77};
}

static void run_free(const struct load *l, uint64_t seed, uint64_t seconds, struct free_run *f)
{
	const struct limits none = limits_of(LIMIT_MAX);
	struct pieces p = pieces_of(seed);
	uint64_t used = 0;
	struct second w;
	struct sim s;

	sim_init(&s, &none, CPUS, 1);
	s.step_usec = MS;
	s.load.threads = LOAD_THREADS;
	for (uint64_t sec = 0; sec < seconds; sec++) {
		pieces_second(&p, l, sec, &w);
		for (uint32_t at = 0; at < LOAD_MS; at += 100) {
			run_span(&s, &w, at, at + 100);
			if (sec >= WARM_SEC && s.u.cpu_usage_usec > used)
				f->want[MIN((s.u.cpu_usage_usec - used) / 100, WANTS - 1u)]++;
			used = s.u.cpu_usage_usec;
		}
		f->left_usec[sec] = (uint32_t)left(&s);
	}
}

static uint64_t static_milli(const struct free_run *f, double below)
{
	uint64_t total = 0, sum = 0;

	for (size_t i = 0; i < WANTS; i++)
		total += f->want[i];
	for (size_t i = 0; i < WANTS; i++) {
		sum += f->want[i];
		if ((double)sum >= (double)total * below)
			return round_up(MAX(i, 1u), CPU_QUANTUM_MILLI);
	}
	return WANTS;
}

static void begin(struct run *r, const struct policy *p, const struct free_run *f)
{
	struct limits l = limits_of(p->kind == STATIC ? static_milli(f, p->below) : ORIGINAL_MILLI);
	struct policy_rule rule = policy_rule_default;

	*r = (struct run){.policy = p};
	rig_set_up(&r->rig, &l, CPUS, 1);
	r->rig.tick_usec = 100 * MS;
	r->rig.sim.step_usec = MS;
	r->rig.sim.load.threads = LOAD_THREADS;
	sim_run(&r->rig.sim, PHASE);
	rule.goal = p->goal;
	if (p->kind == GOAL) {
		control_init(&r->rig.c, &r->rig.t, &rule, &l);
		control_restarted(&r->rig.c, &l, r->rig.sim.now);
	}
	captain_init(&r->captain, ORIGINAL_MILLI / 1000.0);
}

static void act_captain(struct run *r, bool second_over)
{
	struct sim *s = &r->rig.sim;
	uint64_t quota;

	captain_sample(&r->captain, (double)(s->u.cpu_usage_usec - r->used_usec) / (100.0 * MS));
	r->used_usec = s->u.cpu_usage_usec;
	if (!second_over)
		return;
	if (captain_act(&r->captain, s->u.nr_throttled - r->throttled)) {
		quota = (uint64_t)(r->captain.cores * 100) * MS;
		quota = MIN(MAX(quota, MS), CPUS * 100 * MS);
		r->changes += quota != s->u.limits.cpu_quota_usec;
		sim_write(s, KNOB_CPU_MAX, quota);
		r->captain.cores = (double)quota / (100.0 * MS);
	}
	r->throttled = s->u.nr_throttled;
}

static void act(struct run *r, bool second_over)
{
	r->rig.now_real += 100 * MS;
	if (r->policy->kind == GOAL)
		rig_decide(&r->rig);
	if (r->policy->kind == CAPTAIN)
		act_captain(r, second_over);
}

static void one_second(struct run *r, const struct second *w, struct outcome *o)
{
	for (uint32_t at = 0; at < LOAD_MS; at += 100) {
		run_span(&r->rig.sim, w, at, at + 100);
		o->area_core_sec += (double)sim_milli(&r->rig.sim) / 1e4;
		act(r, at + 100 == LOAD_MS);
	}
}

static struct outcome run_policy(const struct load *l, uint64_t seed, uint64_t seconds,
				 const struct policy *p, const struct free_run *f)
{
	struct pieces pieces = pieces_of(seed);
	struct outcome o = {0}, warm = {0};
	const struct sim *s;
	struct second w;
	struct run r;

	begin(&r, p, f);
	s = &r.rig.sim;
	for (uint64_t sec = 0; sec < seconds; sec++) {
		pieces_second(&pieces, l, sec, &w);
		if (sec == WARM_SEC)
			warm = (struct outcome){.periods = s->u.nr_periods,
						.throttled = s->u.nr_throttled,
						.changes = r.changes + r.rig.count[KNOB_CPU_MAX]};
		one_second(&r, &w, sec < WARM_SEC ? &warm : &o);
		if (sec < WARM_SEC)
			continue;
		o.demand_core_sec += (double)w.total_usec / 1e6;
		o.late_sec += left(s) > f->left_usec[sec] + w.total_usec / LATE_DIVISOR;
	}
	o.periods = s->u.nr_periods - warm.periods;
	o.throttled = s->u.nr_throttled - warm.throttled;
	o.changes = r.changes + r.rig.count[KNOB_CPU_MAX] - warm.changes;
	if (p->kind == GOAL)
		control_drop(&r.rig.c);
	return o;
}

static void print(const char *load, uint64_t seed, const char *policy, const struct outcome *o)
{
	static const struct {
		const char *name, *unit;
	} figures[] = {{"slack", "x"}, {"throttled", "%"}, {"late", "s/h"}, {"changes", "/d"}};
	const double values[] = {
		o->area_core_sec / o->demand_core_sec,
		100.0 * (double)o->throttled / (double)MAX(o->periods, UINT64_C(1)),
		(double)o->late_sec / hours,
		(double)o->changes * 24 / hours,
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		printf("{\"name\":\"goals/%s/%" PRIu64 "/%s/%s\",\"value\":%.4f,\"unit\":\"%s\"}\n",
		       load, seed, policy, figures[i].name, values[i], figures[i].unit);
	fflush(stdout);
}

static int run_load(const struct load *l, uint64_t seed)
{
	uint64_t seconds = WARM_SEC + (uint64_t)hours * HOUR_SEC;
	struct free_run f = {.left_usec = calloc(seconds, sizeof *f.left_usec)};

	if (f.left_usec == NULL)
		return 1;
	run_free(l, seed, seconds, &f);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct outcome o = run_policy(l, seed, seconds, &policies[i], &f);

		print(l->name, seed, policies[i].name, &o);
	}
	free(f.left_usec);
	return 0;
}

static int run_seeds(const char *kind, uint64_t seeds)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct load l;
		int r = load_generate(&l, kind, seed);

		if (r == 0)
			r = run_load(&l, seed);
		else
			fprintf(stderr, "bench_goals: %s: %s\n", kind, strerror(-r));
		load_drop(&l);
		if (r != 0)
			return 1;
	}
	return 0;
}

/* FILE.csv=MEAN */
static int run_file(char *argument, char *mean)
{
	struct load l;
	int r;

	*mean++ = '\0';
	r = load_read(&l, argument, atof(mean));
	if (r < 0) {
		fprintf(stderr, "bench_goals: %s: %s\n", argument, strerror(-r));
		return 1;
	}
	r = run_load(&l, 1);
	load_drop(&l);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t seeds = 1;
	int i = 1, r = 0;

	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		if (strcmp(argv[i], "--seeds") == 0)
			seeds = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--hours") == 0)
			hours = (uint32_t)MAX(atoi(argv[i + 1]), 1);
	}
	for (size_t n = 0; i == argc && r == 0 && load_kind(n) != NULL; n++)
		r = run_seeds(load_kind(n), seeds);
	for (; r == 0 && i < argc; i++) {
		char *mean = strrchr(argv[i], '=');

		r = mean != NULL ? run_file(argv[i], mean) : run_seeds(argv[i], seeds);
	}
	return r;
}
