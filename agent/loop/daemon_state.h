/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the folders from manage to cluster have. Each has a header of its own, which says
 * what writes it, and gets pointers to the parts that it uses at the start (loop.c). A function
 * takes the part that it needs: only this folder has all of them. */
#pragma once

#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"

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
