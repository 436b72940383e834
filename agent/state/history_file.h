/* SPDX-License-Identifier: Apache-2.0 */
/* The history of every workload, running or not, as it is stored between two runs of the daemon.
 * A record is kept as its line of text: a few hundred bytes instead of the 3 KB of two open
 * histograms. Weights are written bit by bit and not as the shares of a VPA checkpoint: next to a
 * day of weight in bucket 0 a share of 1/10000 loses the minutes of activity that the peak of an
 * idle unit is made of. Keys: "unit:web.service", "NAMESPACE/KIND/WORKLOAD/CONTAINER".
 */
#pragma once

#include "agent/state/state_file.h"
#include "policy/history/history.h"
#include "policy/report/rollout.h"

#define HISTORY_COUNT_MAX   10000
#define HISTORY_BYTES_MAX   (16 * MIB)
#define HISTORY_UNSEEN_USEC (8 * USEC_PER_DAY)
/* Records of workloads that do not run here: as many as a full node has containers. Each pod
 * without a controller leaves one that is never read again. */
#define HISTORY_GONE_MAX 1024

/* How long failed shrinks hold the next one back. */
struct shrink_backoff {
	usec_t span_usec; /* the next wait */
	usec_t until_realtime_usec;
};

struct history_record {
	usec_t seen_realtime_usec; /* when the workload was last there */
	struct history history;
	struct shrink_floor floor[RESOURCE_COUNT];
	struct shrink_backoff backoff[RESOURCE_COUNT];
};

/* Frees what its history owns. */
void history_record_drop(struct history_record *r);

struct history_entry {
	char *key;
	char *line;
	usec_t seen_realtime_usec;
};

/* Sorted by key. Zero is the empty store. */
struct history_store {
	struct history_entry *items;
	size_t count;
	size_t bytes; /* of all lines */
};

extern const struct state_kind history_state;

void history_store_free(struct history_store *s);

/* Adds or replaces. Where that goes beyond the bounds, those unseen for longest are dropped.
 * -EINVAL for a key that is empty or too long, -ENOMEM. */
int history_store_put(struct history_store *s, const char *key, const struct history_record *r);
/* ret holds nothing. -ENOENT, -ENOMEM. t: a half life other than the saved one moves the weights
 * over to it. */
int history_store_get(const struct history_store *s, const char *key,
		      const struct tuning_history *t, struct history_record *ret);
void history_store_remove(struct history_store *s, const char *key);
/* Drops what was not seen for HISTORY_UNSEEN_USEC; and where more than HISTORY_GONE_MAX were not
 * seen now, those unseen for longest: true. */
bool history_store_prune(struct history_store *s, usec_t now_realtime);

/* The body of the state file. -ENOMEM. */
int history_encode(const struct history_store *s, char **ret, size_t *ret_len);
/* Adds a line of it to a store, strictly. -EBADMSG, -ENOMEM. */
record_line_fn history_line;

/* Like state_file_load(), into an empty set; a body that cannot be decoded is set aside as well. */
int history_load(int dir, char *aside, struct history_store *ret);

/* What a history file holds and what is wrong with it, without changing it. */
struct history_fault {
	size_t line; /* of the file, from 1 on */
	const char *what;
	const char *advice;
};

typedef void history_fault_fn(void *user, const struct history_fault *fault);

/* Of the lines that are whole. */
struct history_summary {
	bool version_known;
	uint32_t version;
	size_t keys;
	size_t bytes; /* of the file */
	size_t faults;
	char *oldest_key, *newest_key; /* owned; NULL: no line is whole */
	usec_t oldest_realtime_usec;
	usec_t newest_realtime_usec;
};

void history_summary_drop(struct history_summary *s);

/* The bytes of a whole file. No fault: the daemon loads it. each() gets every fault, in the order
 * of the lines. -ENOMEM. */
int history_verify(const char *text, size_t len, history_fault_fn *each, void *user,
		   struct history_summary *ret);

/* The stopped rollouts of a node, as they are stored: they stay stopped after a restart. */

#define ROLLOUT_STOPS_MAX 1024

struct rollout_stop {
	char *workload; /* owned: "namespace/name" */
	uint32_t percent;
	uint32_t hurt; /* enum rollout_hurt */
};

/* Zero is the empty set. */
struct rollout_stops {
	struct rollout_stop *items; /* owned */
	size_t count;
};

extern const struct state_kind rollout_state;

void rollout_stops_free(struct rollout_stops *s);
/* Copies the name. -ENOSPC, -ENOMEM. */
int rollout_stops_add(struct rollout_stops *s, const char *workload, uint32_t percent,
		      enum rollout_hurt hurt);
/* The body of the state file. -ENOMEM. */
int rollout_stops_encode(const struct rollout_stops *s, char **ret, size_t *ret_len);
/* Adds a line of it to a set, strictly. -EBADMSG, -ENOMEM. */
record_line_fn rollout_stop_line;
/* Like state_file_load(), into an empty set; a body that cannot be decoded is set aside as well. */
int rollout_stops_load(int dir, char *aside, struct rollout_stops *ret);
