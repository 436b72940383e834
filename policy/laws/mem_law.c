// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/mem_law.h"
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

static void observe_pressure(const struct tuning_memory *t, struct mem_law *m,
			     const struct usage *prev, const struct usage *u, usec_t span)
{
	uint64_t stall = 0, faults = 0;

	if ((u->have & prev->have & USAGE_PSI_MEM) && u->psi_mem_usec > prev->psi_mem_usec)
		stall = per_second(u->psi_mem_usec - prev->psi_mem_usec, span);
	if (u->stat.refaults > prev->stat.refaults)
		faults = per_second(u->stat.refaults - prev->stat.refaults, span);

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

/* The brake: memory.high a gap below memory.max slows an allocator down until the raise has landed
 * (kernel 6.12: a raise half a second late cost 0.4 s, without the brake the process). Without swap
 * a process above memory.high makes no progress, so it holds for a short time only. */

/* Wanted above this share of memory.max, or when the line would be reached within the time. */
#define NEAR_PERMILLE 800
#define AHEAD_USEC    (3 * USEC_PER_SEC)
/* Charges are counted in batches per CPU: use this close below the line, or below a limit that may
 * be replayed, counts as at it. */
#define TOUCH_BYTES MIB
/* The longest time that an allocator is held, and how long the brake stays off after it
 * (REST_USEC). A client gives up after one or two seconds. */
#define BRAKE_USEC (2 * USEC_PER_SEC)
#define REST_USEC  (60 * USEC_PER_SEC)
/* While the runtime may write a limit below use, which would end a process, growth is held until
 * the higher limit is reported as carried out. An update of the runtime took 14 s on a starved
 * node, and the kubelet began none for 20 s (kubelet 1.36, containerd 1.6). A liveness probe ends
 * it sooner. */
#define BRAKE_REPLAY_USEC (40 * USEC_PER_SEC)
/* The gap below such a limit lasts for this: a larger one would slow every growth that another
 * resize meets. */
#define GAP_USEC (15 * USEC_PER_SEC)
/* Above memory.high the kernel delays each thread at its return to user space, for a charge of
 * `bytes` by 64 s x (overage / memory.high)^2 x bytes / 256 KiB and by 2 s at most
 * (mem_cgroup_handle_over_high(), Linux 5.8 to 6.18). With huge pages a charge is 2 MiB. So with
 * an overage of k / 64 of the limit a charge takes k^2 / 8 s. */
#define CHARGE_BYTES      (2 * MIB)
#define OVERAGE_STEPS     64
#define STEP_DELAY_USEC   (USEC_PER_SEC / 8)
#define CHARGE_DELAY_USEC (2 * USEC_PER_SEC)
/* Where the number of threads is not known. */
#define THREADS_DEFAULT 16
/* Lifted when not wanted for this long: use that fluctuates around the share must not cause a write
 * every second. */
#define CALM_USEC (10 * USEC_PER_SEC)
/* The writer of a memory.high below what is charged waits for the reclaim. So the line comes down
 * through page cache by one piece per reflex pass, about a millisecond; the next piece follows when
 * that one is reclaimed. */
#define PIECE_BYTES (4 * MIB)

static usec_t longest_usec(const struct mem_brake_input *in)
{
	usec_t longest = in->replay ? BRAKE_REPLAY_USEC : BRAKE_USEC;

	return in->probe_usec != 0 ? MIN(in->probe_usec, longest) : longest;
}

/* The threads need GAP_USEC, or the brake's time, to allocate this much above memory.high. */
static uint64_t replay_gap(const struct tuning_memory *t, const struct mem_brake_input *in)
{
	uint64_t threads = in->threads != 0 ? in->threads : THREADS_DEFAULT, gap = 0;
	uint64_t step = in->max / OVERAGE_STEPS;
	usec_t held = 0, until = MIN(longest_usec(in), GAP_USEC);

	for (uint64_t k = 0; held < until && gap < in->max; k++) {
		held += mul_div(MIN(k * k * STEP_DELAY_USEC, CHARGE_DELAY_USEC), step,
				CHARGE_BYTES * threads);
		gap += MAX(step, t->page_bytes);
	}
	return MIN(gap, in->max);
}

/* Where a limit may be replayed the line is as low as its time demands, if use leaves room for it,
 * and stays there: growth that is held must not be taken for growth that has ended. */
static uint64_t line_of(const struct tuning_memory *t, const struct mem_brake *b,
			const struct mem_brake_input *in)
{
	uint64_t gap = mem_gap(t, in->max), line;

	if (in->max == LIMIT_MAX || gap >= in->max)
		return 0;
	line = in->max - gap;
	if (in->replay && b->line != 0 && b->of == in->max)
		line = MIN(line, b->aim);
	else if (in->replay)
		line = MIN(line,
			   MAX(in->max - replay_gap(t, in), add_sat(in->use, 3 * TOUCH_BYTES)));
	return round_down(line, t->page_bytes);
}

static bool mem_brake_wanted(const struct mem_law *m, const struct mem_brake_input *in)
{
	uint64_t use = in->use;
	uint64_t ahead = mul_div(m->slope_bps, AHEAD_USEC, USEC_PER_SEC);

	return use > scale_permille(in->max, NEAR_PERMILLE) ||
	       (m->slope_bps > 0 && add_sat(use, ahead) >= in->max);
}

static bool mem_brake_fits(uint64_t line, const struct mem_brake_input *in)
{
	/* The owner's memory.high at or below the line already serves as a brake. */
	return line < in->own && add_sat(in->use, 2 * TOUCH_BYTES) < line;
}

/* As far towards the line as one write may go. */
static uint64_t piece_to(const struct tuning_memory *t, uint64_t line,
			 const struct mem_brake_input *in)
{
	uint64_t piece = round_down(in->current - MIN(in->current, PIECE_BYTES), t->page_bytes);

	return MAX(line, piece);
}

static void mem_brake_put(struct mem_brake *b, uint64_t line)
{
	b->line = line;
	/* The last write may have failed. */
	b->stands = MAX(b->stands, line);
}

static void mem_brake_arm(const struct tuning_memory *t, struct mem_brake *b, uint64_t line,
			  const struct mem_brake_input *in)
{
	mem_brake_put(b, piece_to(t, line, in));
	b->of = in->max;
	b->aim = line;
	b->pressed_at = 0;
	b->wanted_at = in->now;
}

/* On the way down: the last piece is not reclaimed yet. */
static bool waits(const struct mem_brake *b, uint64_t line, const struct mem_brake_input *in)
{
	return line < b->line && in->current > add_sat(b->line, TOUCH_BYTES);
}

/* At the line, and no headroom was made. Reclaimable page cache above the line holds no process. */
static bool pressed(const struct tuning_memory *t, const struct mem_brake *b,
		    const struct mem_brake_input *in)
{
	uint64_t near = in->hit ? mem_gap(t, in->max) : TOUCH_BYTES;
	uint64_t line = line_of(t, b, in);

	return line <= b->line && (add_sat(in->use, near) >= b->line || waits(b, line, in));
}

/* Held for long enough: at the next reflex pass the time would be exceeded. */
static bool held_out(struct mem_brake *b, bool at_line, const struct mem_brake_input *in)
{
	if (!at_line)
		b->pressed_at = 0;
	else if (b->pressed_at == 0)
		b->pressed_at = in->now;
	return at_line && add_sat(in->now - b->pressed_at, in->tick_usec) > longest_usec(in);
}

/* The line of an armed brake now; 0: disarm it. */
static uint64_t next_line(const struct tuning_memory *t, const struct mem_brake *b, uint64_t line,
			  const struct mem_brake_input *in)
{
	if (line == b->line)
		return line;
	if (line > b->line)
		return line < in->own ? piece_to(t, line, in) : 0;
	if (waits(b, line, in) || !mem_brake_fits(line, in))
		return b->line < MIN(in->max, in->own) ? b->line : 0;
	return MIN(b->line, piece_to(t, line, in));
}

void mem_brake_pass(const struct tuning_memory *t, struct mem_law *m,
		    const struct mem_brake_input *in)
{
	struct mem_brake *b = &m->brake;
	uint64_t line = line_of(t, b, in);

	bool passed = add_sat(in->use, TOUCH_BYTES) >= in->replay_max;

	/* It held, and was too slow. */
	b->ended += passed && !b->passed && in->now >= b->rearm_at;
	b->passed = passed;
	if (b->line == 0) {
		if (mem_brake_wanted(m, in) && in->now >= b->rearm_at && mem_brake_fits(line, in))
			mem_brake_arm(t, b, line, in);
		return;
	}
	if (mem_brake_wanted(m, in) || pressed(t, b, in))
		b->wanted_at = in->now;
	if (held_out(b, pressed(t, b, in), in)) {
		b->ended += in->replay;
		mem_brake_failed(m, in->now);
		return;
	}
	b->of = in->max;
	b->aim = line;
	if (in->now - b->wanted_at >= CALM_USEC)
		b->line = 0;
	else
		mem_brake_put(b, next_line(t, b, line, in));
}

void mem_brake_raised(const struct tuning_memory *t, struct mem_law *m,
		      const struct mem_brake_input *in)
{
	uint64_t line = line_of(t, &m->brake, in);

	/* The runtime may still replay its limit: growth stays held. */
	if (in->replay && m->brake.line != 0 && line <= m->brake.line)
		return;
	if ((m->brake.line != 0 || in->now >= m->brake.rearm_at) && mem_brake_fits(line, in))
		mem_brake_arm(t, &m->brake, line, in);
	else
		m->brake.line = 0;
}

bool mem_brake_owns(const struct mem_law *m, uint64_t high)
{
	return m->brake.stands != 0 && high <= m->brake.stands;
}

void mem_brake_failed(struct mem_law *m, usec_t now)
{
	m->brake = (struct mem_brake){
		.stands = m->brake.stands,
		.passed = m->brake.passed,
		.ended = m->brake.ended,
		.rearm_at = add_sat(now, REST_USEC),
	};
}

/* --- trials of decreases */

/* Less stall than this in a phase is noise, whatever its share (Senpai tolerates as much in 6 s).
 */
#define STALL_MIN_USEC (10 * USEC_PER_MSEC)
/* Reclaim ends after this many samples in a row without progress. */
#define RECLAIM_IDLE_PASSES 3
/* The write of memory.high may reclaim this much: it blocks meanwhile. */
#define HIGH_RECLAIM_MAX_BYTES (64 * MIB)

enum blocked_reason mem_shrink_next(const struct tuning *t, const struct mem_law *m,
				    const struct mem_shrink_input *in, uint64_t *ret_to,
				    usec_t *ret_next)
{
	const struct tuning_memory *tm = &t->memory;
	uint64_t to = MAX(in->candidate,
			  scale_permille(in->limit, rest_permille(tm->shrink_step_permille)));
	const struct {
		enum blocked_reason blocked;
		usec_t until;
	} waits[] = {
		{BLOCKED_START_QUIET, add_sat(in->started_at, t->common.start_quiet_usec)},
		{BLOCKED_GROWING,
		 m->last_growth ? add_sat(m->last_growth, tm->shrink_quiet_usec) : 0},
		{BLOCKED_BACKOFF, m->backoff_until},
		{BLOCKED_INTERVAL,
		 m->last_change ? add_sat(m->last_change, tm->shrink_interval_usec) : 0},
	};

	*ret_next = 0;
	if (m->trial.phase != MEM_IDLE)
		return BLOCKED_TRIAL;
	if (!in->must &&
	    in->candidate >
		    scale_permille(in->limit, rest_permille(t->common.deadband_down_permille)))
		return BLOCKED_DEADBAND;
	if (!in->must && in->history_usec < tm->shrink_history_usec) {
		*ret_next = add_sat(in->now, tm->shrink_history_usec - in->history_usec);
		return BLOCKED_HISTORY;
	}
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (in->now < waits[i].until) {
			*ret_next = waits[i].until;
			return waits[i].blocked;
		}
	}
	*ret_to = round_up(to, tm->page_bytes);
	return BLOCKED_NONE;
}

static void phase_begin(struct mem_law *m, enum mem_phase phase, const struct mem_shrink_input *in)
{
	m->trial.phase = phase;
	m->trial.since = in->now;
	m->trial.psi_start_usec = in->u->psi_mem_usec;
	m->trial.refault_start = in->u->stat.refaults;
	m->trial.max_events_start = in->u->events.max;
}

/* The trial's memory.high: a gap below the goal. */
static uint64_t trial_high(const struct tuning_memory *t, uint64_t to)
{
	uint64_t gap = mem_gap(t, to);

	return round_down(to > gap ? to - gap : 0, t->page_bytes);
}

/* How much to reclaim until the trial's memory.high fits. */
static struct mem_step take_back(const struct tuning_memory *t, const struct mem_law *m,
				 const struct mem_shrink_input *in)
{
	uint64_t line = trial_high(t, m->trial.to), current = in->u->mem_current;

	return (struct mem_step){.reclaim = current > line ? round_up(current - line, t->page_bytes)
							   : 0};
}

struct mem_step mem_trial_begin(const struct tuning_memory *t, struct mem_law *m,
				const struct mem_shrink_input *in, uint64_t to)
{
	struct mem_step step;

	assert(to < in->limit && m->trial.phase == MEM_IDLE);
	m->trial = (struct mem_trial){
		.from = in->limit,
		.to = to,
		.psi_before_ppm = m->psi_ppm,
		.refault_before_ps = m->refault_ps,
	};
	phase_begin(m, MEM_RECLAIM, in);
	step = take_back(t, m, in);
	m->trial.least_left = step.reclaim;
	return step;
}

/* Pressure, refaults or a hit limit since the phase began. */
static bool hurts(const struct tuning_memory *t, const struct mem_law *m,
		  const struct mem_shrink_input *in)
{
	const struct mem_trial *trial = &m->trial;
	uint64_t refault = in->u->stat.refaults;
	uint64_t stalled = in->u->psi_mem_usec - MIN(trial->psi_start_usec, in->u->psi_mem_usec);
	uint64_t faults = refault - MIN(trial->refault_start, refault);
	usec_t span = in->now - trial->since;

	if (in->u->events.max > trial->max_events_start)
		return true;
	if (span < USEC_PER_SEC)
		return false;
	/* Both totals over the whole phase: one slow second among many does not decide. */
	if (stalled >= STALL_MIN_USEC &&
	    mul_div(stalled, 1000000, span) > add_sat(trial->psi_before_ppm, t->psi_ppm))
		return true;
	return mul_div(faults, USEC_PER_SEC, span) >
	       MAX(add_sat(trial->refault_before_ps, trial->refault_before_ps),
		   (uint64_t)t->refault_ps);
}

struct mem_step mem_trial_abort(const struct tuning_memory *t, struct mem_law *m,
				const struct mem_shrink_input *in)
{
	struct mem_trial ended = m->trial;
	struct mem_step step = {.undo = true};

	assert(ended.phase != MEM_IDLE);
	if (ended.high_lowered)
		step.high = in->high;
	if (ended.phase == MEM_MAX)
		step.max = ended.from;
	if (ended.phase != MEM_RECLAIM)
		floor_learn(&m->floor, ended.to, ended.from, in->now_real);
	mem_back_off(t, m, in->now);
	m->trial = (struct mem_trial){0};
	return step;
}

/* Use that grew since the trial began leaves no margin below its goal. */
static bool too_full(const struct tuning_memory *t, const struct mem_law *m,
		     const struct mem_shrink_input *in)
{
	uint64_t use = mem_use(in->u);

	return mem_with_margin(t, use) > m->trial.to || use > trial_high(t, m->trial.to);
}

/* Reclaims piece by piece as long as there is progress. */
static struct mem_step watch_reclaim(const struct tuning_memory *t, struct mem_law *m,
				     const struct mem_shrink_input *in)
{
	struct mem_trial *trial = &m->trial;
	struct mem_step step = take_back(t, m, in);
	uint64_t line = trial_high(t, trial->to);

	if (too_full(t, m, in))
		return mem_trial_abort(t, m, in);
	if (step.reclaim < trial->least_left) {
		trial->least_left = step.reclaim;
		trial->idle_passes = 0;
	} else {
		trial->idle_passes++;
	}
	if (step.reclaim > 0 && trial->idle_passes < RECLAIM_IDLE_PASSES)
		return step;
	/* Cache returns as fast as it is reclaimed: memory.high stops that, and the watch shows
	 * whether it was needed. With too much of it the write would block. */
	if (step.reclaim > HIGH_RECLAIM_MAX_BYTES)
		return mem_trial_abort(t, m, in);
	phase_begin(m, MEM_HIGH, in);
	trial->high_lowered = line < in->high;
	return (struct mem_step){.high = MIN(line, in->high)};
}

/* memory.max follows once memory.high has been lowered for a while and the charge fits below the
 * goal. */
static struct mem_step watch_high(const struct tuning_memory *t, struct mem_law *m,
				  const struct mem_shrink_input *in)
{
	struct mem_trial *trial = &m->trial;
	usec_t led = in->now - trial->since;
	uint64_t to = trial->to;

	if (too_full(t, m, in) || hurts(t, m, in))
		return mem_trial_abort(t, m, in);
	if (led < t->high_watch_usec)
		return (struct mem_step){0};
	if (add_sat(in->u->mem_current, mem_write_margin(t, to)) > to) {
		if (led >= add_sat(t->high_watch_usec, t->high_watch_usec))
			return mem_trial_abort(t, m, in);
		return (struct mem_step){0};
	}
	phase_begin(m, MEM_MAX, in);
	return (struct mem_step){.max = to};
}

static struct mem_step watch_max(const struct tuning_memory *t, struct mem_law *m,
				 const struct mem_shrink_input *in)
{
	struct mem_trial *trial = &m->trial;
	struct mem_step step = {0};

	if (hurts(t, m, in))
		return mem_trial_abort(t, m, in);
	/* memory.high is restored only after memory.max is lowered: no moment without either. */
	trial->high_lowered = false;
	step.high = in->high;
	if (in->now - trial->since >= t->verdict_usec) {
		*trial = (struct mem_trial){0};
		m->backoff_usec = 0;
	}
	return step;
}

struct mem_step mem_trial_step(const struct tuning_memory *t, struct mem_law *m,
			       const struct mem_shrink_input *in)
{
	switch (m->trial.phase) {
	case MEM_RECLAIM:
		return watch_reclaim(t, m, in);
	case MEM_HIGH:
		return watch_high(t, m, in);
	case MEM_MAX:
		return watch_max(t, m, in);
	default:
		return (struct mem_step){0};
	}
}
