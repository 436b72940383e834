/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is managed: a systemd unit, a container of a pod, or the pod level above its containers. The
 * same laws hold for units and containers; a pod level follows its containers (pod_level.c).
 */
#pragma once

#include "agent/annotation/annotation.h"
#include "agent/view/view.h"
#include "cgroup/bpf/reader_bpf.h"
#include "policy/control/control.h"
#include "systemd/unit_props.h"
#include <systemd/sd-event.h>

struct daemon;
struct pod;

/* Memory that was taken back in several steps, and is reported as one. */
struct summed_steps {
	usec_t since; /* 0: none */
	uint64_t from;
	struct decision why; /* the newest */
};

/* The CPU counters of struct usage: sweep.c. */
struct first_look {
	uint32_t have;
	uint64_t cpu_usage_usec;
	uint64_t nr_periods;
	uint64_t nr_throttled;
	uint64_t throttled_usec;
};

struct managed {
	struct daemon *daemon;
	enum unit_kind kind;
	char *name;        /* unique, and shown: "web.service", "default/web-0/app" */
	char *unit;        /* the systemd unit that holds its properties; NULL: none does */
	char *key;         /* of its originals: "unit:NAME", "pod:UID/CONTAINER", "pod:UID" */
	char *history_key; /* "unit:NAME", "NS/WORKLOAD/CONTAINER"; NULL: it has no history */
	struct pod *pod;   /* of a container or pod level; NULL: a unit */
	struct container_rule own;  /* of a container or pod level: what the pod says */
	bool ours;                  /* a container: the pod names it */
	char *path;                 /* of its cgroup, below the root */
	struct cg *cg;              /* NULL: not running */
	struct cg_scan_slots slots; /* of the BPF reader, or READER_NO_SLOT */
	sd_event_source *events;    /* memory.events */
	bool life_told;             /* the API server has reported the container that runs */
	bool events_muted;          /* until the next reflex pass: the last event changed nothing */
	struct control control;
	uint64_t pod_ooms;       /* of a pod level: pod_asked_full() */
	struct first_look first; /* what this wake-up has read so far */
	bool waits;              /* is visited after the containers and units that cannot wait */
	enum unit_state state;
	const char *state_reason; /* static text, or the pod's; NULL: none */
	bool originals_unknown;   /* pod_recover.c: not written to */
	bool originals_accepted;  /* vscalectl resume: the present limits are the originals */
	bool guessed;     /* attached before the API server confirmed that the cgroup is its own */
	bool guess_first; /* and it had no record before that */
	struct limits found;  /* the cgroup's before that */
	bool listed;          /* in the newest list */
	bool originals_saved; /* on disk: may be written to */
	bool paused;          /* by vscalectl pause */
	bool hand_back_due;   /* its originals are to be put back */
	bool hand_back_told;
	const char *hand_back_why; /* static text */
	usec_t hand_back_at;
	usec_t settling_until; /* nothing new is written until then */
	usec_t reattached_at;  /* lists that were requested before are out of date */
	usec_t attach_tried_at;
	usec_t created_by;        /* when its runtime has finished creating it, see scope.c */
	bool was_running;         /* before it was reattached */
	usec_t lost_at;           /* when it was last seen to run; 0: it runs */
	bool touched;             /* vscaled wrote to it, in this run or an earlier one */
	struct unit_props stored; /* what systemd holds, as last reported */
	struct unit_props sent;   /* what vscaled last asked systemd to hold */
	uint32_t sent_mask;       /* which of these vscaled ever sent; 0: none */
	bool sent_urgent;         /* the newest call was */
	bool recorded;            /* its originals were recorded by an earlier run of vscaled */
	bool stored_guessed; /* stored is what the files say: systemd was asked, no answer yet */
	bool property_due;   /* to be sent at the end of this wake-up */
	bool property_urgent;
	bool beaten;          /* other drop-ins win at a reload: vscaled needs drop-in files too */
	bool property_failed; /* reported already */
	bool drift_check;     /* a limit file was written */
	bool drift_asked;     /* systemd was asked what it stores */
	bool stored_check;    /* PID 1 reloaded: does it still store what vscaled sent? */
	bool made_safe; /* unsafe_max was found in memory.max, and raised before its writer was
			   known */
	uint64_t unsafe_max;
	bool unsafe_stored; /* systemd stored the same value: systemd wrote it */
	usec_t echo_until;  /* until then a write by the kubelet is an echo of the changed spec */
	uint64_t owner_value[RESOURCE_COUNT]; /* the owner's value in the spec, not adopted yet; 0:
					       * none
					       */
	usec_t owner_value_at;
	uint64_t runtime_mem; /* the memory limit that the runtime holds; 0: not known */
	usec_t above_since;   /* since when more is in use than its spec allows; 0: it is not */
	bool above_told;
	bool unsaved_told;  /* that its originals are not on disk */
	usec_t set_done_at; /* when the last property call was answered */
	struct drift_memory drift[RESOURCE_COUNT];
	bool ceiling_told[RESOURCE_COUNT];
	bool denied_told;
	struct summed_steps summed;
	enum hold hold_counted[RESOURCE_COUNT]; /* as of the last review */
	uint64_t oom_told;
	uint64_t oom_answered; /* kills counted when a restart for more memory was last asked for */
	uint64_t oom_answered_before; /* that before the last request */
	uint64_t oom_looks;           /* as of the last wake-up, see stuck.c */
	uint64_t oom_kills;
	usec_t nudge_next; /* not before */
	usec_t nudge_wait;
	uint64_t oom_at_restart;         /* kills counted at the container's last restart */
	uint64_t lent_milli;             /* recorded CPU limit, see struct baseline */
	uint64_t rising[RESOURCE_COUNT]; /* millicores, bytes: the current plan raises it to this;
					    0: not */
	uint64_t echoed; /* bytes: the current plan takes the headroom that PID 1 wrote back to
			    this; 0: not */
	uint64_t drifts[RESOURCE_COUNT]; /* values of external writers that vscaled replaced */
};

/* What identifies a new entry, before anything is known of its cgroup. */
struct managed_names {
	enum unit_kind kind;
	const char *name;
	const char *unit;
	const char *key;
	const char *history_key;
};

/* Where systemd holds nothing, or has not been asked. */
#define PROPS_NONE ((struct unit_props){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX})

/* Where it runs. */
struct arrival {
	const char *cgroup;
	const char *invocation_id;
	usec_t active_enter_usec;
	struct unit_props props;
};
/* Containers and pod levels too. */
struct unit_table {
	struct managed **items; /* owned; a unit's index is its control.target */
	size_t count;
	bool paused;                             /* new ones too, by vscalectl pause */
	void (*memory_heard)(struct managed *m); /* memory.events of m had an event */
};

/* NULL: no memory. */
struct managed *managed_new(struct daemon *d, const struct managed_names *names);
/* The cgroup is gone; sizes and history stay for its successor. */
void managed_lost(struct managed *m);
/* Looks for the second level of its cgroup (cgroup/levels.h), which may come late. */
void managed_look_levels(struct managed *m);
/* A cgroup may have appeared that it can be attached to. */
void managed_look_again(struct managed *m);
/* Takes it out of the table. Not while a plan is being made: the other entries get new indexes. */
void managed_remove(struct managed *m);
void managed_free_all(struct daemon *d);

/* Closes its cgroup and everything that depends on it. */
void managed_close(struct managed *m);
