/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: set-up, configuration, state folder, timer, signals, stop. */
#pragma once

#include "agent/base/lock.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/serve/serve.h"
#include "agent/units/lifecycle.h"
#include <stdbool.h>

/* The parts that the folders from manage to cluster have. Each has a header of its own, which says
 * what writes it, and gets pointers to the parts that it uses at the start (loop.c). A function
 * takes the part that it needs: only this folder has all of them. */

struct daemon {
	struct wakeup wake;
	struct event_log log;
	struct config config;
	struct host host;
	struct inotify inotify;
	struct node_memory memory;
	struct reader reader;
	struct pid1 pid1;
	struct unit_table units;
	struct pods pods;
	struct records records;
	struct counters tally; /* for /metrics */
};

/* The state folder and the control socket, which other processes may remove. */

/* An error that was reported; 0: all is well. */
struct reported_error {
	int error;
	usec_t at;
};

struct folders {
	int lock_fd;
	struct reported_error lock_reported, socket_reported;
	bool reopen_due; /* the state folder was replaced */
};

/* The result of the loop when another process took the lock: the state files are not written any
 * more. */
#define FOLDERS_LOST (-EBUSY)
/* State files are saved beside the loop from now on. */
int folders_save_beside(struct daemon *d);

/* Reads the configuration: at the start, on SIGHUP, and when a kubelet has replaced it. */

struct config_watch;

struct reload {
	struct daemon *daemon;
	struct hand_back *hand_back;
	struct config_source source;
	struct config_watch *watch;
};

void reload_config(struct reload *reload);

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
