// SPDX-License-Identifier: Apache-2.0
/*
 * How often the size of a pod is sent to the API server (RequestsAndLimits), and what its spec and
 * its cgroup have on average, with decreases at any time and in the node's windows: one container,
 * 4 cores and 2 GiB at first, on 8 CPUs, whose load is steady but noisy, or one of bench_goals; a
 * day after 26 h of warm-up. The kubelet carries out each resize at once.
 *
 * bench_resizes [--seeds N] [KIND]...: default 3 seeds of each noise and of plateau.
 */
#include "policy/backtest/rig.h"
#include "policy/report/report.h"
#include "test/bench/goal_load.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS       USEC_PER_MSEC
#define CPUS     8
#define LOOK_MS  100
#define WARM_SEC (26 * 3600)
#define DAY_SEC  86400
/* Memory: its mean, and how far it wanders. */
#define MEMORY_BYTES   (500 * MIB)
#define MEMORY_WANDERS 0.1

/* Deviates by sigma, and forgets itself in tau_sec. */
struct noise {
	uint64_t random;
	double value;
};

static const struct steady {
	const char *name;
	double sigma, tau_sec;
} steadies[] = {{"noise-fast", 0.2, 30}, {"noise", 0.2, 300}, {"noise-slow", 0.2, 3600}};

struct pod {
	struct rig rig;
	struct report_tuning tuning;
	struct report_node node;
	struct report_container container;
	struct report_facts facts;
	struct report_state *state;
	struct pod_bounds bounds;
};

struct outcome {
	double limit[RESOURCE_COUNT], request[RESOURCE_COUNT]; /* in the spec, over time */
	double held[RESOURCE_COUNT];                           /* limit in the cgroup */
	double span_sec;
	uint64_t resizes, decreases;
};

static double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

static double noise_next(struct noise *n, double sigma, double tau_sec)
{
	double keep = exp(-1 / tau_sec), sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_unit(&n->random);
	n->value = keep * n->value + sigma * sqrt(1 - keep * keep) * sum;
	return n->value;
}

static int steady_load(struct load *l, const struct steady *s, uint64_t seed)
{
	struct noise n = {.random = seed * 7919 + 13};
	double base = 0.2 + 0.8 * random_unit(&n.random);

	*l = (struct load){.name = s->name,
			   .cores = calloc(WARM_SEC + DAY_SEC, sizeof *l->cores),
			   .count = WARM_SEC + DAY_SEC,
			   .step_sec = 1};
	for (size_t i = 0; l->cores != NULL && i < l->count; i++)
		l->cores[i] = MIN(base * exp(noise_next(&n, s->sigma, s->tau_sec)), 3.6);
	return l->cores != NULL ? 0 : 1;
}

static void pod_facts(struct pod *p)
{
	struct control *c = &p->rig.c;
	usec_t now = p->rig.sim.now;

	p->container.use_bytes = mem_unreclaimable(&c->last.stat);
	p->container.slope_bps = c->mem.slope_bps;
	p->container.growing =
		mul_div(c->mem.slope_bps, p->tuning.ahead_usec, USEC_PER_SEC) >
			MAX(scale_permille(p->container.use_bytes, p->tuning.margin_permille),
			    p->tuning.margin_min_bytes) ||
		(c->mem.last_growth != 0 && now - c->mem.last_growth < 10 * USEC_PER_SEC);
	p->container.grew_at = MAX(c->mem.last_growth, c->started_at);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct report_resource *x = &p->container.resource[r];
		usec_t since = r == RESOURCE_CPU ? c->cpu.held_since : c->mem.last_change;

		x->managed = true;
		x->held = control_lasting(c, r);
		x->held_since = MAX(since, c->started_at);
		x->actual = x->held;
		x->ceiling = control_ceiling(c, &p->rig.t, r, CPUS * 1000);
		x->ceiling = x->ceiling == LIMIT_MAX ? 0 : x->ceiling;
		x->request = control_request(c, r);
		x->request_since = control_request_since(c, r, now);
	}
}

static void take_spec(struct pod *p)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		p->bounds.resource[r].request = p->container.resource[r].spec_request;
		p->bounds.resource[r].accepted = p->container.resource[r].spec_limit;
	}
	control_set_pod(&p->rig.c, &p->bounds);
}

static void pod_begin(struct pod *p, bool windows)
{
	struct limits l = {
		.cpu_quota_usec = 400000,
		.cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
		.mem_max = 2 * GIB,
		.mem_high = LIMIT_MAX,
	};
	uint64_t original[RESOURCE_COUNT] = {4000, 2 * GIB};

	memset(p, 0, sizeof *p);
	rig_set_up(&p->rig, &l, CPUS, 1);
	p->rig.tick_usec = LOOK_MS * MS;
	p->rig.sim.step_usec = MS;
	p->rig.sim.load.threads = LOAD_THREADS;
	control_init(&p->rig.c, &p->rig.t, &policy_rule_default, &l);
	control_restarted(&p->rig.c, &l, p->rig.sim.now);
	p->tuning = report_tuning_default;
	if (!windows)
		p->tuning.decrease_every_usec = 0;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct report_resource *x = &p->container.resource[r];

		x->spec_limit = x->original_limit = original[r];
		x->spec_request = x->original_request = original[r] / 2;
	}
	p->facts = (struct report_facts){
		.generation = 1,
		.observed_generation = 1,
		.echoed = true,
		.active = true,
		.offered = true,
		.controlled = CONTROLLED_REQUESTS_AND_LIMITS,
		.containers = &p->container,
		.container_count = 1,
	};
	p->bounds.requests_move = true;
	take_spec(p);
	pod_facts(p);
	p->state = report_state_new(1);
	report_observed(&p->tuning, p->state, &p->facts, p->rig.sim.now);
}

/* The server stores what is sent, and the kubelet has carried it out. */
static void store(struct pod *p, const struct report_patch *patch, struct outcome *o)
{
	const struct report_item *item = &patch->item[0];
	const struct report_answer ok = {.kind = REPORT_ANSWER_OK};
	usec_t now = p->rig.sim.now;
	bool lower = false;

	report_sent(p->state, &p->facts, patch, now);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct report_resource *x = &p->container.resource[r];

		if (item->requests & (1u << r)) {
			lower |= item->request[r] < x->spec_request;
			x->spec_request = item->request[r];
		}
		if (item->limits & (1u << r)) {
			lower |= item->limit[r] < x->spec_limit;
			x->spec_limit = item->limit[r];
		}
	}
	p->facts.generation++;
	report_answered(&p->tuning, &p->node, p->state, &p->facts, &ok, now);
	p->facts.observed_generation = p->facts.generation;
	report_observed(&p->tuning, p->state, &p->facts, now);
	take_spec(p);
	o->resizes++;
	o->decreases += lower;
}

static void report(struct pod *p, struct outcome *o)
{
	static struct report_decision d;

	pod_facts(p);
	report_observed(&p->tuning, p->state, &p->facts, p->rig.sim.now);
	report_decide(&p->tuning, &p->node, p->state, &p->facts, p->rig.sim.now, &d);
	if (d.moot)
		report_cut_moot(p->state, p->rig.sim.now);
	if (d.send)
		store(p, &d.patch, o);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct report_resource *x = &p->container.resource[r];

		o->limit[r] += (double)x->spec_limit;
		o->request[r] += (double)x->spec_request;
		o->held[r] += (double)x->held;
	}
	o->span_sec++;
}

static void one_second(struct pod *p, const struct second *w)
{
	struct sim *s = &p->rig.sim;

	for (uint32_t ms = 0; ms < LOAD_MS; ms++) {
		uint64_t left = 0;

		for (uint32_t i = 0; i < LOAD_THREADS; i++)
			left += s->pending[i] += w->work_usec[ms][i];
		/* Without work nothing happens before a look. */
		if (left == 0 && (ms + 1) % LOOK_MS != 0)
			s->now += MS;
		else
			sim_run(s, MS);
		if ((ms + 1) % LOOK_MS != 0)
			continue;
		p->rig.now_real += LOOK_MS * MS;
		rig_decide(&p->rig);
	}
}

static struct outcome run(const struct load *l, uint64_t seed, bool windows)
{
	static struct pod p;
	struct pieces pieces = {.random = seed * 104729 + 77};
	struct noise memory = {.random = seed * 31 + 7};
	struct outcome o = {0}, warm = {0};
	struct second w;

	pod_begin(&p, windows);
	for (uint64_t sec = 0; sec < WARM_SEC + DAY_SEC; sec++) {
		double wanders = noise_next(&memory, MEMORY_WANDERS, 600);

		p.rig.sim.load.anon_goal = (uint64_t)((double)MEMORY_BYTES * exp(wanders));
		p.rig.sim.load.anon_bps = 64 * MIB;
		pieces_second(&pieces, l, sec, &w);
		one_second(&p, &w);
		report(&p, sec < WARM_SEC ? &warm : &o);
	}
	control_drop(&p.rig.c);
	free(p.state);
	return o;
}

static void print(const char *load, uint64_t seed, const char *law, const struct outcome *o)
{
	const struct {
		const char *name, *unit;
		double sum;
	} figures[] = {
		{"resizes", "/h", (double)o->resizes * 3600},
		{"decreases", "/h", (double)o->decreases * 3600},
		{"cpu_held", "m", o->held[RESOURCE_CPU]},
		{"cpu_limit", "m", o->limit[RESOURCE_CPU]},
		{"cpu_request", "m", o->request[RESOURCE_CPU]},
		{"memory_held", "MiB", o->held[RESOURCE_MEMORY] / MIB},
		{"memory_limit", "MiB", o->limit[RESOURCE_MEMORY] / MIB},
		{"memory_request", "MiB", o->request[RESOURCE_MEMORY] / MIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		printf("{\"name\":\"resizes/%s/%" PRIu64
		       "/%s/%s\",\"value\":%.4f,\"unit\":\"%s\"}\n",
		       load, seed, law, figures[i].name, figures[i].sum / o->span_sec,
		       figures[i].unit);
	fflush(stdout);
}

/* 0: it is made. */
static int make_load(struct load *l, const char *kind, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_SIZE(steadies); i++)
		if (strcmp(steadies[i].name, kind) == 0)
			return steady_load(l, &steadies[i], seed);
	return load_generate(l, kind, seed);
}

static int run_kind(const char *kind, uint64_t seeds)
{
	static const char *const laws[] = {"any-time", "windows"};

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct load l;

		if (make_load(&l, kind, seed) != 0) {
			fprintf(stderr, "bench_resizes: %s: no such load\n", kind);
			return 1;
		}
		for (size_t law = 0; law < ARRAY_SIZE(laws); law++) {
			struct outcome o = run(&l, seed, law == 1);

			print(kind, seed, laws[law], &o);
		}
		load_drop(&l);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char *const all[] = {"noise-fast", "noise", "noise-slow", "plateau"};
	uint64_t seeds = 3;
	int i = 1, r = 0;

	if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0) {
		seeds = strtoull(argv[i + 1], NULL, 10);
		i += 2;
	}
	for (size_t n = 0; i == argc && r == 0 && n < ARRAY_SIZE(all); n++)
		r = run_kind(all[n], seeds);
	for (; r == 0 && i < argc; i++)
		r = run_kind(argv[i], seeds);
	return r;
}
