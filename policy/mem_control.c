// SPDX-License-Identifier: Apache-2.0
#include "policy/mem_control.h"
#include "policy/bounds.h"
#include <assert.h>

/* A new high by less than this is breathing, not growth. */
#define GROWTH_MIN_BYTES    MIB
#define GROWTH_MIN_PERMILLE 1010
/* Cache pressure that hurts: a twentieth of the time stalled and pages coming back, for 3 s. */
#define CACHE_PSI_PPM    50000
#define CACHE_REFAULT_PS 256
#define CACHE_SECONDS    3
/* A reader of files larger than the limit would make it grow for ever. */
#define CACHE_CEILING_PERMILLE 1500
/* Smoothing: a new second weighs a tenth. */
#define SMOOTH 10

uint64_t mem_with_margin(const struct tuning_memory *t, uint64_t use)
{
	return add_sat(use, MAX(scale_permille(use, t->margin_permille), t->margin_min_bytes));
}

uint64_t mem_gap(const struct tuning_memory *t, uint64_t max)
{
	return MAX(scale_permille(max, t->gap_permille), t->gap_min_bytes);
}

uint64_t mem_write_margin(const struct tuning_memory *t, uint64_t max)
{
	return mem_gap(t, max) / 2;
}

uint64_t mem_oom_record(const struct tuning_memory *t, uint64_t use)
{
	return MAX(scale_permille(use, t->oom_permille), add_sat(use, t->oom_min_bytes));
}

/* Steepest rise towards the newest point, over the last interval and over all kept points. */
static uint64_t slope_of(const struct mem_control *m)
{
	const struct mem_point *now = &m->point[0];
	uint64_t steepest = 0;

	for (int i = 1; i < MEM_POINTS; i++) {
		const struct mem_point *then = &m->point[i];
		uint64_t rise;

		if (then->at == 0 || then->at >= now->at ||
		    now->unreclaimable <= then->unreclaimable)
			continue;
		rise = now->unreclaimable - then->unreclaimable;
		steepest = MAX(steepest, (uint64_t)((unsigned __int128)rise * USEC_PER_SEC /
						    (now->at - then->at)));
	}
	return steepest;
}

static void observe_growth(const struct tuning_memory *t, struct mem_control *m, usec_t now)
{
	uint64_t use = m->point[0].unreclaimable;
	uint64_t line = MAX(m->growth_mark + GROWTH_MIN_BYTES,
			    scale_permille(m->growth_mark, GROWTH_MIN_PERMILLE));

	if (m->growth_mark == 0 || use > line) {
		if (m->growth_mark != 0)
			m->last_growth = now;
		m->growth_mark = use;
	} else if (use < m->growth_mark && now - m->last_growth >= t->shrink_quiet_usec) {
		/* Quiet for long enough: growth is measured from here. */
		m->growth_mark = use;
	}
}

static uint64_t smooth(uint64_t old, uint64_t value)
{
	return (old * (SMOOTH - 1) + value) / SMOOTH;
}

static uint64_t per_second(uint64_t count, usec_t span)
{
	return (uint64_t)((unsigned __int128)count * USEC_PER_SEC / span);
}

static uint64_t refaults(const struct usage *u)
{
	return u->stat.refault_anon + u->stat.refault_file;
}

static void observe_pressure(struct mem_control *m, const struct usage *prev, const struct usage *u,
			     usec_t span)
{
	uint64_t stall = 0, faults = 0;

	if (u->psi_mem_some_usec > prev->psi_mem_some_usec)
		stall = per_second(u->psi_mem_some_usec - prev->psi_mem_some_usec, span);
	if (refaults(u) > refaults(prev))
		faults = per_second(refaults(u) - refaults(prev), span);

	m->cache_hurts =
		stall > CACHE_PSI_PPM && faults > CACHE_REFAULT_PS ? m->cache_hurts + 1 : 0;
	/* Stall per second in microseconds is a share in ppm. */
	m->psi_ppm = (uint32_t)smooth(m->psi_ppm, MIN(stall, (uint64_t)1000000));
	m->refault_ps = smooth(m->refault_ps, faults);
}

void mem_observe(const struct tuning_memory *t, struct mem_control *m, const struct usage *prev,
		 const struct usage *u, usec_t now)
{
	usec_t before = m->point[0].at;

	assert(now >= before);
	if (now == before)
		return;
	for (int i = MEM_POINTS - 1; i > 0; i--)
		m->point[i] = m->point[i - 1];
	m->point[0] = (struct mem_point){now, mem_unreclaimable(&u->stat)};
	m->slope_bps = slope_of(m);
	observe_growth(t, m, now);
	if (prev != NULL && before != 0)
		observe_pressure(m, prev, u, now - before);
}

/* Will unreclaimable memory reach the limit before we look again and have acted? */
static bool outgrows(const struct tuning_memory *t, const struct mem_control *m,
		     const struct mem_growth_input *in)
{
	uint64_t use = m->point[0].unreclaimable, limit = in->u->limits.mem_max;
	usec_t horizon = t->time_to_limit_usec + in->tick_usec;
	uint64_t ahead = (uint64_t)((unsigned __int128)m->slope_bps * horizon / USEC_PER_SEC);

	return m->slope_bps > 0 && add_sat(use, ahead) >= limit;
}

static bool hit_limit(const struct mem_growth_input *in)
{
	return in->prev != NULL && in->u->events.max > in->prev->events.max;
}

uint64_t mem_growth_wish(const struct tuning_memory *t, const struct mem_control *m,
			 const struct mem_growth_input *in, enum reason *ret_reason)
{
	uint64_t limit = in->u->limits.mem_max, use = m->point[0].unreclaimable;
	uint64_t ahead =
		(uint64_t)((unsigned __int128)m->slope_bps * t->slope_ahead_usec / USEC_PER_SEC);
	uint64_t step = scale_permille(limit, t->raise_permille);
	bool full = add_sat(use, mem_gap(t, limit)) >= limit;

	assert(limit != LIMIT_MAX);
	if (outgrows(t, m, in) || (full && (hit_limit(in) || m->slope_bps > 0))) {
		*ret_reason = REASON_MEMORY_GROWTH;
		return MAX(mem_with_margin(t, add_sat(use, ahead)), step);
	}
	if (m->cache_hurts >= CACHE_SECONDS && hit_limit(in) &&
	    step <= scale_permille(in->original, CACHE_CEILING_PERMILLE)) {
		*ret_reason = REASON_CACHE_PRESSURE;
		return step;
	}
	return 0;
}

uint64_t mem_headroom(const struct tuning_memory *t, const struct mem_control *m, uint64_t limit)
{
	uint64_t ahead =
		(uint64_t)((unsigned __int128)m->slope_bps * t->property_ahead_usec / USEC_PER_SEC);

	if (limit == LIMIT_MAX)
		return limit;
	return MAX(limit, add_sat(m->point[0].unreclaimable, ahead));
}
