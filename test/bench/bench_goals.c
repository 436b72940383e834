// SPDX-License-Identifier: Apache-2.0
/*
 * What each goal costs in limit area and throttling, beside static limits that know the future and
 * the laws of others, for the same work: bandwidth control in steps of a millisecond
 * (policy/backtest/rig.h), four threads, original limit 4 cores, a day after 26 h of warm-up.
 *
 * bench_goals [--seeds N] [--hours N] [--policy NAME,...] [KIND | FILE.csv=MEAN_CORES]...: default
 * all policies and kinds, seed 1.
 */
#include "policy/backtest/backtest_policy.h"
#include "policy/backtest/rig.h"
#include "policy/laws/threshold.h"
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
#define MINUTE_SEC     60
/* Looks lie across two periods. */
#define PHASE (37 * MS)
/* Work behind an unlimited run by more than this share of a second's: the second is late. */
#define LATE_DIVISOR 10
#define WANTS        4001

enum kind { STATIC, GOAL, CAPTAIN, CPU_FAST, VPA, THRESHOLD };

static const struct policy {
	const char *name;
	enum kind kind;
	enum goal goal;
	double share; /* STATIC: of the periods that want no more; CAPTAIN: its target */
} policies[] = {
	{"static-p99.99", STATIC, 0, 0.9999}, {"static-p99", STATIC, 0, 0.99},
	{"static-p98", STATIC, 0, 0.98},      {"captain", CAPTAIN, 0, CAPTAIN_TARGET},
	{"captain-1", CAPTAIN, 0, 0.01},      {"captain-0.2", CAPTAIN, 0, 0.002},
	{"captain-0.05", CAPTAIN, 0, 0.0005}, {"captain-0.01", CAPTAIN, 0, 0.0001},
	{"k8s-cpu-fast", CPU_FAST, 0, 0},     {"vpa", VPA, 0, 0},
	{"threshold", THRESHOLD, 0, 0},       {"latency", GOAL, GOAL_LATENCY, 0},
	{"balanced", GOAL, GOAL_BALANCED, 0}, {"savings", GOAL, GOAL_SAVINGS, 0},
};

static uint32_t hours = 24;
static const char *only; /* these policies; NULL: all */

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
	struct cpu_fast cpu_fast;
	struct backtest_vpa vpa;
	usec_t above_since;
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
		/* Without work nothing happens before the span's last step. */
		if (ms + 1 < to_ms && left(s) == 0)
			s->now += MS;
		else
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
	struct limits l = limits_of(p->kind == STATIC ? static_milli(f, p->share) : ORIGINAL_MILLI);
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
	captain_init(&r->captain, ORIGINAL_MILLI / 1000.0, p->share);
	cpu_fast_init(&r->cpu_fast, ORIGINAL_MILLI);
	if (p->kind == VPA)
		backtest_vpa_init(&r->vpa, RESOURCES_CPU, r->rig.now_real);
}

static void end(struct run *r)
{
	if (r->policy->kind == GOAL)
		control_drop(&r->rig.c);
	if (r->policy->kind == VPA)
		backtest_vpa_drop(&r->vpa);
}

/* Microseconds of CPU since it last looked. */
static uint64_t used(struct run *r)
{
	uint64_t before = r->used_usec;

	r->used_usec = r->rig.sim.u.cpu_usage_usec;
	return r->used_usec - before;
}

static void set_cpu(struct run *r, uint64_t milli)
{
	struct sim *s = &r->rig.sim;
	uint64_t bounded = MIN(MAX(milli, CPU_QUANTUM_MILLI), CPUS * 1000u);

	r->changes += bounded != sim_milli(s);
	sim_write(s, KNOB_CPU_MAX, bounded * 100);
}

static void act_captain(struct run *r)
{
	const struct sim *s = &r->rig.sim;

	if (captain_act(&r->captain, s->u.nr_throttled - r->throttled)) {
		set_cpu(r, (uint64_t)(r->captain.cores * 100) * CPU_QUANTUM_MILLI);
		r->captain.cores = (double)sim_milli(s) / 1000;
	}
	r->throttled = s->u.nr_throttled;
}

static void act_cpu_fast(struct run *r)
{
	uint64_t milli = cpu_fast_act(&r->cpu_fast, used(r) / MS, sim_milli(&r->rig.sim));

	if (milli != 0)
		set_cpu(r, round_up(milli, CPU_QUANTUM_MILLI));
}

static void act_vpa(struct run *r)
{
	const int64_t max[RESOURCE_COUNT] = {CPUS * 1000};
	int64_t request[RESOURCE_COUNT] = {(int64_t)sim_milli(&r->rig.sim)}, to[RESOURCE_COUNT];

	vpa_add_cpu(&r->vpa.container, (int64_t)(used(r) / (MINUTE_SEC * MS)), r->rig.now_real);
	if (backtest_vpa_update(&r->vpa, request, max, r->rig.now_real, to))
		set_cpu(r, round_up((uint64_t)to[RESOURCE_CPU], CPU_QUANTUM_MILLI));
}

static void act_threshold(struct run *r)
{
	const struct tuning_threshold *t = &tuning_default.threshold;
	uint64_t limit = sim_milli(&r->rig.sim);
	usec_t now = r->rig.sim.now;

	threshold_note(t, &r->above_since, used(r) / MS, limit, now);
	if (!threshold_due(t, r->above_since, now))
		return;
	r->above_since = 0;
	set_cpu(r, 2 * limit);
}

static void act_period(struct run *r)
{
	r->rig.now_real += 100 * MS;
	if (r->policy->kind == GOAL)
		rig_decide(&r->rig);
	if (r->policy->kind == CAPTAIN)
		captain_sample(&r->captain, (double)used(r) / (100.0 * MS));
}

static void act_second(struct run *r, uint64_t second)
{
	switch (r->policy->kind) {
	case CAPTAIN:
		act_captain(r);
		break;
	case CPU_FAST:
		act_cpu_fast(r);
		break;
	case VPA:
		if ((second + 1) % MINUTE_SEC == 0)
			act_vpa(r);
		break;
	case THRESHOLD:
		act_threshold(r);
		break;
	case STATIC:
	case GOAL:
		break;
	}
}

static void one_second(struct run *r, const struct second *w, uint64_t second, struct outcome *o)
{
	for (uint32_t at = 0; at < LOAD_MS; at += 100) {
		run_span(&r->rig.sim, w, at, at + 100);
		o->area_core_sec += (double)sim_milli(&r->rig.sim) / 1e4;
		act_period(r);
	}
	act_second(r, second);
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
		one_second(&r, &w, sec, sec < WARM_SEC ? &warm : &o);
		if (sec < WARM_SEC)
			continue;
		o.demand_core_sec += (double)w.total_usec / 1e6;
		o.late_sec += left(s) > f->left_usec[sec] + w.total_usec / LATE_DIVISOR;
	}
	o.periods = s->u.nr_periods - warm.periods;
	o.throttled = s->u.nr_throttled - warm.throttled;
	o.changes = r.changes + r.rig.count[KNOB_CPU_MAX] - warm.changes;
	end(&r);
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

/* Is it one of these names, which commas part? */
static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && strchr(",", at[length]) != NULL)
			return true;
	}
	return false;
}

static int run_load(const struct load *l, uint64_t seed)
{
	uint64_t seconds = WARM_SEC + (uint64_t)hours * HOUR_SEC;
	struct free_run f = {.left_usec = calloc(seconds, sizeof *f.left_usec)};

	if (f.left_usec == NULL)
		return 1;
	run_free(l, seed, seconds, &f);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct outcome o;

		if (only != NULL && !is_listed(only, policies[i].name))
			continue;
		o = run_policy(l, seed, seconds, &policies[i], &f);
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
		else if (strcmp(argv[i], "--policy") == 0)
			only = argv[i + 1];
	}
	for (size_t n = 0; i == argc && r == 0 && load_kind(n) != NULL; n++)
		r = run_seeds(load_kind(n), seeds);
	for (; r == 0 && i < argc; i++) {
		char *mean = strrchr(argv[i], '=');

		r = mean != NULL ? run_file(argv[i], mean) : run_seeds(argv[i], seeds);
	}
	return r;
}
