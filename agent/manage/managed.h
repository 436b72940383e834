/* SPDX-License-Identifier: Apache-2.0 */
/* What is managed: a systemd unit, a container of a pod, or the pod level above its containers. The
 * same laws hold for units and containers; a pod level follows its containers (pod_level.c). */
#pragma once

#include "agent/manage/parts.h"
#include "agent/manage/plan_storage.h"
#include "agent/view/view.h"
#include "policy/control/control.h"
#include "systemd/unit_props.h"

struct config;
struct host;
struct pod;
struct flight_recorder;
struct wakeup;

struct managed {
	struct unit_table *table; /* that it is in */
	/* Parts of the table, as most functions of an entry need them. */
	struct records *records;
	struct pid1 *pid1;
	const struct wakeup *wake;
	const struct config *config;
	const struct host *host;
	/* What it is: does not change, but for a container's unit (managed_set_unit()). */
	enum unit_kind kind;
	char *name;        /* unique, and shown: "web.service", "default/web-0/app" */
	char *unit;        /* the systemd unit that holds its properties; NULL: none does */
	char *key;         /* of its originals: "unit:NAME", "pod:UID/CONTAINER", "pod:UID" */
	char *history_key; /* "unit:NAME", "NS/KIND/WORKLOAD/CONTAINER"; NULL: it has no history */
	struct pod *pod;   /* of a container or pod level; NULL: a unit */

	enum unit_state state;    /* managed_set_state() */
	const char *state_reason; /* static text, or the pod's; NULL: none */
	bool paused;              /* by vscalectl pause: units/lifecycle.c */
	bool listed;              /* in the newest list */
	struct control control;

	/* parts.h */
	struct managed_cgroup cgroup;
	struct managed_originals originals;
	struct managed_reported reported;
	struct managed_properties properties;
	struct managed_hand_back hand_back;
	struct managed_plan plan;
	struct managed_stuck stuck;
	struct managed_container container;
	struct managed_drift drift;
	struct managed_restart restart;
	struct managed_sweep sweep;
	struct managed_recording recording;
};

/* Where systemd holds nothing, or has not been asked. */
#define PROPS_NONE ((struct unit_props){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX})

/* Where it runs. */
struct arrival {
	const char *cgroup;
	const char *invocation_id;
	uint64_t spec_milli; /* CPU limit of a pod's spec; LIMIT_MAX: none */
	usec_t active_enter_usec;
	struct unit_props props;
};

/* Containers and pod levels too. */
struct unit_table {
	struct managed **items; /* owned, in no lasting order */
	struct managed **by_id; /* id_count of them; NULL: no entry has this id now */
	uint32_t id_count;
	size_t count;
	/* What entries are sized by, and what they change with: set once, at the start. */
	struct wakeup *wake;
	const struct config *config;
	struct host *host;
	struct inotify *inotify;
	struct reader *reader;
	struct node_memory *memory;
	struct pid1 *pid1;
	struct records *records;
	struct counters *tally;
	struct flight_recorder *recorder;           /* NULL: nothing is recorded */
	struct pods *pods;                          /* whose levels are among the entries */
	struct plan_storage plans;                  /* room for a step of every entry */
	struct step_log steps;                      /* carried out, not logged yet */
	bool files_low;                             /* no new cgroup is opened, and it is said */
	bool lacks_said;                            /* what the kernel does not show */
	bool paused;                                /* new ones too, by vscalectl pause */
	void (*on_memory_event)(struct managed *m); /* memory.events of m had an event */
};

/* reason: static text, or the pod's, which lives as long; NULL: none. */
void managed_set_state(struct managed *m, enum unit_state state, const char *reason);
/* The unit of a container that was attached to another cgroup. Takes unit over; NULL: none. */
void managed_set_unit(struct managed *m, char *unit);
/* The id of an entry does not change while it is in the table: control.target in plans and in the
 * ledger, and managed_cookie() in watches. The next new entry may get the id of a removed one. */
struct managed *managed_by_id(const struct unit_table *t, uint32_t id); /* NULL: there is none */
uint64_t managed_cookie(const struct managed *m);
struct managed *managed_by_cookie(const struct unit_table *t, uint64_t cookie); /* likewise */
