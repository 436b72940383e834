/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One container or unit under control: all laws together.
 *
 *	observation + now -> control_observe() -> history, pressure, reflex steps in a plan
 *	a look + now	  -> control_look()    -> reflex steps alone
 *	now		  -> control_review()  -> recommendation, raises by history, shrinks
 *	outcome of a step -> control_applied() -> what stands now
 *
 * Pure: no clock, no I/O. Time is boottime for control (now) and realtime for records (now_real).
 */
#pragma once

#include "policy/history/history.h"
#include "policy/laws/boost.h"
#include "policy/laws/cpu_control.h"
#include "policy/laws/drift.h"
#include "policy/laws/ledger.h"
#include "policy/laws/mem_control.h"
#include "policy/laws/pod_bounds.h"
#include "policy/types/bounds.h"
#include "policy/types/plan.h"

#define CONTROL_STEPS_MAX 8

/* Everything a step of the laws may depend on beside the container itself. */
struct control_context {
	const struct tuning *tuning;
	uint64_t node_milli; /* CPUs of the node x 1000 */
	usec_t tick_usec;    /* until the next observation */
	usec_t now;          /* > 0, never goes back */
	usec_t now_real;
	/* Steps are added here: room for CONTROL_STEPS_MAX per control and call, or a step is lost.
	 */
	struct plan *plan;
	/* The node's memory, one entry per target; NULL: growth is not counted. */
	struct ledger *ledger;
};

struct decision {
	usec_t at_real; /* 0: none yet */
	uint64_t from;
	uint64_t to; /* millicores, bytes */
	enum reason reason;
	uint32_t throttle_ppm; /* what the reflex saw */
	uint64_t use;          /* memory: unreclaimable bytes; CPU: used millicores */
	uint64_t slope_bps;
};

struct control_counters {
	uint64_t raises;
	uint64_t lowers;
	uint64_t undos;
	uint64_t refusals;
	uint64_t drifts;
	uint64_t oom_kills;
};

/* Memory that the node did not have for it, until a minute after it was asked for last. */
struct denial {
	usec_t since; /* 0: never */
	usec_t at;    /* last time */
	struct ledger_verdict verdict;
};

/* The state of one resource. Millicores or bytes; LIMIT_MAX = no limit. */
struct control_resource {
	bool managed;
	uint64_t original;
	uint64_t limit;     /* what we hold it at */
	uint64_t candidate; /* what history and use ask for, before the bounds */
	uint64_t bounded;   /* after them */
	struct bound_trace trace;
	enum hold hold;
	usec_t next_at; /* when it may change next; 0: unknown */
	bool at_ceiling;
	usec_t pressed_at;       /* last time it asked for more than the ceiling */
	usec_t planned_at;       /* a step of this wake-up is on its way: no second one */
	struct decision pending; /* of the step in the plan */
	struct decision last;
	struct control_counters counters;
};

/* memory.max as somebody else left it, below what was held. */
struct mem_lowered {
	usec_t at; /* last time; 0: never */
	uint64_t from;
	uint64_t to;
	bool pod; /* the pod's, not the container's own */
};

/* The newest OOM kill of the run, or its end under a memory.max that somebody else had lowered. */
struct oom_kill {
	usec_t at;      /* 0: none */
	uint64_t limit; /* memory.max at that moment */
	uint64_t held;  /* what stood there before an external writer lowered it; else the same */
	uint64_t use;   /* memory that could not go, at that moment */
	bool pod;       /* the limit was the pod's */
	bool applied;   /* the size of a successor goes by it */
};

/* Of the process that runs, by the clock of control; 0: not known, it is not. */
struct control_life {
	usec_t started_at;
	usec_t ready_since; /* without a break */
};

struct control {
	struct policy_rule rule;
	struct pod_bounds pod;    /* all 0: a unit */
	uint64_t start_mem_bytes; /* memory.max when the process began; LIMIT_MAX: none */
	struct limits original;
	struct limits kernel; /* as last seen or written */
	usec_t started_at;
	uint32_t target; /* index in the plan's steps */
	uint32_t depth;
	bool paused;
	uint32_t gave_way; /* RESOURCES_*: another writer insists on it */
	uint32_t frozen;   /* RESOURCES_*: somebody else wrote it, and nobody has judged that yet */
	bool initial_done;
	uint64_t initial_request[RESOURCE_COUNT]; /* mode Initial: for good; 0: leave it */
	struct control_resource resource[RESOURCE_COUNT];
	struct control_life life;
	struct boost boost;
	struct boost_decision boost_now; /* as last looked at */
	struct cpu_control cpu;
	struct mem_control mem;
	uint64_t unjudged_bytes; /* memory.max found above what is held, and nobody knows yet by
				    whom: counted as granted while it stands; 0: none */
	bool grant_ended; /* with its predecessor: what it is held at is to be granted anew */
	struct ledger_claim claim; /* memory it was denied */
	struct ledger_claim freed; /* by its predecessor, when that ended */
	struct ledger_claim asked; /* of what it was granted, this is to go on trial */
	struct denial denial;
	struct mem_lowered lowered;
	struct oom_kill kill;
	struct history history;
	struct recommendation recommendation;
	struct usage last;      /* the newest of everything */
	struct usage sample;    /* the last observation as a whole */
	usec_t last_at;         /* of the sample */
	struct cpu_rates rates; /* of the newest span */
	bool rates_fresh;       /* they belong to the newest observation */
	/* Shown, never acted on; smoothed over about 10 s. */
	uint32_t psi_cpu_ppm;        /* some task waited */
	uint32_t psi_cpu_others_ppm; /* of it, at least: not because of our own limit */
};

/* original = what stood before us, kernel = what stands now. history is set up empty. Of what holds
 * none: a new one, or one that was dropped. */
void control_init(struct control *c, const struct tuning *t, const struct policy_rule *rule,
		  const struct limits *original);
/* Frees what it owns. */
void control_drop(struct control *c);
/* A new cgroup of the same unit: counters start anew, sizes and history stay, but for a size that
 * was on trial: that goes back. */
void control_restarted(struct control *c, const struct limits *kernel, usec_t now);
/* A rule that changed on reload. */
void control_set_rule(struct control *c, const struct policy_rule *rule);
/* What the pod, its namespace, the administrator and the API server say. After control_init(), and
 * whenever one of them says something else; a refusal ends by itself. */
void control_set_pod(struct control *c, const struct pod_bounds *pod);
/* After control_restarted(), and whenever one of the two moves. */
void control_set_life(struct control *c, const struct control_life *life);

/*
 * Startup boost. In every wake-up, before everything else: a step where it begins or ends. What
 * is held meanwhile is lent: control_lasting() is what comes back, and what others are told.
 */
void control_boost(struct control *c, const struct control_context *x);
/* What must be on record before that: the limit to come back to, 0: none is or will be lent. */
uint64_t control_boost_prepare(struct control *c, const struct control_context *x);
/* Hands off: what is lent comes back by a step now. */
void control_boost_end(struct control *c, const struct control_context *x);
uint64_t control_lasting(const struct control *c, enum resource r);

/* First or next observation of everything, on the sample clock. */
void control_observe(struct control *c, const struct usage *u, const struct control_context *x);
/*
 * A look in between, on the reflex clock or because of an event, with what was read of it: nothing
 * goes into history. What it should read is asked for in stages: the next group (enum usage_have)
 * by what u has so far, 0 when that is all. Limits are believed, not read.
 */
uint32_t control_look_wants(const struct control *c, const struct usage *u);
void control_look(struct control *c, const struct usage *u, const struct control_context *x);
/* For a sample with all but memory.stat: nothing can have changed in it since it was read. */
bool control_stat_stands(const struct control *c, const struct usage *u);
/* Memory is looked at every time: it is close to its limit, or grows. */
bool control_hot(const struct control *c);
/* It may have to grow now, by the CPU counters that were read first: no other is to be read before
 * it. */
bool control_presses(const struct control *c, const struct usage *u);
/* Its pod was full and the kernel killed for that: as if its own limit had been hit. Before the
 * usage that has the kill. */
void control_pod_full(struct control *c, usec_t now);
/*
 * Somebody else's memory.max was found below what stood there, in its own file or the pod's. A kill
 * within a second of it is that writer's: what was in use counts then, not the limit that was held.
 * Before the usage that has the kill, and before the limit is put right.
 */
void control_mem_lowered(struct control *c, const struct mem_lowered *l);
/* Its cgroup went with its counters, and was OOM-killed, as somebody else knows. */
void control_oom_told(struct control *c, const struct tuning *t, usec_t now, usec_t now_real);
/* Takes the brake off by a step at once, where there is one: true. */
bool control_brake_off(struct control *c, struct change *ret);
void control_review(struct control *c, const struct control_context *x);
/* Outcome of a step that carried this control's target: enum apply_outcome or -errno. A failed step
 * of a trial adds what puts the others back to x->plan. */
void control_applied(struct control *c, const struct change *step, int outcome,
		     const struct control_context *x);

/* A user's or controller's own resize of a resource: the new baseline. */
void control_adopt(struct control *c, const struct limits *kernel, enum resource r,
		   const struct control_context *x);
/* memory.high is that of a running trial or the brake, and nobody has written it since. */
bool control_high_is_ours(const struct control *c, const struct limits *kernel);
/* Where the brake is to hold growth: below mem_max, or below what may replace it at any moment. */
uint64_t control_brake_max(const struct control *c, uint64_t mem_max);
/* Another writer's value stands, and nothing is done about it. */
void control_follow(struct control *c, const struct limits *kernel, enum resource r);
/* Steps that put our values back after somebody else's write; memory raises are always safe. */
void control_reassert(struct control *c, const struct limits *kernel, enum resource r,
		      const struct control_context *x);

/* Steps to the original, where nobody would raise it again: to be given is never a grant. */
void control_put_back(struct control *c, enum resource r, const struct control_context *x);

/* Steps for a new cgroup of the same unit, after control_restarted(): what was held, and where a
 * kill asked for more, that. After a kill by an external writer's limit, what was held for growth
 * is not what is needed: no more then than the kill asks for, history and the original. */
void control_resume(struct control *c, const struct limits *kernel,
		    const struct control_context *x);

/* The wall clock was set: every record moves along, so that ages stay what they are. */
void control_shift_clock(struct control *c, int64_t step_usec);

/* memory.max to hand to a writer that lags, never below what we hold. */
uint64_t control_mem_property(const struct control *c, const struct tuning *t);
/*
 * systemd holds `stored`: is it to be told more now? As soon as less than half of the room above
 * use is left, growing or not: PID 1 may be busy with a reload when growth begins, and ends it with
 * what it was told before.
 */
bool control_mem_property_short(const struct control *c, const struct tuning *t, uint64_t stored);
/* memory.high without trial and brake, in proportion to the original one. */
uint64_t control_mem_high(const struct control *c, uint64_t mem_max);
/* The highest and the lowest allowed value of a resource. */
uint64_t control_ceiling(const struct control *c, const struct tuning *t, enum resource r,
			 uint64_t node_milli);
/* What growth of memory may reach while it cannot be ratified; pod_unratified_max(). */
uint64_t control_unratified(const struct control *c);
uint64_t control_floor(const struct control *c, const struct tuning *t, enum resource r,
		       uint64_t node_milli);
/* What the container should request of a resource beside the limit as held: the target of history,
 * within the bounds that hold for requests; in mode Initial that of the start. 0: leave it as it
 * is. */
uint64_t control_request(const struct control *c, enum resource r);

/* The memory limit that is worth a restart of the container: it was killed since the last one, or
 * stands at the most that it may hold without. 0: none is. */
uint64_t control_restart_wish(const struct control *c, const struct tuning *t, bool killed);

/* --- control_ledger.c */
/* What the node's ledger is to know of it, as of the last look. */
void control_ledger_entry(const struct control *c, const struct tuning *t, usec_t now,
			  struct ledger_entry *ret);
/* The same of one that does not run: what it has freed, or was killed for, is its claim for a
 * while. */
void control_ledger_waiting(const struct control *c, usec_t now, struct ledger_entry *ret);
/* Its cgroup is gone, and the grant with it. */
void control_lost(struct control *c, usec_t now);
/* The ledger asks for a grant that is not used: what is not even charged goes back at once, what is
 * page cache by trial. */
void control_give_back(struct control *c, const struct control_context *x, uint64_t to);
/* The node has less than it asked for; c->denial says what led to that. */
bool control_denied(const struct control *c, usec_t now);
