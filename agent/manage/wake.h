/* SPDX-License-Identifier: Apache-2.0 */
/* A wake-up: its time. */
#pragma once

#include "policy/base/base.h"
#include <systemd/sd-event.h>

/* Event sources that may raise a limit run before those that serve requests and replies, and after
 * those that report external writes and removed cgroups. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

struct event_log;
struct unit_table;

/* The time of a wake-up: boottime for control, realtime for records. */
typedef void daemon_clock_fn(void *ctx, usec_t *ret_boot, usec_t *ret_real);

struct wakeup {
	sd_event *event; /* NULL: there is no loop yet */
	struct event_log *log;
	struct unit_table *units;
	daemon_clock_fn *clock;
	void *clock_ctx;     /* its context */
	usec_t now;          /* boottime of this wake-up */
	usec_t monotonic;    /* the same on daemon_clock() */
	usec_t due;          /* when the timer's wake-up was due, boottime; 0: not the timer's */
	usec_t now_real;     /* realtime, steps of the wall clock taken out */
	usec_t wall_now;     /* the wall clock as it is, for comparison with timestamps of others */
	int64_t offset_usec; /* from boottime to now_real */
	usec_t started_at;   /* the first wake-up */
	usec_t started_monotonic;
	usec_t ticked_at;   /* the newest of the timer, boottime */
	uint64_t iteration; /* of the event loop, that of the newest wake-up; UINT64_MAX: a call
			       took long, and the clocks are read again */
	uint64_t count;     /* of wake-ups: dispatches of the loop that a handler answered */
};

/* Every handler calls this first. Reads the clocks, once in a dispatch of the loop. */
void daemon_wake(struct wakeup *w);
/* CLOCK_MONOTONIC now, for measuring vscaled's own cost. */
usec_t daemon_clock(void);
/* The clock of the host; tests have their own. */
void daemon_host_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real);
