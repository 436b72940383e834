/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: one event loop, one table of what is managed. Private to its own files:
 *	main.c	  options, exit codes
 *	daemon.c  set-up, timers, signals, reload, stop
 *	bus.c	  the line to PID 1
 *	managed.c the table: opening, originals, successors
 *	units.c	  which units are ours: PID 1's list
 *	pods.c	  which containers are ours: pods and their annotations (pods.h)
 *	rules.c	  what a new configuration changes
 *	reader.c  which reader serves, and its passes
 *	tick.c	  observe -> decide -> apply
 *	look.c	  the same between two samples, for what is to grow
 *	sweep.c	  in which order units are read, and raised
 *	scope.c	  when PID 1 may be called for a container
 *	boost.c	  more CPU until it has started
 *	hold.c	  pause, restore, giving back
 *	guard.c	  what is heard of others: inotify, reloads, systemd's answers
 *	judge.c	  who wrote, and what is done about it
 *	node_memory.c what the node has left to grant (node_memory.h)
 *	denied.c  memory that the node did not have, told
 *	persist.c history and originals on disk
 *	lift.c	  a memory.high of ours that an earlier life left
 *	serve.c	  the control API's answers
 *	report.c  the journal
 */
#pragma once

#include "agent/base/lock.h"
#include "agent/config/config.h"
#include "agent/control/control.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/metrics/counters.h"
#include "agent/restore/restore.h"
#include "agent/state/baseline.h"
#include "agent/state/history_file.h"
#include "cgroup/discover.h"
#include "cgroup/reader.h"
#include "cgroup/watch.h"
#include "policy/control/control.h"
#include "systemd/unit.h"

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

/* What may have to raise a limit comes before whoever asks or answers, and after what tells of
 * others' writes and of cgroups that are gone. */
#define DAEMON_PRIORITY_REFLEX (SD_EVENT_PRIORITY_IMPORTANT / 2)

/* The time of a wake-up: boottime for control, realtime for records. */
typedef void daemon_clock_fn(void *ctx, usec_t *ret_boot, usec_t *ret_real);

/* A step that was carried out; the journal hears of it when all steps were. */
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
	usec_t look_usec; /* of the last look */
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
	struct cg_watch *watch;
	struct node_memory memory;
	struct reader reader;
	struct unit_bus *bus;
	struct unit_port port;
	const struct restore_units *restore_units; /* tests; NULL: PID 1 */
	bool bus_connected;
	bool unwatched;          /* inotify does not tell of everything */
	const char *unsupported; /* in a word: why nothing here can be managed; NULL: it can */
	bool bus_absent;         /* there is no PID 1 to speak to, and none is needed */
	bool bus_lost;           /* told */
	bool ready_told;
	usec_t hand_back_at; /* PID 1 hung: none before that */
	bool strays_told;
	usec_t strays_at;       /* when to give them back, UINT64_MAX: none */
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
	char own_cgroup[256];                 /* never managed, nor what it is in */
	char own_namespace[64], own_pod[256]; /* the same; "": we are in none */
	usec_t started_at;
	usec_t started_monotonic;
	usec_t now;      /* boottime of this wake-up */
	usec_t woke;     /* the same on daemon_clock() */
	usec_t due;      /* when the timer's wake-up was due, boottime; 0: not the timer's */
	usec_t now_real; /* realtime, steps of the wall clock taken out */
	usec_t wall_now; /* the wall clock as it is: for what others stamp by it */
	int64_t clock_offset_usec;
	usec_t last_tick;
	usec_t stop_by; /* 0: not stopping */
	usec_t next_sample;
	usec_t next_review;
	usec_t next_save;
	usec_t list_asked_at;
	usec_t list_whole_at; /* properties of all were asked for */
	usec_t reload_ended;  /* of PID 1 */
	bool reloading;
	bool paused;
	bool list_due;
	bool list_pending; /* asked, not answered */
	bool baselines_dirty;
	bool originals_lost; /* there was no file of them when we started, or not a whole one */
	bool lost_mark_due;  /* the mark of that is not on disk yet */
	int lost_mark_error; /* told already */
	bool lift_copy_due;  /* lift_keep() */
	int lift_copy_error; /* told already */
	char state_result[128];
	int state_error; /* told already */
	usec_t state_saved_real;
	struct daemon_counters counters;
	struct counters tally;   /* for /metrics */
	struct cluster *cluster; /* NULL: there is no Kubernetes */
	bool cpu_manager; /* the kubelet names CPUs for containers: limits may be replayed any time
			   */
	struct metrics_server *metrics;
	struct config_watch *config_watch;
	sd_event_source *tick_source;
	struct control_api api;
	struct http_server *server;
};

/* --- daemon.c */
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
/* Reads the clocks once for this wake-up. */
void daemon_wake(struct daemon *d);
/* CLOCK_MONOTONIC as of this very moment, for measuring our own cost. */
usec_t daemon_clock(void);
struct control_context daemon_context(struct daemon *d, struct plan *plan);
/* What the timer does. */
void daemon_tick(struct daemon *d);

/* r, after having said that the event loop cannot be set up where it is an error. */
int daemon_loop_part(int r);
/* What every node has: control socket, metrics, a new configuration, the API server. -errno after
 * having said why. */
int daemon_serve(struct daemon *d);

/* What a log needs to know of the configuration; the old one stays where it cannot be used. */
void daemon_log_start(struct daemon *d);

/* --- reload.c */
void daemon_reload(struct daemon *d);
/* Reads it again when the file is replaced. */
int daemon_watch_config(struct daemon *d);

/* --- bus.c */
/* port NULL: the real PID 1. */
int bus_start(struct daemon *d, const struct unit_port *port);

/* --- units.c */
void units_request_list(struct daemon *d);
/* It runs in the cgroup that is open, and nobody doubts what systemd stores for it. */
bool units_known(const struct daemon *d, const char *name);
void units_listed(struct daemon *d, const struct unit_info *units, size_t count);
/* Drops units that will not come back. Not while a plan is at work: the rest is numbered anew. */
void units_forget(struct daemon *d);

/* --- rules.c */
/* Rules after a reload; units without one any more get their originals back. */
void units_apply_rules(struct daemon *d);
/* One of them. */
void rule_apply(struct managed *m, const struct policy_rule *rule);

/* --- sweep.c */
/* Reads the rest of what it needs beside `u`, which has the CPU counters, and judges it. */
typedef void visit_fn(struct managed *m, struct usage *u, struct plan *plan);
/* What the plan raises already is written first. Everybody who has laws is visited once. Raises are
 * written on the way, the plan keeps the rest. True: there were some. */
bool sweep_units(struct daemon *d, enum reader_clock clock, visit_fn *visit, struct plan *plan);

/* --- look.c */
/* On the reflex clock, between two samples. */
void tick_look(struct daemon *d);
/* One unit at once, when memory.events spoke. */
void tick_unit(struct managed *m);
/* Sets PID 1 free where it is stuck in a write of memory.max. At every wake-up by memory.events. */
void stuck_check(struct managed *m);

/* --- runtime.c: what the container runtime holds */
/* The API server's word; old: the one before, NULL: none. */
void runtime_told(struct managed *m, const struct kube_container *now,
		  const struct kube_container *old);
/* memory.max was found to be this. */
void runtime_wrote(struct managed *m, uint64_t mem_max);
/* The memory limit that the runtime may write at any moment; 0: it writes none. */
uint64_t runtime_replay(const struct managed *m, const struct kube_container *c);
/* At each sample: is a CPU manager at work on this node? */
void runtime_look(struct daemon *d, bool review);

/* --- above.c: at each sample: who uses more memory than its spec allows */
void above_look(struct daemon *d);
/* By how much; 0: it does not. */
uint64_t above_spec(const struct managed *m);
/* A new cgroup counts from anew. */
void stuck_forget(struct managed *m);
/* Nothing will be looked at from here on: nobody may be held at the brake. */
void unit_brake_off(struct managed *m);

/* --- tick.c */
/* A sample of everything, and on its clock the review: true. */
bool tick(struct daemon *d);
/* A pod level has no laws of its own: it follows its containers. */
bool managed_has_laws(const struct managed *m);
/* Carries out a plan: writes, outcomes, journal; then sends what properties are due. */
void plan_apply(struct daemon *d, struct plan *p);
void plan_begin(struct daemon *d, struct plan *ret);
/* Writes what raises at once, of the steps from `from` on, and takes it out. True: there was some.
 */
bool plan_raise(struct daemon *d, struct plan *p, size_t from);
void properties_send(struct daemon *d);
/* Some of them are not with PID 1 yet. */
bool properties_pending(const struct daemon *d);
/* The same, of those that may have changed since the last sample. */
void properties_look(struct daemon *d);
/* Kills and ceilings go to the journal. */
void tell_states(struct daemon *d);
void tell_states_of(struct managed *m);
/* What systemd is to store for the unit. */
struct unit_props unit_wanted_props(const struct managed *m, uint32_t *ret_mask);
/* The memory limit that goes to systemd. */
uint64_t memory_property(const struct managed *m);
/* systemd is to be told more for it at once. */
bool memory_property_due(const struct managed *m);
/* Carries out one step; enum apply_outcome or -errno. */
int step_apply(struct managed *m, const struct change *step, const struct control_context *x);

/* --- scope.c */
/* It was attached to its cgroup; active_enter_usec as in struct arrival. */
void scope_born(struct managed *m, usec_t active_enter_usec);
/*
 * A container runtime may still be at work on its scope: PID 1 must not be called for it
 * (unit_is_container()), and what is written to its files is the runtime's own start. True until
 * the API server says that this container runs, or UNIT_CREATING_USEC have passed.
 */
bool scope_is_creating(const struct managed *m);
/* Does what the API server says of a container belong to the one in its cgroup? */
bool scope_is_of(const struct managed *m, const struct kube_container *c);

/* --- boost.c */
/* It was attached to its cgroup. */
void boost_born(struct managed *m);
/* The API server has told something new of it. */
void boost_heard(struct managed *m);
/* In every wake-up of the timer: what is to begin or to end. */
void boost_look(struct daemon *d, struct plan *plan);
/* Hands off: what is lent comes back now. */
void boost_end(struct managed *m);
/* What was lent has been put back, or another writer's value stands. */
void boost_forget(struct managed *m);

/* --- guard.c */
int guard_start(struct daemon *d);
/* r of something that wanted inotify. That none is to be had is told once, and 0; else r. */
int guard_without(struct daemon *d, int r);
void guard_listed(void *ctx, int error, const struct unit_info *units, size_t count);
void guard_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
		    usec_t lag);
void guard_got(void *ctx, const char *unit, int error, const struct unit_props *stored);
void guard_reloading(void *ctx, bool active);
/* What systemd stores, by the newest list. */
void guard_stored(struct managed *m, const struct unit_props *stored);
/* Looks at every unit whose limit files were written since the last call. */
void guard_check(struct daemon *d);

/* --- judge.c */
/* Does the kernel hold something else than we believe? Managed resources only. */
bool unit_moved(const struct managed *m, enum resource r, const struct limits *seen);
/* A limit file that is not there says nothing: what we believe stays. */
void unit_fill_absent(const struct managed *m, struct usage *u);
/* Millicores of what systemd stores; LIMIT_MAX: none. */
uint64_t props_milli(const struct unit_props *p);
enum answer { NOT_ASKED, STORED_KNOWN, STORED_UNKNOWN };
/* One look at a unit whose files were written; steps go into the plan. */
void judge_unit(struct managed *m, enum answer answer, struct plan *plan);
/* A memory limit above what is held, which nobody has judged yet, goes back as far as use allows.
 */
void judge_take_back(struct managed *m);
/* Looks again whether another drop-in would win over what systemd is told. */
void guard_beaten(struct managed *m);

/* --- oom.c */
/* memory.max of m, or of the pod level above it, was found at `seen`: noted where that is less than
 * is held there. Before it is put right. */
void oom_lowered(struct managed *m, const struct managed *at, uint64_t seen);
/* Before usage with a new kill is observed: which limit stands, and the newest peak, into u. */
void oom_look(struct managed *m, struct usage *u);

/* --- persist.c */
int persist_load(struct daemon *d);
void persist_save(struct daemon *d);
/* Originals that were lost: all of them are known again, or gone. Once they are on disk, the mark
 * of that goes; else nothing changes. */
void persist_originals_found(struct daemon *d);
/* It was attached to its cgroup: a record of it names that one. */
void persist_follow(struct daemon *d, const struct managed *m);
/* The originals of a pod level that were found out otherwise. */
void persist_level(struct daemon *d, const struct managed *m, const struct limits *was);
/* Notes the originals of a unit that may be written to. */
void persist_baseline(struct daemon *d, struct managed *m, const struct arrival *a);
/* systemd has said what it held before us: the originals were written down on a guess. */
void persist_stored(struct daemon *d, const struct managed *m);
/* Puts what was noted on disk; until that is done, the units concerned are left alone. */
void persist_baselines(struct daemon *d);
bool persist_has(const struct daemon *d, const struct managed *m);
/* The pod's spec holds values of ours now, or does not any more. */
void persist_ratified(struct daemon *d, const struct managed *m, bool ratified);
/* What goes to the API server, and what its spec has by now: what is found there later and is none
 * of them is its owner's. */
void persist_sent(struct daemon *d, const struct managed *m, const uint64_t sent[RESOURCE_COUNT],
		  const uint64_t over[RESOURCE_COUNT]);
bool persist_is_ratified(const struct daemon *d, const struct managed *m);
/* What the container requested before us; present, where nothing is on record. */
uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present);
/* Its limit before us, likewise. */
uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present);
/* The originals of a unit that will not come back. */
void persist_forget(struct daemon *d, const struct managed *m);
/* The cgroup on record turned out to be another container's. */
void persist_left_cgroup(struct daemon *d, const struct managed *m);
/* memory.high of a writer who insists: not to be lifted for ours. */
void persist_his_high(struct daemon *d, const struct managed *m, uint64_t mem_high);
/* The CPU limit that comes back after a boost, millicores; 0: none is lent. True: that is news. */
bool persist_lent(struct daemon *d, struct managed *m, uint64_t milli);
/* The owner's own new value is the original from now on. */
void persist_adopted(struct daemon *d, const struct managed *m, enum resource r);
/* The same of the request: millicores, bytes. */
void persist_adopted_request(struct daemon *d, const struct managed *m, enum resource r,
			     uint64_t value);
/* What is remembered of a unit becomes its history. */
void persist_adopt_history(struct daemon *d, struct managed *m);
/* And back into the store. */
void persist_keep_history(struct daemon *d, const struct managed *m);

/* --- lift.c */
/* Lifts what any record names. */
void lift_all(struct daemon *d);
/* At the start: there are no records, but the runtime folder may have those that were lost. */
void lift_lost(struct daemon *d);
/* Copies the records there when they were saved since; a failure is told, and tried again. */
void lift_keep(struct daemon *d);

/* --- unsupported.c */
/* No cgroup version 2 here. 0: in a cluster; -ENOTSUP: the start fails. */
int unsupported_host(struct daemon *d);
/* The loop of such a node: probes, metrics, the control socket, and pods are told. */
int unsupported_start(struct daemon *d);
/* Its wake-up. False: it is no such node. */
bool unsupported_tick(struct daemon *d);
/* One Event of a pod that asks for more. */
void unsupported_tell(struct pod *p);

/* --- folders.c */
/* What the loop ends with when another process took the lock: its state files are left alone. */
#define FOLDERS_LOST (-EBUSY)
int folders_start(struct daemon *d);
/* Takes the lock and opens the control socket again when another process removed their files. */
void folders_check(struct daemon *d);

/* --- serve.c */
int serve_start(struct daemon *d);
/* One of the table as others may see it. */
void serve_view(const struct managed *m, control_unit_fn *each, void *arg);
void serve_status(void *daemon, struct status_view *ret);

/* --- serve_metrics.c */
/* Where nothing is to be served: 0. */
int serve_metrics_start(struct daemon *d);

/* --- hold.c */
/* Puts pause, restore and release into effect for the laws. */
void unit_update_hold(struct managed *m);
int hold_pause(struct daemon *d, const char *name);
int hold_resume(struct daemon *d, const char *name);
/* What cannot be put back at this moment is told as RESTORE_PENDING. -ENOTSUP: the node is not
 * supported, and no record was read. */
int hold_restore(struct daemon *d, const char *name, bool force, control_result_fn *each,
		 void *arg);
/* Gives a unit back its originals; why is static text. Tried again until it has worked. */
void hold_release(struct managed *m, const char *why);
/* On the review clock: what could not be given back yet. */
void hold_tick(struct daemon *d);

/* --- denied.c */
#define DENIED_TEXT_BYTES 512
/* What the node did not have, with the figures; false: it has had everything lately. */
bool denied_text(const struct managed *m, char *ret, size_t size);
/* Journal, metric and Event, when that begins. */
void denied_tell(struct managed *m);

/* --- report.c */
/* took: of a raise, else zeros. Kept until report_steps(). */
void report_step(struct managed *m, const struct change *s, int outcome,
		 const usec_t took[SINCE_COUNT]);
void report_steps(struct daemon *d);
/* memory.max was found above what is held, and is held again: judge_take_back(). */
void report_taken_back(struct managed *m, uint64_t from, uint64_t to);
/* What was summed up for long enough; now: whatever there is. */
void report_summed(struct managed *m, bool now);
/* systemd is told a memory limit above the one that stands, because use grows. */
void report_headroom(struct managed *m, uint64_t to);
void report_ceiling(struct managed *m, enum resource r);
/* The node has memory for a limit of `to` and no more. */
void report_denied(struct managed *m, uint64_t to, uint64_t wish, const char *why);
/* use is above what the spec allows; why: static or borrowed text. */
void report_above_spec(struct managed *m, uint64_t limit, uint64_t use, const char *why);
void report_oom(struct managed *m, uint64_t kills);
/* error: of the nudge. */
void report_stuck(struct managed *m, int error);
void report_drift(struct managed *m, enum resource r, const struct drift_facts *f,
		  enum drift_action action, const char *by);
void report_managed(struct managed *m);
void report_gone(struct managed *m);
void report_unmanaged(struct managed *m, const char *why);
/* detail: the annotation that they come from; why not. */
void report_originals_recovered(struct managed *m, const char *detail);
void report_originals_unknown(struct managed *m, const char *why);
/* Its cgroup is that of another container of the pod. */
void report_released(struct managed *m, const char *owner);
void report_property_failed(struct managed *m, int error, usec_t span);
void report_unsaved_baseline(struct daemon *d, int error);
void report_restored(struct managed *m, const struct restore_result *result,
		     const struct limits *before);
/* A unit that is not in the table. */
void report_stray(const char *unit, enum restore_outcome outcome);
/* The pod's annotations cannot be understood: it is Off. */
void report_annotations(const struct pod *p, const char *why);
/* The API server did not take a limit: text is its own. */
void report_refused(const struct managed *m, enum resource r, const char *text);
/* The kubelet has carried out what the API server was told. */
void report_ratified(const struct pod *p, uint64_t generation);
void report_contested_limit(const struct pod *p, const char *detail);
void report_config_errors(const char *file, const struct config_errors *errors, bool kept);
void report_unsupported(const char *what, const char *hint, int error);
