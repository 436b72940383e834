/* SPDX-License-Identifier: Apache-2.0 */
/* What is managed: a systemd unit, a container of a pod, or the pod level above its containers. The
 * same laws hold for units and containers; a pod level follows its containers (pod_level.c). */
#pragma once

#include "agent/manage/parts.h"
#include "agent/metrics/counters.h"
#include "agent/view/view.h"
#include "cgroup/discover.h"
#include "cgroup/kubepods.h"
#include "policy/control/control.h"
#include "policy/laws/drift.h"
#include "policy/types/reason.h"
#include "systemd/unit.h"

struct config;
struct flight_recorder;
struct kube_container;
struct pid1;
struct pod;
struct usage;

struct managed {
	struct unit_table *table; /* that it is in */
	/* Parts of the table, as most functions of an entry need them. */
	struct records *records;
	struct pid1 *pid1;
	const struct wakeup *wake;
	const struct config *config;
	const struct host *host;
	/* What it is, and its kind: does not change, but for a container's unit
	 * (managed_set_unit()). */
	char *name;        /* unique, and shown: "web.service", "default/web-0/app" */
	char *unit;        /* the systemd unit that holds its properties; NULL: none does */
	char *key;         /* of its originals: "unit:NAME", "pod:UID/CONTAINER", "pod:UID" */
	char *history_key; /* "unit:NAME", "NS/KIND/WORKLOAD/CONTAINER"; NULL: it has no history */
	struct pod *pod;   /* of a container or pod level; NULL: a unit */
	struct baseline *record; /* of its originals; NULL: none */

	enum unit_kind kind;
	enum state_reason reason; /* of its state: managed_set_reason() */
	struct state_seen seen;   /* of what is shown: managed_reason() */
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
	uint64_t spec_milli;     /* CPU limit of a pod's spec; LIMIT_MAX: none */
	uint64_t cpu_stood_usec; /* quota that it was found with */
	usec_t active_enter_usec;
	struct unit_props props;
};

/* --- where plans are made, and their steps that were carried out */

/* A step of every kind for every resource at most, and a failed step may ask for two more. */
#define PLAN_STEPS_PER_UNIT 8

/* Kept for the next plan. */
struct plan_storage {
	struct change *steps; /* owned */
	size_t capacity;
};

/* A step that was carried out; it is logged when all steps are done. */
struct done_step {
	struct managed *unit;
	struct change step;
	struct decision why;
	int outcome; /* enum apply_outcome or -errno */
	usec_t took[SINCE_COUNT];
};
#define DONE_STEPS_MAX 64
struct step_log {
	struct done_step items[DONE_STEPS_MAX];
	size_t count;
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
	/* Its cgroup has used the quota of the period that ends then; 0: not known. */
	void (*on_throttled)(struct managed *m, usec_t period_end_monotonic);
};

/* Every entry of the table; none may be added or removed meanwhile. */
#define UNITS_FOREACH(m, t) ITEMS_FOREACH (m, (t)->items, (t)->count)

void managed_set_reason(struct managed *m, enum state_reason reason);
enum unit_state managed_state(const struct managed *m);
/* What is shown: pause, mistakes and the end of its pod come before its own. */
enum state_reason managed_reason(const struct managed *m);
/* In words; NULL: none are needed. Borrowed. */
const char *managed_reason_text(const struct managed *m);
/* The unit of a container that was attached to another cgroup. Takes unit over; NULL: none. */
void managed_set_unit(struct managed *m, char *unit);
/* The id of an entry does not change while it is in the table: control.target in plans and in the
 * ledger, and managed_cookie() in watches. The next new entry may get the id of a removed one. */
struct managed *managed_by_id(const struct unit_table *t, uint32_t id); /* NULL: there is none */
uint64_t managed_cookie(const struct managed *m);
struct managed *managed_by_cookie(const struct unit_table *t, uint64_t cookie); /* likewise */

#define LIMITS_USAGE (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

/* --- queries on one entry; nothing is changed */

struct managed *managed_find(const struct unit_table *t, const char *name);
/* By the systemd unit that holds its properties. */
struct managed *managed_of_unit(const struct unit_table *t, const char *unit);
/* Its rule by the present configuration and annotations; NULL: it is not managed. Borrowed. */
const struct policy_rule *managed_rule(const struct managed *m);
/* The one in force; of what has not been found yet the one that is to be. */
enum mode managed_mode(const struct managed *m);
/* As in the annotation: InPlaceOrRecreate too, which sizes as Auto. */
const char *managed_mode_name(const struct managed *m);
/* Has PID 1 still to answer a property call by vscaled? */
bool managed_call_pending(const struct managed *m);
/* What systemd holds after these limits were set through it. */
struct unit_props props_of_limits(const struct limits *l);
/* The properties that hold its limits: UNIT_PROP_*. */
static inline uint32_t props_of_resource(enum resource r)
{
	return r == RESOURCE_CPU ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH;
}
/* A pod level has no laws of its own: it follows its containers. */
bool managed_has_laws(const struct managed *m);
/* Does the kernel hold another value than the held limit? Managed resources only. */
bool unit_moved(const struct managed *m, enum resource r, const struct limits *seen);
/* A limit file that does not exist says nothing: the held limit stays. */
void unit_fill_absent(const struct managed *m, struct usage *u);
/* Millicores of what systemd stores; LIMIT_MAX: none. */
uint64_t props_milli(const struct unit_props *p);
/* May it be written to? */
bool managed_is_controlled(const struct managed *m);

/* --- attach.c: its cgroup, with everything that depends on it: opened, lost, closed */
/* It was attached to its cgroup; active_enter_usec as in struct arrival. */
void scope_started(struct managed *m, usec_t active_enter_usec);
/* The runtime may still be creating its scope: PID 1 must not be called for it
 * (text_is_container_scope()). True until the API server reports that it runs, or for
 * UNIT_CREATING_USEC; for a minute where the API server is heard and little memory is in use.
 * Meanwhile an external write counts as the runtime's, and a restore through PID 1 waits. */
bool scope_is_creating(const struct managed *m);
/* Does what the API server says of a container belong to the one in its cgroup? */
bool scope_is_of(const struct managed *m, const struct kube_container *c);
/* Does PID 1, which cannot be called, hold the limits of this cgroup of a pod? Its next reload
 * would write its own, which may be below the use. */
bool scope_out_of_reach(const struct pid1 *pid1, const char *path);

/* Opens its cgroup, reads its limits, and adds the watches of its files, its reader slot and the
 * source of its memory.events. -EAGAIN: systemd is still setting it up. -EMFILE: 80 % of
 * the descriptors are open. On failure it stays closed. */
int managed_attach(struct managed *m, const struct arrival *a, struct usage *ret);
/* Of one that is closed: it runs in another cgroup now. False: out of memory. */
bool managed_moved(struct managed *m, const char *path);
/* Which cgroup bounds it; again when its pod's own limit begins or ends to follow it. */
void managed_find_above(struct managed *m);
/* Its cgroup is there and not ready: the time of the first such try is kept. */
void managed_attach_tried(struct managed *m);
/* Its limits are known: it runs. */
void managed_set_running(struct managed *m);
/* The cgroup is gone; sizes and history stay for its successor. */
void managed_lost(struct managed *m);
/* Until its first sample: keeps its totals, in case that it ends before. */
void managed_read_totals(struct managed *m);
/* Closes it, to be attached anew. */
void managed_detach(struct managed *m);
/* Closes it and everything that depends on it. */
void managed_close(struct managed *m);
/* Looks for the second level of its cgroup (cgroup/levels.h), which may come late. */
void managed_check_levels(struct managed *m);
/* A cgroup may have appeared that it can be attached to. */
void managed_check_again(struct managed *m);

/* --- drift_state.c: what is known of external writes to it */
/* Its limit files may have been written: they are compared before the wake-up ends. */
void drift_request_check(struct managed *m);
/* memory.max was `found` and has been replaced before its writer was known. To be called before
 * systemd answers a call: after that it stores the new value. */
void drift_replaced_early(struct managed *m, uint64_t found);
/* The writer of it is known. */
void drift_end_early(struct managed *m);
/* drift_decide() with what is known of the writers of r. */
enum drift_action drift_decide(struct managed *m, enum resource r, const struct drift_facts *f);
/* How many external writes of r count now. */
uint32_t drift_recent(const struct managed *m, enum resource r);
/* Earlier writes do not count any more. */
void drift_forget_writer(struct managed *m, enum resource r);
void drift_forget_writers(struct managed *m);

/* --- oom.c: kills: for whose limit, which limit stood, and the peak of use before it */
/* Of all cgroups above units, so that a later kill is not told as one for a limit that was full
 * before. Those of units are looked at with each event (apply.c). */
void oom_look_above(const struct unit_table *t);
/* memory.max of m, or of the pod level above it, was found at `seen`: recorded where that is less
 * than the held limit. To be called before it is corrected. */
void oom_lowered(struct managed *m, const struct managed *at, uint64_t seen);
/* Before a new kill is observed: for whose limit it was, the limit that stands, and the newest
 * peak, into u. */
void oom_check(struct managed *m, struct usage *u);
/* Before a kill whose cgroup is gone is reported. */
void oom_check_gone(struct managed *m);

/* --- spec.c: what the pod's spec holds: a value that vscaled sent, or an external writer's */
/* systemd holds whole percents of a CPU and pages: a value and its rounded form are the same. */
bool limit_same(enum resource r, uint64_t a, uint64_t b);
/* Does the file have the same for both? A quota is 1 ms at least: 5m is written as 10m with a
 * period of 100 ms, and as 200m with one of 5 ms. */
bool limit_same_file(enum resource r, uint64_t a, uint64_t b, uint64_t period_usec);
/* What the file has for a limit of the spec that is less: the spec's is the original. */
void limits_as_spec(struct limits *l, uint64_t spec_milli);
/* Did vscaled send this value of its spec? By managedFields; where they do not say, by the record.
 */
bool spec_sent_by_us(const struct managed *m, enum resource r, uint64_t value);
/* A limit in the spec is neither the original on record nor one that vscaled sent. */
bool spec_is_owners(const struct managed *m, const struct kube_container *c);
/* The kubelet has an external resize of this container to carry out: what it has read of the spec
 * by now is what the runtime will write, whatever has been sent since. */
bool spec_resize_under_way(const struct managed *m, const struct kube_container *c);

/* Request, LimitRange, heap and the like, for the laws of one container. */
void pod_set_bounds(struct managed *m);
void pod_bound_all(const struct pod *p);

/* --- table.c: an entry is added and removed */
/* What identifies a new entry, before anything is known of its cgroup. */
struct managed_names {
	enum unit_kind kind;
	const char *name;
	const char *unit;
	const char *key;
	const char *history_key;
};

/* NULL: no memory. */
struct managed *managed_new(struct unit_table *t, const struct managed_names *names);
/* Takes it out of the table. Not while a plan is being made, which may name it. */
void managed_remove(struct managed *m);
void managed_free_all(struct unit_table *t);

/* --- what the laws get with a wake-up */

/* An empty plan in the memory of the table, which one plan at a time may use. */
void plan_begin(struct unit_table *t, struct plan *ret);
struct control_context daemon_context(struct unit_table *t, struct plan *plan);

/* --- host.c: the host, as found at the start, and what is known of this agent on it */
struct host {
	struct cg_host cg;
	char controllers[64];
	uint64_t cpu_milli;
	int root; /* cgroup root; -1: not open */
	/* The kubelet's root below it, as configured or found; "": the same. */
	char kubelet_root[KUBEPODS_PATH_MAX];
	const char *unsupported; /* why nothing here can be managed, static text; NULL: it can */
	/* Of vscaled itself: never managed, nor are its parents. "": it runs in no pod. */
	char boot_id[33]; /* hex; "": not known */
	char own_cgroup[256];
	char own_namespace[64], own_pod[256];
	bool name_wrong;  /* no listed pod has a cgroup here, and other pods have; reported */
	bool cpu_manager; /* the kubelet assigns CPUs to containers: limits may be replayed at any
			     time */
};

/* Reads which cgroup and pod vscaled itself runs in; no root is open. */
void host_init(struct host *h);
/* Opens the root, and counts the CPUs. */
int host_open(struct host *h);
void host_close(struct host *h);
/* Has the pod a cgroup here? uid: the one in cgroup names. kubepods_find_pod(). */
int host_find_pod(const struct host *h, const char *uid, char ret[static KUBEPODS_PATH_MAX]);

/* --- PID 1: how properties and lists of units get there, and what is known of its state */

/* How properties get to PID 1; tests put a recorder here. Same contracts as systemd/unit.h. */
struct unit_port {
	struct unit_bus *bus; /* of a recorder: itself */
	int (*list)(struct unit_bus *bus, const char *const *patterns, size_t count);
	int (*set)(struct unit_bus *bus, const char *unit, const struct unit_props *want,
		   uint32_t mask, bool urgent);
	bool (*pending)(const struct unit_bus *bus, const char *unit);
	void (*forget)(struct unit_bus *bus, const char *unit); /* NULL: nothing ever waits */
	int (*get)(struct unit_bus *bus, const char *unit);
	/* For a unit with other drop-ins that beat a runtime property; NULL: there are none. */
	bool (*beaten)(const char *unit);
	int (*keep)(const char *unit, const struct unit_props *want, uint32_t mask);
};

/* Written by agent/units; reloading, reload_ended by agent/drift, list_due by all. */
struct pid1 {
	struct unit_port port;
	bool connected;
	bool lost;   /* the connection was lost once, which is reported */
	bool absent; /* there is no connection, and none is needed */
	bool reloading;
	usec_t reload_ended;
	bool list_due;        /* to be requested */
	bool list_pending;    /* requested, not answered */
	bool listed;          /* the first list arrived */
	usec_t list_asked_at; /* when the newest list was requested */
	usec_t list_whole_at; /* the same, with the properties of all units */
};

/* --- wake.c: a wake-up: its time */
/* Event sources that may raise a limit run before those that serve requests and replies, and after
 * those that report external writes and removed cgroups. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

struct event_log;
struct unit_table;

/* The time of a wake-up: boottime for control, realtime for records. */
typedef void daemon_clock_fn(void *ctx, usec_t *ret_boot, usec_t *ret_real);

struct wakeup {
	sd_event *event; /* NULL: there is no loop yet */
	struct event_log *log;
	struct unit_table *units;
	daemon_clock_fn *clock;
	void *clock_ctx;     /* its context */
	usec_t now;          /* boottime of this wake-up */
	usec_t monotonic;    /* the same on daemon_clock() */
	usec_t due;          /* when the timer's wake-up was due, boottime; 0: not the timer's */
	usec_t now_real;     /* realtime, steps of the wall clock taken out */
	usec_t wall_now;     /* the wall clock as it is, for comparison with timestamps of others */
	int64_t offset_usec; /* from boottime to now_real */
	usec_t started_at;   /* the first wake-up */
	usec_t started_monotonic;
	usec_t ticked_at;   /* the newest of the timer, boottime */
	uint64_t iteration; /* of the event loop, that of the newest wake-up; UINT64_MAX: a call
			       took long, and the clocks are read again */
	uint64_t count;     /* of wake-ups: dispatches of the loop that a handler answered */
};

/* Every handler calls this first. Reads the clocks, once in a dispatch of the loop. */
void daemon_wake(struct wakeup *w);
/* CLOCK_MONOTONIC now, for measuring vscaled's own cost. */
usec_t daemon_clock(void);
/* The clock of the host; tests have their own. */
void daemon_host_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real);
