// SPDX-License-Identifier: Apache-2.0
#include "policy/cpu_control.h"
#include "policy/bounds.h"
#include <assert.h>
#include <errno.h>

/* Autothrottle's window for the throttle ratio is one second; older periods say nothing. */
#define WINDOW_USEC USEC_PER_SEC
/* A raise below 5 % would be lost in rounding and be followed by the next one at once. */
#define STEP_MIN_PERMILLE 1050

uint64_t cpu_reflex_wish(const struct tuning_cpu *t, uint64_t limit_milli,
			 const struct cpu_rates *since_write)
{
	uint64_t tolerated = 3ULL * t->throttle_target_ppm;
	uint64_t factor, wish, evidence;

	assert(limit_milli != LIMIT_MAX);
	if (since_write->throttle_ppm <= tolerated)
		return 0;
	factor = 1000 + (since_write->throttle_ppm - tolerated) / 1000;
	wish = scale_permille(limit_milli, MIN(factor, (uint64_t)t->step_max_permille));
	evidence = scale_permille(since_write->evidence_milli, t->evidence_permille);
	return MAX(MIN(wish, evidence), scale_permille(limit_milli, STEP_MIN_PERMILLE));
}

void cpu_window_restart(struct cpu_control *c, const struct usage *u, usec_t now)
{
	c->base = *u;
	c->base_at = now;
}

int cpu_window_rates(struct cpu_control *c, const struct usage *u, uint64_t node_milli, usec_t now,
		     struct cpu_rates *ret)
{
	int r;

	assert(now >= c->base_at);
	if (c->base_at == 0 || now == c->base_at) {
		if (c->base_at == 0)
			cpu_window_restart(c, u, now);
		return -EAGAIN;
	}
	r = cpu_rates_between(&c->base, u, now - c->base_at, node_milli, ret);
	if (r < 0 || now - c->base_at >= WINDOW_USEC)
		cpu_window_restart(c, u, now);
	return r;
}

enum hold cpu_shrink_next(const struct tuning *t, const struct cpu_control *c,
			  const struct cpu_shrink_input *in, uint64_t *ret_milli, usec_t *ret_next)
{
	uint64_t deadband = MIN((uint64_t)t->cpu.shrink_below_permille,
				rest_permille(t->common.deadband_down_permille));
	usec_t quiet_until = add_sat(in->started_at, t->common.start_quiet_usec);
	usec_t next = add_sat(MAX(c->last_change, c->last_shrink), t->cpu.shrink_interval_usec);

	*ret_next = 0;
	if (c->trial.active)
		return HOLD_TRIAL;
	if (in->candidate_milli >= scale_permille(in->limit_milli, deadband))
		return HOLD_DEADBAND;
	if (in->now < quiet_until) {
		*ret_next = quiet_until;
		return HOLD_START_QUIET;
	}
	if (c->last_change != 0 && in->now < next) {
		*ret_next = next;
		return HOLD_INTERVAL;
	}
	*ret_milli = MAX(in->candidate_milli,
			 scale_permille(in->limit_milli, t->cpu.shrink_step_permille));
	return HOLD_NONE;
}

void cpu_trial_begin(struct cpu_control *c, uint64_t from_milli, uint64_t to_milli,
		     const struct usage *u, usec_t now)
{
	assert(to_milli < from_milli);
	c->trial = (struct cpu_trial){
		.active = true,
		.from_milli = from_milli,
		.to_milli = to_milli,
		.base_periods = u->nr_periods,
		.since = now,
	};
	c->last_shrink = now;
}

bool cpu_trial_passed(const struct tuning_cpu *t, const struct cpu_control *c,
		      const struct usage *u, usec_t now)
{
	if (!c->trial.active)
		return false;
	return u->nr_periods >= c->trial.base_periods + t->verdict_periods ||
	       now - c->trial.since >= t->recent_usec;
}

void cpu_trial_end(struct cpu_control *c)
{
	c->trial.active = false;
}

void cpu_shrink_regret(const struct tuning_cpu *t, struct cpu_control *c, uint64_t limit_milli,
		       usec_t now, usec_t now_real)
{
	const struct cpu_trial *passed = &c->trial;

	if (passed->active || passed->since == 0)
		return;
	if (limit_milli <= passed->to_milli && now - passed->since < t->regret_usec)
		floor_learn(&c->floor, passed->to_milli, passed->from_milli, now_real);
	c->trial = (struct cpu_trial){0};
}

uint64_t cpu_trial_undo(struct cpu_control *c, usec_t now_real)
{
	struct cpu_trial ended = c->trial;

	assert(ended.active);
	floor_learn(&c->floor, ended.to_milli, ended.from_milli, now_real);
	c->trial = (struct cpu_trial){0};
	return ended.from_milli;
}
