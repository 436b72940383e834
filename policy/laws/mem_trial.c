// SPDX-License-Identifier: Apache-2.0
#include "policy/base/arithmetic.h"
#include "policy/laws/mem_law.h"
#include <assert.h>

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
	m->trial.psi_start_usec = in->u->psi_mem_some_usec;
	m->trial.refault_start = in->u->stat.refault_anon + in->u->stat.refault_file;
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
	uint64_t refault = in->u->stat.refault_anon + in->u->stat.refault_file;
	uint64_t stalled =
		in->u->psi_mem_some_usec - MIN(trial->psi_start_usec, in->u->psi_mem_some_usec);
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
