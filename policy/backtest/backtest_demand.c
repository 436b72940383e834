// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/backtest_demand.h"
#include "policy/backtest/sim.h"
#include <assert.h>

#define PIECE_USEC         (20 * USEC_PER_MSEC)
#define PERIODS_PER_SECOND 10
/* A factor of 700 to 1300 permille, mean 1000. */
#define FACTOR_LOWEST 700
#define DIE_SIDES     301
/* Four coins come out of one random number. */
#define COINS    4
#define COIN_ONE 65536

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

/* How many of `throws` coins fall, each with chance / COIN_ONE; throws is a multiple of COINS. */
static uint64_t throw_coins(struct backtest_demand *d, uint64_t throws, uint64_t chance)
{
	uint64_t fallen = 0;

	for (uint64_t i = 0; i < throws; i += COINS) {
		uint64_t r = random_next(&d->random);

		for (uint32_t k = 0; k < COINS; k++)
			fallen += (r >> (16 * k) & (COIN_ONE - 1)) < chance;
	}
	return fallen;
}

uint64_t backtest_demand_next(struct backtest_demand *d, uint64_t micro_cores)
{
	uint64_t most = d->cpus * BACKTEST_PERIOD_USEC, mean, throws, chance;

	if (d->period == 0)
		next_second(d);
	d->period = (d->period + 1) % PERIODS_PER_SECOND;
	mean = micro_cores * d->factor_permille / (1000 * PERIODS_PER_SECOND);
	if (mean == 0)
		return 0;
	/* Twice as many coins as pieces, or more: a chance of at most a half. Rounding the chance
	 * up makes a piece shorter than 20 ms, and keeps the mean. */
	throws = COINS * ((2 * mean + COINS * PIECE_USEC - 1) / (COINS * PIECE_USEC) + 1);
	chance = (mean * COIN_ONE + throws * PIECE_USEC - 1) / (throws * PIECE_USEC);
	return MIN(throw_coins(d, throws, chance) * mean * COIN_ONE / (throws * chance), most);
}
