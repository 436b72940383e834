/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder's file, as vscalectl reads it. */
#pragma once

#include "agent/ctl/ctl.h"
#include "agent/state/flight_file.h"

/* Reads the file that the options name; failures are printed. CTL_OK, or another exit status. */
int recorded_read(const struct ctl *c, flight_event_fn *call, void *user);

/* Use and limits at one moment. */
struct recorded_point {
	usec_t at_real;
	double cores;           /* since the point before; NaN: not known */
	double unreclaimable;   /* bytes */
	double limit_cores;     /* NaN: none */
	double limit_bytes;     /* NaN: none */
	bool throttled, killed; /* since the point before */
};

struct recorded_points {
	const char *name;             /* of the container */
	struct recorded_point *items; /* owned */
	size_t count, room;
	struct usage last; /* of the newest item */
};

/* A flight_event_fn: user is struct recorded_points. */
int recorded_point_add(void *user, const struct flight_event *e);
void recorded_points_drop(struct recorded_points *p);

/* Use and limits of a container over the time of the recording, in the format of the options. */
int history_chart(const struct ctl *c, const char *name);
