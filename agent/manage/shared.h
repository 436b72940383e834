/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct daemon: what the folders from manage to loop share. One event loop, one table of managed
 * units. test/lint/rooms says which folder may include which.
 */
#pragma once

#include "agent/base/lock.h"
#include "agent/control/control.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/inotify.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/report.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/restore/restore.h"
#include "cgroup/reader.h"
#include "systemd/unit.h"

struct cluster;
struct config_watch;
struct metrics_server;

/* Event sources that may raise a limit run before those that serve requests and replies, and after
 * those that report external writes and removed cgroups. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

/* Where plans are made; kept for the next one. */
struct plan_storage {
	struct change *steps; /* owned */
	size_t capacity;
};

struct daemon_counters {
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
	struct wakeup wake;
	struct event_log log;
	const char *config_path;
	struct config config;
	char config_result[256];
	usec_t config_loaded_real;
	struct host host;
	struct lock lock;
	struct told_error lock_told, socket_told;
	bool reopen_due; /* the state folder was replaced */
	struct inotify inotify;
	struct node_memory memory;
	struct reader reader;
	struct unit_bus *bus;
	struct pid1 pid1;
	const struct restore_units *restore_units; /* tests; NULL: PID 1 */
	usec_t hand_back_at; /* PID 1 did not answer: no hand-back before this time */
	bool strays_told;
	usec_t strays_at; /* when to hand them back, UINT64_MAX: none */
	struct unit_table units;
	struct pods pods;
	struct pod_hooks hooks;
	struct records records;
	struct plan_storage plans;
	struct step_log steps;
	usec_t last_tick;
	usec_t stop_by; /* 0: not stopping */
	usec_t next_sample;
	usec_t next_review;
	struct daemon_counters counters;
	struct counters tally;   /* for /metrics */
	struct cluster *cluster; /* NULL: there is no Kubernetes */
	struct metrics_server *metrics;
	struct config_watch *config_watch;
	sd_event_source *tick_source;
	struct control_api api;
	struct http_server *server;
};
