// SPDX-License-Identifier: Apache-2.0
/* Startup boost (boost.h): its steps in a plan, and what it suspends in reviews. */
#include "policy/base/arithmetic.h"
#include "policy/control/control_impl.h"

void control_set_life(struct control *c, const struct startup_life *life)
{
	c->life = *life;
	startup_set(&c->startup, life);
}

usec_t control_startup_end(const struct control *c, const struct tuning *t, usec_t now)
{
	usec_t end = startup_end(&c->startup, &t->startup);

	return end > now ? end : 0;
}

/* A limit found in the files, written by an earlier run of the agent, may come from it too. */
usec_t control_startup_raise(const struct control *c, const struct tuning *t)
{
	usec_t end = startup_end(&c->startup, &t->startup);
	enum reason reason = c->resource[RESOURCE_CPU].last.reason;
	bool by_history =
		c->cpu.last_change != 0 &&
		(reason == REASON_INITIAL || reason == REASON_HISTORY || reason == REASON_MINIMUM);

	return by_history || c->cpu.last_change >= end ? 0 : end;
}

/* A cheap test: most containers have no boost. */
static bool concerns(const struct control *c)
{
	const struct boost_rule *r = &c->rule.boost;

	return r->factor > 0 || r->add_milli > 0 || c->boost.written ||
	       c->boost.phase != BOOST_NONE;
}

static void control_boost_step(struct control *c, const struct control_context *x,
			       struct boost_decision *ret)
{
	const struct control_resource *res = &c->resource[RESOURCE_CPU];
	const struct boost_input in = {
		.rule = c->rule.boost,
		.mode = c->rule.mode,
		.may_write = control_blocked(c, RESOURCE_CPU) == BLOCKED_NONE,
		.started_at = c->life.started_at,
		.ready_since = c->life.ready_since,
		.original_milli = res->managed ? res->original : LIMIT_MAX,
		/* A limit on trial is not proven. */
		.held_milli = c->cpu.trial.active ? c->cpu.trial.from_milli : res->limit,
		.ceiling_milli = control_ceiling(c, x->tuning, RESOURCE_CPU, x->node_milli),
		.now = x->now,
	};

	boost_step(&c->boost, &in, ret);
	c->boost_now = *ret;
}

uint64_t control_boost_prepare(struct control *c, const struct control_context *x)
{
	struct boost_decision d;

	if (!concerns(c))
		return 0;
	control_boost_step(c, x, &d);
	if (c->boost.written || (d.phase == BOOST_ACTIVE && d.write))
		return c->boost.base_milli;
	return 0;
}

static void put_back(struct control *c, const struct control_context *x, uint64_t milli)
{
	uint64_t quota = cpu_quota_of(milli, c->kernel.cpu_period_usec);

	if (c->kernel.cpu_quota_usec != quota) {
		control_plan_cpu(c, x, milli, REASON_BOOST_OVER);
		return;
	}
	c->resource[RESOURCE_CPU].limit = milli;
	boost_put_back(&c->boost, x->now);
}

void control_boost(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	struct boost_decision d;

	if (!concerns(c))
		return;
	control_boost_step(c, x, &d);
	if (!d.write || c->kernel.cpu_quota_usec == LIMIT_MAX)
		return;
	if (d.phase == BOOST_ENDING) {
		put_back(c, x, d.limit_milli);
	} else if (res->limit < d.limit_milli) {
		c->cpu.trial = (struct cpu_trial){0};
		control_plan_cpu(c, x, d.limit_milli, REASON_BOOST);
	}
}

void control_boost_applied(struct control *c, const struct change *done,
			   const struct control_context *x)
{
	if (done->reason == REASON_BOOST)
		boost_written(&c->boost);
	else if (done->reason == REASON_BOOST_OVER)
		boost_put_back(&c->boost, x->now);
}

void control_boost_end(struct control *c, const struct control_context *x)
{
	if (!c->boost.written)
		return;
	if (control_blocked(c, RESOURCE_CPU) == BLOCKED_NONE)
		put_back(c, x, c->boost.base_milli);
	else if (c->gave_way & RESOURCES_CPU)
		boost_put_back(&c->boost, x->now);
}

bool control_boost_holds(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	uint64_t up = 1000 + x->tuning->common.deadband_up_permille;
	bool initial = c->rule.mode == MODE_INITIAL;

	if (c->boost.phase != BOOST_ACTIVE && c->boost.phase != BOOST_ENDING)
		return false;
	res->blocked = BLOCKED_BOOST;
	res->next_at = c->boost_now.next_at;
	if (c->boost.phase == BOOST_ENDING || (initial && c->initial_done))
		return true;
	/* The limit from history returns after the boost. */
	if (initial ? c->recommendation.confidence_permille[RESOURCE_CPU] > 0
		    : res->bounded > scale_permille(c->boost.base_milli, up))
		boost_adopt(&c->boost, res->bounded);
	return true;
}

bool control_boost_covers(const struct control *c, usec_t from, usec_t to)
{
	return boost_covers(&c->boost, from, to);
}

uint64_t control_lasting(const struct control *c, enum resource r)
{
	return r == RESOURCE_CPU && c->boost.written ? c->boost.base_milli : c->resource[r].limit;
}
