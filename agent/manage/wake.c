// SPDX-License-Identifier: Apache-2.0
/* A wake-up: its time, and the context that the laws get with it. */
#include "agent/manage/wake.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* Shifts every record's time by the step of a wall clock that was set: ages stay. */
static void follow_clock_step(struct daemon *d, int64_t step)
{
	for (size_t i = 0; i < d->units.count; i++)
		control_shift_clock(&d->units.items[i]->control, step);
	d->wake.offset_usec += step;
	event_clock_jumped(&(struct daemon_event){.span_usec = step});
}

void daemon_host_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	(void)ctx;
	*ret_boot = clock_usec(CLOCK_BOOTTIME);
	*ret_real = clock_usec(CLOCK_REALTIME);
}

/* Has a handler of this dispatch read the clock? Outside of the loop every call reads it. */
static bool is_awake(struct daemon *d)
{
	uint64_t iteration, last = d->wake.iteration;

	if (d->event == NULL || sd_event_get_state(d->event) != SD_EVENT_RUNNING ||
	    sd_event_get_iteration(d->event, &iteration) < 0)
		return false;
	d->wake.iteration = iteration;
	return iteration == last;
}

void wake_stale(struct wakeup *w)
{
	w->iteration = UINT64_MAX;
}

void daemon_wake(struct daemon *d)
{
	usec_t boot, real;
	int64_t step;

	if (is_awake(d))
		return;
	d->wake.clock(d->wake.clock_ctx, &boot, &real);
	d->wake.monotonic = daemon_clock();
	if (d->wake.now == 0) {
		d->wake.offset_usec = (int64_t)(real - boot);
		d->wake.started_at = d->wake.ticked_at = boot;
		d->wake.started_monotonic = d->wake.monotonic;
	}
	step = (int64_t)(real - boot) - d->wake.offset_usec;
	d->wake.now = MAX(boot, d->wake.now);
	if (step > (int64_t)CLOCK_STEP_USEC || step < -(int64_t)CLOCK_STEP_USEC)
		follow_clock_step(d, step);
	d->wake.now_real = (usec_t)((int64_t)d->wake.now + d->wake.offset_usec);
	d->wake.wall_now = real;
	d->wake.count++;
	node_memory_close(d);
	event_log_time(&d->log, d->wake.now, d->wake.now_real);
}

void wake_init(struct wakeup *w, daemon_clock_fn *clock, void *ctx)
{
	*w = (struct wakeup){.clock = clock, .clock_ctx = ctx};
}

void wake_ticked(struct wakeup *w)
{
	w->ticked_at = w->now;
}

void wake_due(struct wakeup *w, usec_t due)
{
	w->due = due;
}

struct control_context daemon_context(struct daemon *d, struct plan *plan)
{
	return (struct control_context){
		.tuning = &d->config.tuning,
		.node_milli = d->host.cpu_milli,
		.tick_usec = MIN(d->config.clocks.reflex_usec, d->config.clocks.sample_usec),
		.now = d->wake.now,
		.now_real = d->wake.now_real,
		.plan = plan,
		.ledger = d->memory.open ? &d->memory.ledger : NULL,
	};
}
