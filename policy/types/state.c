// SPDX-License-Identifier: Apache-2.0
#include "policy/types/state.h"

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
	[STATE_NOT_RECORDED] = {"not-recorded", UNIT_WAITING, "its original values are not on disk yet",
		"make the state directory writable, and free space there", true},
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
