// SPDX-License-Identifier: Apache-2.0
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include <time.h>

/* A wall clock that moved by more than this was set, not slewed. */
#define CLOCK_STEP_USEC USEC_PER_MIN

static usec_t clock_usec(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

usec_t daemon_clock(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

void daemon_host_clock(void *, usec_t *ret_boot, usec_t *ret_real)
{
	*ret_boot = clock_usec(CLOCK_BOOTTIME);
	*ret_real = clock_usec(CLOCK_REALTIME);
}

/* Has a handler of this dispatch read the clock? Outside of the loop every call reads it. */
static bool is_awake(struct wakeup *w)
{
	uint64_t iteration, last = w->iteration;

	if (w->event == NULL || sd_event_get_state(w->event) != SD_EVENT_RUNNING ||
	    sd_event_get_iteration(w->event, &iteration) < 0)
		return false;
	w->iteration = iteration;
	return iteration == last;
}

void daemon_wake(struct wakeup *w)
{
	usec_t boot, real;
	int64_t step;

	if (is_awake(w))
		return;
	w->clock(w->clock_ctx, &boot, &real);
	w->monotonic = daemon_clock();
	if (w->now == 0) {
		w->offset_usec = (int64_t)(real - boot);
		w->started_at = w->ticked_at = boot;
		w->started_monotonic = w->monotonic;
	}
	step = (int64_t)(real - boot) - w->offset_usec;
	w->now = MAX(boot, w->now);
	if (step > (int64_t)CLOCK_STEP_USEC || step < -(int64_t)CLOCK_STEP_USEC) {
		/* Shifts every record's time: ages stay. */
		UNITS_FOREACH (m, w->units)
			control_shift_clock(&m->control, step);
		w->offset_usec += step;
		event_tell(EVENT_CLOCK_JUMPED, .span_usec = step);
	}
	w->now_real = (usec_t)((int64_t)w->now + w->offset_usec);
	w->wall_now = real;
	w->count++;
	event_log_time(w->log, w->now, w->now_real);
}
