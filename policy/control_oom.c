// SPDX-License-Identifier: Apache-2.0
/* What memory was needed at the worst moment, and what a kill asks for. */
#include "policy/control_impl.h"

/* The kernel counts the limit that was hit, tries to reclaim, and then kills: a look may come in
 * between. */
#define MAX_TO_KILL_USEC USEC_PER_SEC

/* memory.oom.group ends all processes of the group at once: that is one kill. */
static uint64_t kills(const struct mem_events *then, const struct mem_events *now)
{
	if (now->oom_group_kill > then->oom_group_kill)
		return now->oom_group_kill - then->oom_group_kill;
	return now->oom_kill - then->oom_kill;
}

void control_pod_full(struct control *c, usec_t now)
{
	c->mem.max_event_at = now;
}

/*
 * A kill at the limit: what it asks for goes into history and stays asked for until it is granted,
 * if need be to the successor of the cgroup. A kill without a `max` event came from further up: the
 * limit was not the reason, unless it was the pod's, which is the sum of its containers'.
 */
uint64_t control_oom_wish(struct control *c, const struct usage *prev,
			  const struct control_context *x)
{
	const struct tuning_history *th = &x->tuning->history;
	const struct usage *u = &c->last;
	struct mem_control *m = &c->mem;
	uint64_t record;

	if (prev == NULL || !(u->have & prev->have & USAGE_MEM_EVENTS))
		return m->oom_record;
	if (u->events.max > prev->events.max)
		m->max_event_at = x->now;
	if (u->events.oom_kill <= prev->events.oom_kill)
		return m->oom_record;
	c->resource[RESOURCE_MEMORY].counters.oom_kills += kills(&prev->events, &u->events);
	if (m->max_event_at == 0 || x->now - m->max_event_at > MAX_TO_KILL_USEC ||
	    c->kernel.mem_max == LIMIT_MAX)
		return m->oom_record;
	/* The victim's memory is gone by now. Reclaim had failed: the limit was full of use. */
	record = mem_oom_record(&x->tuning->memory, c->kernel.mem_max);
	m->oom_record = MAX(m->oom_record, record);
	m->oom_at = x->now;
	if (th->algorithm == ALGORITHM_VPA)
		history_vpa_oom(&c->history, th, c->kernel.mem_max, x->now_real);
	else
		history_add_memory(&c->history, th, record, true, x->now_real);
	return m->oom_record;
}

/* Page cache that can go. */
static uint64_t clean_cache(const struct mem_stat *s)
{
	return s->file > s->shmem ? s->file - s->shmem : 0;
}

/*
 * What was needed at the worst moment since the last look. A new peak says how much was charged,
 * not what for: as much of it was cache as is cache on the side of it that had less.
 */
uint64_t control_mem_need(const struct usage *prev, const struct usage *u)
{
	uint64_t now = MAX(mem_working_set(u), mem_use(u)), cache;

	if (prev == NULL || !(u->have & prev->have & USAGE_MEM_PEAK) ||
	    u->mem_peak <= prev->mem_peak)
		return now;
	cache = MIN(clean_cache(&prev->stat), clean_cache(&u->stat));
	return u->mem_peak > cache ? MAX(now, u->mem_peak - cache) : now;
}
