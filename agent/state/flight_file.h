/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder's files: text, a line for each sample and for each call of the laws that
 * decided something. FLIGHT_FILES of equal size: when the newest is full, the oldest is dropped.
 *
 *	vscaled-recording VERSION LAYOUT	first in a file, and of a run of the agent
 *	node WORDS				tuning and CPUs of the node, from here on
 *	name NUMBER NAME			a container, from here on
 *	KIND NUMBER REALTIME CPU PERIODS THROTTLED MEMORY KILLS QUOTA PERIOD MAX WORDS
 *
 * KIND: of enum flight_kind. Times in microseconds; CPU: the total used; MEMORY: unreclaimable
 * bytes; then the limits. WORDS: of a call, what is needed to make it again (struct flight_call,
 * and the control before it, if that was kept), as 8-byte words without those that are 0: a letter,
 * the index of a word, '=', its value, and the values of the words behind it. Numbers are decimal.
 * At the end of each line is the low half of its CRC-32C; a torn line is skipped.
 */
#pragma once

#include "agent/state/saver.h"
#include "policy/base/text.h"
#include "policy/flight/flight.h"

#define FLIGHT_FILE  "recording"
#define FLIGHT_FILES 4
/* More that waits for the disk is dropped. */
#define FLIGHT_WAITING_BYTES (512 * KIB)

/* The header's LAYOUT: differs between builds that cannot read each other's words. */
uint32_t flight_layout(void);
/* The name of a file (FLIGHT_FILE, or its path) that is so old: 0 is the newest. */
void flight_file_name(const char *file, int age, char *ret, size_t size);

struct flight_log {
	struct saver *saver;     /* borrowed */
	int dir;                 /* borrowed */
	uint64_t size, size_max; /* of the newest file, with what waits */
	uint32_t files;          /* begun: number of the newest */
	struct flight_node node; /* as it says */
	struct text lines;       /* that wait */
	uint64_t dropped;        /* calls and samples */
	int error;               /* of the last write */
	char waiting[FLIGHT_WAITING_BYTES];
};

/* A container's. */
struct flight_line {
	enum flight_kind kind;
	const char *name;
	uint32_t number;
	uint32_t *file; /* the caller's: the file that has its name; 0: none yet */
	usec_t now_real;
	const struct usage *seen;
	const struct flight_call *call; /* NULL: a sample */
	const struct control *before;   /* NULL: not kept */
};

/* Goes on with the newest file, if this build can read it. bytes: of all files. *l is all 0.
 * -errno. */
int flight_log_open(struct flight_log *l, struct saver *saver, int dir, uint64_t bytes);
/* Dropped, where too much waits already. */
void flight_log_add(struct flight_log *l, const struct tuning *tuning, uint64_t cpu_milli,
		    const struct flight_line *line);
/* Has it written, without waiting. 0, or the error of the last write. */
int flight_log_flush(struct flight_log *l);

struct flight_event {
	const char *container;
	enum flight_kind kind;
	const struct flight_call *call; /* of a sample: time and use */
	bool replayed;                  /* the control before the call was kept */
	bool same;                      /* the laws decide the same now */
};

/* Strings and structures are borrowed for the call. < 0 ends the reading. */
typedef int flight_event_fn(void *user, const struct flight_event *e);

/* All samples and calls of one file. Only one that this build's daemon has written may be replayed:
 * what a configuration cannot say is not looked for in `node`. -EBADMSG: no such file, or a line
 * that cannot be; -EPROTONOSUPPORT: of another build; -ENOMEM; what call returned. */
int flight_read(const char *text, size_t size, flight_event_fn *call, void *user);
