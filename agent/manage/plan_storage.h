/* SPDX-License-Identifier: Apache-2.0 */
/* Where plans are made, and their steps that were carried out. */
#pragma once

#include "agent/metrics/counters.h"
#include "policy/control/control.h"

struct managed;

/* A step of every kind for every resource at most, and a failed step may ask for two more. */
#define PLAN_STEPS_PER_UNIT 8

/* Kept for the next plan. */
struct plan_storage {
	struct change *steps; /* owned */
	size_t capacity;
};

/* A step that was carried out; it is logged when all steps are done. */
struct done_step {
	struct managed *unit;
	struct change step;
	struct decision why;
	int outcome; /* enum apply_outcome or -errno */
	usec_t took[SINCE_COUNT];
};
#define DONE_STEPS_MAX 64
struct step_log {
	struct done_step items[DONE_STEPS_MAX];
	size_t count;
};
