// SPDX-License-Identifier: Apache-2.0
/* The highest memory need, and the desired limit after an OOM kill. */
#include "policy/base/arithmetic.h"
#include "policy/control/control_impl.h"
#include <string.h>

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

/* The highest need since prev. A new memory.peak says how much was charged, but not for what: the
 * smaller amount of page cache before and after it is taken to be its cache. */
uint64_t control_mem_need(const struct usage *prev, const struct usage *u)
{
	uint64_t now = MAX(mem_working_set(u), mem_use(u)), cache;

	if (prev == NULL || !(u->have & prev->have & USAGE_MEM_PEAK) ||
	    u->mem_peak <= prev->mem_peak)
		return now;
	cache = MIN(clean_cache(&prev->stat), clean_cache(&u->stat));
	return u->mem_peak > cache ? MAX(now, u->mem_peak - cache) : now;
}
