/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct daemon: what the folders from manage to loop share. One event loop, one table of managed
 * units. test/lint/rooms says which folder may include which.
 */
#pragma once

#include "agent/base/lock.h"
#include "agent/control/control.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/metrics/counters.h"
#include "agent/restore/restore.h"
#include "agent/state/history_file.h"
#include "cgroup/discover.h"
#include "cgroup/reader.h"
#include "cgroup/watch.h"
#include "systemd/unit.h"

struct cluster;
struct config_watch;
struct metrics_server;

/* How properties get to PID 1; tests put a recorder here. Same contracts as systemd/unit.h. */
struct unit_port {
	void *ctx;
	int (*list)(void *ctx, const char *const *patterns, size_t count);
	int (*set)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask,
		   bool urgent);
	bool (*pending)(void *ctx, const char *unit);
	void (*forget)(void *ctx, const char *unit); /* NULL: nothing ever waits */
	int (*get)(void *ctx, const char *unit);
	/* For a unit with other drop-ins that beat a runtime property; NULL: there are none. */
	bool (*beaten)(void *ctx, const char *unit);
	int (*keep)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask);
};

/* Event sources that may raise a limit run before those that serve requests and replies, and after
 * those that report external writes and removed cgroups. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

/* The time of a wake-up: boottime for control, realtime for records. */
typedef void daemon_clock_fn(void *ctx, usec_t *ret_boot, usec_t *ret_real);

/* A step that was carried out; it is logged when all steps are done. */
struct done_step {
	struct managed *unit;
	struct change step;
	struct decision why;
	int outcome; /* enum apply_outcome or -errno */
	usec_t took[SINCE_COUNT];
};
#define DONE_STEPS_MAX 64

struct daemon_counters {
	uint64_t wakeups;
	usec_t lag_max_usec;
	usec_t scan_usec; /* of the last sample */
	usec_t look_usec; /* of the last reflex pass */
};

/* 0: all is well. */
struct told_error {
	int error;
	usec_t at;
};

struct daemon {
	sd_event *event;
	daemon_clock_fn *clock;
	void *clock_ctx;
	struct event_log log;
	const char *config_path;
	struct config config;
	char config_result[256];
	usec_t config_loaded_real;
	struct cg_host host;
	char controllers[64];
	uint64_t node_milli;
	int root; /* cgroup root */
	int state_dir;
	struct lock lock;
	struct told_error lock_told, socket_told;
	bool reopen_due; /* the state folder was replaced */
	struct cg_watch *watch;
	struct node_memory memory;
	struct reader reader;
	void (*memory_heard)(struct managed *m); /* memory.events of m had an event */
	struct unit_bus *bus;
	struct unit_port port;
	const struct restore_units *restore_units; /* tests; NULL: PID 1 */
	bool bus_connected;
	bool unwatched;          /* inotify does not report everything */
	const char *unsupported; /* why nothing here can be managed, in a few words; NULL: it can */
	bool bus_absent;         /* there is no connection to PID 1, and none is needed */
	bool bus_lost;           /* reported */
	bool ready_told;
	usec_t hand_back_at; /* PID 1 did not answer: no hand-back before this time */
	bool strays_told;
	usec_t strays_at;       /* when to hand them back, UINT64_MAX: none */
	struct managed **units; /* owned; containers and pod levels too */
	size_t unit_count;
	struct pods pods;
	struct pod_hooks hooks;
	struct baseline_set baselines;
	struct history_store histories; /* as of the last save */
	struct change *steps;           /* the plan's storage */
	size_t step_capacity;
	struct done_step done[DONE_STEPS_MAX];
	size_t done_count;
	char own_cgroup[256];                 /* never managed, nor are its parents */
	char own_namespace[64], own_pod[256]; /* the same; "": vscaled runs in no pod */
	usec_t started_at;
	usec_t started_monotonic;
	usec_t now;      /* boottime of this wake-up */
	usec_t woke;     /* the same on daemon_clock() */
	usec_t due;      /* when the timer's wake-up was due, boottime; 0: not the timer's */
	usec_t now_real; /* realtime, steps of the wall clock taken out */
	usec_t wall_now; /* the wall clock as it is, for comparison with timestamps of others */
	int64_t clock_offset_usec;
	usec_t last_tick;
	usec_t stop_by; /* 0: not stopping */
	usec_t next_sample;
	usec_t next_review;
	usec_t next_save;
	usec_t list_asked_at;
	usec_t list_whole_at; /* when the properties of all units were requested */
	usec_t reload_ended;  /* of PID 1 */
	bool reloading;
	bool paused;
	bool list_due;
	bool list_pending; /* asked, not answered */
	bool baselines_dirty;
	bool originals_lost; /* at the start their file was missing or not whole */
	bool lost_mark_due;  /* the mark of that is not on disk yet */
	int lost_mark_error; /* reported already */
	bool lift_copy_due;  /* lift_keep() */
	int lift_copy_error; /* reported already */
	char state_result[128];
	int state_error; /* reported already */
	usec_t state_saved_real;
	struct daemon_counters counters;
	struct counters tally;   /* for /metrics */
	struct cluster *cluster; /* NULL: there is no Kubernetes */
	bool node_wrong;  /* its name seems wrong: no listed pod has a cgroup here, others have;
			     reported */
	bool cpu_manager; /* the kubelet assigns CPUs to containers: limits may be replayed at any
			     time */
	struct metrics_server *metrics;
	struct config_watch *config_watch;
	sd_event_source *tick_source;
	struct control_api api;
	struct http_server *server;
};

/* Is Kubernetes switched on, or found? */
bool cluster_wanted(const struct daemon *d);
