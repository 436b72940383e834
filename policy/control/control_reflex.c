// SPDX-License-Identifier: Apache-2.0
/* Reflex passes: what they read, and the brake. */
#include "policy/control/control_impl.h"

/* Memory is read at every reflex pass when use is above this share of the limit, or would reach it
 * within this time. */
#define HOT_PERMILLE 800
#define HOT_USEC     (10 * USEC_PER_SEC)
/* A container that did not run did not allocate: zeroing a page takes a quarter of a microsecond,
 * so this much CPU time is less than a mebibyte. */
#define RAN_USEC 50
/* memory.stat costs as much as eight other files: it is read when memory.current has moved by this
 * share of the way to the limit, and no less than this. */
#define MOVED_SHARE     16
#define MOVED_MIN_BYTES MIB
/* memory.current of an idle container still varies by a batch of pages per CPU. */
#define STAT_SLACK_BYTES (256 * KIB)

bool control_grows_mem(const struct control *c)
{
	return control_blocked(c, RESOURCE_MEMORY) == BLOCKED_NONE && c->rule.mode == MODE_AUTO &&
	       c->kernel.mem_max != LIMIT_MAX;
}

bool control_grows_cpu(const struct control *c)
{
	return control_blocked(c, RESOURCE_CPU) == BLOCKED_NONE && c->rule.mode == MODE_AUTO &&
	       c->kernel.cpu_quota_usec != LIMIT_MAX;
}

bool control_hot(const struct control *c)
{
	const struct mem_law *m = &c->mem;
	uint64_t max = c->kernel.mem_max, use = m->point[0].unreclaimable;
	uint64_t ahead = mul_div(m->slope_bps, HOT_USEC, USEC_PER_SEC);

	return m->brake.line != 0 || m->oom_record != 0 ||
	       use > scale_permille(max, HOT_PERMILLE) ||
	       (m->slope_bps > 0 && add_sat(use, ahead) >= max);
}

bool control_presses(const struct control *c, const struct usage *u)
{
	return (control_grows_mem(c) && control_hot(c)) ||
	       (control_grows_cpu(c) && (u->have & USAGE_THROTTLE) &&
		u->nr_throttled != c->cpu.evidence.read.throttled);
}

/* Could unreclaimable memory have come closer to the limit than is known? */
static bool stat_wanted(const struct control *c, const struct usage *u)
{
	uint64_t max = c->kernel.mem_max, use = c->mem.point[0].unreclaimable;
	uint64_t moved = MAX((max - MIN(use, max)) / MOVED_SHARE, MOVED_MIN_BYTES);
	/* It grows in the place of page cache, and memory.current stays where it is. */
	bool filled = add_sat(u->mem_current, moved) >= max && u->mem_current > use;

	/* At the brake a process is held: use is read to know for how long. */
	bool braked = c->mem.brake.line != 0 && add_sat(u->mem_current, moved) >= c->mem.brake.line;

	return braked || (filled && control_hot(c)) ||
	       u->mem_current >= add_sat(c->mem.stat_current, moved);
}

uint32_t control_reflex_wants(const struct control *c, const struct usage *u)
{
	bool memory = control_grows_mem(c);

	if (!(u->have & USAGE_CPU))
		return memory || control_grows_cpu(c) ? USAGE_CPU | USAGE_THROTTLE : 0;
	if (!memory || (u->have & USAGE_MEM_STAT))
		return 0;
	if (!(u->have & USAGE_MEM))
		return control_hot(c) ||
				       u->cpu_usage_usec >= c->cpu.spread_mark.used_usec + RAN_USEC
			       ? USAGE_MEM
			       : 0;
	return stat_wanted(c, u) ? USAGE_MEM_STAT : 0;
}

bool control_stat_stands(const struct control *c, const struct usage *u)
{
	uint64_t then = c->mem.stat_current, now = u->mem_current;

	return (c->last.have & USAGE_MEM_STAT) && c->last_at != 0 &&
	       u->psi_mem_usec == c->sample.psi_mem_usec &&
	       u->cpu_usage_usec < c->sample.cpu_usage_usec + RAN_USEC &&
	       MAX(then, now) - MIN(then, now) < STAT_SLACK_BYTES;
}

uint32_t control_qos_factor(const struct control *c)
{
	uint64_t request = c->pod.found_request;

	/* Without a request it is in proportion anyway. */
	return request != 0 ? pod_qos_factor(request, c->original.mem_max, c->original.mem_high,
					     c->page_bytes)
			    : 0;
}

bool control_adopt_factor(struct control *c, uint32_t factor_permille)
{
	if (factor_permille == control_qos_factor(c))
		return false;
	c->original.mem_high = pod_qos_high(c->pod.found_request, c->original.mem_max,
					    factor_permille, c->page_bytes);
	return true;
}

uint64_t control_mem_high(const struct control *c, uint64_t mem_max)
{
	const struct limits *o = &c->original;
	uint32_t factor = control_qos_factor(c);

	if (o->mem_high == LIMIT_MAX || o->mem_max == LIMIT_MAX || mem_max == LIMIT_MAX)
		return o->mem_high;
	if (o->mem_high >= o->mem_max)
		return LIMIT_MAX;
	if (factor != 0)
		return pod_qos_high(c->pod.resource[RESOURCE_MEMORY].request, mem_max, factor,
				    c->page_bytes);
	return round_down(mul_div(mem_max, o->mem_high, o->mem_max), c->page_bytes);
}

uint64_t control_above_growth(const struct control *c, const struct control_context *x,
			      uint64_t max)
{
	const struct tuning_memory *t = &x->tuning->memory;
	uint64_t grown = mul_div(c->mem.slope_bps, t->slope_ahead_usec, USEC_PER_SEC);
	uint64_t least = mem_with_margin(t, add_sat(mem_use(&c->last), grown));

	if (grown == 0 || least <= max)
		return max;
	return MAX(max, MIN(round_up(least, c->page_bytes), c->kernel.mem_max));
}

uint64_t control_braked_high(const struct control *c, uint64_t mem_max)
{
	uint64_t own = control_mem_high(c, mem_max), line = c->mem.brake.line;

	/* The owner's memory.high applies where it is lower. */
	return line != 0 && line < mem_max ? MIN(own, line) : own;
}

static struct change lift(const struct control *c)
{
	return (struct change){
		.target = c->target,
		.knob = KNOB_MEM_HIGH,
		.depth = c->depth,
		.from = c->kernel.mem_high,
		.to = control_mem_high(c, c->kernel.mem_max),
		.reason = REASON_BRAKE,
	};
}

bool control_brake_off(struct control *c, struct change *ret)
{
	struct mem_brake *b = &c->mem.brake;
	bool stands = mem_brake_owns(&c->mem, c->kernel.mem_high);

	b->line = 0;
	if (!stands)
		b->stands = 0;
	else
		*ret = lift(c);
	return stands && ret->to > ret->from;
}

/* The runtime may replay its own, lower limit at any moment: growth is held below it, for as long
 * as a brake may hold, until the kubelet has passed the spec's higher limit to the runtime. */
static uint64_t brake_max(const struct control *c, uint64_t mem_max)
{
	uint64_t replay = pod_replay_max(&c->pod);

	return mem_use(&c->last) < replay ? MIN(replay, mem_max) : mem_max;
}

bool control_brake_replays(const struct control *c, uint64_t mem_max)
{
	/* memory.max is that limit already, and growth would raise it before the runtime writes. */
	bool same = c->pod.replay_due && c->pod.replay_mem_bytes == mem_max;

	return brake_max(c, mem_max) < mem_max || (same && mem_use(&c->last) < mem_max);
}

struct mem_brake_input control_brake_input(const struct control *c, const struct control_context *x,
					   uint64_t mem_max)
{
	return (struct mem_brake_input){
		.use = mem_use(&c->last),
		.current = c->last.mem_current,
		.max = brake_max(c, mem_max),
		.own = control_mem_high(c, mem_max),
		.replay = control_brake_replays(c, mem_max),
		.replay_max = pod_replay_max(&c->pod),
		.threads = c->pod.threads,
		.probe_usec = c->pod.probe_usec,
		.tick_usec = x->tick_usec,
		.now = x->now,
	};
}

void control_brake(struct control *c, const struct control_context *x, bool hit)
{
	uint64_t max = c->kernel.mem_max;
	struct mem_brake_input in = control_brake_input(c, x, max);
	struct change off;

	/* During a trial memory.high belongs to the trial; a raise has set the line already. */
	if (c->mem.trial.phase != MEM_IDLE || c->resource[RESOURCE_MEMORY].planned_at == x->now)
		return;
	in.hit = hit;
	mem_brake_pass(&x->tuning->memory, &c->mem, &in);
	if (c->mem.brake.line != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, max), REASON_BRAKE);
	else if (control_brake_off(c, &off))
		plan_add(x->plan, &off);
}
