/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a failed shrink: a lower bound that decays over hours. */
#pragma once

#include "policy/base/base.h"

/* Kept in the history file: realtime, survives restarts. */
struct shrink_floor {
	uint64_t value;    /* millicores or bytes; 0 = none */
	usec_t since_real; /* when it was learned */
};

/* The floor as of now: halves every half_life, linear in between (within 6 % of the exponential).
 */
uint64_t floor_value(const struct shrink_floor *f, usec_t half_life_usec, usec_t now_real);
/* Between what failed and what worked before, so that repeated trials close in on the need. */
void floor_learn(struct shrink_floor *f, uint64_t failed, uint64_t worked, usec_t now_real);
