/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a container, a unit or a pod level, and the reason why it is in it: exactly one at
 * any time. Pure data; docs/states.md has the same table. */
#pragma once

#include "policy/types/limits.h"
#include <stdbool.h>

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
	STATE_NOT_RECORDED,
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
