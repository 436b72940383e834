/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: set-up, timer, signals, stop. */
#pragma once

#include "agent/loop/daemon_state.h"
#include "agent/loop/folders.h"
#include "agent/loop/reload.h"
#include "agent/serve/serve.h"
#include "agent/units/lifecycle.h"

struct cluster;

struct timer {
	sd_event_source *source;
	usec_t wanted; /* the next tick, if this one takes no time */
	usec_t next_sample;
	usec_t next_review;
};

struct loop {
	struct daemon daemon;
	struct reload reload;
	struct folders folders;
	struct timer timer;
	usec_t stop_by; /* 0: not stopping */
	struct unit_bus *bus;
	struct hand_back hand_back;
	struct cluster *cluster; /* NULL: there is no Kubernetes */
	struct serve serve;
};

struct loop_options {
	const char *config_path;
	const char *cgroup_root; /* NULL: as configured */
	const char *proc_root;   /* NULL: /proc */
	/* For tests: any folder will do as a tree, and in place of PID 1 and the clocks ... */
	bool trust_root;
	enum cg_mode mode; /* the host's, as if found; CG_MODE_NONE: as found */
	const struct unit_port *port;
	daemon_clock_fn *clock;
	void *clock_ctx;
};

/* Everything up to the running loop. -errno after having said why. */
int loop_new(const struct loop_options *o, struct loop **ret);
/* Until SIGTERM or SIGINT; the exit status. */
int loop_run(struct loop *l);
void loop_free(struct loop *l);
/* What the timer does. */
void loop_tick(struct loop *l);
