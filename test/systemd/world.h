/* SPDX-License-Identifier: Apache-2.0 */
/* A unit bus and its scripted PID 1 in one event loop, and what the callbacks said. */
#pragma once

#include "peer.h"
#include "systemd/unit.h"
#include "test/check.h"
#include <stdbool.h>

#define MS USEC_PER_MSEC

/* What the callbacks said. */
struct received {
	struct unit_bus *bus;
	unsigned listed, changed, connected, disconnected, reload_begin, reload_end, sets, gots;
	int list_error, set_error, got_error, lost_error;
	size_t count;
	char names[1024];       /* of 40 units in test_unit_bus.c */
	struct unit_info first; /* strings gone, numbers stay */
	char first_id[33], first_state[16], first_cgroup[64];
	struct unit_props stored;
	usec_t lag;
	unsigned set_errors;
	unsigned odd;        /* callbacks that broke their contract */
	const char *unknown; /* every other unit is known; NULL: none is */
	const char *free_in; /* the callback in which to free the bus */
};

struct world {
	sd_event *event;
	struct peer peer;
	struct received received;
	char dir[32];
	struct unit_bus_options options;
};

void open_world(struct world *w);
/* For a call that must not time out, on a busy machine either. */
void open_world_deadline(struct world *w, usec_t deadline_usec);
void close_world(struct world *w);
/* Runs the loop until *counter reaches want (true) or 5 s have passed. */
bool wait_for(struct world *w, const unsigned *counter, unsigned want);
void run_for(struct world *w, usec_t usec);
int set_mem(struct world *w, const char *unit, uint64_t mem_max, bool urgent);

extern const struct unit_bus_ops world_ops;
extern const char *const web[2];

/* A test that is given a world, which is closed after it. */
#define TEST_WORLD(name)                                                                           \
	static void with_world_##name(struct world *w);                                            \
	TEST(name)                                                                                 \
	{                                                                                          \
		OWN(close_world) struct world w;                                                   \
		open_world(&w);                                                                    \
		with_world_##name(&w);                                                             \
	}                                                                                          \
	static void with_world_##name(struct world *w)
