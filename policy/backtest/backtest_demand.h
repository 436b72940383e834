/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From coarse samples to what is wanted in each period of 100 ms. A declared model, integers and a
 * seed alone, so that a run is the same on every machine:
 *	a second	wants the sample times a factor of 0.7 to 1.3 (the sum of two equal dice)
 *	a period	gets its share of the second in pieces of at most 20 ms, thrown like coins
 * The mean is the sample; the sum of a period is at most what the CPUs can do in it.
 */
#pragma once

#include "policy/base/base.h"

#define BACKTEST_PERIOD_USEC (100 * USEC_PER_MSEC)

struct backtest_demand {
	uint64_t random;
	uint32_t cpus;
	uint32_t factor_permille; /* of the running second */
	uint32_t period;          /* 0..9 within it */
};

void backtest_demand_init(struct backtest_demand *d, uint32_t cpus, uint64_t seed);
/* Microseconds of CPU that the next period wants, of a load of so many millionths of a core. */
uint64_t backtest_demand_next(struct backtest_demand *d, uint64_t micro_cores);
