// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/captain.h"
#include <math.h>

#define PERIODS      10
#define MARGIN_FIRST 3.0
#define CORES_MIN    0.01

void captain_init(struct captain *c, double cores, double target)
{
	*c = (struct captain){.cores = cores, .target = target, .margin = MARGIN_FIRST};
}

void captain_sample(struct captain *c, double cores)
{
	c->sample[c->next] = cores;
	c->next = (c->next + 1) % CAPTAIN_SAMPLES;
	if (c->samples < CAPTAIN_SAMPLES)
		c->samples++;
}

static double candidate(const struct captain *c)
{
	double highest = 0, sum = 0, squares = 0, mean, variance;

	for (unsigned i = 0; i < c->samples; i++) {
		highest = fmax(highest, c->sample[i]);
		sum += c->sample[i];
		squares += c->sample[i] * c->sample[i];
	}
	mean = sum / c->samples;
	variance = fmax(squares / c->samples - mean * mean, 0);
	return highest + c->margin * sqrt(variance);
}

bool captain_act(struct captain *c, uint64_t throttled)
{
	double ratio = (double)throttled / PERIODS, before = c->before, want;

	c->margin = fmax(c->margin + ratio - c->target, 0);
	c->before = 0;
	if (ratio > 3 * c->target) {
		if (before > 0)
			c->cores = before;
		else
			c->cores *= 1 + ratio - 3 * c->target;
		return true;
	}
	if (c->samples < CAPTAIN_SAMPLES)
		return false;
	want = fmax(candidate(c), CORES_MIN);
	if (want > 0.9 * c->cores)
		return false;
	c->before = c->cores;
	c->cores = fmax(want, c->cores / 2);
	return true;
}
