/* SPDX-License-Identifier: Apache-2.0 */
/* CPU demand from two observations.
 *
 * nr_periods advances only while the group is runnable, and once more when the period timer finds
 * it idle: a burst of 20 ms a second counts 2 periods a second. So
 *
 *  - active = d(nr_periods) x period, at most the span; one period less where the group fell idle
 *  - demand = d(usage) / active, while not throttled
 *  - evidence = (d(usage) + d(throttled)) / active; bounds the demand from above while throttled
 *
 * A job of 4 threads x 50 ms a second averages 200m; its one or two active periods show 1-2 cores.
 * Throttled, a queue that would drain cannot be told from one that never would: the demand is the
 * evidence, kept between limit and limit x (1 + throttle ratio / 2). With its margin that stays
 * below the raise that the reflex pass makes in the same seconds. */
#pragma once

#include "policy/types/usage.h"

/* The counters of a moment. */
struct cpu_mark {
	usec_t at; /* 0: none */
	uint32_t have;
	uint64_t used_usec;
	uint64_t periods;
	uint64_t throttled;
	uint64_t waited_usec;
};

struct cpu_rates {
	usec_t span_usec;        /* between the observations */
	usec_t active_usec;      /* part of the span in which the group wanted CPU */
	uint64_t used_milli;     /* average over the span */
	uint64_t demand_milli;   /* per active period */
	uint64_t evidence_milli; /* upper bound of the demand; node capacity at most */
	uint64_t periods;
	uint64_t throttled;
	uint32_t throttle_ppm; /* throttled / periods, 0 without periods */
};

struct cpu_mark cpu_mark_of(const struct usage *u, usec_t at);

/* cur - prev over span_usec. node_milli = CPUs of the node x 1000.
 * -EINVAL when the counters went back (another cgroup), usage is missing or span is 0; ret
 * untouched. */
int cpu_rates_between(const struct usage *prev, const struct usage *cur, usec_t span_usec,
		      uint64_t node_milli, struct cpu_rates *ret);
/* The same since a mark, all of it under cur's limit. */
int cpu_rates_since(const struct cpu_mark *m, const struct usage *cur, usec_t now,
		    uint64_t node_milli, struct cpu_rates *ret);

/* Highest value of at least the last `keep` microseconds, in slots of a tenth of it. */
#define RECENT_SLOTS 11
struct recent_max {
	uint64_t slot[RECENT_SLOTS];
	usec_t slot_start;
	uint32_t current;
};

void recent_max_add(struct recent_max *r, uint64_t value, usec_t keep_usec, usec_t now);
uint64_t recent_max_get(const struct recent_max *r);

/* How CPU demand is spread over single periods: which limit would have throttled which share of
 * them. Average demand of a second says nothing about that. Recent periods count most: the weight
 * of a period halves every half life.
 *
 * Eight buckets per power of two, so a value is known to 7 to 12 %. Plain data, 0.5 KiB: it may be
 * copied, and all zeros are an empty one. Not kept on disk: an hour after a restart it is as good.
 */

#define PERIOD_DEMAND_BUCKETS 120

struct period_demand {
	float weight[PERIOD_DEMAND_BUCKETS];
	double total;
	double newest;    /* weight of the newest period */
	usec_t reference; /* of the weights: boottime at which one counts as itself; 0: empty */
};

/* So many periods wanted so many millicores each. */
void period_demand_add(struct period_demand *d, uint64_t milli, uint64_t periods,
		       usec_t half_life_usec, usec_t now);
/* The lowest limit in millicores below which all periods but this share of them stayed; 0: nothing
 * known. */
uint64_t period_demand_limit(const struct period_demand *d, uint32_t above_ppm);
/* The number of periods that it stands for, as of the newest one. */
double period_demand_periods(const struct period_demand *d);
