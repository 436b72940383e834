/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the calls of the laws are made here, and those that decided something are
 * recorded with what they were given (agent/state/flight_file.h), so that they can be made again.
 * `vscalectl record` reads it.
 *
 * From the moment that a container is throttled, near its memory limit or changed, until a minute
 * has passed without, each observation is a sample, and the control is kept before each call. Of
 * the others a sample is recorded at every review; what a pass decides for one of them comes as a
 * surprise, and is recorded without the control before it.
 */
#pragma once

#include "agent/state/flight_file.h"

struct managed;
struct unit_table;

/* As the configuration says. A failure is logged, and nothing is recorded. */
void recorder_start(struct unit_table *t);
void recorder_stop(struct unit_table *t);

/* Makes a call of the laws of m. If it decides steps its text waits for the next call of a unit
 * with laws, which comes in the same wake-up: at the latest when the first of them is written. */
void recorded_call(struct managed *m, const struct flight_input *in,
		   const struct control_context *x);

/* Has written what was recorded since. For every sample. */
void recorder_flush(struct unit_table *t);
