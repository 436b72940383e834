/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the laws of one container: what they are given, what is kept of one by the flight
 * recorder (agent/state/flight_file.h), and the same call made once more, from what was kept.
 * Structures of whole 8-byte words.
 */
#pragma once

#include "policy/control/control.h"

enum flight_kind {
	FLIGHT_SAMPLE,  /* no call: use and limits */
	FLIGHT_OBSERVE, /* the functions of control.h */
	FLIGHT_REFLEX,
	FLIGHT_REVIEW,
	FLIGHT_BOOST,
	FLIGHT_APPLIED,
	FLIGHT_THROTTLED,
	FLIGHT_KIND_COUNT
};

/* "sample", "observe", ... */
extern const char *const flight_kind_names[FLIGHT_KIND_COUNT];

struct flight_input {
	enum flight_kind kind;
	const struct usage *usage; /* OBSERVE, REFLEX, THROTTLED */
	const struct change *step; /* APPLIED, with its outcome */
	int outcome;
};

/* The node as it was. */
struct flight_node {
	struct tuning tuning;
	uint64_t cpu_milli;
};

/* The context of a call without what it points to, its input, and what it decided. */
struct flight_call {
	usec_t now, now_real, tick_usec;
	uint64_t ledger; /* there was one */
	struct usage usage;
	struct change step;
	int64_t outcome;
	struct ledger_tape tape;
	uint64_t decided_count;
	struct change decided[CONTROL_STEPS_MAX];
};

/* Makes a call of the laws. */
void flight_make(struct control *c, const struct flight_input *in, const struct control_context *x);
/* Could it have been made? What was read may be crafted. */
bool flight_possible(const struct flight_call *call);
/* Makes it once more. before: the control before the call, of which only the histograms' weights
 * are pointed to, HISTOGRAM_BUCKETS of each; it is copied. 1: it decides the same, 0: it does not;
 * -ENOMEM; -EBADMSG: no such call. */
int flight_replay(const struct control *before, const struct flight_node *node,
		  enum flight_kind kind, const struct flight_call *call);
