/* SPDX-License-Identifier: Apache-2.0 */
/* Why a limit changes, why it does not, which bound changed a desired value, and the states of
 * units. One table each. */
#pragma once

#include "policy/types/limits.h"
#include <stdbool.h>

enum reason {
	REASON_NONE,
	REASON_THROTTLED,      /* CPU reflex */
	REASON_MEMORY_GROWTH,  /* the limit would be reached within the horizon */
	REASON_CACHE_PRESSURE, /* page cache alone is short, and processes stall */
	REASON_OOM_KILL,
	REASON_HISTORY,       /* the recommendation is above the limit */
	REASON_MINIMUM,       /* the configured minimum is above the limit */
	REASON_INITIAL,       /* sized once at the start */
	REASON_SHRINK,        /* a shrink trial */
	REASON_SHRINK_UNDONE, /* the trial failed: the former limit */
	REASON_SETTLED,       /* headroom for a slow writer is taken back */
	REASON_DRIFT,         /* an external writer changed the limit: the held limit again */
	REASON_LIFT,          /* memory.high of a trial is lifted */
	REASON_BRAKE,         /* memory.high ahead of growth, and its end */
	REASON_RESTORE,
	REASON_REFUSED,    /* the API server refused the value: back to what it allows */
	REASON_POD_LEVEL,  /* the pod's cgroup follows its containers */
	REASON_RESUMED,    /* the held limit of the predecessor */
	REASON_BOOST,      /* startup boost */
	REASON_BOOST_OVER, /* the startup boost has ended */
	REASON_GIVEN_BACK, /* granted and not used, and the node needs it */
	REASON_STOPPING,   /* vscaled stops: the spec, or the owner, allows more */
	REASON_COUNT,
};

/* Why a resource is left as it is. */
enum blocked_reason {
	BLOCKED_NONE,
	BLOCKED_MODE_OFF,
	BLOCKED_INITIAL_DONE,
	BLOCKED_NOT_CONTROLLED, /* resource not listed */
	BLOCKED_NO_LIMIT,       /* a unit without a limit never gets one */
	BLOCKED_PAUSED,
	BLOCKED_FROZEN,     /* an annotation is invalid: policy_rule.freeze */
	BLOCKED_AUTOSCALED, /* pod_bounds.limits_frozen: held as with freeze */
	BLOCKED_NO_DATA,
	BLOCKED_START_QUIET,
	BLOCKED_SCALE_DOWN_OFF,
	BLOCKED_DEADBAND, /* the candidate is too close to the limit */
	BLOCKED_INTERVAL,
	BLOCKED_TRIAL,   /* a shrink is under way */
	BLOCKED_GROWING, /* memory grew a moment ago */
	BLOCKED_HISTORY, /* not enough of it */
	BLOCKED_BACKOFF, /* the last shrink failed or could not be reclaimed */
	BLOCKED_CEILING,
	BLOCKED_NOT_READY,     /* nothing shrinks while a pod is not ready */
	BLOCKED_REQUESTS_ONLY, /* vscaled does not control limits */
	BLOCKED_BOOST,         /* startup boost: nothing shrinks */
	BLOCKED_LEDGER,        /* the node has no memory to grant */
	BLOCKED_UNRATIFIED,    /* growth that the API server cannot accept now has ended */
	BLOCKED_COUNT,
};

enum bound {
	BOUND_HEAP, /* a language runtime's heap must fit */
	BOUND_USER_MIN,
	BOUND_USER_MAX,
	BOUND_ADMIN_MIN, /* of the configuration, over annotations */
	BOUND_ADMIN_MAX,
	BOUND_RANGE_MIN, /* LimitRange */
	BOUND_RANGE_MAX,
	BOUND_RANGE_RATIO, /* LimitRange: limit to request */
	BOUND_REQUEST,
	BOUND_QOS,
	BOUND_CEILING,
	BOUND_REFUSED,    /* by the API server, for a time */
	BOUND_UNRATIFIED, /* growth that the API server cannot accept now */
	BOUND_LEDGER,
	BOUND_QUANTUM,
	BOUND_USE, /* memory in use + margin */
	BOUND_COUNT,
};

/* A raise that is one by our books, also where a slow writer has put as much into the file. */
static inline bool reason_sets_limit(enum reason r)
{
	return r == REASON_SHRINK_UNDONE || r == REASON_OOM_KILL;
}

/* Stable machine names ("throttled", "start-quiet", "user-max"). */
const char *reason_name(enum reason r);
const char *blocked_reason_name(enum blocked_reason h);
const char *bound_name(enum bound b);
/* The same in plain words for people. */
const char *reason_text(enum reason r);
const char *blocked_reason_text(enum blocked_reason h);
const char *bound_text(enum bound b);

/* The bounds of a limit, in their order (docs/control-laws.md):
 * heap, user min, user max, the administrator's min and max, LimitRange min, max and ratio,
 * request, QoS, ceiling, refusal, unratified growth, ledger, quantum, then every bound checked
 * again on the rounded value. A desired value rounds up, a ceiling rounds down. Where two bounds
 * contradict each other, the later one wins. */

/* Upper bounds: 0 = not set. Lower bounds: 0 = not set. Millicores or bytes. */
struct bounds {
	uint64_t value[BOUND_QUANTUM]; /* by enum bound, up to and without BOUND_QUANTUM */
	uint64_t quantum;              /* >= 1 */
};

/* Which bounds changed a desired value, in their order. Two traces are kept of every container, so
 * they are short: steps of contradicting bounds beyond BOUND_TRACE_MAX are left out. */
struct bound_step {
	enum bound bound;
	uint64_t before;
	uint64_t after;
};

#define BOUND_TRACE_MAX 6
struct bound_trace {
	uint8_t count;
	uint8_t bound[BOUND_TRACE_MAX];      /* enum bound */
	uint64_t value[BOUND_TRACE_MAX + 1]; /* before the first step, and after each */
};

static inline struct bound_step bound_trace_step(const struct bound_trace *t, uint32_t i)
{
	return (struct bound_step){(enum bound)t->bound[i], t->value[i], t->value[i + 1]};
}
/* before: the desired value, which the first step keeps; a later one begins where the step before
 * it ended. */
void bound_trace_add(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after);

/* Takes a desired value, returns the allowed one. trace may be NULL. LIMIT_MAX as the desired value
 * means "as much as allowed". */
uint64_t bounds_apply(const struct bounds *b, uint64_t desired, struct bound_trace *trace);
/* The highest and the lowest value allowed; LIMIT_MAX and 0 where nothing is set. */
uint64_t bounds_ceiling(const struct bounds *b);
uint64_t bounds_floor(const struct bounds *b);

/* The smallest request whose limit is not too far above it. ratio_permille > 0. */
uint64_t request_of_ratio(uint64_t limit, uint64_t ratio_permille);

/* The state of a container, a unit or a pod level, and the reason why it is in it: exactly one at
 * any time. Pure data; docs/states.md has the same table. */

enum unit_state {
	UNIT_MANAGED,   /* values are kept the right size */
	UNIT_PAUSED,    /* by vscalectl pause */
	UNIT_FROZEN,    /* an annotation is invalid: limits stay */
	UNIT_WAITING,   /* for its cgroup, or for what has to be known before a limit is written */
	UNIT_GAVE_WAY,  /* suspended: an external writer keeps changing the limit */
	UNIT_RESTORED,  /* put back by vscalectl restore, left alone until resumed */
	UNIT_UNMANAGED, /* not to be sized, or it cannot be: what vscaled wrote goes back */
	UNIT_ENDED,     /* it does not come back */
	UNIT_STATE_COUNT,
};

enum state_reason {
	STATE_SIZING, /* 0: nothing prevents it */
	STATE_OPERATOR,
	STATE_ANNOTATION_INVALID,
	STATE_NO_CGROUP,
	STATE_NOT_RUNNING,
	STATE_CGROUP_NOT_READY,
	STATE_DESCRIPTORS,
	STATE_CGROUP_READ_ONLY,
	STATE_NOT_RECORDED,
	STATE_NAMESPACES_UNREAD,
	STATE_NODE_NAME_WRONG,
	STATE_CONTESTED,
	STATE_RESTORED,
	STATE_NOT_OPTED_IN,
	STATE_NOT_ANNOTATED,
	STATE_NOT_SIZED,
	STATE_NOT_CONFIGURED,
	STATE_NOT_SEEN,
	STATE_NOT_NAMED,
	STATE_ROLLOUT_STOPPED,
	STATE_ROLLOUT_REST,
	STATE_UNSUPPORTED,
	STATE_SELF,
	STATE_MIRROR,
	STATE_WINDOWS,
	STATE_VPA_ANNOTATIONS,
	STATE_VPA,
	STATE_POD_RESOURCES,
	STATE_CLAIMS,
	STATE_CONTAINERS,
	STATE_INIT,
	STATE_EPHEMERAL,
	STATE_OWN_CPUS,
	STATE_PID1_UNREACHABLE,
	STATE_WRONG_CGROUP,
	STATE_NO_POD_CGROUP,
	STATE_OTHER_DRIVER,
	STATE_SANDBOX_RUNTIME,
	STATE_SANDBOX,
	STATE_ORIGINALS_UNKNOWN,
	STATE_RANGES_UNREAD,
	STATE_OUT_OF_MEMORY,
	STATE_FINISHED,
	STATE_DELETING,
	STATE_REASON_COUNT,
};

struct state_row {
	const char *name; /* stable: JSON, label `reason` of metrics */
	enum unit_state state;
	const char *text;   /* NULL: the state says it all, or the pod has the text */
	const char *remedy; /* what to do; NULL: nothing has to be done */
	bool late;          /* told after STATE_LATE_USEC by the journal and an Event */
};

/* A reason with `late` is reported if it still holds then. */
#define STATE_LATE_USEC (30 * USEC_PER_SEC)

extern const struct state_row state_rows[STATE_REASON_COUNT];
extern const char *const unit_state_names[UNIT_STATE_COUNT];

/* What was seen last, and whether it was reported. */
struct state_seen {
	enum state_reason reason;
	usec_t since;
	bool told;
};

/* Notes the present reason; true once for a reason with `late` that has held for STATE_LATE_USEC.
 */
bool state_is_late(struct state_seen *s, enum state_reason now_is, usec_t now);
