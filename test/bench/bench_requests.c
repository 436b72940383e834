// SPDX-License-Identifier: Apache-2.0
/*
 * What a CPU limit adds to the latency of requests that use more in one period than the limit
 * gives, in a model of bandwidth control (policy/backtest/rig.h), beside the same requests without
 * a limit: of the limit that is never raised, of one raised at passes alone, and of each goal with
 * throttle events that are answered at once. p99 of ten minutes, after five to settle; and the
 * worst of the first minute, after an idle one.
 *
 * A request wakes all threads, each of which computes for its time; one comes each 250 to 750 ms.
 */
#include "test/policy/rig.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MS      USEC_PER_MSEC
#define CPUS    8
#define FIRST   USEC_PER_MIN
#define SETTLE  (5 * USEC_PER_MIN)
#define WATCH   (10 * USEC_PER_MIN)
#define PENDING 256
#define MOST    4096
/* What a request wants, of the quota. */
#define WANTS_PERMILLE 1500

static const struct shape {
	uint32_t threads;
	usec_t busy_msec;
} shapes[] = {{1, 5},  {1, 26}, {1, 80}, {2, 5}, {2, 26}, {2, 50},
	      {4, 10}, {4, 26}, {4, 50}, {8, 5}, {8, 20}};

struct requests {
	usec_t begun[PENDING], arrives;
	size_t first, next;
	struct times {
		usec_t latency[MOST];
		size_t count;
	} early, settled;
	usec_t from; /* of the first */
};

static const struct law {
	const char *name;
	enum goal goal;
	bool limited, answered, reported;
} laws[] = {
	{"free", GOAL_BALANCED, false, false, false},
	{"unanswered", GOAL_BALANCED, true, false, false},
	{"passes", GOAL_BALANCED, true, true, false},
	{"savings", GOAL_SAVINGS, true, true, true},
	{"balanced", GOAL_BALANCED, true, true, true},
	{"latency", GOAL_LATENCY, true, true, true},
};

static void add_time(struct times *t, usec_t latency)
{
	if (t->count < MOST)
		t->latency[t->count++] = latency;
}

/* After each millisecond: those of which every thread has done its part are answered in order. */
static void note_requests(struct rig *r)
{
	struct requests *q = r->user;
	const struct sim *s = &r->sim;
	usec_t left = 0;

	if (s->next_cycle != q->arrives)
		q->begun[q->next++ % PENDING] = q->arrives;
	q->arrives = s->next_cycle;
	for (uint32_t i = 0; i < s->load.threads; i++)
		left = MAX(left, s->pending[i]);
	while ((q->next - q->first) * s->load.busy_usec >= left + s->load.busy_usec) {
		usec_t begun = q->begun[q->first++ % PENDING];

		if (begun < q->from + FIRST)
			add_time(&q->early, s->now - begun);
		else if (begun >= q->from + SETTLE)
			add_time(&q->settled, s->now - begun);
	}
}

static int by_time(const void *a, const void *b)
{
	usec_t x = *(const usec_t *)a, y = *(const usec_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile(struct times *t, size_t percent)
{
	size_t at = (MAX(t->count, (size_t)1) - 1) * percent / 100;

	qsort(t->latency, t->count, sizeof t->latency[0], by_time);
	return (double)t->latency[at];
}

static void run(const struct shape *s, const struct law *law, struct requests *q)
{
	uint64_t milli = s->threads * s->busy_msec * 10 * 1000 / WANTS_PERMILLE;
	/* An answer after the period is none. */
	struct rig_reports reports = {.random = 1,
				      .late_permille = law->reported ? 0 : 1000,
				      .late_most = USEC_PER_DAY,
				      .each = note_requests};
	struct rig r;

	*q = (struct requests){0};
	rig_init(&r, law->limited ? MAX(round_down(milli, 10), UINT64_C(10)) : LIMIT_MAX, GIB,
		 CPUS);
	r.tick_usec = 100 * MS;
	r.user = q;
	r.c.rule.mode = law->answered ? MODE_AUTO : MODE_OFF;
	r.c.rule.goal = law->goal;
	rig_run(&r, USEC_PER_MIN);
	r.sim.load = (struct sim_load){.threads = s->threads,
				       .busy_usec = s->busy_msec * MS,
				       .cycle_usec = 250 * MS,
				       .jitter_usec = 500 * MS};
	q->from = q->arrives = r.sim.next_cycle = r.sim.now + MS;
	while (r.sim.now < q->from + SETTLE + WATCH)
		rig_tick_reported(&r, &reports);
}

int main(void)
{
	static struct requests q;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		double early = 0, settled = 0;
		char shape[32];

		snprintf(shape, sizeof shape, "%" PRIu32 "x%" PRIu64, shapes[i].threads,
			 shapes[i].busy_msec);
		for (size_t k = 0; k < ARRAY_SIZE(laws); k++) {
			run(&shapes[i], &laws[k], &q);
			if (!laws[k].limited) {
				early = percentile(&q.early, 100);
				settled = percentile(&q.settled, 99);
				printf("{\"name\":\"requests_%s_free_p99\",\"value\":%.0f,"
				       "\"unit\":\"ms\"}\n",
				       shape, settled / MS);
				continue;
			}
			printf("{\"name\":\"requests_%s_%s_p99\",\"value\":%.2f,\"unit\":\"x\"}\n"
			       "{\"name\":\"requests_%s_%s_first_most\",\"value\":%.2f,"
			       "\"unit\":\"x\"}\n",
			       shape, laws[k].name, percentile(&q.settled, 99) / settled, shape,
			       laws[k].name, percentile(&q.early, 100) / early);
		}
	}
	return 0;
}
