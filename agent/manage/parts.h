/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of struct managed. Each has one writer, which its comment names; others call a function
 * of the writer to change a member. */
#pragma once

#include "agent/annotation/annotation.h"
#include "agent/manage/above.h"
#include "agent/metrics/counters.h"
#include "cgroup/bpf/reader_bpf.h"
#include "policy/control/control.h"
#include "policy/types/reason.h"
#include "systemd/unit_props.h"
#include <systemd/sd-event.h>

/* Each item of an array of pointers. */
#define ITEMS_FOREACH(x, array, length)                                                            \
	for (__typeof__(*(array)) x, *x##_at = (array);                                            \
	     (size_t)(x##_at - (array)) < (length) && (x = *x##_at, true); x##_at++)

/* Not read by BPF. */
#define READER_NO_SLOT UINT32_MAX

/* Where it runs. Written by agent/manage. */
struct managed_cgroup {
	char *path;                 /* below the root */
	struct cg *cg;              /* NULL: not running */
	uint32_t above;             /* the one above it, or above its pod: above.h */
	struct cg_scan_slots slots; /* of the BPF reader, or READER_NO_SLOT */
	sd_event_source *events;    /* memory.events */
	usec_t attach_tried_at;
	usec_t reattached_at; /* lists that were requested before are out of date */
	usec_t lost_at;       /* when it was last seen to run; 0: it runs */
	usec_t created_by;    /* when its runtime has finished creating it, see attach.c */
	bool was_running;     /* before it was reattached */
};

/* Can its original limits be known? TRUSTED -> UNKNOWN: pod_recover.c finds none. UNKNOWN ->
 * TRUSTED: it finds them later. UNKNOWN -> ACCEPTED: vscalectl resume. */
enum originals_trust {
	ORIGINALS_TRUSTED,  /* on record, or those that the cgroup has when it is attached */
	ORIGINALS_UNKNOWN,  /* not written to */
	ORIGINALS_ACCEPTED, /* the present limits are the originals */
};

/* Its original limits. Written by agent/manage (persist.c). */
struct managed_originals {
	enum originals_trust trust;
	uint64_t change; /* of the records, with its own (struct records) */
	bool saved;      /* on disk: may be written to */
	bool recorded;   /* by an earlier run of vscaled */
	bool touched;    /* vscaled wrote to it, in this run or an earlier one */
	bool unsaved_reported;
	uint64_t boost_change; /* of the records, with the CPU limit that ends a boost */
};

/* Of the recording of its calls. Written by agent/recorder. */
struct managed_recording {
	uint32_t file;      /* the one that has its name */
	usec_t interesting; /* last time it was throttled, near its memory limit or changed */
};

/* What was reported and has not ended. Written by agent/manage (messages.c, oom.c), above_*: by
 * agent/pod (cluster_above.c). */
struct managed_reported {
	usec_t above_since; /* since when more is in use than its spec allows; 0: it is not */
	bool above;
	bool denied;
	struct oom_seen ooms;  /* of its cgroup */
	const char *killed_by; /* the last OOM kill was for another limit: whose; NULL: its own */
	uint64_t killed_at;    /* that limit; 0: not known */
	struct summed_steps {
		usec_t since; /* 0: none */
		uint64_t from;
		struct decision why; /* the newest */
	} summed; /* memory that was taken back in several steps, and is reported as one */
	struct raised_steps {
		usec_t since, at; /* of the first and the newest; at 0: none */
		uint64_t from;
		struct decision why;      /* the newest */
		usec_t took[SINCE_COUNT]; /* the first */
		bool under_way;           /* those of the present plan */
	} raised;                         /* CPU, within periods; reported as one */
};

/* The next property call, sent at the end of the wake-up. NONE -> DUE or URGENT, DUE -> URGENT:
 * property_request(). Any -> NONE: it was sent, has nothing new, or may not be sent. It stays where
 * PID 1 does not take it, and is DUE again when PID 1 reports a failure. */
enum property_call {
	PROPERTY_CALL_NONE,
	PROPERTY_CALL_DUE,
	PROPERTY_CALL_URGENT, /* before the calls that wait */
};

/* What systemd holds. Written by agent/apply. */
struct managed_properties {
	struct unit_props stored;    /* what systemd holds, as last reported */
	struct unit_props sent;      /* what vscaled last asked systemd to hold */
	struct unit_props in_flight; /* of the call before the newest, while that waits */
	uint32_t sent_mask;          /* which of these vscaled ever sent; 0: none */
	bool sent_urgent;            /* the newest call was */
	bool stored_guessed; /* stored is what the files say: systemd has not answered yet */
	bool stored_check;   /* PID 1 reloaded: does it still store what vscaled sent? */
	enum property_call call;
	bool beaten;        /* other drop-ins win at a reload: vscaled needs drop-in files too */
	bool failed;        /* reported already */
	usec_t set_done_at; /* when the last call was answered */
};

/* Its originals are to be put back. Written by agent/apply (start.c) and agent/units. */
struct managed_hand_back {
	bool due;
	bool done;     /* the last release has ended: no value by vscaled was left */
	bool reported; /* a try failed, and that is in the journal */
	enum state_reason why;
	usec_t next_at;        /* the next try is not before */
	usec_t settling_until; /* nothing new is written until then */
};

/* For one plan, and between plans. Written by agent/apply (pod_level.c, start.c). */
struct managed_plan {
	uint64_t rising[RESOURCE_COUNT]; /* millicores, bytes: the current plan raises it to this;
					    0: not */
	uint64_t echoed;       /* bytes: the current plan takes the headroom that PID 1 wrote back
				  to this; 0: not */
	bool running_reported; /* the API server has reported the container that runs */
};

/* A writer that is stuck in the kernel. Written by agent/apply (apply.c). */
struct managed_stuck {
	uint64_t oom_events; /* as of the last wake-up */
	uint64_t oom_kills;
	usec_t nudge_next; /* not before */
	usec_t nudge_wait;
};

/* Is the cgroup its own? CONFIRMED -> GUESSED or GUESSED_NEW: it was attached before the API server
 * named the cgroup. Any -> CONFIRMED: the API server names it, or it is released. */
enum container_attach {
	ATTACH_CONFIRMED,
	ATTACH_GUESSED,
	ATTACH_GUESSED_NEW, /* and it had no record before that */
};

/* What the pod says of it. Written by agent/pod. */
struct managed_container {
	struct container_rule rule; /* of a container or pod level */
	bool annotated;             /* a container: the pod names it */
	enum container_attach attach;
	struct limits found; /* the cgroup's before that */
	usec_t echo_until;   /* until then a write by the kubelet is an echo of the changed spec */
	uint64_t owner_value[RESOURCE_COUNT]; /* in the spec, not adopted yet; 0: none */
	usec_t owner_value_at;
	uint64_t runtime_mem_max; /* the memory limit that the runtime holds; 0: not known */
	usec_t resize_read_at;    /* an external resize was last seen under way then; 0: none */
	usec_t counted_at;        /* the counters below were read; 0: never */
	struct tally_counters counters;
	struct tally_ring day;     /* TALLY_DAY_SLOT_USEC */
	usec_t unfound_since;      /* it runs, and is not attached; 0: not so */
	enum state_reason unfound; /* why no cgroup with its processes is; STATE_SIZING: one is */
	uint64_t oom_at_restart;   /* kills counted at the container's last restart */
};

/* memory.max was replaced before its writer was known: found_max is what was found.
 * NONE -> REPLACED or REPLACED_STORED: written. Any -> NONE: the writer is known, or the cgroup is
 * gone. */
enum drift_early {
	DRIFT_EARLY_NONE,
	DRIFT_EARLY_REPLACED,
	DRIFT_EARLY_REPLACED_STORED, /* systemd stored it then, or was asked to: systemd wrote it */
};

/* What external writers wrote. Written by agent/manage (drift_state.c) and agent/drift. */
struct managed_drift {
	bool check_due;    /* a limit file was written */
	bool stored_asked; /* systemd was asked what it stores, and its answer will come */
	enum drift_early early;
	uint64_t found_max;
	struct drift_memory *writers; /* owned, RESOURCE_COUNT of them; NULL: no external write */
	uint64_t replaced[RESOURCE_COUNT]; /* values of external writers that vscaled replaced */
};

/* A restart for more memory. Written by agent/pod (cluster_report.c). */
struct managed_restart {
	uint64_t oom_kills;        /* counted when it was last asked for */
	uint64_t oom_kills_before; /* that before the last request */
};

/* Written by agent/loop. */
struct managed_sweep {
	/* The CPU counters of struct usage: what this wake-up has read so far. */
	struct first_read {
		uint32_t have;
		uint64_t cpu_usage_usec;
		uint64_t nr_periods;
		uint64_t nr_throttled;
		uint64_t throttled_usec;
	} first;
	bool deferred;     /* is visited after the containers and units that cannot wait */
	bool events_muted; /* until the next reflex pass: the last event changed nothing */
	bool at_ceiling[RESOURCE_COUNT];             /* as reported */
	enum blocked_reason blocked[RESOURCE_COUNT]; /* as of the last review */
	uint32_t brakes_ended;                       /* reported */
	uint64_t oom_kills;                          /* reported */
};
