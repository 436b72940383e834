/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law of Autothrottle's Captain (NSDI'24), from its published source: a sample every 100 ms, an
 * action every second. It stands here to be measured beside ours.
 *	r > 3 x target:	limit x (1 + r - 3 x target)
 *	else:		highest sample of 5 s + margin x their deviation, when that is at most 90 %
 *			of the limit; at most halved; taken back when r rises in the next second
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAPTAIN_SAMPLES 50
/* The smallest target of its Tower that is not zero, and the one that the reflex goes by. */
#define CAPTAIN_TARGET 0.02

struct captain {
	double cores; /* the limit */
	double target;
	double margin;
	double before; /* a shrink just made; 0: none */
	double sample[CAPTAIN_SAMPLES];
	unsigned samples, next;
};

void captain_init(struct captain *c, double cores, double target);
/* Every 100 ms: what was used since the last one. */
void captain_sample(struct captain *c, double cores);
/* Every second: throttled periods of the ten since the last one. True: the limit has changed. */
bool captain_act(struct captain *c, uint64_t throttled);
