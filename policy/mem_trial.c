// SPDX-License-Identifier: Apache-2.0
#include "policy/bounds.h"
#include "policy/mem_control.h"
#include <assert.h>

/* Refaults are rising when they double and make at least 1 MiB a second. */
#define REFAULT_MIN_PS 256
/* The first wait after a failed trial; doubled each time. */
#define BACKOFF_FIRST_USEC (2 * USEC_PER_MIN)
/* Pieces are taken back for this long at most. */
#define RECLAIM_MAX_USEC USEC_PER_MIN

enum hold mem_shrink_next(const struct tuning *t, const struct mem_control *m,
			  const struct mem_shrink_input *in, uint64_t *ret_to, usec_t *ret_next)
{
	const struct tuning_memory *tm = &t->memory;
	uint64_t to =
		MAX(in->candidate, scale_permille(in->limit, 1000 - tm->shrink_step_permille));
	const struct {
		enum hold hold;
		usec_t until;
	} waits[] = {
		{HOLD_START_QUIET, in->started_at + t->common.start_quiet_usec},
		{HOLD_GROWING, m->last_growth ? m->last_growth + tm->shrink_quiet_usec : 0},
		{HOLD_BACKOFF, m->backoff_until},
		{HOLD_INTERVAL, m->last_change ? m->last_change + tm->shrink_interval_usec : 0},
	};

	*ret_next = 0;
	if (m->trial.phase != MEM_IDLE)
		return HOLD_TRIAL;
	if (in->candidate > scale_permille(in->limit, 1000 - t->common.deadband_down_permille))
		return HOLD_DEADBAND;
	if (in->history_usec < tm->shrink_history_usec) {
		*ret_next = in->now + tm->shrink_history_usec - in->history_usec;
		return HOLD_HISTORY;
	}
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (in->now < waits[i].until) {
			*ret_next = waits[i].until;
			return waits[i].hold;
		}
	}
	*ret_to = round_up(to, MEM_PAGE_BYTES);
	return HOLD_NONE;
}

static void phase_begin(struct mem_control *m, enum mem_phase phase,
			const struct mem_shrink_input *in)
{
	m->trial.phase = phase;
	m->trial.since = in->now;
	m->trial.psi_start_usec = in->u->psi_mem_some_usec;
	m->trial.refault_start = in->u->stat.refault_anon + in->u->stat.refault_file;
	m->trial.max_events_start = in->u->events.max;
}

/* What memory.high of the trial keeps free below the goal. */
static uint64_t trial_high(const struct tuning_memory *t, uint64_t to)
{
	uint64_t gap = mem_gap(t, to);

	return round_down(to > gap ? to - gap : 0, MEM_PAGE_BYTES);
}

struct mem_step mem_trial_begin(const struct tuning_memory *t, struct mem_control *m,
				const struct mem_shrink_input *in, uint64_t to)
{
	uint64_t line = trial_high(t, to);
	struct mem_step step = {0};

	assert(to < in->limit && m->trial.phase == MEM_IDLE);
	m->trial = (struct mem_trial){
		.from = in->limit,
		.to = to,
		.psi_before_ppm = m->psi_ppm,
		.refault_before_ps = m->refault_ps,
	};
	phase_begin(m, MEM_RECLAIM, in);
	if (in->u->mem_current > line)
		step.reclaim = round_up(in->u->mem_current - line, MEM_PAGE_BYTES);
	return step;
}

/* Pressure, refaults or a hit limit since the phase began. */
static bool hurts(const struct tuning_memory *t, const struct mem_control *m,
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
	/* Both totals over the whole phase: one slow second among many is no verdict. */
	if ((unsigned __int128)stalled * 1000000 >
	    (unsigned __int128)(trial->psi_before_ppm + t->psi_ppm) * span)
		return true;
	return (unsigned __int128)faults * USEC_PER_SEC >
	       (unsigned __int128)MAX(2 * trial->refault_before_ps, (uint64_t)REFAULT_MIN_PS) *
		       span;
}

struct mem_step mem_trial_abort(const struct tuning_memory *t, struct mem_control *m,
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
	m->backoff_usec =
		MIN(MAX(2 * m->backoff_usec, (usec_t)BACKOFF_FIRST_USEC), t->backoff_max_usec);
	m->backoff_until = in->now + m->backoff_usec;
	m->trial = (struct mem_trial){0};
	return step;
}

static struct mem_step lead_with_high(const struct tuning_memory *t, struct mem_control *m,
				      const struct mem_shrink_input *in)
{
	uint64_t line = trial_high(t, m->trial.to);
	uint64_t current = in->u->mem_current;

	if (add_sat(current, mem_write_margin(t, m->trial.to)) > m->trial.to) {
		/* One write takes back a piece; what does not come back cannot be given up. */
		if (in->now - m->trial.since > RECLAIM_MAX_USEC)
			return mem_trial_abort(t, m, in);
		return (struct mem_step){.reclaim = round_up(current - line, MEM_PAGE_BYTES)};
	}
	phase_begin(m, MEM_HIGH, in);
	m->trial.high_lowered = line < in->high;
	return (struct mem_step){.high = MIN(line, in->high)};
}

static struct mem_step watch_max(const struct tuning_memory *t, struct mem_control *m,
				 const struct mem_shrink_input *in)
{
	struct mem_trial *trial = &m->trial;
	struct mem_step step = {0};

	if (hurts(t, m, in))
		return mem_trial_abort(t, m, in);
	/* memory.high goes back only after memory.max is down: no gap between the two. */
	if (trial->high_lowered) {
		trial->high_lowered = false;
		step.high = in->high;
	}
	if (in->now - trial->since >= t->verdict_usec) {
		*trial = (struct mem_trial){0};
		m->backoff_usec = 0;
	}
	return step;
}

struct mem_step mem_trial_step(const struct tuning_memory *t, struct mem_control *m,
			       const struct mem_shrink_input *in)
{
	struct mem_trial *trial = &m->trial;
	bool too_full = mem_unreclaimable(&in->u->stat) > trial_high(t, trial->to);

	switch (trial->phase) {
	case MEM_RECLAIM:
		return lead_with_high(t, m, in);
	case MEM_HIGH:
		if (too_full || hurts(t, m, in))
			return mem_trial_abort(t, m, in);
		if (in->now - trial->since < t->high_watch_usec)
			return (struct mem_step){0};
		phase_begin(m, MEM_MAX, in);
		return (struct mem_step){.max = trial->to};
	case MEM_MAX:
		return watch_max(t, m, in);
	default:
		return (struct mem_step){0};
	}
}
