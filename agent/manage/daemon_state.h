/* SPDX-License-Identifier: Apache-2.0 */
/* struct daemon: the parts that the folders from manage to cluster share. Each part has a header of
 * its own, which says what writes it; a function that needs one part takes that part. */
#pragma once

#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/inotify.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/plan_storage.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"

/* Event sources that may raise a limit run before those that serve requests and replies, and after
 * those that report external writes and removed cgroups. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

struct daemon {
	sd_event *event;
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
	struct pod_hooks hooks;
	struct records records;
	struct plan_storage plans;
	struct step_log steps;
	struct counters tally; /* for /metrics */
};
