/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the laws of one container were given and what they decided, as bytes: for a recording that
 * can be replayed (replay.h). A record begins with its kind and the number of its container.
 *
 * Structures are written as their 8-byte words, those alone that differ from what was written
 * before, so that most calls take some 20 bytes. The layout is that of this build: what reads them
 * must have the same flight_layout(). Padding may be written; it is never looked at.
 *
 * Pure. -EBADMSG: no record, or cut off. A writer without room is marked and writes no further.
 */
#pragma once

#include "policy/control/control.h"

enum flight_kind {
	FLIGHT_NAME = 1, /* of the container; before its other records of a block */
	FLIGHT_SAMPLE,   /* use and limits, while its calls are not recorded */
	FLIGHT_STATE,    /* its whole control: calls are recorded from here on */
	FLIGHT_PATCH,    /* what has changed in it since the last call */
	FLIGHT_END,      /* its calls are not recorded any more */
	FLIGHT_OBSERVE,  /* calls of the functions of control.h; what they decided */
	FLIGHT_REFLEX,
	FLIGHT_REVIEW,
	FLIGHT_BOOST,
	FLIGHT_APPLIED,
	FLIGHT_KIND_COUNT
};

#define FLIGHT_NAME_MAX 512
/* No record is longer. */
#define FLIGHT_BYTES_MAX (16 * KIB)

struct flight_writer {
	uint8_t *data;
	size_t size, at;
	bool full;
};

struct flight_reader {
	const uint8_t *data;
	size_t size, at;
};

/* The context of a call, without what it points to. */
struct flight_moment {
	usec_t now, now_real, tick_usec;
	uint64_t ledger; /* there was one */
};

/* What the last call of the container held; all 0 at the first of a block, after its state, and for
 * samples. */
struct flight_base {
	struct flight_moment at;
	struct usage usage;
};

struct flight_call {
	struct flight_moment at;
	struct usage usage; /* SAMPLE, OBSERVE, REFLEX */
	struct change step; /* APPLIED, with its outcome */
	int64_t outcome;
	struct ledger_tape tape;
	size_t decided_count;
	struct change decided[CONTROL_STEPS_MAX];
};

/* Differs between builds that cannot read each other's records. */
uint32_t flight_layout(void);

void flight_put_head(struct flight_writer *w, enum flight_kind kind, uint32_t container);
int flight_get_head(struct flight_reader *r, enum flight_kind *ret_kind, uint32_t *ret_container);

void flight_put_name(struct flight_writer *w, const char *name);
/* Into FLIGHT_NAME_MAX bytes. */
int flight_get_name(struct flight_reader *r, char *ret);

/* SAMPLE and the calls; the base is moved on. */
void flight_put_call(struct flight_writer *w, enum flight_kind kind, struct flight_base *base,
		     const struct flight_call *call);
int flight_get_call(struct flight_reader *r, enum flight_kind kind, struct flight_base *base,
		    struct flight_call *ret);

void flight_put_state(struct flight_writer *w, const struct control *c);
/* *c owns nothing; afterwards what control_drop() frees. -ENOMEM. */
int flight_get_state(struct flight_reader *r, struct control *c);

/* The same bytes. Padding counts: a difference of it alone costs a needless record. */
bool flight_same(const void *a, const void *b, size_t size);
/* Can the change of a control be written as a patch? No: its histograms have changed. */
bool flight_patches(const struct control *before, const struct control *after);
void flight_put_patch(struct flight_writer *w, const struct control *before,
		      const struct control *after);
int flight_get_patch(struct flight_reader *r, struct control *c);
