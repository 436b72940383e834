/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod of two containers in a world of its own: a server with a quota, a watch that lags, a
 * kubelet that reads the spec and writes all of it later, and may have no room for it; an owner who
 * resizes at any moment; answers that are lost, or whose request is stored later; a cgroup that
 * grows by itself, as far as it may.
 */
#pragma once

#include "test/policy/report_rig.h"

#define MS   USEC_PER_MSEC
#define LAGS 64
#define BUSY (1800 * S)
#define REST (2 * USEC_PER_HOUR)

enum fault { QUOTA = 1, ROOM = 2, ANSWERS = 4 };

/* The values of the containers. */
struct spec {
	struct report_values v[RIG_CONTAINERS];
};

struct object {
	uint64_t generation, observed, version;
	struct spec spec, status;
	bool deferred, infeasible, progress, ours;
	usec_t at; /* when the watch shows it */
};

struct process {
	uint64_t use, slope;
	usec_t grows_until, grew_at;
	bool above; /* it grew above the spec when it was allowed to */
};

/* A request of vscaled. */
struct call {
	struct report_patch patch;
	bool under_way, exact, done; /* done: by the server */
	enum { KEPT, LOST, LOST_STORED, LOST_LATE, REFUSED, CONFLICT } fate;
	uint64_t version;
	usec_t store_at, answer_at;
};

struct tally {
	uint64_t sent, resizes, kills, apart, theirs, refused, no_room, braked;
};

struct world {
	struct report_rig g; /* as vscaled sees it */
	struct object api, lag[LAGS], reads;
	size_t lags;
	struct spec original;
	struct process process[RIG_CONTAINERS];
	bool last_ours[RIG_CONTAINERS]; /* who wrote the memory limit */
	struct call call, late;
	usec_t reads_at, writes_at, owner_at;
	uint64_t random, quota, seen_version;
	uint32_t faults;
	bool busy, blocked, shows;
	struct tally *t;
};

uint64_t rnd(struct world *w, uint64_t below);
bool one_in(struct world *w, uint64_t n);
/* Prints what happened, of a run that is shown. */
void world_tell(const struct world *w, const char *what);
/* What vscaled has not seen in time: only its use and growth. */
void world_sample(struct world *w);
/* vscaled does what these REPORT_CHANGE_* ask for. */
void world_follow(struct world *w, uint32_t changes);
/* Everything but vscaled, for dt. */
void world_step(struct world *w, usec_t dt);
