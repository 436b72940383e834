// SPDX-License-Identifier: Apache-2.0
/* A container's ledger entry, its grants, and what it gives back. */
#include "policy/control/control_impl.h"

/* Without a denial for this long the shortage is over. */
#define DENIED_USEC (60 * USEC_PER_SEC)
/* The ledger asks again at every pass; at least one review comes in between. */
#define ASKED_USEC (30 * USEC_PER_SEC)
/* A growing container asks again at every pass; one held at its limit or brake within 2 s. */
#define NEED_USEC (3 * USEC_PER_SEC)
/* The last use counts as freed: a pass may see memory freed before the cgroup is gone. */
#define ENDED_USEC (2 * USEC_PER_SEC)

/* --- the entry */

static void fill_rank(const struct control *c, struct ledger_entry *e)
{
	e->request = c->pod.resource[RESOURCE_MEMORY].request;
	e->priority = c->pod.priority + (int32_t)c->rule.priority;
	e->qos = c->pod.qos;
}

/* memory.stat may be a second old: a decrease of memory.current since then is subtracted. */
static uint64_t known_use(const struct control *c)
{
	uint64_t use = mem_use(&c->last), then = c->mem.stat_current;
	uint64_t freed = then > c->last.mem_current ? then - c->last.mem_current : 0;

	return use - MIN(use, freed);
}

static bool gives_back(const struct control *c)
{
	return control_grows_mem(c) && c->rule.scale_down && c->last_at != 0;
}

/* What memory.max may be lowered to without reclaim. */
static uint64_t charged(const struct control *c, const struct tuning_memory *t)
{
	return add_sat(c->last.mem_current, mem_write_margin(t, c->kernel.mem_max));
}

/* 0 without growth. The steepest slope: also a single large allocation keeps its headroom. */
static uint64_t next(const struct control *c, const struct tuning_memory *t, uint64_t use)
{
	uint64_t grown = mul_div(c->mem.slope_bps, t->slope_ahead_usec, USEC_PER_SEC);

	return grown == 0 ? 0 : mem_with_margin(t, add_sat(use, grown));
}

static uint64_t min_limit(const struct control *c, const struct tuning *t)
{
	uint64_t need = mem_with_margin(&t->memory, mem_use(&c->last));
	uint64_t limit = c->kernel.mem_max, floor = 0;

	/* Nothing below the original is given back in any case. */
	if (limit > c->resource[RESOURCE_MEMORY].original)
		floor = control_floor(c, t, RESOURCE_MEMORY, 0);
	return MAX(floor, add_sat(need, mem_write_margin(&t->memory, need)));
}

/* Its growth was denied, and use is at the limit or memory.high. */
static bool stands_denied(const struct control *c, const struct tuning_memory *t,
			  const struct ledger_entry *e, usec_t now)
{
	uint64_t stop = MIN(e->limit, c->kernel.mem_high);

	return e->denied != 0 && !c->denied.ahead && now - c->denied.at < NEED_USEC &&
	       add_sat(e->use, mem_gap(t, e->limit)) >= stop;
}

void control_ledger_entry(const struct control *c, const struct tuning *t, usec_t now,
			  struct ledger_entry *ret)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	/* A successor has no grant, whatever its file says: control_drop_ungranted() lowers that at
	 * the first sample. */
	uint64_t limit = c->grant_ended ? res->original : MAX(c->kernel.mem_max, res->limit);
	uint64_t use = known_use(c);

	if (c->mem.trial.phase == MEM_MAX)
		limit = MAX(limit, c->mem.trial.from);
	limit = MAX(limit, c->unclassified_bytes);
	*ret = (struct ledger_entry){
		.limit = limit,
		.original = res->managed ? res->original : LIMIT_MAX,
		.use = use,
		.min_limit = gives_back(c) ? min_limit(c, t) : limit,
		.recent_peak = control_mem_needed(c, &t->memory),
		.next = next(c, &t->memory, use),
		.charged = charged(c, &t->memory),
		.denied = ledger_denied_limit(&c->denied, limit, use, now),
	};
	if (control_grows_mem(c))
		ret->projected = ledger_projected(&t->memory, limit, use, c->mem.steady_bps);
	ret->needs = ret->projected != 0 || stands_denied(c, &t->memory, ret, now);
	ret->urgent = ret->needs && !c->denied.ahead ? ret->denied : 0;
	fill_rank(c, ret);
}

void control_ledger_waiting(const struct control *c, usec_t now, struct ledger_entry *ret)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t original = res->managed ? res->original : LIMIT_MAX;
	struct ledger_denied denied = c->freed;

	/* The pod's status may show the kill later. */
	if (control_grows_mem(c))
		denied.limit = MAX(denied.limit, c->mem.oom_record);
	*ret = (struct ledger_entry){
		.limit = original,
		.original = original,
		.denied = ledger_denied_limit(&denied, original, 0, now),
	};
	fill_rank(c, ret);
}

/* Keeps what it freed: a successor is not denied what its predecessor had. */
void control_lost(struct control *c, usec_t now)
{
	const struct mem_point *p = c->mem.point;
	uint64_t freed = 0;

	control_oom_ended(c, now);
	c->denied = (struct ledger_denied){0};
	/* Never sampled: keep what its predecessor freed. */
	if (c->last_at == 0)
		return;
	for (int i = 0; i < MEM_POINTS && p[i].at != 0 && p[0].at - p[i].at < ENDED_USEC; i++)
		freed = MAX(freed, p[i].unreclaimable);
	c->freed = (struct ledger_denied){
		.limit = round_up(MIN(freed, c->resource[RESOURCE_MEMORY].limit), c->page_bytes),
		.at = now,
	};
}

void control_ledger_use(const struct control *c, const struct control_context *x)
{
	if (x->ledger != NULL)
		ledger_use(x->ledger, c->target, known_use(c));
}

/* --- grants */

uint64_t control_taped(const struct control_context *x, uint64_t answer)
{
	struct ledger_tape *t = x->tape;

	if (t == NULL)
		return answer;
	if (t->replays && t->at < t->count)
		return t->word[t->at++];
	if (t->replays || t->count == LEDGER_TAPE_WORDS)
		t->spoiled = true;
	else
		t->word[t->count++] = answer;
	return answer;
}

/* The limit that it was denied. */
static uint64_t denied_of(const struct control *c, const struct control_context *x)
{
	return control_taped(x, x->ledger->entries[c->target].denied);
}

bool control_denied(const struct control *c, usec_t now)
{
	return c->denial.since != 0 && now - c->denial.at < DENIED_USEC;
}

bool control_awaits_grant(const struct control *c, const struct control_context *x)
{
	return x->ledger != NULL && denied_of(c, x) != 0;
}

uint64_t control_grant(struct control *c, const struct control_context *x, uint64_t desired,
		       enum reason reason)
{
	bool ahead = reason != REASON_MEMORY_GROWTH && reason != REASON_OOM_KILL;
	struct ledger_entry *e;
	uint64_t allowed, urgent;

	if (x->ledger == NULL)
		return desired;
	e = &x->ledger->entries[c->target];
	e->needs |= !ahead;
	if (control_taped(x, ledger_most(x->ledger, c->target, desired)) < desired) {
		if (!control_denied(c, x->now))
			c->denial.since = x->now;
		c->denial.at = x->now;
		ledger_weigh(x->ledger, c->target, desired, &c->denial.verdict);
	}
	urgent = control_taped(x, e->urgent);
	allowed = control_taped(x, ledger_grant(x->ledger, c->target, desired));
	if (ahead)
		e->urgent = MIN(urgent, e->denied);
	/* A raise ahead of need does not replace what growth waits for. */
	if (!ahead || urgent == 0)
		c->denied = (struct ledger_denied){
			.limit = denied_of(c, x),
			.use = known_use(c),
			.at = x->now,
			.ahead = ahead,
		};
	return allowed;
}

void control_grant_held(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	res->limit = control_grant(c, x, res->limit, REASON_RESUMED);
	c->grant_ended = false;
}

void control_drop_ungranted(struct control *c, const struct control_context *x)
{
	uint64_t held = c->resource[RESOURCE_MEMORY].limit;

	if (x->ledger == NULL || held >= c->kernel.mem_max || !control_grows_mem(c))
		return;
	control_plan_mem(c, x, KNOB_MEM_MAX, held, REASON_SETTLED);
	control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, held), REASON_SETTLED);
}

/* --- giving back */

uint64_t control_shrink_asked(const struct control *c, usec_t now)
{
	return c->asked.limit != 0 && now - c->asked.at < ASKED_USEC &&
			       c->asked.limit < c->kernel.mem_max
		       ? c->asked.limit
		       : 0;
}

void control_give_back(struct control *c, const struct control_context *x, uint64_t to)
{
	uint64_t fits = charged(c, &x->tuning->memory);
	uint64_t now = round_up(MAX(to, fits), c->page_bytes);

	if (!gives_back(c) || c->mem.trial.phase != MEM_IDLE ||
	    c->resource[RESOURCE_MEMORY].planned_at == x->now)
		return;
	if (fits > to)
		c->asked = (struct ledger_denied){.limit = to, .at = x->now};
	/* Less is not worth a write. */
	if (add_sat(now, MIB) > c->kernel.mem_max)
		return;
	control_plan_mem(c, x, KNOB_MEM_MAX, now, REASON_GIVEN_BACK);
	control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, now), REASON_GIVEN_BACK);
}
