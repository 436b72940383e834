/* SPDX-License-Identifier: Apache-2.0 */
/* Why a limit changes, why it does not, which bound changed a desired value, and the states of
 * units. One table each. */
#pragma once

#include "policy/types/limits.h"
#include <stdbool.h>

/* Of the lists below, whose first column is a constant. */
#define ENUM_OF(constant, ...) constant,

/* clang-format off */
/* X(reason, stable machine name, the same in plain words for people) */
#define REASONS(X) \
	X(REASON_NONE,           "none", "nothing") \
	X(REASON_THROTTLED,      "throttled", "throttled since the last change") \
	X(REASON_MEMORY_GROWTH,  "memory-growth", "memory grows towards the limit") /* within the horizon */ \
	X(REASON_CACHE_PRESSURE, "cache-pressure", "page cache refaults under memory pressure") /* and processes stall */ \
	X(REASON_OOM_KILL,       "oom-kill", "a process was killed at the limit") \
	X(REASON_HISTORY,        "history", "the recommendation is higher") \
	X(REASON_MINIMUM,        "minimum", "the configured minimum is higher") \
	X(REASON_INITIAL,        "initial", "sized from history at the start") \
	X(REASON_SHRINK,         "shrink", "the recommendation is lower") \
	X(REASON_SHRINK_UNDONE,  "shrink-undone", "the last decrease caused pressure") /* the former limit */ \
	X(REASON_SETTLED,        "settled", "headroom for growth is no longer needed") /* for a slow writer */ \
	X(REASON_DRIFT,          "drift", "an external writer changed it") /* the held limit again */ \
	X(REASON_LIFT,           "lift", "memory.high of a shrink trial is removed") \
	X(REASON_BRAKE,          "brake", "memory.high slows growth until the limit is raised") /* and its end */ \
	X(REASON_RESTORE,        "restore", "the original value is restored") \
	X(REASON_REFUSED,        "refused", "the API server refused the value") /* back to what it allows */ \
	X(REASON_POD_LEVEL,      "pod-level", "the sum of its containers") \
	X(REASON_RESUMED,        "resumed", "the limit from before the restart") /* the held limit of the predecessor */ \
	X(REASON_BOOST,          "boost", "startup boost") \
	X(REASON_BOOST_OVER,     "boost-over", "startup boost has ended") \
	X(REASON_GIVEN_BACK,     "given-back", "unused, and the node needs the memory") \
	X(REASON_STOPPING,       "stopping", "vscaled stops, and cannot raise it when it is needed") /* the spec, or the owner, allows more */
enum reason { REASONS(ENUM_OF) REASON_COUNT };

/* Why a resource is left as it is. */
#define BLOCKED_REASONS(X) \
	X(BLOCKED_NONE,           "none", "not blocked") \
	X(BLOCKED_MODE_OFF,       "mode-off", "mode Off only computes and shows") \
	X(BLOCKED_INITIAL_DONE,   "initial-done", "mode Initial sizes once, at the start") \
	X(BLOCKED_NOT_CONTROLLED, "not-controlled", "this resource is not in `resources`") \
	X(BLOCKED_NO_LIMIT,       "no-limit", "no limit is set, and vscaled adds none") \
	X(BLOCKED_PAUSED,         "paused", "paused by the operator") \
	X(BLOCKED_FROZEN,         "frozen", "an annotation is invalid: what is held stays") /* policy_rule.freeze */ \
	X(BLOCKED_AUTOSCALED,     "autoscaled", "a VerticalPodAutoscaler may scale it: what is held stays") /* pod_bounds.limits_frozen */ \
	X(BLOCKED_NO_DATA,        "no-data", "no measurement yet") \
	X(BLOCKED_START_QUIET,    "start-quiet", "no decrease soon after a start") \
	X(BLOCKED_SCALE_DOWN_OFF, "scale-down-off", "scale-down is false") \
	X(BLOCKED_DEADBAND,       "deadband", "the limit is close enough to the recommendation") \
	X(BLOCKED_INTERVAL,       "interval", "the last change was too recent") \
	X(BLOCKED_TRIAL,          "trial", "a shrink trial is running") \
	X(BLOCKED_GROWING,        "growing", "memory has grown recently") \
	X(BLOCKED_HISTORY,        "history", "not enough history for a decrease") \
	X(BLOCKED_BACKOFF,        "backoff", "the last decrease was undone, waiting") /* or could not be reclaimed */ \
	X(BLOCKED_CEILING,        "ceiling", "at the upper bound") \
	X(BLOCKED_NOT_READY,      "not-ready", "no decrease while the pod is not ready") \
	X(BLOCKED_REQUESTS_ONLY,  "requests-only", "RequestsOnly does not change limits") \
	X(BLOCKED_BOOST,          "boost", "no decrease during the startup boost") \
	X(BLOCKED_LEDGER,         "ledger", "not enough node memory") \
	X(BLOCKED_UNRATIFIED,     "unratified", "growth above the spec ends here until the API server accepts a higher limit")
enum blocked_reason { BLOCKED_REASONS(ENUM_OF) BLOCKED_COUNT };

#define BOUNDS(X) \
	X(BOUND_HEAP,        "heap", "the heap of the language runtime") \
	X(BOUND_USER_MIN,    "user-min", "the configured minimum") \
	X(BOUND_USER_MAX,    "user-max", "the configured maximum") \
	X(BOUND_ADMIN_MIN,   "admin-min", "the administrator's minimum") /* of the configuration, over annotations */ \
	X(BOUND_ADMIN_MAX,   "admin-max", "the administrator's maximum") \
	X(BOUND_RANGE_MIN,   "limitrange-min", "the namespace's minimum") \
	X(BOUND_RANGE_MAX,   "limitrange-max", "the namespace's maximum") \
	X(BOUND_RANGE_RATIO, "limitrange-ratio", "the namespace's highest ratio of limit to request") \
	X(BOUND_REQUEST,     "request", "the request") \
	X(BOUND_QOS,         "qos", "the pod's QoS class") \
	X(BOUND_CEILING,     "ceiling", "the ceiling") \
	X(BOUND_BUDGET,      "budget", "the pod's own limit") \
	X(BOUND_REFUSED,     "refused", "what the API server allows after a refusal") /* for a time */ \
	X(BOUND_UNRATIFIED,  "unratified", "the bound of growth that the API server cannot accept") \
	X(BOUND_LEDGER,      "ledger", "what the node can grant") \
	X(BOUND_QUANTUM,     "quantum", "rounding") \
	X(BOUND_USE,         "use", "memory in use plus margin")
enum bound { BOUNDS(ENUM_OF) BOUND_COUNT };
/* clang-format on */

/* A raise that is one by our books, also where a slow writer has put as much into the file. */
static inline bool reason_sets_limit(enum reason r)
{
	return r == REASON_SHRINK_UNDONE || r == REASON_OOM_KILL;
}

/* Stable machine names ("throttled", "start-quiet", "user-max"); "?" for any other value. */
const char *reason_name(enum reason r);
const char *blocked_reason_name(enum blocked_reason h);
const char *bound_name(enum bound b);
/* The same in plain words for people. */
const char *reason_text(enum reason r);
const char *blocked_reason_text(enum blocked_reason h);
const char *bound_text(enum bound b);

/* The bounds of a limit, in their order (docs/control-laws.md):
 * heap, user min, user max, the administrator's min and max, LimitRange min, max and ratio,
 * request, QoS, ceiling, the pod's own limit, refusal, unratified growth, ledger, quantum, then
 * every bound checked again on the rounded value. A desired value rounds up, a ceiling rounds down.
 * Where two bounds contradict each other, the later one wins. */

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

/* clang-format off */
/* X(reason, what struct state_row has of it) */
#define STATE_REASONS(X) \
	X(STATE_SIZING, "sizing", UNIT_MANAGED, NULL, NULL, false) /* 0: nothing prevents it */ \
	X(STATE_OPERATOR, "operator", UNIT_PAUSED, "by vscalectl pause", "vscalectl resume", false) \
	X(STATE_ANNOTATION_INVALID, "annotation-invalid", UNIT_FROZEN, NULL, \
	  "correct the annotation that the text names", false) \
	X(STATE_NO_CGROUP, "no-cgroup", UNIT_WAITING, "its cgroup is not found yet", \
	  "compare kubernetes.cgroupPrefix and the mounts with vscalectl doctor", true) \
	X(STATE_NOT_RUNNING, "not-running", UNIT_WAITING, "it does not run", NULL, false) \
	X(STATE_CGROUP_NOT_READY, "cgroup-not-ready", UNIT_WAITING, "its cgroup is not ready", \
	  "see the log of the container runtime", true) \
	X(STATE_DESCRIPTORS, "descriptors-low", UNIT_WAITING, \
	  "vscaled has few file descriptors left; raise LimitNOFILE", NULL, false) \
	X(STATE_CGROUP_READ_ONLY, "cgroup-read-only", UNIT_WAITING, \
	  "the cgroup tree is mounted read-only for vscaled", "mount it for writing (DaemonSet: /sys/fs/cgroup)", true) \
	X(STATE_NOT_RECORDED, "not-recorded", UNIT_WAITING, "its original values are not on disk yet", \
	  "make the state directory writable, and free space there", true) \
	X(STATE_NAMESPACES_UNREAD, "namespaces-unread", UNIT_WAITING, \
	  "the list of Namespaces, whose annotations may size it, is not read yet", \
	  "grant list namespaces (components/namespaces)", false) \
	X(STATE_NODE_NAME_WRONG, "node-name-wrong", UNIT_WAITING, \
	  "no pod of this node's name runs here: the name is wrong", \
	  "set kubernetes.nodeName or NODE_NAME", false) \
	X(STATE_CONTESTED, "contested", UNIT_GAVE_WAY, "an external writer keeps changing a limit", \
	  "stop that writer, then vscalectl resume", false) \
	X(STATE_RESTORED, "restored", UNIT_RESTORED, "by vscalectl restore", "vscalectl resume", false) \
	X(STATE_NOT_OPTED_IN, "not-opted-in", UNIT_UNMANAGED, \
	  "no longer annotated, and no rule of the configuration names it", NULL, false) \
	X(STATE_NOT_ANNOTATED, "not-annotated", UNIT_UNMANAGED, "its annotations no longer size it", NULL, false) \
	X(STATE_NOT_SIZED, "not-sized", UNIT_UNMANAGED, "the configuration no longer sizes it", NULL, false) \
	X(STATE_NOT_CONFIGURED, "not-configured", UNIT_UNMANAGED, "no longer named in the configuration", \
	  NULL, false) \
	X(STATE_NOT_SEEN, "not-seen", UNIT_UNMANAGED, "not seen for days", NULL, false) \
	X(STATE_NOT_NAMED, "not-named", UNIT_UNMANAGED, "not named by the pod's annotations", NULL, false) \
	X(STATE_ROLLOUT_STOPPED, "rollout-stopped", UNIT_UNMANAGED, "its rollout was stopped", \
	  "see the Event RolloutStopped, then set another share", false) \
	X(STATE_ROLLOUT_REST, "rollout-rest", UNIT_UNMANAGED, "it is not in the share of its rollout", NULL, \
	  false) \
	X(STATE_UNSUPPORTED, "unsupported", UNIT_UNMANAGED, \
	  "its node is not supported: cgroup version 2 is needed", "see vscalectl doctor", false) \
	X(STATE_SELF, "self", UNIT_UNMANAGED, "this is vscaled itself, which does not size its own pod", NULL, \
	  false) \
	X(STATE_MIRROR, "mirror", UNIT_UNMANAGED, "a static pod: its limits are set in a file of the node", NULL, \
	  false) \
	X(STATE_WINDOWS, "windows", UNIT_UNMANAGED, "a Windows pod", NULL, false) \
	X(STATE_VPA_ANNOTATIONS, "vpa-annotations", UNIT_UNMANAGED, \
	  "a VerticalPodAutoscaler sizes it: see its annotations vpa...", "use one of the two", false) \
	X(STATE_VPA, "vpa", UNIT_UNMANAGED, "a VerticalPodAutoscaler sizes it: one targets its workload", \
	  "use one of the two", false) \
	X(STATE_POD_BUDGET, "pod-budget", UNIT_UNMANAGED, \
	  "its pod has a lower limit in spec.resources than one of its containers", \
	  "raise the limit of the pod, or lower the container's", false) \
	X(STATE_POD_RESOURCES, "pod-resources", UNIT_UNMANAGED, \
	  "its pod's spec.resources came or went while it was sized", "replace the pod", false) \
	X(STATE_CLAIMS, "claims", UNIT_UNMANAGED, \
	  "it gets CPU or memory by ResourceClaims, beside its limits", NULL, false) \
	X(STATE_CONTAINERS, "containers", UNIT_UNMANAGED, "its pod has more than 64 containers", NULL, false) \
	X(STATE_INIT, "init", UNIT_UNMANAGED, "an init container: it runs once", NULL, false) \
	X(STATE_EPHEMERAL, "ephemeral", UNIT_UNMANAGED, "an ephemeral container: it has no limits", NULL, false) \
	X(STATE_OWN_CPUS, "own-cpus", UNIT_UNMANAGED, "it has CPUs of its own (static CPU manager)", NULL, false) \
	X(STATE_PID1_UNREACHABLE, "pid1-unreachable", UNIT_UNMANAGED, \
	  "systemd holds its limits and cannot be called: mount /run/systemd (components/systemd)", \
	  NULL, false) \
	X(STATE_WRONG_CGROUP, "wrong-cgroup", UNIT_UNMANAGED, \
	  "its cgroup was taken for that of another container", NULL, false) \
	X(STATE_NO_POD_CGROUP, "no-pod-cgroup", UNIT_UNMANAGED, \
	  "the pod's cgroup is not found: set kubernetes.cgroupPrefix to the kubelet's " \
	  "--cgroup-root; see vscalectl doctor", NULL, false) \
	X(STATE_OTHER_DRIVER, "other-driver", UNIT_UNMANAGED, \
	  "it has no cgroup in the pod's: let kubelet and container runtime use the " \
	  "same cgroup driver, and restart the pod", NULL, false) \
	X(STATE_SANDBOX_RUNTIME, "sandbox-runtime", UNIT_UNMANAGED, \
	  "its runtime (runtimeClassName) makes no cgroup for it, as Kata " \
	  "Containers: remove vscaled.dev/mode", NULL, false) \
	X(STATE_SANDBOX, "sandbox", UNIT_UNMANAGED, \
	  "its cgroup has no processes, as with gVisor, which has them in the " \
	  "sandbox's: remove vscaled.dev/mode", NULL, false) \
	X(STATE_ORIGINALS_UNKNOWN, "originals-unknown", UNIT_UNMANAGED, \
	  "its original limits are not known: the saved ones are lost, the " \
	  "spec has values of vscaled, and vscaled.dev/status does not have " \
	  "them; vscalectl resume makes the present limits the originals", NULL, false) \
	X(STATE_RANGES_UNREAD, "ranges-unread", UNIT_UNMANAGED, \
	  "its original limits are read from vscaled.dev/status once the LimitRanges are known", \
	  "grant list limitranges", true) \
	X(STATE_OUT_OF_MEMORY, "out-of-memory", UNIT_UNMANAGED, "no memory", "raise the memory limit of vscaled", \
	  false) \
	X(STATE_FINISHED, "finished", UNIT_ENDED, "it has finished", NULL, false) \
	X(STATE_DELETING, "deleting", UNIT_ENDED, "it is being deleted", NULL, false)
enum state_reason { STATE_REASONS(ENUM_OF) STATE_REASON_COUNT };
/* clang-format on */

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
