// SPDX-License-Identifier: Apache-2.0
#include "policy/history/floor.h"
#include "policy/base/arithmetic.h"

uint64_t floor_value(const struct shrink_floor *f, usec_t half_life_usec, usec_t now_real)
{
	/* A wall clock that stepped back must not make the floor grow. */
	usec_t age = now_real > f->since_real ? now_real - f->since_real : 0;
	usec_t half_life = MAX(half_life_usec, (usec_t)1);
	uint64_t halvings = age / half_life;
	uint64_t value;

	if (f->value == 0 || halvings >= 64)
		return 0;
	value = f->value >> halvings;
	return value - mul_div(value / 2, age % half_life, half_life);
}

void floor_learn(struct shrink_floor *f, uint64_t failed, uint64_t worked, usec_t now_real)
{
	uint64_t value = worked > failed ? failed + (worked - failed + 1) / 2 : failed;

	*f = (struct shrink_floor){.value = value, .since_real = now_real};
}
