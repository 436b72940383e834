// SPDX-License-Identifier: Apache-2.0
/* The CPU of each span, and what a run used between its last sample and its end; of a short run,
 * all of it. */
#include "policy/control/control_impl.h"
#include "policy/laws/threshold.h"

void control_observe_history(struct control *c, const struct usage *u,
			     const struct control_context *x)
{
	const struct tuning_history *t = &x->tuning->history;

	/* CPU use at startup says nothing about the time after it. Memory taken at startup stays
	 * taken: control_observe_mem(). */
	if (control_boost_covers(c, c->last_at, x->now))
		return;
	/* VPA counts what is used at startup. */
	if (t->algorithm == ALGORITHM_VPA)
		history_vpa_observe(&c->history, t, &c->rates, mem_working_set(u), x->now_real);
	else if (startup_covers(&c->startup, &x->tuning->startup, c->last_at, x->now))
		c->startup_usec += history_add_startup(&c->history, &c->rates, x->now_real);
	else {
		history_add_cpu(&c->history, &c->rates, x->now_real);
		c->cpu_counted = true;
	}
}

/* The totals of a run before its start. Its page cache was there all the time, as far as is known.
 */
static struct usage at_start(const struct usage *total)
{
	return (struct usage){
		.have = total->have & (USAGE_CPU | USAGE_THROTTLE | USAGE_MEM_PEAK),
		.stat = total->stat,
		.limits = total->limits,
	};
}

/* 0: not known, or before `since`. */
static usec_t born(const struct control *c, usec_t since)
{
	usec_t at = c->startup.started_at != 0 ? c->startup.started_at : c->started_at;

	return at >= since ? at : 0;
}

static void end_memory(struct control *c, const struct usage *total, usec_t since,
		       const struct control_context *x)
{
	struct usage from = c->last_at != 0 ? c->last : at_start(total);
	usec_t from_at = c->last_at != 0 ? c->last_at : since;
	uint64_t need = control_mem_need(&from, total);

	if (!(total->have & from.have & USAGE_MEM_PEAK))
		return;
	if (from_at != 0)
		history_observe_memory(&c->history, x->now - MIN(from_at, x->now));
	if (total->mem_peak > from.mem_peak)
		history_add_memory(&c->history, &x->tuning->history, need, false, x->now_real);
}

static void add_tempered(struct control *c, struct cpu_rates *r, const struct control_context *x)
{
	const struct cpu_goal goal = cpu_goal_of(x->tuning, c->rule.goal);

	cpu_temper_demand(&c->cpu, &x->tuning->history, &goal, r);
	history_add_cpu(&c->history, r, x->now_real);
}

static void end_cpu(struct control *c, const struct usage *total, usec_t from,
		    const struct control_context *x)
{
	struct usage zero = at_start(total);
	struct cpu_rates r;

	if (x->now <= from || cpu_rates_between(&zero, total, x->now - from, x->node_milli, &r) < 0)
		return;
	add_tempered(c, &r, x);
	/* Its samples counted as age already. */
	c->history.observed_usec[RESOURCE_CPU] -=
		MIN(c->startup_usec, c->history.observed_usec[RESOURCE_CPU]);
	c->startup_usec = 0;
	c->cpu_counted = true;
}

/* Its last span, by the rules of every other one. */
static void end_span(struct control *c, const struct usage *total, const struct control_context *x)
{
	const struct startup *s = &c->startup;
	struct cpu_rates r;

	if (c->last_at == 0 || x->now <= c->last_at ||
	    cpu_rates_between(&c->sample, total, x->now - c->last_at, x->node_milli, &r) < 0 ||
	    total->cpu_usage_usec == c->sample.cpu_usage_usec ||
	    startup_covers(s, &x->tuning->startup, c->last_at, x->now))
		return;
	add_tempered(c, &r, x);
}

void control_end(struct control *c, const struct usage *total, bool once, usec_t since,
		 const struct control_context *x)
{
	/* VPA takes one sample a minute, of what runs at that moment. */
	if (x->tuning->history.algorithm == ALGORITHM_VPA || total->have == 0)
		return;
	end_memory(c, total, once ? born(c, since) : 0, x);
	if (control_boost_covers(c, MAX(c->last_at, c->started_at), x->now))
		return;
	if (once && !c->cpu_counted && born(c, since) != 0)
		end_cpu(c, total, born(c, since), x);
	else
		end_span(c, total, x);
}

uint64_t control_threshold_limit(const struct control *c, const struct control_context *x,
				 enum resource r)
{
	const struct tuning_threshold *t = &x->tuning->threshold;
	const struct control_resource *res = &c->resource[r];

	return threshold_due(t, c->above_since[r], x->now)
		       ? threshold_limit(t, res->limit, res->original)
		       : res->limit;
}
