// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/mem_law.h"
#include "policy/base/arithmetic.h"
#include <assert.h>
#include <string.h>

/* A new high by less than this is fluctuation, not growth. */
#define GROWTH_MIN_BYTES    MIB
#define GROWTH_MIN_PERMILLE 1010
/* Time constant of the smoothed pressure. */
#define SMOOTH_USEC (10 * USEC_PER_SEC)
/* Passes closer together than this count as one: events come in bursts. */
#define POINT_MIN_USEC (50 * USEC_PER_MSEC)
/* Two reflex passes show steady growth before it can fill a limit; one pass would take every large
 * allocation for growth. */
#define STEEP_USEC  (200 * USEC_PER_MSEC)
#define STEADY_USEC USEC_PER_SEC

uint64_t mem_use(const struct usage *u)
{
	return MIN(mem_unreclaimable(&u->stat), u->mem_current);
}

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

/* Bytes per second since the newest point that is `span` old, or the oldest there is. The timer
 * may have come a little early. */
static uint64_t rise_bps(const struct mem_law *m, usec_t span)
{
	const struct mem_point *now = &m->point[0], *then = now;

	for (int i = 1; i < MEM_POINTS && m->point[i].at != 0; i++) {
		then = &m->point[i];
		if (add_sat(now->at - then->at, POINT_MIN_USEC) >= span)
			break;
	}
	if (now->at - then->at < POINT_MIN_USEC || now->unreclaimable <= then->unreclaimable)
		return 0;
	return mul_div(now->unreclaimable - then->unreclaimable, USEC_PER_SEC, now->at - then->at);
}

static void push_point(struct mem_law *m, uint64_t use, usec_t now)
{
	struct mem_point *p = m->point;

	if (p[1].at == 0 || p[0].at - p[1].at >= POINT_MIN_USEC)
		memmove(&p[1], &p[0], (MEM_POINTS - 1) * sizeof *p);
	p[0] = (struct mem_point){now, use};
	m->steady_bps = rise_bps(m, STEADY_USEC);
	m->slope_bps = MAX(rise_bps(m, STEEP_USEC), m->steady_bps);
}

static void observe_growth(const struct tuning_memory *t, struct mem_law *m, usec_t now)
{
	uint64_t use = m->point[0].unreclaimable;
	uint64_t line = MAX(m->growth_mark + GROWTH_MIN_BYTES,
			    scale_permille(m->growth_mark, GROWTH_MIN_PERMILLE));

	if (m->growth_mark == 0 || use > line) {
		if (m->growth_mark != 0)
			m->last_growth = now;
		m->growth_mark = use;
	} else if (now - m->last_growth >= t->shrink_quiet_usec) {
		/* Quiet for long enough: growth is measured from the peak of that time, so that
		 * fluctuation below it does not count. */
		m->growth_mark = MIN(m->growth_mark, recent_max_get(&m->recent));
	}
}

/* Exponential smoothing by time: independent of the interval. */
static uint64_t mem_control_smooth(uint64_t old, uint64_t value, usec_t span)
{
	usec_t part = MIN(span, SMOOTH_USEC);

	return mul_div(old, SMOOTH_USEC - part, SMOOTH_USEC) + mul_div(value, part, SMOOTH_USEC);
}

static uint64_t per_second(uint64_t count, usec_t span)
{
	return mul_div(count, USEC_PER_SEC, span);
}

static uint64_t refaults(const struct usage *u)
{
	return u->stat.refault_anon + u->stat.refault_file;
}

static void observe_pressure(const struct tuning_memory *t, struct mem_law *m,
			     const struct usage *prev, const struct usage *u, usec_t span)
{
	uint64_t stall = 0, faults = 0;

	if ((u->have & prev->have & USAGE_PSI_MEM) &&
	    u->psi_mem_some_usec > prev->psi_mem_some_usec)
		stall = per_second(u->psi_mem_some_usec - prev->psi_mem_some_usec, span);
	if (refaults(u) > refaults(prev))
		faults = per_second(refaults(u) - refaults(prev), span);

	m->cache_hurts_usec = stall > t->cache_psi_ppm && faults > t->refault_ps
				      ? add_sat(m->cache_hurts_usec, span)
				      : 0;
	/* Stall per second in microseconds is a share in ppm. */
	m->psi_ppm = (uint32_t)mem_control_smooth(m->psi_ppm, MIN(stall, (uint64_t)1000000), span);
	m->refault_ps = mem_control_smooth(m->refault_ps, faults, span);
}

void mem_observe_use(const struct tuning_memory *t, struct mem_law *m, uint64_t use, usec_t now)
{
	assert(now >= m->point[0].at);
	if (now == m->point[0].at) {
		m->point[0].unreclaimable = use;
		return;
	}
	push_point(m, use, now);
	recent_max_add(&m->recent, use, t->shrink_quiet_usec, now);
	observe_growth(t, m, now);
}

void mem_observe(const struct tuning_memory *t, struct mem_law *m, const struct usage *prev,
		 const struct usage *u, usec_t now)
{
	usec_t before = m->pressure_at;

	mem_observe_use(t, m, mem_use(u), now);
	m->stat_current = u->mem_current;
	m->pressure_at = now;
	if (prev != NULL && before != 0 && now > before)
		observe_pressure(t, m, prev, u, now - before);
}

/* Growth until a raise of the next reflex pass has been written. */
static uint64_t growth_until_next(const struct tuning_memory *t, const struct mem_law *m,
				  usec_t tick_usec)
{
	return mul_div(m->slope_bps, add_sat(t->time_to_limit_usec, tick_usec), USEC_PER_SEC);
}

static bool hit_limit(const struct mem_growth_input *in)
{
	const struct usage *prev = in->prev, *u = in->u;
	bool hit = false;

	if (prev == NULL || !(u->have & prev->have & USAGE_MEM_EVENTS))
		return false;
	if (in->high || in->braked)
		hit = u->events.high > prev->events.high;
	return hit || (!in->high && u->events.max > prev->events.max);
}

uint64_t mem_growth_desired(const struct tuning_memory *t, const struct mem_law *m,
			    const struct mem_growth_input *in, enum reason *ret_reason)
{
	uint64_t limit = in->limit, use = m->point[0].unreclaimable;
	uint64_t soon = growth_until_next(t, m, in->tick_usec);
	uint64_t ahead = MAX(soon, mul_div(m->steady_bps, t->slope_ahead_usec, USEC_PER_SEC));
	uint64_t step = scale_permille(limit, t->raise_permille);
	bool full = add_sat(use, mem_gap(t, limit)) >= limit;
	bool outgrows = m->slope_bps > 0 && add_sat(use, soon) >= limit;

	assert(limit != LIMIT_MAX);
	if (outgrows || (full && (hit_limit(in) || m->slope_bps > 0))) {
		*ret_reason = REASON_MEMORY_GROWTH;
		return MAX(mem_with_margin(t, add_sat(use, ahead)), step);
	}
	if (m->cache_hurts_usec >= t->cache_after_usec && hit_limit(in) &&
	    step <= scale_permille(in->original, t->cache_ceiling_permille)) {
		*ret_reason = REASON_CACHE_PRESSURE;
		return step;
	}
	return 0;
}

uint64_t mem_headroom(const struct tuning_memory *t, const struct mem_law *m, uint64_t limit)
{
	uint64_t use = m->point[0].unreclaimable;
	uint64_t ahead = mul_div(m->slope_bps, t->property_ahead_usec, USEC_PER_SEC);
	uint64_t room =
		MAX(scale_permille(use, t->property_room_permille), t->property_room_min_bytes);

	if (limit == LIMIT_MAX)
		return limit;
	return MAX(limit, add_sat(use, MAX(ahead, room)));
}

void mem_back_off(const struct tuning_memory *t, struct mem_law *m, usec_t now)
{
	m->backoff_usec = MIN(MAX(add_sat(m->backoff_usec, m->backoff_usec), t->backoff_first_usec),
			      t->backoff_max_usec);
	m->backoff_until = add_sat(now, m->backoff_usec);
}
