/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: set-up, timers, signals, stop. */
#pragma once

#include "agent/manage/shared.h"

struct daemon_options {
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
int daemon_new(const struct daemon_options *o, struct daemon **ret);
/* Until SIGTERM or SIGINT; the exit status. */
int daemon_run(struct daemon *d);
void daemon_free(struct daemon *d);
/* What the timer does. */
void daemon_tick(struct daemon *d);
/* r, after having said that the event loop cannot be set up where it is an error. */
int daemon_loop_part(int r);
/* What every node has: control socket, metrics, a new configuration, the API server. -errno after
 * having said why. */
int daemon_serve(struct daemon *d);
/* What a log needs to know of the configuration; the old one stays where it cannot be used. */
void daemon_log_start(struct daemon *d);
