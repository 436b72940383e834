/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the calls of the laws are made here, and those of containers with something
 * to decide are recorded with what they were given and what came of them (policy/flight), in a ring
 * of fixed size (agent/state/ring). `vscalectl record` reads it.
 *
 * A container is recorded from the moment that it is throttled, near its memory limit or changed,
 * until a minute has passed without. Of the others a sample is kept at every review.
 */
#pragma once

#include "agent/state/flight_file.h"

struct managed;
struct unit_table;

#define RECORDER_FILE FLIGHT_FILE
/* Calls of more containers at once are not recorded: each takes 4.5 KB, and 1 MiB of the ring an
 * hour. */
#define RECORDER_ACTIVE_MAX 64

/* As the configuration says. A failure is logged, and nothing is recorded. */
void recorder_start(struct unit_table *t);
void recorder_stop(struct unit_table *t);

/* The calls of control.h. */
void recorded_observe(struct managed *m, const struct usage *u, const struct control_context *x);
void recorded_reflex_pass(struct managed *m, const struct usage *u,
			  const struct control_context *x);
void recorded_review(struct managed *m, const struct control_context *x);
void recorded_boost(struct managed *m, const struct control_context *x);
void recorded_applied(struct managed *m, const struct change *step, int outcome,
		      const struct control_context *x);

/* Writes what was recorded since. For every sample. */
void recorder_flush(struct unit_table *t);
