/* SPDX-License-Identifier: Apache-2.0 */
/* One managed container or unit: all laws together. Every call adds its steps to a plan;
 * control_applied() receives the outcome of each. Pure: no clock, no I/O. Time is boottime for
 * control (now) and realtime for records (now_real). */
#pragma once

#include "policy/laws/boost.h"
#include "policy/laws/cpu_law.h"
#include "policy/laws/drift.h"
#include "policy/laws/ledger.h"
#include "policy/laws/mem_law.h"
#include "policy/laws/pod_bounds.h"

#define CONTROL_STEPS_MAX 8
/* OOM kills while the node denied memory that are remembered. */
#define CONTROL_CEILING_KILLS 3

/* What the ledger answered in one call of the laws: noted, or read back in place of its answers. */
#define LEDGER_TAPE_WORDS 48

struct ledger_tape {
	uint32_t count;
	uint32_t at; /* the next one to read */
	bool replays;
	bool spoiled; /* more answers than there is room for, or than were noted */
	uint64_t word[LEDGER_TAPE_WORDS];
};

/* What a step of the laws may depend on, apart from the container itself. */
struct control_context {
	const struct tuning *tuning;
	uint64_t node_milli; /* CPUs of the node x 1000 */
	usec_t tick_usec;    /* until the next observation */
	usec_t now;          /* > 0, never goes back */
	usec_t now_real;
	/* Steps are added here. It needs space for CONTROL_STEPS_MAX steps per control and call, or
	 * a step is lost.
	 */
	struct plan *plan;
	/* The node's memory, one entry per target; NULL: growth is not counted. */
	struct ledger *ledger;
	struct ledger_tape *tape; /* of a recorded call; NULL: none */
};

struct decision {
	usec_t at_real; /* 0: none yet */
	uint64_t from;
	uint64_t to; /* millicores, bytes */
	enum reason reason;
	uint32_t throttle_ppm; /* at the reflex pass */
	uint64_t use;          /* memory: unreclaimable bytes; CPU: used millicores */
	uint64_t slope_bps;
};

struct control_counters {
	uint32_t raises;
	uint32_t lowers;
	uint32_t undos;
	uint32_t refusals;
	uint32_t drifts;
	uint32_t oom_kills;
};

/* Memory that the node denied, until a minute after it was last asked for. */
struct denial {
	usec_t since; /* 0: never */
	usec_t at;    /* last time */
	struct ledger_verdict verdict;
};

/* The state of one resource. Millicores or bytes; LIMIT_MAX = no limit. */
struct control_resource {
	bool managed;
	bool at_ceiling;
	bool request_up; /* the request is above the spec's */
	enum blocked_reason blocked;
	uint64_t original;
	uint64_t limit;           /* the held limit */
	uint64_t candidate;       /* what history and use ask for, before the bounds */
	uint64_t bounded;         /* after them */
	struct bound_trace trace; /* from the one to the other */
	usec_t next_at;           /* when it may change next; 0: unknown */
	usec_t pressed_at;        /* last time it asked for more than the ceiling */
	usec_t planned_at;        /* a step of this wake-up is planned: no second one */
	usec_t request_since;     /* the request is apart from the spec's since; 0: it is not */
	struct decision pending;  /* of the step in the plan */
	struct decision last;
	struct control_counters counters;
};

/* A memory.max that an external writer set below the held limit. */
struct mem_lowered {
	usec_t at; /* last time; 0: never */
	uint64_t from;
	uint64_t to;
	bool pod; /* the pod's, not the container's own */
};

/* The newest OOM kill of the run, or its end under an external writer's memory.max. */
struct oom_kill {
	usec_t at;      /* 0: none */
	uint64_t limit; /* memory.max at that moment */
	uint64_t held; /* memory.max before an external writer lowered it; else the same as limit */
	uint64_t use;  /* memory that could not be reclaimed, at that moment */
	usec_t unseen_usec; /* its use was read last so long before the reading with the kill */
	bool pod;           /* the limit was the pod's */
	bool applied;       /* it was applied to the size of a successor */
};

struct control {
	struct policy_rule rule;
	struct pod_bounds pod;    /* all 0: a unit */
	uint64_t page_bytes;      /* of the tuning */
	uint64_t start_mem_bytes; /* memory.max when the process began; LIMIT_MAX: none */
	uint64_t start_request;   /* then, what its heap was made of; 0: not of a request */
	struct limits original;
	struct limits kernel; /* as last seen or written */
	usec_t started_at;
	uint32_t target; /* the caller's id of it, in steps and in the ledger */
	uint32_t depth;
	uint32_t gave_way; /* RESOURCES_*: suspended */
	uint32_t frozen;   /* RESOURCES_*: an external write that is not classified yet */
	bool paused;
	bool initial_done; /* sized by what was known before it started */
	bool grant_ended;  /* with the predecessor: the held limit must be granted anew */
	bool prior_new;    /* it is known, and the limits have not been sized by it */
	bool prior_known;  /* the workload's other pods were read; the prior may be empty */
	bool rates_fresh;  /* the rates belong to the newest observation */
	bool cpu_counted;  /* CPU use of this run is in history ... */
	uint64_t initial_request[RESOURCE_COUNT]; /* mode Initial: final; 0: leave it as it is */
	struct control_resource resource[RESOURCE_COUNT];
	struct startup_life life;
	struct startup startup;
	struct boost boost;
	struct boost_decision boost_now; /* of the last step */
	struct cpu_law cpu;
	struct mem_law mem;
	uint64_t unclassified_bytes; /* a memory.max above the held limit whose writer is not known
				    yet: counted as granted while it is in the file; 0: none */
	struct ledger_denied denied; /* memory that was denied */
	struct ledger_denied freed;  /* by the predecessor, when it ended */
	struct ledger_denied asked;  /* the ledger asks for a shrink trial to this */
	struct denial denial;
	struct mem_lowered lowered;
	struct oom_kill kill;
	usec_t lacking_since; /* it needs more than its ceiling or request is; 0: it does not */
	usec_t lacked_at;
	usec_t ceiling_kills[CONTROL_CEILING_KILLS]; /* the newest one first; 0: none */
	usec_t spared_at;                            /* control_spared() */
	uint64_t use_unchecked; /* bytes: the highest use since memory.events was read; 0: none */
	struct history history;
	struct prior prior;
	usec_t facts_until; /* mode Initial waits for the API server until then; 0: it does not */
	struct recommendation own; /* from history alone */
	struct recommendation recommendation;
	usec_t above_since[RESOURCE_COUNT];    /* algorithm threshold: use is high; 0: it is not */
	uint32_t containers;                   /* of its pod that have history; 0: a unit */
	uint32_t past_samples[RESOURCE_COUNT]; /* of the history: control_add_past() */
	struct usage last;                     /* the newest of everything */
	struct usage sample;    /* the last observation as a whole; until there is one, totals */
	usec_t last_at;         /* of the sample */
	struct cpu_rates rates; /* of the newest span */
	usec_t startup_usec;    /* ... beside this span of start-up, of which the age alone is */
	/* Shown, never acted on; smoothed over about 10 s. */
	uint32_t psi_cpu_ppm;        /* some task waited */
	uint32_t psi_cpu_others_ppm; /* of it, at least: not because of our own limit */
};

/* original: the limits before vscaled's first write, kernel: the limits now. The history starts
 * empty. *c must not own one: it is new or was dropped. */
void control_init(struct control *c, const struct tuning *t, const struct policy_rule *rule,
		  const struct limits *original);
/* Frees what it owns. */
void control_drop(struct control *c);
/* A new cgroup of the same unit: counters start anew, held limits and history stay; a limit on
 * trial is replaced by the one before the trial. */
void control_restarted(struct control *c, const struct limits *kernel, usec_t now);
/* A rule that changed on reload. */
void control_set_rule(struct control *c, const struct policy_rule *rule);
/* Sets the bounds from the pod, its namespace, the administrator and the API server. Call it after
 * control_init() and whenever one of them changes; a refusal expires without a call. */
void control_set_pod(struct control *c, const struct pod_bounds *pod);
/* Call it after control_restarted() and whenever one of the two values changes. */
void control_set_life(struct control *c, const struct startup_life *life);
/* When its start-up ends, if it has not; 0: it has, or nothing is known of it. */
usec_t control_startup_end(const struct control *c, const struct tuning *t, usec_t now);
/* The held CPU limit comes from throttling in start-up: the end of that; 0: it does not. */
usec_t control_startup_raise(const struct control *c, const struct tuning *t);

/* Startup boost. Call it in every wake-up, before everything else: it adds a step when the boost
 * begins or ends. The boosted limit is temporary: control_lasting() is the limit that returns
 * afterwards, and the one that is reported. */
void control_boost(struct control *c, const struct control_context *x);
/* False: control_boost() does nothing and need not be called. Most containers have no boost, and
 * the flight recorder copies the whole state for each call. */
bool control_boosts(const struct control *c);
/* What must be on disk before control_boost(): the limit to return to; 0: no boosted limit is held
 * or about to be written. */
uint64_t control_boost_prepare(struct control *c, const struct control_context *x);
/* Sizing ends: adds a step that ends the boost now. */
void control_boost_end(struct control *c, const struct control_context *x);
uint64_t control_lasting(const struct control *c, enum resource r);

/* A sample, the first or the next one: everything is read. */
void control_observe(struct control *c, const struct usage *u, const struct control_context *x);
/* A reflex pass, by the timer or after an event, with what was read: nothing goes into history.
 * control_reflex_wants() says in stages what to read: the next group (enum usage_have) by what u
 * has so far, 0 when that is all. Limits are not read again. */
uint32_t control_reflex_wants(const struct control *c, const struct usage *u);
void control_reflex_pass(struct control *c, const struct usage *u, const struct control_context *x);
/* It has used its quota before the end of the period, as the kernel reports it at once: with the
 * CPU counters of that moment. */
void control_throttled(struct control *c, const struct usage *u, const struct control_context *x);
/* Would it be raised then? */
bool control_answers_throttling(const struct control *c, const struct tuning *t);
/* For a sample without memory.stat: true when that cannot have changed since it was read. */
bool control_stat_stands(const struct control *c, const struct usage *u);
/* Memory is read at every reflex pass: use is close to the limit, or grows towards it. */
bool control_hot(const struct control *c);
/* By the CPU counters it may need a raise now: it is read before all others. */
bool control_presses(const struct control *c, const struct usage *u);
/* Before the usage that contains an OOM kill: it was for its own limit, or for its pod's, which is
 * handled alike; or it was for another one, and says nothing about its own. */
void control_limit_full(struct control *c, usec_t now);
void control_spared(struct control *c, usec_t now);
/* An external writer lowered memory.max of the container or pod: an OOM kill within a second is
 * attributed to it, and the desired limit follows from use. Before the usage with the kill and the
 * correction. */
void control_mem_lowered(struct control *c, const struct mem_lowered *l);
/* The cgroup and its counters are gone, and the pod's status shows that it was OOM-killed. */
void control_oom_reported(struct control *c, const struct tuning *t, usec_t now, usec_t now_real);
/* Disarms the brake. True: *ret is the step that lifts memory.high. */
bool control_brake_off(struct control *c, struct change *ret);
void control_review(struct control *c, const struct control_context *x);
/* Outcome of a step that carried this control's target: enum apply_outcome or -errno. A failed step
 * of a trial adds to x->plan the steps that undo the others. */
void control_applied(struct control *c, const struct change *step, int outcome,
		     const struct control_context *x);

/* An owner's or controller's own resize of a resource: its value is adopted. */
void control_adopt(struct control *c, const struct limits *kernel, enum resource r,
		   const struct control_context *x);
/* memory.high is that of a running trial or the brake, with no external write since. */
bool control_high_is_ours(const struct control *c, const struct limits *kernel);
/* With mem_max as memory.max: may the runtime write that, or a lower limit, so that the brake holds
 * growth below it until a higher one is carried out? */
bool control_brake_replays(const struct control *c, uint64_t mem_max);
/* Takes over an external writer's value without correcting it. */
void control_follow(struct control *c, const struct limits *kernel, enum resource r);
/* Adds steps that write our values again after an external write. A memory raise is always safe. */
void control_reassert(struct control *c, const struct limits *kernel, enum resource r,
		      const struct control_context *x);

/* Adds steps up to what others hold for it, as far as bounds and node allow, or down to the CPU
 * limit that is restored: the laws will not raise it from here on. */
void control_put_back(struct control *c, enum resource r, uint64_t to, enum reason reason,
		      const struct control_context *x);

/* Adds steps for a new cgroup of the same unit, after control_restarted(): to the held limit, or to
 * more where an OOM kill showed the need. After an OOM kill under an external writer's lower limit,
 * the limit held for growth is too high: then at most the highest of what the kill showed, what
 * history asks for and the original. */
void control_resume(struct control *c, const struct limits *kernel,
		    const struct control_context *x);

/* The wall clock was set: moves every record by the same step, so that ages do not change. */
void control_shift_clock(struct control *c, int64_t step_usec);

/* memory.max for a writer that lags (the stored property), never below the held limit. */
uint64_t control_mem_property(const struct control *c, const struct tuning *t);
/* Does the stored property need a raise? As soon as less than half of the headroom is left, with or
 * without growth: PID 1 may be busy with a reload when growth begins. */
bool control_mem_property_short(const struct control *c, const struct tuning *t, uint64_t stored);
/* The original memory.high becomes that of a kubelet with this factor (0: it sets none). True: it
 * was another one. */
bool control_adopt_factor(struct control *c, uint32_t factor_permille);
/* memory.high outside of trials and without the brake: the kubelet's where the original one is,
 * else in proportion to the original one. */
uint64_t control_mem_high(const struct control *c, uint64_t mem_max);
/* The highest and the lowest allowed value of a resource. */
uint64_t control_ceiling(const struct control *c, const struct tuning *t, enum resource r,
			 uint64_t node_milli);
/* The bound of memory growth that cannot be ratified; pod_unratified_max(). */
uint64_t control_unratified(const struct control *c);
uint64_t control_floor(const struct control *c, const struct tuning *t, enum resource r,
		       uint64_t node_milli);
/* The request that goes with the held limit: the target of history, within the bounds of requests;
 * in mode Initial the one set at the start. 0: leave it as it is. */
uint64_t control_request(const struct control *c, enum resource r);
/* What the owner, the administrator and the LimitRange of containers allow a request to be beside
 * the original limit. 0: not set. */
struct range control_request_range(const struct control *c, enum resource r);
/* For what is shown: no upper bound above that, nor above what the node has (0: not known). */
void control_bound_upper(const struct control *c, const uint64_t node[RESOURCE_COUNT],
			 struct recommendation *ret);
/* Since when it has been a tenth above the spec's, or a tenth below; now: it is not. 0: it does not
 * wait: mode Initial, or a container that has just started and is known from before. */
usec_t control_request_since(const struct control *c, enum resource r, usec_t now);
/* vscaled sizes this request. The limit may be absent, and stays so. */
bool control_sizes_request(const struct control *c, enum resource r);
/* Is it new, and was its need known before it started, by other pods or by runs before it? */
bool control_known_at_birth(const struct control *c, enum resource r, usec_t now);

/* The memory limit that justifies a restart of the container: it was OOM-killed since the last
 * restart (killed), or holds the most that is possible without one. 0: none does. */
uint64_t control_restart_limit(const struct control *c, const struct tuning *t, bool killed);

/* --- control_ledger.c */
/* The ledger entry of the container, as of the last reflex pass or sample. */
void control_ledger_entry(const struct control *c, const struct tuning *t, usec_t now,
			  struct ledger_entry *ret);
/* The same while it does not run: what it freed, or was OOM-killed for, is kept for its successor
 * for a while. */
void control_ledger_waiting(const struct control *c, usec_t now, struct ledger_entry *ret);
/* Stores totals in c->sample until the first sample, as the container may end before it. */
void control_note_totals(struct control *c, const struct usage *total);
/* The run has ended, and these are the newest totals of its cgroup: what came after the last sample
 * goes into history. once: the pod runs to its end, so that its start-up is all there is; then the
 * totals count from the start, unless it was before `since`, or CPU use of the run is counted. */
void control_end(struct control *c, const struct usage *total, bool once, usec_t since,
		 const struct control_context *x);
/* The cgroup is gone, and its grant ends. */
void control_lost(struct control *c, usec_t now);
/* The ledger asks for an unused grant: uncharged memory at once, page cache by a trial. */
void control_give_back(struct control *c, const struct control_context *x, uint64_t to);
/* The node denied memory within the last minute; c->denial has the reasons. */
bool control_denied(const struct control *c, usec_t now);
/* OOM kills within an hour at limits that the node kept below the ceiling, CONTROL_CEILING_KILLS at
 * most. */
uint32_t control_ceiling_kills(const struct control *c, usec_t now);
/* How far the recommendation may lower a limit below the original one, in permille of it. */
uint32_t control_trust(const struct control *c, enum resource r);

/* What the caller tells the laws of one unit besides its usage: what it found in the files, and
 * what it decided. Only policy/control/ writes struct control; test/lint/parts.sh checks that.
 * --- what it is */
void control_set_target(struct control *c, uint32_t target);
void control_set_depth(struct control *c, uint32_t depth);
/* Of the node; control_init() sets it too. */
void control_set_page(struct control *c, uint64_t page_bytes);

/* --- the files */
/* The limits that the files have now. The held limits do not change. */
void control_set_kernel(struct control *c, const struct limits *kernel);
/* The same for memory alone. */
void control_set_kernel_memory(struct control *c, uint64_t mem_max, uint64_t mem_high);
/* The limits of managed resources that the files have become the held ones; none is removed. */
void control_take_limits(struct control *c, const struct limits *kernel);
/* A memory.max above the held limit whose writer is not known yet; 0: none. */
void control_set_unclassified(struct control *c, uint64_t bytes);

/* --- may the laws act? */
void control_set_paused(struct control *c, bool paused);
/* RESOURCES_*: an external write of them waits for its classification. */
void control_freeze(struct control *c, uint32_t resources);
/* An external writer keeps this limit. */
void control_suspend(struct control *c, enum resource r);
void control_end_suspension(struct control *c);

/* --- its life */
/* The next attachment is the first one: control_init() follows. */
void control_forget_start(struct control *c);
/* Mode Initial does not size it: it did not start now. */
void control_set_sized(struct control *c);
/* An earlier run of the agent sized it: the limits in the files are the held and granted ones. */
void control_take_over(struct control *c, const struct limits *kernel);
/* An earlier run of the agent has written a boost, and base_milli is to return. */
void control_boost_resume(struct control *c, uint64_t base_milli);
/* An external writer took the place of the boost. */
void control_boost_forget(struct control *c, usec_t now);

/* --- what is known of it */
/* How many containers of its pod have history. */
void control_set_containers(struct control *c, uint32_t containers);
/* Of an earlier run, or of another pod of its workload. */
struct control_past {
	struct history history;
	struct shrink_floor cpu_floor, mem_floor;
	usec_t backoff_usec, backoff_until; /* of memory's shrink trials */
};
/* Takes the history: it is owned by c afterwards. */
void control_set_past(struct control *c, const struct control_past *past);
/* What others have recorded of it, beside what it has seen itself. */
void control_add_past(struct control *c, const struct tuning *t, const struct past_series *cpu,
		      const struct past_series *memory);
/* What the API server says of its workload will follow: control_set_prior(), and pod_bounds without
 * requests_unknown. Mode Initial waits, until then at most. */
void control_await_facts(struct control *c, usec_t until);
/* All 0: nothing is known of them. */
void control_set_prior(struct control *c, const struct prior *prior);

/* A limit that has no laws here, of a pod's own cgroup or from it: millicores, bytes, LIMIT_MAX. */
void control_set_original(struct control *c, enum resource r, uint64_t amount);

/* --- the pod's own cgroup, which has no laws */
/* A container's original went from one value to another: so does their sum. */
void control_shift_original(struct control *c, enum resource r, uint64_t from, uint64_t to);
/* The decision behind the step that is about to be applied. */
void control_set_decision(struct control *c, enum resource r, const struct decision *d);
