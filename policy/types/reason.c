// SPDX-License-Identifier: Apache-2.0
#include "policy/types/reason.h"
#include <assert.h>

struct words {
	const char *name;
	const char *text;
};

static const struct words reasons[REASON_COUNT] = {
	[REASON_NONE] = {"none", "nothing"},
	[REASON_THROTTLED] = {"throttled", "throttled since the last change"},
	[REASON_MEMORY_GROWTH] = {"memory-growth", "memory grows towards the limit"},
	[REASON_CACHE_PRESSURE] = {"cache-pressure", "page cache refaults under memory pressure"},
	[REASON_OOM_KILL] = {"oom-kill", "a process was killed at the limit"},
	[REASON_HISTORY] = {"history", "the recommendation is higher"},
	[REASON_MINIMUM] = {"minimum", "the configured minimum is higher"},
	[REASON_INITIAL] = {"initial", "sized from history at the start"},
	[REASON_SHRINK] = {"shrink", "the recommendation is lower"},
	[REASON_SHRINK_UNDONE] = {"shrink-undone", "the last decrease caused pressure"},
	[REASON_SETTLED] = {"settled", "headroom for growth is no longer needed"},
	[REASON_DRIFT] = {"drift", "an external writer changed it"},
	[REASON_LIFT] = {"lift", "memory.high of a shrink trial is removed"},
	[REASON_BRAKE] = {"brake", "memory.high slows growth until the limit is raised"},
	[REASON_RESTORE] = {"restore", "the original value is restored"},
	[REASON_REFUSED] = {"refused", "the API server refused the value"},
	[REASON_POD_LEVEL] = {"pod-level", "the sum of its containers"},
	[REASON_RESUMED] = {"resumed", "the limit from before the restart"},
	[REASON_BOOST] = {"boost", "startup boost"},
	[REASON_BOOST_OVER] = {"boost-over", "startup boost has ended"},
	[REASON_GIVEN_BACK] = {"given-back", "unused, and the node needs the memory"},
	[REASON_STOPPING] = {"stopping", "vscaled stops, and cannot raise it when it is needed"},
};

static const struct words blocked_reasons[BLOCKED_COUNT] = {
	[BLOCKED_NONE] = {"none", "not blocked"},
	[BLOCKED_MODE_OFF] = {"mode-off", "mode Off only computes and shows"},
	[BLOCKED_INITIAL_DONE] = {"initial-done", "mode Initial sizes once, at the start"},
	[BLOCKED_NOT_CONTROLLED] = {"not-controlled", "this resource is not in `resources`"},
	[BLOCKED_NO_LIMIT] = {"no-limit", "no limit is set, and vscaled adds none"},
	[BLOCKED_PAUSED] = {"paused", "paused by the operator"},
	[BLOCKED_FROZEN] = {"frozen", "an annotation is invalid: what is held stays"},
	[BLOCKED_AUTOSCALED] = {"autoscaled",
				"a VerticalPodAutoscaler may scale it: what is held stays"},
	[BLOCKED_NO_DATA] = {"no-data", "no measurement yet"},
	[BLOCKED_START_QUIET] = {"start-quiet", "no decrease soon after a start"},
	[BLOCKED_SCALE_DOWN_OFF] = {"scale-down-off", "scale-down is false"},
	[BLOCKED_DEADBAND] = {"deadband", "the limit is close enough to the recommendation"},
	[BLOCKED_INTERVAL] = {"interval", "the last change was too recent"},
	[BLOCKED_TRIAL] = {"trial", "a shrink trial is running"},
	[BLOCKED_GROWING] = {"growing", "memory has grown recently"},
	[BLOCKED_HISTORY] = {"history", "not enough history for a decrease"},
	[BLOCKED_BACKOFF] = {"backoff", "the last decrease was undone, waiting"},
	[BLOCKED_CEILING] = {"ceiling", "at the upper bound"},
	[BLOCKED_NOT_READY] = {"not-ready", "no decrease while the pod is not ready"},
	[BLOCKED_REQUESTS_ONLY] = {"requests-only", "RequestsOnly does not change limits"},
	[BLOCKED_BOOST] = {"boost", "no decrease during the startup boost"},
	[BLOCKED_LEDGER] = {"ledger", "not enough node memory"},
	[BLOCKED_UNRATIFIED] = {"unratified", "growth above the spec ends here until the API server"
					      " accepts a higher limit"},
};

static const struct words bounds[BOUND_COUNT] = {
	[BOUND_HEAP] = {"heap", "the heap of the language runtime"},
	[BOUND_USER_MIN] = {"user-min", "the configured minimum"},
	[BOUND_USER_MAX] = {"user-max", "the configured maximum"},
	[BOUND_ADMIN_MIN] = {"admin-min", "the administrator's minimum"},
	[BOUND_ADMIN_MAX] = {"admin-max", "the administrator's maximum"},
	[BOUND_RANGE_MIN] = {"limitrange-min", "the namespace's minimum"},
	[BOUND_RANGE_MAX] = {"limitrange-max", "the namespace's maximum"},
	[BOUND_RANGE_RATIO] = {"limitrange-ratio",
			       "the namespace's highest ratio of limit to request"},
	[BOUND_REQUEST] = {"request", "the request"},
	[BOUND_QOS] = {"qos", "the pod's QoS class"},
	[BOUND_CEILING] = {"ceiling", "the ceiling"},
	[BOUND_REFUSED] = {"refused", "what the API server allows after a refusal"},
	[BOUND_UNRATIFIED] = {"unratified",
			      "the bound of growth that the API server cannot accept"},
	[BOUND_LEDGER] = {"ledger", "what the node can grant"},
	[BOUND_QUANTUM] = {"quantum", "rounding"},
	[BOUND_USE] = {"use", "memory in use plus margin"},
};

const char *reason_name(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].name : "?";
}

const char *blocked_reason_name(enum blocked_reason h)
{
	return h < BLOCKED_COUNT ? blocked_reasons[h].name : "?";
}

const char *bound_name(enum bound b)
{
	return b < BOUND_COUNT ? bounds[b].name : "?";
}

const char *reason_text(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].text : "?";
}

const char *blocked_reason_text(enum blocked_reason h)
{
	return h < BLOCKED_COUNT ? blocked_reasons[h].text : "?";
}

const char *bound_text(enum bound b)
{
	return b < BOUND_COUNT ? bounds[b].text : "?";
}

/* --- bounds */

/* Which rows are ceilings; the others are floors. */
static const bool is_upper[BOUND_QUANTUM] = {
	[BOUND_USER_MAX] = true,    [BOUND_ADMIN_MAX] = true, [BOUND_RANGE_MAX] = true,
	[BOUND_RANGE_RATIO] = true, [BOUND_CEILING] = true,   [BOUND_REFUSED] = true,
	[BOUND_UNRATIFIED] = true,  [BOUND_LEDGER] = true,
};

void bound_trace_add(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after)
{
	if (t == NULL || before == after || t->count == BOUND_TRACE_MAX)
		return;
	if (t->count == 0)
		t->value[0] = before;
	t->bound[t->count++] = (uint8_t)bound;
	t->value[t->count] = after;
}

/* One pass over the rows. The quantum turns a ceiling down and a floor up. */
static uint64_t bounds_pass(const struct bounds *b, uint64_t value, struct bound_trace *trace)
{
	for (enum bound i = 0; i < BOUND_QUANTUM; i++) {
		uint64_t before = value, limit = b->value[i];

		if (limit == 0)
			continue;
		if (is_upper[i])
			value = MIN(value, round_down(limit, b->quantum));
		else
			value = MAX(value, round_up(limit, b->quantum));
		bound_trace_add(trace, i, before, value);
	}
	return value;
}

uint64_t bounds_apply(const struct bounds *b, uint64_t desired, struct bound_trace *trace)
{
	uint64_t value, rounded;

	assert(b->quantum > 0);
	if (trace != NULL)
		trace->count = 0;
	value = bounds_pass(b, desired, trace);
	rounded = round_up(value, b->quantum);
	bound_trace_add(trace, BOUND_QUANTUM, value, rounded);
	/* Again without a trace: bounds that contradict each other would appear twice. */
	return bounds_pass(b, rounded, NULL);
}

uint64_t bounds_ceiling(const struct bounds *b)
{
	return bounds_apply(b, LIMIT_MAX, NULL);
}

uint64_t bounds_floor(const struct bounds *b)
{
	return bounds_apply(b, 0, NULL);
}

uint64_t request_of_ratio(uint64_t limit, uint64_t ratio_permille)
{
	uint64_t request = mul_div(limit, 1000, ratio_permille);

	return mul_div(request, ratio_permille, 1000) < limit ? request + 1 : request;
}

/* --- states of units */

const char *const unit_state_names[UNIT_STATE_COUNT] = {
	[UNIT_MANAGED] = "managed",     [UNIT_PAUSED] = "paused",     [UNIT_FROZEN] = "frozen",
	[UNIT_WAITING] = "waiting",     [UNIT_GAVE_WAY] = "gave-way", [UNIT_RESTORED] = "restored",
	[UNIT_UNMANAGED] = "unmanaged", [UNIT_ENDED] = "ended",
};

/* clang-format off */
const struct state_row state_rows[STATE_REASON_COUNT] = {
	[STATE_SIZING] = {"sizing", UNIT_MANAGED, NULL, NULL, false},
	[STATE_OPERATOR] = {"operator", UNIT_PAUSED, "by vscalectl pause", "vscalectl resume", false},
	[STATE_ANNOTATION_INVALID] = {"annotation-invalid", UNIT_FROZEN, NULL,
		"correct the annotation that the text names", false},
	[STATE_NO_CGROUP] = {"no-cgroup", UNIT_WAITING, "its cgroup is not found yet",
		"compare kubernetes.cgroupPrefix and the mounts with vscalectl doctor", true},
	[STATE_NOT_RUNNING] = {"not-running", UNIT_WAITING, "it does not run", NULL, false},
	[STATE_CGROUP_NOT_READY] = {"cgroup-not-ready", UNIT_WAITING, "its cgroup is not ready",
		"see the log of the container runtime", true},
	[STATE_DESCRIPTORS] = {"descriptors-low", UNIT_WAITING,
		"vscaled has few file descriptors left; raise LimitNOFILE", NULL, false},
	[STATE_CGROUP_READ_ONLY] = {"cgroup-read-only", UNIT_WAITING,
		"the cgroup tree is mounted read-only for vscaled", "mount it for writing (DaemonSet: /sys/fs/cgroup)", true},
	[STATE_NOT_RECORDED] = {"not-recorded", UNIT_WAITING, "its original values are not on disk yet",
		"make the state directory writable, and free space there", true},
	[STATE_NAMESPACES_UNREAD] = {"namespaces-unread", UNIT_WAITING,
		"the list of Namespaces, whose annotations may size it, is not read yet",
		"grant list namespaces (components/namespaces)", false},
	[STATE_NODE_NAME_WRONG] = {"node-name-wrong", UNIT_WAITING,
		"no pod of this node's name runs here: the name is wrong",
		"set kubernetes.nodeName or NODE_NAME", false},
	[STATE_CONTESTED] = {"contested", UNIT_GAVE_WAY, "an external writer keeps changing a limit",
		"stop that writer, then vscalectl resume", false},
	[STATE_RESTORED] = {"restored", UNIT_RESTORED, "by vscalectl restore", "vscalectl resume", false},
	[STATE_NOT_OPTED_IN] = {"not-opted-in", UNIT_UNMANAGED,
		"no longer annotated, and no rule of the configuration names it", NULL, false},
	[STATE_NOT_ANNOTATED] = {"not-annotated", UNIT_UNMANAGED, "its annotations no longer size it", NULL, false},
	[STATE_NOT_SIZED] = {"not-sized", UNIT_UNMANAGED, "the configuration no longer sizes it", NULL, false},
	[STATE_NOT_CONFIGURED] = {"not-configured", UNIT_UNMANAGED, "no longer named in the configuration",
		NULL, false},
	[STATE_NOT_SEEN] = {"not-seen", UNIT_UNMANAGED, "not seen for days", NULL, false},
	[STATE_NOT_NAMED] = {"not-named", UNIT_UNMANAGED, "not named by the pod's annotations", NULL, false},
	[STATE_ROLLOUT_STOPPED] = {"rollout-stopped", UNIT_UNMANAGED, "its rollout was stopped",
		"see the Event RolloutStopped, then set another share", false},
	[STATE_ROLLOUT_REST] = {"rollout-rest", UNIT_UNMANAGED, "it is not in the share of its rollout", NULL,
		false},
	[STATE_UNSUPPORTED] = {"unsupported", UNIT_UNMANAGED,
		"its node is not supported: cgroup version 2 is needed", "see vscalectl doctor", false},
	[STATE_SELF] = {"self", UNIT_UNMANAGED, "this is vscaled itself, which does not size its own pod", NULL,
		false},
	[STATE_MIRROR] = {"mirror", UNIT_UNMANAGED, "a static pod: its limits are set in a file of the node", NULL,
		false},
	[STATE_WINDOWS] = {"windows", UNIT_UNMANAGED, "a Windows pod", NULL, false},
	[STATE_VPA_ANNOTATIONS] = {"vpa-annotations", UNIT_UNMANAGED,
		"a VerticalPodAutoscaler sizes it: see its annotations vpa...", "use one of the two", false},
	[STATE_VPA] = {"vpa", UNIT_UNMANAGED, "a VerticalPodAutoscaler sizes it: one targets its workload",
		"use one of the two", false},
	[STATE_POD_RESOURCES] = {"pod-resources", UNIT_UNMANAGED, "its resources are set for the pod as a whole",
		NULL, false},
	[STATE_CLAIMS] = {"claims", UNIT_UNMANAGED,
		"it gets CPU or memory by ResourceClaims, beside its limits", NULL, false},
	[STATE_CONTAINERS] = {"containers", UNIT_UNMANAGED, "its pod has more than 64 containers", NULL, false},
	[STATE_INIT] = {"init", UNIT_UNMANAGED, "an init container: it runs once", NULL, false},
	[STATE_EPHEMERAL] = {"ephemeral", UNIT_UNMANAGED, "an ephemeral container: it has no limits", NULL, false},
	[STATE_OWN_CPUS] = {"own-cpus", UNIT_UNMANAGED, "it has CPUs of its own (static CPU manager)", NULL, false},
	[STATE_PID1_UNREACHABLE] = {"pid1-unreachable", UNIT_UNMANAGED,
		"systemd holds its limits and cannot be called: mount /run/systemd (components/systemd)",
		NULL, false},
	[STATE_WRONG_CGROUP] = {"wrong-cgroup", UNIT_UNMANAGED,
		"its cgroup was taken for that of another container", NULL, false},
	[STATE_NO_POD_CGROUP] = {"no-pod-cgroup", UNIT_UNMANAGED,
		"the pod's cgroup is not found: set kubernetes.cgroupPrefix to the kubelet's "
		"--cgroup-root; see vscalectl doctor", NULL, false},
	[STATE_OTHER_DRIVER] = {"other-driver", UNIT_UNMANAGED,
		"it has no cgroup in the pod's: let kubelet and container runtime use the "
		"same cgroup driver, and restart the pod", NULL, false},
	[STATE_SANDBOX_RUNTIME] = {"sandbox-runtime", UNIT_UNMANAGED,
		"its runtime (runtimeClassName) makes no cgroup for it, as Kata "
		"Containers: remove vscaled.dev/mode", NULL, false},
	[STATE_SANDBOX] = {"sandbox", UNIT_UNMANAGED,
		"its cgroup has no processes, as with gVisor, which has them in the "
		"sandbox's: remove vscaled.dev/mode", NULL, false},
	[STATE_ORIGINALS_UNKNOWN] = {"originals-unknown", UNIT_UNMANAGED,
		"its original limits are not known: the saved ones are lost, the "
		"spec has values of vscaled, and vscaled.dev/status does not have "
		"them; vscalectl resume makes the present limits the originals", NULL, false},
	[STATE_RANGES_UNREAD] = {"ranges-unread", UNIT_UNMANAGED,
		"its original limits are read from vscaled.dev/status once the LimitRanges are known",
		"grant list limitranges", true},
	[STATE_OUT_OF_MEMORY] = {"out-of-memory", UNIT_UNMANAGED, "no memory", "raise the memory limit of vscaled",
		false},
	[STATE_FINISHED] = {"finished", UNIT_ENDED, "it has finished", NULL, false},
	[STATE_DELETING] = {"deleting", UNIT_ENDED, "it is being deleted", NULL, false},
};
/* clang-format on */

bool state_is_late(struct state_seen *s, enum state_reason now_is, usec_t now)
{
	if (s->reason != now_is)
		*s = (struct state_seen){.reason = now_is, .since = now};
	if (!state_rows[now_is].late || s->told || now - s->since < STATE_LATE_USEC)
		return false;
	s->told = true;
	return true;
}
