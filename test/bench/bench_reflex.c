// SPDX-License-Identifier: Apache-2.0
/*
 * How soon and how far a CPU limit follows a demand that steps up after a minute of idling, in a
 * model of bandwidth control (policy/backtest/rig.h) with passes, periods and arrivals at random
 * phases: our laws on their clocks and with throttle events, answered at once or a quarter of them
 * 1 to 40 ms late; Autothrottle's law on its second and VPA's loop on its minutes, all for the same
 * loads. The lab measures the same on a real kernel (test/lab/kit/react.c).
 *
 * bench_reflex [CPUS [THREADS]]: of one machine, of one width of load; else 8, and 1 to 8.
 * bench_reflex burst: each law's limits after one step, "LAW MS MILLICORES".
 */
#include "policy/backtest/backtest_policy.h"
#include "test/policy/rig.h"
#include "test/policy/vpa/vpa_aggregate.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS              USEC_PER_MSEC
#define RUNS            200 /* of a load that drops what is late, and as many of one that queues it */
#define IDLE            (60 * USEC_PER_SEC)
#define WATCH           (15 * USEC_PER_SEC) /* with a review in it */
#define PEERS           (40 * USEC_PER_SEC)
#define VPA_MOST        (14 * USEC_PER_DAY)
#define SCRAPE          (15 * USEC_PER_SEC) /* metrics-server's */
#define FINE            MS
#define REFLEX_INTERVAL (100 * MS)

struct step {
	const char *name;
	uint64_t from, to;
	uint64_t granted_permille; /* of the demand: reached */
};

struct load {
	struct sim_load l;
	usec_t phase, look; /* of the arrivals, and of the looks, against the periods */
	uint64_t seed;
};

/* The results of a run. */
struct outcome {
	usec_t first;       /* from the first throttled period to the first raise */
	usec_t reach;       /* from the step to 80 % of the demand */
	uint64_t overshoot; /* highest limit, permille of the demand */
	usec_t stood;       /* a thread on average, of the first second */
	bool throttled;
};

struct watch {
	const struct step *s;
	usec_t begin, throttled_at;
	uint64_t limit;
	struct outcome o;
};

static uint32_t cpus = 8, threads;
/* The law whose limits are printed. */
static const char *printed;

static struct load load_random(const struct step *s, bool drops, uint64_t *seed)
{
	static const usec_t cycles[] = {10 * MS, 20 * MS, 50 * MS, 100 * MS};
	static const uint32_t widths[] = {1, 2, 4, 8};
	struct load l = {.seed = random_next(seed)};
	uint32_t n = threads != 0 ? threads : widths[random_next(seed) % ARRAY_SIZE(widths)];

	while (n * 1000 < s->to)
		n *= 2; /* no thread can want more than a CPU */
	l.l = (struct sim_load){
		.threads = n,
		.cycle_usec = cycles[random_next(seed) % ARRAY_SIZE(cycles)],
		.drops = drops,
	};
	l.l.busy_usec = s->to * l.l.cycle_usec / 1000 / n;
	l.phase = random_next(seed) % 100 * MS;
	l.look = random_next(seed) % 1000 * MS;
	return l;
}

static void note_limit(struct watch *w, uint64_t limit, usec_t now)
{
	if (printed != NULL && limit != w->limit && now >= w->begin)
		printf("%s %.1f %" PRIu64 "\n", printed, (double)(now - w->begin) / 1000, limit);
	w->limit = limit;
	if (limit > w->s->from && w->o.first == 0)
		w->o.first = now - w->throttled_at;
	if (limit > w->s->from && w->o.reach == 0 &&
	    limit * 1000 >= w->s->to * w->s->granted_permille)
		w->o.reach = now - w->begin;
	w->o.overshoot = MAX(w->o.overshoot, limit * 1000 / w->s->to);
}

/* ---- ours ---- */

static void note_step(struct rig *r, const struct change *, int)
{
	note_limit(r->user, sim_milli(&r->sim), r->sim.now);
}

/* When a period of the next tick ends throttled, or its quota is used; 0: none. */
static usec_t throttled_ahead(const struct rig *r, bool within)
{
	struct sim s = r->sim;
	uint64_t before = s.u.nr_throttled;

	while (s.now < r->sim.now + r->tick_usec) {
		sim_run(&s, FINE);
		if (s.u.nr_throttled > before || (within && s.throttled))
			return s.now;
	}
	return 0;
}

static void begin_load(struct sim *sim, const struct load *l, struct watch *w)
{
	sim->step_usec = FINE;
	sim->random = l->seed;
	sim->load = l->l;
	sim->next_cycle = w->begin = sim->now + l->phase;
}

static struct outcome run_rig(const struct step *s, const struct load *l,
			      struct rig_reports *reports)
{
	struct watch w = {.s = s};
	struct rig r;

	rig_init(&r, s->from, GIB, cpus);
	r.tick_usec = REFLEX_INTERVAL;
	r.sim.step_usec = FINE;
	sim_run(&r.sim, l->look % REFLEX_INTERVAL);
	r.sim.step_usec = REFLEX_INTERVAL / 10;
	rig_run(&r, IDLE + l->look);
	r.user = &w;
	r.after = note_step;
	begin_load(&r.sim, l, &w);
	while (r.sim.now < w.begin + WATCH) {
		if (w.throttled_at == 0)
			w.throttled_at = throttled_ahead(&r, reports != NULL);
		if (reports != NULL)
			rig_tick_reported(&r, reports);
		else
			rig_tick(&r);
		if (r.sim.now <= w.begin + USEC_PER_SEC)
			w.o.stood = r.sim.u.throttled_usec / l->l.threads;
	}
	control_drop(&r.c);
	w.o.throttled = w.throttled_at != 0;
	return w.o;
}

static struct outcome run_ours(const struct step *s, const struct load *l)
{
	return run_rig(s, l, NULL);
}

static struct outcome run_events(const struct step *s, const struct load *l)
{
	struct rig_reports reports = {.random = l->seed};

	return run_rig(s, l, &reports);
}

static struct outcome run_late(const struct step *s, const struct load *l)
{
	struct rig_reports reports = {
		.random = l->seed, .late_permille = 250, .late_most = 40 * MS};

	return run_rig(s, l, &reports);
}

/* ---- Autothrottle's ---- */

/* Held at its limit until the step: its own law would have taken most of it from an idle one. */
static struct outcome run_captain(const struct step *s, const struct load *l)
{
	struct limits limits = {
		.cpu_quota_usec = cpu_quota_of(s->from, CPU_PERIOD_DEFAULT_USEC),
		.cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
		.mem_max = LIMIT_MAX,
		.mem_high = LIMIT_MAX,
	};
	struct watch w = {.s = s};
	uint64_t throttled = 0, used = 0;
	struct captain c;
	struct sim sim;

	sim_init(&sim, &limits, cpus, l->seed);
	captain_init(&c, (double)s->from / 1000, CAPTAIN_TARGET);
	begin_load(&sim, l, &w);
	for (usec_t at = l->look; sim.now < w.begin + PEERS; at += FINE) {
		sim_run(&sim, FINE);
		if (w.throttled_at == 0 && sim.u.nr_throttled > 0)
			w.throttled_at = sim.now;
		if (at % REFLEX_INTERVAL == 0) {
			captain_sample(&c, (double)(sim.u.cpu_usage_usec - used) /
						   (double)REFLEX_INTERVAL);
			used = sim.u.cpu_usage_usec;
		}
		if (at % USEC_PER_SEC != 0)
			continue;
		if (captain_act(&c, sim.u.nr_throttled - throttled))
			sim_write(&sim, KNOB_CPU_MAX, (uint64_t)(c.cores * 100 * MS));
		throttled = sim.u.nr_throttled;
		note_limit(&w, sim_milli(&sim), sim.now);
	}
	w.o.throttled = w.throttled_at != 0;
	return w.o;
}

/* ---- VPA's ---- */

/*
 * The most favourable case: limit = request, in place, at once, one container without history but
 * the idle minute, no disruption to avoid, and work that does not queue up.
 */
static void vpa_round(int64_t request[RESOURCE_COUNT], const struct vpa_recommendation *rec,
		      usec_t age, struct watch *w, usec_t now)
{
	struct vpa_priority p = vpa_update_priority(request, rec);
	struct vpa_pod_run run = {.age_usec = age};

	if (rec->resources == 0 || now < w->begin || !vpa_update_accepted(&p, &run))
		return;
	request[RESOURCE_CPU] = rec->amount[VPA_TARGET][RESOURCE_CPU];
	note_limit(w, (uint64_t)request[RESOURCE_CPU], now);
}

static struct outcome run_vpa(const struct step *s, const struct load *l)
{
	const usec_t start = 20000 * USEC_PER_DAY, begin = start + IDLE + l->look;
	usec_t recommend = start + (l->seed % 60) * USEC_PER_SEC;
	usec_t update = start + (l->seed / 60 % 60) * USEC_PER_SEC;
	struct watch w = {.s = s, .begin = begin, .throttled_at = begin + REFLEX_INTERVAL};
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_container c = {.aggregate = &a, .rules = &vpa_rules_default};
	int64_t request[RESOURCE_COUNT] = {(int64_t)s->from};
	struct vpa_recommendation rec = {0};

	vpa_aggregate_init(&a, &vpa_rules_default);
	while (w.o.reach == 0 && MAX(recommend, update) < start + VPA_MOST) {
		if (recommend <= update) {
			usec_t seen = recommend - l->seed % SCRAPE;
			int64_t used = MIN(request[RESOURCE_CPU], (int64_t)s->to);

			vpa_add_cpu(&c, seen > begin ? used : 0, recommend);
			vpa_estimate(&a, &vpa_rules_default, 1, RESOURCES_CPU, &rec);
			recommend += USEC_PER_MIN;
		} else {
			vpa_round(request, &rec, update - start, &w, update);
			update += USEC_PER_MIN;
		}
	}
	w.o.throttled = w.throttled_at != 0;
	return w.o;
}

/* ---- figures ---- */

typedef struct outcome law(const struct step *s, const struct load *l);

struct series {
	uint64_t value[2 * RUNS];
	size_t count;
};

/* What was never reached sorts after all that was. */
static void series_add(struct series *s, uint64_t value)
{
	s->value[s->count++] = value != 0 ? value : LIMIT_MAX;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t percentile(struct series *s, unsigned percent)
{
	if (s->count == 0)
		return 0;
	qsort(s->value, s->count, sizeof s->value[0], by_value);
	return s->value[(s->count * percent + 99) / 100 - 1];
}

struct result {
	struct series first, reach, overshoot, drop, queue, stood;
	size_t unanswered; /* throttled, and not raised */
};

static void measure(const struct step *s, law *f, struct result *ret)
{
	uint64_t seed = s->from * 7919 + s->to;

	memset(ret, 0, sizeof *ret);
	for (size_t i = 0; i < (size_t)2 * RUNS; i++) {
		bool drops = i % 2 == 0;
		struct load l = load_random(s, drops, &seed);
		struct outcome o = f(s, &l);

		/* One that never was throttled had what it wanted: nothing to measure. */
		if (!o.throttled)
			continue;
		ret->unanswered += o.first == 0;
		series_add(&ret->first, o.first);
		series_add(&ret->reach, o.reach);
		series_add(&ret->overshoot, o.overshoot);
		ret->stood.value[ret->stood.count++] = o.stood;
		series_add(drops ? &ret->drop : &ret->queue, o.overshoot);
	}
}

static void print(const char *whose, const char *what, const struct step *s, double value,
		  const char *unit)
{
	printf("{\"name\":\"%s_%s%s\",\"value\":%.*f,\"unit\":\"%s\"}\n", whose, what, s->name,
	       strcmp(unit, "ratio") == 0 ? 2 : 0, value, unit);
}

static void show(const struct step *s, const char *whose, struct result *r)
{
	const struct {
		const char *name;
		struct series *of;
		unsigned percent;
		bool time;
	} rows[] = {
		{"first_raise_ms_p95", &r->first, 95, true},
		{"reach_ms_p95", &r->reach, 95, true},
		{"overshoot_p95", &r->overshoot, 95, false},
		{"overshoot_drop_p95", &r->drop, 95, false},
		{"overshoot_queue_p95", &r->queue, 95, false},
		{"overshoot_max", &r->overshoot, 100, false},
		{"stood_ms_p95", &r->stood, 95, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		print(whose, rows[i].name, s,
		      (double)percentile(rows[i].of, rows[i].percent) / 1000,
		      rows[i].time ? "ms" : "ratio");
	print(whose, "runs", s, (double)r->first.count, "runs");
	print(whose, "unanswered", s, (double)r->unanswered, "runs");
}

/* How much longer the peer takes. */
static void compare(const struct step *s, const char *whose, struct result *peer,
		    struct result *ours)
{
	print(whose, "first_raise_to_reflex", s,
	      (double)percentile(&peer->first, 95) / (double)percentile(&ours->first, 95), "ratio");
	print(whose, "reach_to_reflex", s,
	      (double)percentile(&peer->reach, 95) / (double)percentile(&ours->reach, 95), "ratio");
}

int main(int argc, char **argv)
{
	static const struct step steps[] = {
		{"", 100, 800, 800},
		{"_500_550", 500, 550, 1000},
		{"_1000_1200", 1000, 1200, 1000},
		{"_100_2000", 100, 2000, 800},
	};
	static const struct {
		const char *name;
		law *f;
	} laws[] = {{"reflex", run_ours},
		    {"events", run_events},
		    {"events_late", run_late},
		    {"autothrottle", run_captain},
		    {"vpa", run_vpa}};
	static struct result r[ARRAY_SIZE(laws)];

	if (argc > 1 && strcmp(argv[1], "burst") == 0) {
		/* One thread of 20 ms in 25, and what is late queues up. */
		const struct load l = {
			.l = {.threads = 1, .cycle_usec = 25 * MS, .busy_usec = 20 * MS},
			.phase = 30 * MS,
			.look = 430 * MS,
			.seed = 1};

		for (size_t k = 0; k < ARRAY_SIZE(laws); k++) {
			printed = laws[k].name;
			laws[k].f(&steps[0], &l);
		}
		return 0;
	}
	if (argc > 1)
		cpus = (uint32_t)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		threads = (uint32_t)strtoul(argv[2], NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(laws); k++) {
			measure(&steps[i], laws[k].f, &r[k]);
			show(&steps[i], laws[k].name, &r[k]);
			if (k > 0)
				compare(&steps[i], laws[k].name, &r[k], &r[0]);
		}
	}
	return 0;
}
