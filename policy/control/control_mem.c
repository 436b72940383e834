// SPDX-License-Identifier: Apache-2.0
#include "policy/control/control_impl.h"
#include <string.h>

/* --- the highest memory need, and the desired limit after an OOM kill --- */

/* The kernel counts a `max` event, tries to reclaim, and then kills: a reflex pass may come in
 * between. */
#define MAX_TO_KILL_USEC USEC_PER_SEC

/* A kill and the write that caused it are seen at different times; the write's event comes when the
 * write returns. */
#define LOWERED_USEC USEC_PER_SEC
/* A run that goes on for this long was not ended by the kill. */
#define LIVES_ON_USEC (10 * USEC_PER_SEC)

/* memory.oom.group ends all processes at once: that is one kill. The kernel counts the first
 * victim, the group, then the others (oom_kill_process()), and the counters may be read in between.
 */
static uint64_t kills(const struct mem_events *then, const struct mem_events *now)
{
	uint64_t singles = now->oom_kill - then->oom_kill;
	uint64_t groups = now->oom_group_kill - then->oom_group_kill;

	if (now->oom_group_kill == 0)
		return singles;
	/* The first victims were counted as they came. */
	return then->oom_group_kill > 0 ? groups : groups - MIN(groups, then->oom_kill);
}

void control_limit_full(struct control *c, usec_t now)
{
	c->mem.max_event_at = now;
}

void control_spared(struct control *c, usec_t now)
{
	c->spared_at = now;
}

void control_mem_lowered(struct control *c, const struct mem_lowered *l)
{
	c->lowered = *l;
}

static bool lowered_recently(const struct control *c, usec_t now)
{
	return c->lowered.at != 0 && now - c->lowered.at <= LOWERED_USEC;
}

/* Memory that could not be reclaimed, as last seen. What was charged since memory.stat was read
 * counts, too. */
static uint64_t use_seen(const struct usage *u)
{
	uint64_t cache = u->stat.inactive_file + u->stat.active_file + u->stat.slab_reclaimable;

	return MAX(mem_use(u), u->mem_current - MIN(cache, u->mem_current));
}

/* A higher value in the file that is not classified yet counts as the limit. */
static uint64_t limit_now(const struct control *c)
{
	return MAX(c->kernel.mem_max, c->unclassified_bytes);
}

/* A kill under an external writer's limit. Use was at least that limit, or there would be no kill,
 * and at most the limit before the write and the highest charge. prev: before the kill, u: with the
 * kill. */
static struct oom_kill kill_by_writer(const struct control *c, const struct usage *prev,
				      const struct usage *u, usec_t now)
{
	const struct mem_lowered *l = &c->lowered;
	/* The victim's memory may be gone from a reading that has no memory.events yet. */
	uint64_t use = MAX(c->use_unchecked, use_seen(prev));
	uint64_t most = l->pod ? limit_now(c) : MAX(limit_now(c), l->from);

	if (u->have & USAGE_MEM_PEAK)
		most = MIN(most, MAX(u->mem_peak, use));
	/* A pod's limit is filled by all its containers together. */
	if (!l->pod)
		use = MAX(use, l->to);
	return (struct oom_kill){
		.at = now,
		.limit = l->to,
		.held = l->from,
		.use = MIN(use, most),
		.pod = l->pod,
	};
}

/* The victim's memory is freed by now. Reclaim had failed, so use was the whole limit. */
static struct oom_kill kill_at_limit(uint64_t limit, usec_t now)
{
	return (struct oom_kill){.at = now, .limit = limit, .held = limit, .use = limit};
}

/* VPA counts the request, not the use at the kill. A unit has none. */
static uint64_t vpa_request(const struct control *c, uint64_t use)
{
	const struct pod_resource_bounds *p = &c->pod.resource[RESOURCE_MEMORY];
	uint64_t request = c->pod.guaranteed && p->accepted != LIMIT_MAX ? p->accepted : p->request;

	return request != 0 ? request : use;
}

/* Adds the need to history, and asks for it until it is granted, if necessary to the cgroup's
 * successor. */
static void record(struct control *c, const struct tuning *t, uint64_t use, usec_t now_real)
{
	uint64_t needed = mem_oom_record(&t->memory, use);

	if (needed > c->resource[RESOURCE_MEMORY].limit)
		c->mem.oom_record = MAX(c->mem.oom_record, needed);
	if (t->history.algorithm == ALGORITHM_VPA)
		history_vpa_oom(&c->history, &t->history, vpa_request(c, use), now_real);
	else
		history_add_memory(&c->history, &t->history, needed, true, now_real);
}

/* Not at its ceiling, which is the same on every node, nor when an external writer lowered the
 * limit: more is possible in place. */
static void note_ceiling_kill(struct control *c, const struct tuning *t, usec_t now)
{
	usec_t *at = c->ceiling_kills;

	if (!control_denied(c, now) || c->kill.limit < c->kill.held ||
	    c->kill.limit >= control_ceiling(c, t, RESOURCE_MEMORY, 0))
		return;
	memmove(at + 1, at, sizeof c->ceiling_kills - sizeof *at);
	at[0] = now;
}

uint32_t control_ceiling_kills(const struct control *c, usec_t now)
{
	uint32_t n = 0;

	while (n < CONTROL_CEILING_KILLS && c->ceiling_kills[n] != 0 &&
	       now - c->ceiling_kills[n] < USEC_PER_HOUR)
		n++;
	return n;
}

/* An OOM kill without a `max` event came from a cgroup above, unless the pod's limit was full or an
 * external writer had just lowered the limit. */
static void check_events(struct control *c, const struct usage *prev,
			 const struct control_context *x)
{
	const struct usage *u = &c->last;
	struct mem_law *m = &c->mem;
	bool spared = c->spared_at == x->now, lowered = !spared && lowered_recently(c, x->now);

	if (u->events.max > prev->events.max)
		m->max_event_at = x->now;
	c->resource[RESOURCE_MEMORY].counters.oom_kills += kills(&prev->events, &u->events);
	if (u->events.oom_kill <= prev->events.oom_kill)
		return;
	c->kill =
		lowered ? kill_by_writer(c, prev, u, x->now) : kill_at_limit(limit_now(c), x->now);
	c->kill.unseen_usec = m->point[1].at != 0 ? x->now - m->point[1].at : 0;
	if (spared ||
	    (!lowered && (m->max_event_at == 0 || x->now - m->max_event_at > MAX_TO_KILL_USEC ||
			  c->kernel.mem_max == LIMIT_MAX)))
		return;
	note_ceiling_kill(c, x->tuning, x->now);
	record(c, x->tuning, c->kill.use, x->now_real);
	m->oom_at = x->now;
}

uint64_t control_oom_desired(struct control *c, const struct usage *prev, uint32_t have,
			     const struct control_context *x)
{
	if (prev == NULL || !(c->last.have & prev->have & USAGE_MEM_EVENTS))
		return c->mem.oom_record;
	if (have & USAGE_MEM_EVENTS) {
		check_events(c, prev, x);
		c->use_unchecked = 0;
	} else {
		c->use_unchecked = MAX(c->use_unchecked, use_seen(prev));
	}
	return c->mem.oom_record;
}

void control_oom_ended(struct control *c, usec_t now)
{
	bool counted =
		c->kill.at >= c->started_at && c->kill.at != 0 && now - c->kill.at <= LIVES_ON_USEC;

	if (!counted)
		c->kill = lowered_recently(c, now) ? kill_by_writer(c, &c->last, &c->last, now)
						   : (struct oom_kill){0};
}

void control_oom_reported(struct control *c, const struct tuning *t, usec_t now, usec_t now_real)
{
	if (c->kill.at == 0)
		c->kill = kill_at_limit(c->resource[RESOURCE_MEMORY].limit, now);
	c->resource[RESOURCE_MEMORY].counters.oom_kills++;
	if (c->spared_at == now)
		return;
	note_ceiling_kill(c, t, now);
	record(c, t, c->kill.use, now_real);
}

void control_oom_apply(struct control *c, const struct tuning *t)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	const uint64_t needs[] = {mem_oom_record(&t->memory, c->kill.use), res->candidate,
				  res->original};

	if (c->kill.at == 0 || c->kill.applied || c->kill.limit >= c->kill.held)
		return;
	c->kill.applied = true;
	if (res->managed && res->limit != LIMIT_MAX)
		res->limit =
			MIN(res->limit, round_up(highest(needs, ARRAY_SIZE(needs)), c->page_bytes));
}

/* Page cache that can be reclaimed. */
static uint64_t clean_cache(const struct mem_stat *s)
{
	return s->file > s->shmem ? s->file - s->shmem : 0;
}

/* A new memory.peak says how much was charged, but not for what: the smaller amount of page cache
 * before and after it is taken to be its cache. */
uint64_t control_mem_need(const struct usage *prev, const struct usage *u)
{
	uint64_t now = MAX(mem_working_set(u), mem_use(u)), cache;

	if (prev == NULL || !(u->have & prev->have & USAGE_MEM_PEAK) ||
	    u->mem_peak <= prev->mem_peak)
		return now;
	cache = MIN(clean_cache(&prev->stat), clean_cache(&u->stat));
	return u->mem_peak > cache ? MAX(now, u->mem_peak - cache) : now;
}

/* --- growth, and what is planned --- */

/* How long it asks a node that is short for the desired limit after an OOM kill; later only for
 * what its use needs. */
#define RECORD_ASKS_USEC (10 * USEC_PER_SEC)

/* The stored property is raised once less than this share of the wanted headroom is left. */
#define PROPERTY_LEFT_PERMILLE 500

/* The smallest memory.max whose memory.high is at least `bytes`. */
static uint64_t max_for_high(const struct control *c, uint64_t bytes)
{
	const struct limits *o = &c->original;
	uint64_t request = c->pod.resource[RESOURCE_MEMORY].request;
	uint32_t factor = control_qos_factor(c);

	if (o->mem_high == LIMIT_MAX || o->mem_max == LIMIT_MAX || o->mem_high == 0 ||
	    o->mem_high >= o->mem_max)
		return bytes;
	if (factor != 0)
		return request +
		       mul_div(add_sat(bytes, c->page_bytes) - MIN(bytes, request), 1000, factor);
	/* memory.high is rounded down to a page. */
	return mul_div(add_sat(bytes, c->page_bytes), o->mem_max, o->mem_high);
}

uint64_t control_mem_needed(const struct control *c, const struct tuning_memory *t)
{
	uint64_t use = MAX(recent_max_get(&c->mem.recent), mem_use(&c->last));
	uint64_t need = mem_with_margin(t, use);

	return max_for_high(c, add_sat(need, mem_write_margin(t, need)));
}

uint64_t control_mem_property(const struct control *c, const struct tuning *t)
{
	uint64_t limit = MAX(c->resource[RESOURCE_MEMORY].limit, c->kernel.mem_max);
	uint64_t ceiling = MIN(control_ceiling(c, t, RESOURCE_MEMORY, 0), control_unratified(c));

	return MAX(limit,
		   MIN(round_up(mem_headroom(&t->memory, &c->mem, limit), c->page_bytes), ceiling));
}

/* Growth that has just begun is measured too low, and a call to PID 1 cannot be taken back: a few
 * passes later the slope is known. False where use would reach `stored` meanwhile. */
static bool growth_is_young(const struct mem_law *m, uint64_t use, uint64_t stored)
{
	return m->steady_bps < m->slope_bps / 4 && stored > add_sat(use, 2 * m->slope_bps);
}

bool control_mem_property_short(const struct control *c, const struct tuning *t, uint64_t stored)
{
	uint64_t use = mem_use(&c->last), wanted;

	if (stored == LIMIT_MAX || !c->resource[RESOURCE_MEMORY].managed ||
	    (c->last.have & MEM_USAGE) != MEM_USAGE || growth_is_young(&c->mem, use, stored))
		return false;
	wanted = MAX(control_mem_property(c, t), c->resource[RESOURCE_MEMORY].original);
	return wanted > stored && add_sat(use, scale_permille(wanted - MIN(use, wanted),
							      PROPERTY_LEFT_PERMILLE)) > stored;
}

/* The lowest value for a file, by the newest use; LIMIT_MAX: use was never read. */
static uint64_t control_mem_lowest(const struct control *c, const struct control_context *x,
				   enum knob knob)
{
	const struct tuning_memory *t = &x->tuning->memory;
	uint64_t use = mem_use(&c->last);

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return LIMIT_MAX;
	return round_up(knob == KNOB_MEM_MAX ? mem_with_margin(t, use) : use, c->page_bytes);
}

void control_plan_mem(struct control *c, const struct control_context *x, enum knob knob,
		      uint64_t bytes, enum reason reason)
{
	const struct limits *k = &c->kernel;
	struct change step = {
		.target = c->target,
		.knob = knob,
		.depth = c->depth,
		.from = knob == KNOB_MEM_MAX ? k->mem_max : k->mem_high,
		.to = bytes,
		.reason = reason,
	};

	if (knob == KNOB_MEM_RECLAIM)
		step.from = c->last.mem_current;
	else if (step.to < step.from)
		step.to = MIN(MAX(step.to, control_mem_lowest(c, x, knob)), step.from);
	if (knob == KNOB_MEM_MAX) {
		step.margin_bytes = mem_write_margin(&x->tuning->memory, step.to);
		control_decide(c, RESOURCE_MEMORY, step.to, reason, x);
	}
	/* `from` is the held limit, also where a slow writer has written more into the
	 * file.
	 */
	if (knob == KNOB_MEM_MAX && reason_sets_limit(reason)) {
		step.from = MIN(step.from, c->resource[RESOURCE_MEMORY].limit);
		c->resource[RESOURCE_MEMORY].pending.from = step.from;
	}
	plan_add(x->plan, &step);
}

/* The API server refused the held limit: it is lowered by a trial, whatever scale-down says, to
 * what history asks for within unratifiedCeiling.
 */
static bool above_refused(const struct control *c)
{
	return c->kernel.mem_max > control_refused(c, RESOURCE_MEMORY);
}

static struct mem_shrink_input shrink_input(const struct control *c,
					    const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	return (struct mem_shrink_input){
		.u = &c->last,
		.limit = c->kernel.mem_max,
		.candidate = res->bounded,
		.high = control_mem_high(c, res->limit),
		.history_usec = c->history.observed_usec[RESOURCE_MEMORY],
		.must = above_refused(c) || control_shrink_asked(c, x->now) != 0,
		.started_at = c->started_at,
		.now = x->now,
		.now_real = x->now_real,
	};
}

static void plan_mem_step(struct control *c, const struct control_context *x,
			  const struct mem_step *s)
{
	enum reason reason = s->undo ? REASON_SHRINK_UNDONE : REASON_SHRINK;

	if (s->reclaim != 0)
		control_plan_mem(c, x, KNOB_MEM_RECLAIM, s->reclaim, reason);
	if (s->max != 0)
		control_plan_mem(c, x, KNOB_MEM_MAX, s->max, reason);
	if (s->high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, s->high,
				 s->high >= c->kernel.mem_high ? REASON_LIFT : reason);
}

/* Raises memory.max, and memory.high with it. */
static void raise_to(struct control *c, const struct control_context *x, uint64_t to,
		     enum reason reason)
{
	const struct mem_brake_input in = control_brake_input(c, x, to);

	if (reason == REASON_MEMORY_GROWTH || c->mem.brake.line != 0)
		mem_brake_raised(&x->tuning->memory, &c->mem, &in);
	control_plan_mem(c, x, KNOB_MEM_MAX, to, reason);
	control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, to), reason);
	c->mem.last_raise = x->now;
	c->mem.cache_hurts_usec = 0;
}

/* The limit that growth gets now. It ends a trial. */
static uint64_t growth_target(struct control *c, const struct control_context *x, uint64_t desired,
			      enum reason *reason)
{
	const struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step back;
	uint64_t to = 0;

	if (c->mem.trial.phase == MEM_IDLE)
		return control_bound_raise(c, x, desired, *reason);
	back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
	if (back.max != 0)
		to = control_bound_back(c, x, RESOURCE_MEMORY, back.max);
	to = MAX(to, control_bound_raise(c, x, MAX(desired, back.max), *reason));
	if (back.max != 0)
		*reason = REASON_SHRINK_UNDONE;
	/* A raise lifts memory.high too; without one it is lifted here. */
	if (to <= c->kernel.mem_max && back.high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, back.high, REASON_LIFT);
	return to;
}

/* The file has as much as growth gets. */
static void not_raised(struct control *c, const struct control_context *x, uint64_t to,
		       enum reason reason)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	if (res->limit < to && reason_sets_limit(reason)) {
		/* systemd's headroom is in the file already: the held limit follows, or a successor
		 * would start without it. */
		control_plan_mem(c, x, KNOB_MEM_MAX, c->kernel.mem_max, reason);
		return;
	}
	if (c->denial.at == x->now) {
		res->blocked = BLOCKED_LEDGER;
	} else {
		control_press_ceiling(res, x->now);
		res->blocked = control_ceiling_reason(c, x->tuning);
	}
	/* At the ceiling no more can be granted. Else growth asks again at the next pass; the
	 * record of an OOM kill only for a while. */
	if (res->blocked == BLOCKED_CEILING || x->now - c->mem.oom_at >= RECORD_ASKS_USEC)
		c->mem.oom_record = 0;
}

static void grow(struct control *c, const struct control_context *x, uint64_t desired,
		 enum reason reason)
{
	uint64_t to = growth_target(c, x, desired, &reason);

	if (to <= c->kernel.mem_max) {
		not_raised(c, x, to, reason);
		return;
	}
	c->resource[RESOURCE_MEMORY].at_ceiling = false;
	raise_to(c, x, to, reason);
}

/* Ends a trial that may not go on, without a lesson for floor and backoff; nothing else would lift
 * its memory.high. */
static void drop_trial(struct control *c, const struct control_context *x)
{
	const struct shrink_floor floor = c->mem.floor;
	const usec_t backoff = c->mem.backoff_usec, backoff_until = c->mem.backoff_until;
	struct mem_shrink_input in;
	struct mem_step back;

	if (c->mem.trial.phase == MEM_IDLE)
		return;
	in = shrink_input(c, x);
	back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
	c->mem.floor = floor;
	c->mem.backoff_usec = backoff;
	c->mem.backoff_until = backoff_until;
	if (back.high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, back.high, REASON_LIFT);
}

void control_put_back(struct control *c, enum resource r, uint64_t to, enum reason reason,
		      const struct control_context *x)
{
	bool lowers = r == RESOURCE_CPU && reason == REASON_RESTORE;
	uint64_t most = lowers ? to : MIN(control_bound(c, x, r, to, NULL), to);

	if (control_blocked(c, r) != BLOCKED_NONE ||
	    (most <= limit_amount(&c->kernel, r) && !lowers))
		return;
	drop_trial(c, x);
	if (r == RESOURCE_CPU)
		control_plan_cpu(c, x, most, reason);
	else
		raise_to(c, x, control_grant(c, x, most, reason), reason);
}

/* The rule may have changed since the trial began, or an external writer may have changed
 * memory.max. */
static bool goal_allowed(const struct control *c, const struct control_context *x)
{
	uint64_t floor = control_floor(c, x->tuning, RESOURCE_MEMORY, x->node_milli);
	bool wanted = c->rule.scale_down || above_refused(c);
	uint64_t to = c->mem.trial.to;

	return c->mem.trial.phase == MEM_MAX ||
	       (wanted && !c->pod.not_ready && to < c->kernel.mem_max && to >= floor);
}

/* The memory.max that growth asks for. Where memory.high is below memory.max, growth is stopped at
 * memory.high. */
static uint64_t growth_desired(const struct control *c, const struct usage *prev,
			       const struct control_context *x, enum reason *ret_reason)
{
	const struct limits *k = &c->kernel;
	bool braked = mem_brake_owns(&c->mem, k->mem_high);
	bool high = c->mem.trial.phase == MEM_IDLE && k->mem_high < k->mem_max && !braked;
	uint64_t original = c->resource[RESOURCE_MEMORY].original;
	struct mem_growth_input in = {
		.prev = prev,
		.u = &c->last,
		.limit = high ? k->mem_high : k->mem_max,
		.high = high,
		.braked = braked,
		.original = high ? control_mem_high(c, original) : original,
		.tick_usec = x->tick_usec,
	};
	uint64_t desired = mem_growth_desired(&x->tuning->memory, &c->mem, &in, ret_reason);

	return high && desired > 0 ? max_for_high(c, desired) : desired;
}

bool control_mem_due(struct control *c, const struct control_context *x)
{
	if (c->mem.oom_record <= MAX(c->kernel.mem_max, c->resource[RESOURCE_MEMORY].limit) ||
	    control_blocked(c, RESOURCE_MEMORY) != BLOCKED_NONE)
		return false;
	grow(c, x, c->mem.oom_record, REASON_OOM_KILL);
	return true;
}

static void watch_trial(struct control *c, const struct control_context *x)
{
	struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step step;

	if (!goal_allowed(c, x)) {
		drop_trial(c, x);
		return;
	}
	step = mem_trial_step(&x->tuning->memory, &c->mem, &in);
	plan_mem_step(c, x, &step);
}

/* A daemon that ended during a trial left its memory.high: without swap that can stop a process. */
static void lift_left_over(struct control *c, const struct control_context *x)
{
	uint64_t high = control_mem_high(c, c->kernel.mem_max);

	if (c->kernel.mem_high < high)
		control_plan_mem(c, x, KNOB_MEM_HIGH, high, REASON_LIFT);
}

/* Removes our trial and brake where no limit may be written. */
static void stand_back(struct control *c, const struct control_context *x)
{
	struct change off;

	c->mem.oom_record = 0;
	drop_trial(c, x);
	if (control_brake_off(c, &off))
		plan_add(x->plan, &off);
}

/* Plans growth by what has happened since `since`; true when more was asked for. */
static bool grow_ahead(struct control *c, const struct usage *since, uint64_t desired,
		       const struct control_context *x)
{
	enum reason reason = REASON_OOM_KILL;
	uint64_t growth = growth_desired(c, since, x, &reason);

	/* The record of an OOM kill is asked for until it is granted; growth goes on meanwhile. */
	if (desired > MAX(growth, c->kernel.mem_max))
		reason = REASON_OOM_KILL;
	else
		desired = growth;
	if (desired == 0) {
		control_ease_ceiling(&c->resource[RESOURCE_MEMORY], x->now);
		return false;
	}
	grow(c, x, desired, reason);
	return true;
}

static bool high_events(const struct control *c, const struct usage *before)
{
	return (c->last.have & before->have & USAGE_MEM_EVENTS) &&
	       c->last.events.high > before->events.high;
}

void control_observe_mem(struct control *c, const struct usage *prev, const struct usage *newest,
			 const struct control_context *x)
{
	const struct tuning_history *th = &x->tuning->history;
	uint64_t desired;

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return;
	control_ledger_use(c, x);
	mem_observe(&x->tuning->memory, &c->mem, prev, &c->last, x->now);
	if (prev != NULL && (prev->have & MEM_USAGE) == MEM_USAGE)
		history_observe_memory(&c->history, x->now - c->last_at);
	if (th->algorithm == ALGORITHM_DEFAULT)
		history_add_memory(&c->history, th, control_mem_need(prev, &c->last), false,
				   x->now_real);
	desired = control_oom_desired(c, newest, c->last.have, x);
	if (prev == NULL)
		c->grant_ended = false;
	if (!control_grows_mem(c)) {
		stand_back(c, x);
		return;
	}
	if (!grow_ahead(c, prev, desired, x)) {
		if (c->mem.trial.phase != MEM_IDLE)
			watch_trial(c, x);
		else if (prev == NULL)
			lift_left_over(c, x);
		if (prev == NULL)
			control_drop_ungranted(c, x);
	}
	control_brake(c, x, high_events(c, newest));
}

void control_reflex_mem(struct control *c, uint32_t have, const struct usage *before,
			const struct control_context *x)
{
	uint64_t desired;

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return;
	if (have & USAGE_MEM_STAT)
		c->mem.stat_current = c->last.mem_current;
	control_ledger_use(c, x);
	/* What was not read counts as unchanged. */
	mem_observe_use(&x->tuning->memory, &c->mem, mem_use(&c->last), x->now);
	desired = control_oom_desired(c, before, have, x);
	if (!control_grows_mem(c)) {
		stand_back(c, x);
		return;
	}
	/* Samples watch a trial; a reflex pass checks only for a `max` event. */
	if (!grow_ahead(c, before, desired, x) && c->mem.trial.phase >= MEM_HIGH &&
	    c->last.events.max > c->mem.trial.max_events_start)
		watch_trial(c, x);
	control_brake(c, x, high_events(c, before));
}

void control_mem_step_failed(struct control *c, const struct change *step,
			     const struct control_context *x)
{
	struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step back;

	if (step->reason == REASON_BRAKE) {
		mem_brake_failed(&c->mem, x->now);
	} else if (c->mem.trial.phase != MEM_IDLE) {
		back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
		plan_mem_step(c, x, &back);
	} else if (step->knob == KNOB_MEM_RECLAIM) {
		mem_back_off(&x->tuning->memory, &c->mem, x->now);
	}
}

/* --- the review: raises from history, and shrink trials --- */

/* Lowers memory.max without a trial, after reclaiming the page cache that would not fit. */
static void lower_to(struct control *c, const struct control_context *x, uint64_t to,
		     enum reason reason)
{
	uint64_t fits = add_sat(c->last.mem_current, mem_write_margin(&x->tuning->memory, to));

	if (fits > to)
		control_plan_mem(c, x, KNOB_MEM_RECLAIM, round_up(fits - to, c->page_bytes),
				 reason);
	control_plan_mem(c, x, KNOB_MEM_MAX, to, reason);
}

/* The desired limit by history, present use, a failed shrink and the original. */
static uint64_t control_mem_review_candidate(const struct control *c,
					     const struct control_context *x)
{
	const struct tuning *t = x->tuning;
	const struct range_of *r = &c->recommendation.resource[RESOURCE_MEMORY];
	uint64_t original = c->resource[RESOURCE_MEMORY].original;
	uint32_t confidence = control_trust(c, RESOURCE_MEMORY);
	bool vpa = t->history.algorithm == ALGORITHM_VPA;
	const uint64_t rule[] = {control_mem_needed(c, &t->memory),
				 control_threshold_limit(c, x, RESOURCE_MEMORY)};
	const uint64_t asks[] = {
		control_mem_needed(c, &t->memory),
		floor_value(&c->mem.floor, t->cpu.floor_half_life_usec, x->now_real),
		vpa ? r->target : r->peak,
		vpa ? 0 : scale_permille(mem_working_set(&c->last), t->memory.working_set_permille),
		vpa ? 0 : scale_permille(original, 1000 - confidence),
	};

	if (t->history.algorithm == ALGORITHM_THRESHOLD)
		return highest(rule, ARRAY_SIZE(rule));
	return highest(asks, ARRAY_SIZE(asks));
}

/* A slow writer got headroom for growth that is over: back to the held limit. */
static bool control_mem_review_settle(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t floor = control_floor(c, x->tuning, RESOURCE_MEMORY, x->node_milli);
	uint64_t least = MAX(floor, control_mem_needed(c, &x->tuning->memory));
	uint64_t to = round_up(MAX(res->limit, least), c->page_bytes);

	if (to >= c->kernel.mem_max || c->mem.trial.phase != MEM_IDLE ||
	    x->now < c->mem.backoff_until ||
	    x->now - c->mem.last_growth < x->tuning->memory.settle_usec)
		return false;
	lower_to(c, x, to, REASON_SETTLED);
	return true;
}

static void control_mem_review_shrink(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step step;
	uint64_t to;

	if (c->pod.not_ready) {
		res->blocked = BLOCKED_NOT_READY;
		return;
	}
	if (in.must) {
		uint64_t asked = control_shrink_asked(c, x->now) ?: LIMIT_MAX;
		uint64_t end = MIN(control_refused(c, RESOURCE_MEMORY), asked);

		/* The API server refused more, or the ledger asks for the rest: no further than
		 * necessary. */
		in.candidate = MAX(in.candidate, end);
	} else if (!c->rule.scale_down) {
		res->blocked = BLOCKED_SCALE_DOWN_OFF;
		return;
	}
	res->blocked = mem_shrink_next(x->tuning, &c->mem, &in, &to, &res->next_at);
	if (res->blocked != BLOCKED_NONE)
		return;
	if (to >= c->kernel.mem_max) {
		res->blocked = BLOCKED_DEADBAND;
		return;
	}
	step = mem_trial_begin(&x->tuning->memory, &c->mem, &in, to);
	plan_mem_step(c, x, &step);
	res->blocked = BLOCKED_TRIAL;
}

/* No bound lowers the limit below use. */
static void above_use(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct bound_trace *trace = &res->trace;
	uint64_t least = MIN(round_up(control_mem_needed(c, &x->tuning->memory), c->page_bytes),
			     c->kernel.mem_max);

	if (res->bounded >= least)
		return;
	bound_trace_add(trace, BOUND_USE, res->bounded, least);
	res->bounded = least;
}

/* Raises as far as the node grants. */
static void raise_granted(struct control *c, const struct control_context *x, uint64_t desired,
			  enum reason reason)
{
	uint64_t to = control_bound_raise(c, x, desired, reason);

	if (to > c->kernel.mem_max)
		raise_to(c, x, to, reason);
	else
		c->resource[RESOURCE_MEMORY].blocked =
			control_ceiling_reason(c, x->tuning) == BLOCKED_UNRATIFIED
				? BLOCKED_UNRATIFIED
				: BLOCKED_LEDGER;
}

static void size_from_history(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	if (res->bounded > c->kernel.mem_max || control_denied(c, x->now))
		raise_granted(c, x, res->candidate, REASON_INITIAL);
	else
		lower_to(c, x, res->bounded, REASON_INITIAL);
}

/* Once, at the start: from history, never below use. Without history the minimum counts. */
static void size_initially(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t minimum = control_minimum(c, x, RESOURCE_MEMORY);

	if (c->initial_done)
		res->blocked = BLOCKED_INITIAL_DONE;
	else if (c->recommendation.confidence_permille[RESOURCE_MEMORY] > 0)
		size_from_history(c, x);
	else if (c->kernel.mem_max < minimum)
		raise_granted(c, x, minimum, REASON_MINIMUM);
	else
		res->blocked = BLOCKED_HISTORY;
}

/* Otherwise memory grows by the reflex and after kills alone. */
static bool threshold_asks(const struct control *c, const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	return x->tuning->history.algorithm == ALGORITHM_THRESHOLD && c->rule.mode == MODE_AUTO &&
	       res->candidate > res->limit && res->bounded > c->kernel.mem_max;
}

/* When it is new: what its workload is known to need, else its request would have no room. Once;
 * again only where the API server could not accept all of it. */
static bool size_at_birth(struct control *c, const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t from =
		scale_permille(c->kernel.mem_max, 1000 + x->tuning->common.deadband_up_permille);

	if (c->initial_done || x->tuning->history.algorithm == ALGORITHM_THRESHOLD ||
	    c->mem.trial.phase != MEM_IDLE || res->bounded <= from ||
	    !control_known_at_birth(c, RESOURCE_MEMORY, x->now))
		return false;
	c->initial_done = res->candidate <= control_unratified(c);
	raise_granted(c, x, res->candidate, REASON_HISTORY);
	return true;
}

void control_review_mem(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t minimum;

	res->next_at = 0;
	res->blocked = control_blocked(c, RESOURCE_MEMORY);
	if (!res->managed)
		return;
	if ((c->last.have & MEM_USAGE) != MEM_USAGE || c->kernel.mem_max == LIMIT_MAX) {
		res->blocked = BLOCKED_NO_DATA;
		return;
	}
	res->candidate = control_mem_review_candidate(c, x);
	res->bounded = control_bound(c, x, RESOURCE_MEMORY, res->candidate, &res->trace);
	above_use(c, x);
	if (res->blocked == BLOCKED_NONE)
		res->blocked = control_frozen(c, RESOURCE_MEMORY);
	if (res->blocked == BLOCKED_NONE && c->mem.trial.phase != MEM_IDLE)
		res->blocked = BLOCKED_TRIAL;
	if (res->blocked != BLOCKED_NONE || res->planned_at == x->now)
		return;
	if (c->rule.mode == MODE_INITIAL) {
		size_initially(c, x);
		return;
	}
	minimum = control_minimum(c, x, RESOURCE_MEMORY);
	if (c->mem.trial.phase == MEM_IDLE && c->kernel.mem_max < minimum) {
		raise_granted(c, x, minimum, REASON_MINIMUM);
		return;
	}
	if (res->at_ceiling)
		res->blocked = control_ceiling_reason(c, x->tuning);
	else if (control_awaits_grant(c, x))
		res->blocked = BLOCKED_LEDGER;
	else if (threshold_asks(c, x))
		raise_granted(c, x, res->candidate, REASON_HISTORY);
	else if (c->mem.brake.line != 0)
		res->blocked = BLOCKED_GROWING;
	else if (!size_at_birth(c, x) && !control_mem_review_settle(c, x))
		control_mem_review_shrink(c, x);
}
