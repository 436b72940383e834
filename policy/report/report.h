/* SPDX-License-Identifier: Apache-2.0 */
/* Ratifying: when a limit that the cgroup already has is sent to the API server as a resize, and
 * with which values. docs/api-sync.md has the rules for readers; here what the code must keep:
 *
 *  - Lease: a value is sent once it has held in the cgroup for lease_usec.
 *  - Lead: a memory limit with headroom is sent at once when use comes near the spec's limit;
 * renewed at half of the headroom, lowered by the lease once growth has ended for 30 s. The first
 * one of a growth covers first_ahead_usec: most growth is one short allocation.
 *  - Decreases of CPU limits and of requests go in the node's window, so that a node empties at
 * once; a limit goes to the highest held since the last window, and stays where that is less than
 * a tenth lower, as what is held on trial comes and goes. Not memory limits: quotas count them.
 *  - A replay writes all values: after a resize every memory limit in the spec that vscaled may
 * raise is at least use + as much slope as a lead would cover + margin. A value that does not
 * change is not named: by its spelling it would become vscaled's.
 *  - Who has set a value is what managedFields say; where they do not, it is compared with what was
 * sent. A value of vscaled's that it did not send was changed by admission: a refusal.
 *  - A lead has no resourceVersion and names only the limits that it changes, so it cannot
 * overwrite an external writer's newer limit of another container. What a container that it does
 * not name uses above its spec is added to one that it names: the kubelet writes the sum as the
 * pod's limit.
 *  - Memory before CPU; requests only when vscaled controls them: with their limit, or alone when
 *    they have been apart for request_up_usec, request_down_usec. Guaranteed pods:
 *    pod_bounds.h. RestartContainer: never in mode Auto, except raises of memory that the owner
 * allows (restart_to), once in restart_every_usec.
 *  - One resize of a pod at a time. A lead overtakes a pending one, or one without an answer for
 * 0.5 s; when it is refused, a pending resize that left memory alone is withdrawn.
 *  - A refused lead is tried again with a quarter and a sixteenth of the headroom. After one
 * without an answer, which may still be stored, the next is not lower, names the same containers
 * and has the same value until half of the headroom is used; then it has at least twice as much.
 *  - An external writer that lowers memory is answered at once three times in 10 min, then after a
 * pause that doubles from up_interval_usec to small_usec.
 *  - A request is raised as far as the node has room (facts.room); a limit that need not have its
 * request with it goes alone. A request that is refused for room, or for a quota of requests, goes
 * back alone too, and bounds no limit.
 *  - A refusal becomes a ceiling and writes no memory limit to the cgroup; a CPU limit goes back.
 *  - When spec and checkpoint have the value and the cgroup does not, vscaled writes the cgroup.
 *
 * Pure: facts + state + now -> decision. Times are boottime unless they say real. */
#pragma once

#include "policy/types/profile.h"

#define REPORT_CONTAINERS_MAX 64

enum controlled_values {
	CONTROLLED_LIMITS,              /* LimitsOnly, the default */
	CONTROLLED_REQUESTS_AND_LIMITS, /* RequestsAndLimits */
	CONTROLLED_REQUESTS,            /* RequestsOnly: through the API alone */
	CONTROLLED_COUNT
};

struct report_tuning {
	uint64_t page_bytes;       /* of the node */
	usec_t lease_usec;         /* a value is ratified when it has held for this long */
	usec_t memory_lease_usec;  /* memory: at the latest after this, growth settled */
	usec_t ahead_usec;         /* slope covered by a memory limit in a body */
	usec_t first_ahead_usec;   /* until a lead of this growth: it may be one allocation */
	usec_t late_usec;          /* the node's kubelet takes so much longer than usual */
	uint32_t margin_permille;  /* and this share of use ... */
	uint64_t margin_min_bytes; /* ... or this */
	uint32_t
		at_once_permille; /* a change of at least this share does not wait for small_usec */
	usec_t small_usec;        /* smaller ones go out this often at most */
	usec_t up_interval_usec;  /* between two resizes of a pod that raise */
	usec_t down_interval_usec; /* ... that lower */
	usec_t deferred_usec;      /* a resize that stays Deferred for this long is withdrawn */
	usec_t refusal_usec;       /* a refusal binds for this long, or until the spec changes */
	usec_t restart_every_usec; /* between two resizes that restart a container, at least */
	usec_t settle_max_usec;    /* the longest wait for the kubelet to carry a resize out */
	usec_t request_up_usec; /* a request alone is raised when it has been apart for this long */
	usec_t request_down_usec;  /* ... lowered */
	usec_t startup_lease_usec; /* CPU raised in start-up: ratified this long after its end */
	/* A window once in this time; 0: always. By boottime: a step of the clock moves none, and
	 * an agent that restarts finds the same. */
	usec_t decrease_every_usec;
	usec_t decrease_phase_usec; /* of the node: so long before multiples of it */
};
extern const struct report_tuning report_tuning_default;

/* One resource of one container. Millicores, bytes; LIMIT_MAX: no limit; request 0: none. */
struct report_resource {
	bool managed;        /* vscaled may change it */
	bool restart;        /* resizePolicy RestartContainer */
	uint64_t restart_to; /* then: a limit worth a restart, which its owner allows; 0: none */
	bool back;           /* handed back: held is the original */
	bool request_back;   /* of the request alone: back to the original */
	bool limit_stays; /* the cgroup does not have the original yet: the spec keeps its limit */
	uint64_t spec_limit; /* in the API object now */
	uint64_t spec_request;
	uint64_t original_limit; /* what a restore writes */
	uint64_t original_request;
	uint64_t held;        /* the held limit of the cgroup */
	usec_t held_since;    /* unchanged since */
	usec_t startup_until; /* raised in start-up, which ends then; 0: it was not */
	uint64_t actual;      /* in the cgroup's file; 0: not read */
	uint64_t reported;    /* limit that the kubelet reports as carried out; 0: not reported */
	uint64_t reported_request;
	bool external; /* by the records, vscaled did not send this limit */
	bool unstored; /* by the records, the last one sent was higher, and the spec is as before */
	/* By managedFields. Not known: values are compared with those that were sent. */
	enum value_owner limit_owner, request_owner;
	uint64_t ceiling; /* it is never held above this; 0: no such bound */
	uint64_t request; /* the recommended request; 0: leave it */
	/* LimitRange: limit / request at most, where the request follows; 0: no such bound */
	uint64_t ratio_permille;
	usec_t request_since; /* it has been apart from the spec's in one direction; 0: at once */
};

struct report_container {
	struct report_resource resource[RESOURCE_COUNT];
	uint64_t use_bytes; /* max of memory.current's unreclaimable part and what must not go */
	uint64_t slope_bps; /* growth now */
	bool growing;       /* not settled yet */
	usec_t grew_at;     /* last growth seen; 0: none since observation began */
	bool replayed; /* the runtime may write its recorded limits at any moment (CPU manager) */
	bool limits_only; /* vscaled leaves its requests alone, though not those of the whole pod */
	bool swaps;       /* the kubelet takes no other memory request of it */
	bool equal;       /* never sized, with limits that are its requests: any class has it */
};

struct report_values {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT];
};

/* The pod's own values in spec.resources. The rest of a request is decided first, and they go with
 * it: as the sum of the containers' limits, or back to the original. */
struct report_level {
	uint32_t follows, backs; /* RESOURCES_*: which of the two; neither: they stay */
	bool guaranteed;         /* its requests are its limits; else they stay */
	struct report_values spec;
	uint64_t original[RESOURCE_COUNT]; /* limits */
	uint64_t least[RESOURCE_COUNT];    /* no limit is below this */
};

struct report_facts {
	uint64_t generation;
	uint64_t observed_generation; /* 0: not reported by this server */
	bool pending_deferred;
	usec_t pending_usec; /* for so long; 0: not stated */
	bool pending_infeasible;
	bool no_room; /* its message: the node lacks it, and another one may have it */
	bool in_progress;
	bool progress_error;
	uint32_t condition_resources; /* RESOURCES_* that its message names; 0: none of them */
	bool echoed;                  /* the runtime's recorded limits are those of the spec */
	bool ours;                    /* vscaled last wrote the spec's resources (managedFields) */
	bool guaranteed;              /* limit = request, always */
	bool active;                  /* mode Auto or Initial, running, not deleting, not paused */
	bool restoring;               /* the originals go back into the spec */
	bool not_resized;             /* its spec.resources keep the server from it */
	bool offered;                 /* pods/resize exists, and it may be resized */
	usec_t forbidden_until; /* the right to it is missing (RBAC), and asked for again then */
	bool adopting;          /* its owner has resized it, and the new value is not adopted yet */
	bool room_counted;      /* room[] bounds what is sent */
	bool room_unknown;      /* nothing is known of the node: room[] is 0 */
	bool no_decrease; /* the kubelet may fail on a memory limit below what it has carried out */
	uint64_t room[RESOURCE_COUNT]; /* by this much requests may rise together */
	struct report_level level;
	enum controlled_values controlled;
	const struct report_container *containers; /* in the order of the spec */
	size_t container_count;
};

/* What goes into one request; by index of the container. */
struct report_item {
	uint32_t container;
	uint32_t limits;   /* RESOURCES_*: limit[] is set */
	uint32_t requests; /* RESOURCES_*: request[] is set */
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT];
};
struct report_patch {
	struct report_item item[REPORT_CONTAINERS_MAX];
	size_t count;
	struct report_item level; /* the pod's own values; its container says nothing */
	bool leads; /* a lead: it raises memory limits ahead of use, and nothing else */
};

/* --- what is remembered */

/* Of the node: what one pod's answers show holds for all. Zero: nothing known. */
struct report_node {
	usec_t no_decrease_until; /* the server takes no lower memory limit (1.33) */
	usec_t carry_usec;        /* the longest from accepted to carried out, lately ... */
	usec_t carry_at;          /* ... seen then */
	const struct report_state *carry_of; /* whose resize took that long; only compared */
	bool short_of_room;                  /* a pod waits for room: decreases do not */
};

/* The last request, and before it those that had no answer. A lead that has none is sent again as
 * it was while it leaves enough, and the next one leaves twice as much (report_lead.c): this many
 * cover the minute for which a request may be stored late. */
#define REPORT_LOG_MAX 6
struct report_request {
	bool leads;     /* a lead, or sent while the kubelet had another one to carry out */
	bool restores;  /* the originals */
	bool level;     /* the pod's own values alone */
	bool settled;   /* stored or refused: a copy of it that had no answer promises nothing */
	uint64_t base;  /* generation of the spec that it was made from */
	usec_t lost_at; /* it, or a copy of it, has had no answer; 0: it has had one, or may get one
			 */
};

struct report_memory {
	struct report_values known; /* the spec as last seen */
	/* What the requests of report_state.log change; a resource that one does not: 0. */
	struct report_values want[REPORT_LOG_MAX];
	struct report_values from;            /* the spec that the last request was made from */
	struct report_values good;            /* the last spec that the kubelet carried out */
	struct report_values ceiling;         /* what is still allowed after a refusal, until ... */
	usec_t ceiling_until[RESOURCE_COUNT]; /* 0: none */
	usec_t restart_at; /* the last request for more memory; 0: none that is known */
	uint32_t foreign;  /* RESOURCES_*: set by an external writer at the last spec change */
	/* RESOURCES_*: set by an external writer and not carried out yet: never withdrawn. */
	uint32_t theirs;
	/* RESOURCES_*: set by an external writer before a request that did not take it into
	 * account, according to the object seen last. */
	uint32_t overtaken;
	uint32_t ours; /* RESOURCES_*: its limit was vscaled's by managedFields, as last seen */
	uint64_t peak_milli; /* the highest CPU limit held since the last window, about ... */
	usec_t peak_at;      /* ... seen then */
	usec_t led_at;       /* its last lead was accepted; 0: never */
	usec_t led_ahead;    /* growth that this covered, without what report_tuned() adds */
};

/* What the kubelet does with the last request that changed something. */
enum report_carry {
	CARRY_DONE,
	CARRY_WAITS,   /* not carried out; an ordinary request waits for it */
	CARRY_OVERDUE, /* nor within settle_max_usec: it is no longer waited for */
};

/*
 * What becomes of the headroom that leads put into the spec.
 *
 *	from		what happens					to
 *	NONE		a lead is accepted				PENDING
 *			vscaled made the spec that is seen first	PENDING
 *	PENDING		a condition is set, CPU may be the cause	STUCK
 *			a condition is set on it			CUT_DUE
 *			... which less headroom cannot end		CUT_TRIED
 *	CUT_DUE		less of it is stored in the spec		CUT_TRIED
 *			the spec holds no more than that already	CUT_TRIED
 *			an external writer changes the spec		CUT_TRIED
 *			the server refuses it				STUCK, denied
 *	CUT_TRIED	the condition is set on that too, or still
 *			is after a time					CUT_DUE
 *			... and it was the last cut			STUCK, denied
 *	STUCK		the CPU value is back, the condition is not	CUT_DUE
 *			the pause after a denial is over		CUT_DUE
 *	any		the kubelet has carried out the spec		NONE
 *	not NONE	an external writer sets a memory limit		PENDING
 */
enum lead_phase {
	LEAD_NONE,
	LEAD_PENDING,   /* in the spec, not carried out */
	LEAD_STUCK,     /* a condition is set on it, and no cut is under way */
	LEAD_CUT_DUE,   /* less of it is to be sent; nothing else of the pod is */
	LEAD_CUT_TRIED, /* the kubelet has time for a result */
};

/* Does the former spec go back? */
enum report_back {
	BACK_NONE,
	BACK_FORMER,   /* a condition is set on the last request */
	BACK_REQUESTS, /* the former requests alone: the node has no room for the last ones */
	BACK_WITHDRAW, /* in time: the kubelet then has nothing to do */
};

/* An external writer lowers a memory limit of the spec below what is needed, and a lead raises it
 * again. */
struct report_contest {
	bool lowered;      /* and not raised again yet */
	uint32_t answers;  /* leads sent at once ... */
	usec_t since;      /* ... since the first of them */
	usec_t pause_usec; /* between two leads, once there were too many; 0: none */
	usec_t until;      /* no lead before */
};

struct report_state {
	struct report_request log[REPORT_LOG_MAX]; /* newest first */
	bool under_way;                            /* log[0] may get an answer */
	enum report_carry carry;
	usec_t since;            /* it is under way, or waited for */
	usec_t seen_at;          /* for the first time; 0: what follows is not known */
	usec_t infeasible_since; /* the kubelet had no room for a resize of vscaled; 0: it has */
	usec_t deferred_since;   /* the kubelet has deferred a resize of vscaled; 0: it has not */
	usec_t sent_at;          /* of the last request that changed something; 0: never */
	usec_t wait_until;       /* nothing before */
	usec_t refused_until;    /* before this only the former spec or the originals are sent */
	bool ours;               /* vscaled made the present spec */
	bool restored;           /* the originals were accepted */
	bool requests_refused;   /* the last refusal bounds requests alone */
	usec_t lead_at;          /* when the last lead was accepted; 0: the next one goes at once */
	enum report_back back;
	usec_t back_until; /* that, or the originals, were refused: only leads before */
	enum lead_phase lead;
	bool lead_refused;       /* and no less was accepted since */
	uint32_t lead_cuts;      /* times that the headroom was cut because it was refused ... */
	usec_t lead_until;       /* ... and until when that counts */
	usec_t least_until;      /* the server refused the least headroom: no lead before */
	usec_t cut_at;           /* since when a cut is due, or tried */
	uint64_t cut_generation; /* of the spec when the cut became due */
	struct report_contest contest;
	uint64_t generation; /* as last seen; before 1.33 pods have none: always 0 */
	uint64_t facts;      /* conditions and observed generation as last seen */
	uint32_t conflicts;
	uint32_t failures; /* in a row */
	size_t count;
	struct report_memory container[];
};

/* At most REPORT_CONTAINERS_MAX. NULL: no memory. Freed with free(). */
struct report_state *report_state_new(size_t container_count);

/* --- decide */

enum report_block {
	REPORT_BLOCK_NONE,      /* nothing to send: the spec is as it should be */
	REPORT_BLOCK_OFFERED,   /* no pods/resize, or no right to it */
	REPORT_BLOCK_INACTIVE,  /* vscaled may not resize the pod now */
	REPORT_BLOCK_SENT,      /* a request is under way */
	REPORT_BLOCK_WAIT,      /* the server asked for time, or failed */
	REPORT_BLOCK_ECHO,      /* the kubelet has not carried out the last resize */
	REPORT_BLOCK_CONDITION, /* a condition is set on an external writer's resize */
	REPORT_BLOCK_REFUSED,   /* and nothing has changed since */
	REPORT_BLOCK_UNSAFE,    /* a memory limit that may not be raised could land below use */
	REPORT_BLOCK_MEMORY,    /* memory comes before CPU and has not held long enough */
	REPORT_BLOCK_LEASE,     /* the value has not held long enough */
	REPORT_BLOCK_SMALL,     /* a small change too soon after the last resize */
	REPORT_BLOCK_INTERVAL,  /* too soon after the last resize */
	REPORT_BLOCK_CONTESTED, /* an external writer keeps lowering the memory limit */
	REPORT_BLOCK_ROOM,      /* a request waits for room on the node */
	REPORT_BLOCK_NODE,      /* ... because nothing is known of the node */
	REPORT_BLOCK_DECREASE,  /* a lower memory limit, which server or kubelet does not take */
	REPORT_BLOCK_WINDOW,    /* a decrease waits for the node's window */
	REPORT_BLOCK_COUNT
};
const char *report_block_name(enum report_block h);

/* The order of requests when writes are limited. */
enum report_urgency {
	REPORT_LEADS, /* a lead: a replay of the spec's present limit may end in an OOM kill */
	REPORT_LEADS_AGAIN, /* of a pod whose last request failed, and others' need not */
	REPORT_AT_ONCE,
	REPORT_MEMORY_RAISE,
	REPORT_ORDINARY,
	REPORT_ANNOTATION, /* the status annotation alone: on a full node there are hundreds */
	REPORT_URGENCY_COUNT
};

struct report_decision {
	bool send;
	enum report_block block; /* why not; REPORT_BLOCK_NONE when it is sent */
	usec_t again;            /* decide again then at the latest; 0: when something changes */
	bool blocked; /* a lead is needed and not safe: memory may outgrow what others hold */
	/* A lead can be sent once the resize under way is given up: report_abandoned(), decide
	 * again, and send that. */
	bool overtakes;
	bool drafted;       /* values were considered: what follows is known */
	bool short_of_room; /* a request would be higher if the node had room */
	bool moot; /* less headroom is due, and the spec holds no more: report_cut_moot() */
	/* With resourceVersion: a change that vscaled has not seen is a conflict. */
	bool exact;
	enum report_urgency urgency;
	/* Spec and checkpoint have a value and the cgroup does not. A request cannot change that,
	 * so it is written to the cgroup directly. */
	bool write;
	struct report_patch patch;
};

/* Changes nothing. The caller passes what it sends to report_sent(). */
void report_decide(const struct report_tuning *t, const struct report_node *n,
		   const struct report_state *s, const struct report_facts *f, usec_t now,
		   struct report_decision *ret);
/* The decision was moot: from now on the kubelet has time for what it holds already. */
void report_cut_moot(struct report_state *s, usec_t now);
/* Before report_observed(): how long has the kubelet taken so far? */
void report_node_learn(struct report_node *n, const struct report_state *s, usec_t now);
/* The tuning for this node: leads go earlier and cover more the longer its kubelet takes. */
struct report_tuning report_tuned(const struct report_tuning *t, const struct report_node *n,
				  usec_t now);
/* How much growth a memory limit in a request covers. */
usec_t report_ahead(const struct report_tuning *t, const struct report_node *n,
		    const struct report_facts *f, usec_t now);
/* The least memory limit that may stand in a request for this container. */
uint64_t report_memory_floor(const struct report_tuning *t, usec_t ahead_usec,
			     const struct report_container *c);

/* The node has room for what the kubelet had deferred: its refusal no longer binds. False: none
 * did. */
bool report_retry(struct report_state *s, usec_t now);

/* Is an external writer's lower memory limit left in the spec during the pause? */
bool report_contested(const struct report_state *s, usec_t now);
/* The server refused headroom, or the kubelet reported it deferred or infeasible, also with less of
 * it; or an external writer contests it. Memory may then outgrow what others hold. */
bool report_lead_denied(const struct report_state *s, usec_t now);
/* It was refused, and less of it is tried: memory must not outgrow what others hold. */
bool report_lead_tried(const struct report_state *s, usec_t now);

/* --- what happens then */

enum report_answer_kind {
	REPORT_ANSWER_OK,
	REPORT_ANSWER_REFUSED,     /* quota, LimitRange, capacity, policy, validation */
	REPORT_ANSWER_UNSUPPORTED, /* not because of a value: an old kubelet, a request that
				      the server does not understand */
	REPORT_ANSWER_NO_DECREASE, /* this server takes no lower memory limit */
	REPORT_ANSWER_FORBIDDEN,   /* RBAC: report_facts.forbidden_until */
	REPORT_ANSWER_CONFLICT,    /* the object has changed since */
	REPORT_ANSWER_GONE,        /* the pod, or another one of its name */
	REPORT_ANSWER_SLOW_DOWN,   /* 429 */
	REPORT_ANSWER_FAILED,      /* 5xx, or no answer at all */
	REPORT_ANSWER_KINDS
};
struct report_answer {
	enum report_answer_kind kind;
	uint32_t resources;      /* of a refusal: RESOURCES_*; 0: not stated */
	bool requests;           /* ... for what is requested: no limit is the cause */
	bool no_path;            /* 404 of the path itself: not about the object */
	bool server_works;       /* whatever failed for this object, other requests are answered */
	usec_t retry_after_usec; /* 0: not stated */
};

/* Does the answer prove that the request changed nothing? */
bool report_answer_undone(enum report_answer_kind kind);

/* Resizes alone. A resize that a condition refuses later counts as REPORT_ANSWER_REFUSED. */
struct report_tally {
	uint64_t sent;
	uint64_t answers[REPORT_ANSWER_KINDS];
	uint64_t room_waits; /* times that a request began to wait for room on the node */
};

/* What the caller is to do after something happened. */
enum report_change {
	REPORT_CHANGE_VERIFY = 1 << 0,   /* values may have been replaced: read the cgroups now */
	REPORT_CHANGE_RATIFIED = 1 << 1, /* the kubelet has carried out a resize of vscaled */
	REPORT_CHANGE_REFUSED =
		1 << 2, /* report_allows() has new ceilings; CPU goes back at once */
	REPORT_CHANGE_FOREIGN = 1 << 3, /* an external writer changed the spec: report_foreign() */
	REPORT_CHANGE_GONE = 1 << 4,
	REPORT_CHANGE_RETRY = 1 << 5, /* decide again soon */
	/* An external writer keeps lowering a memory limit: from now on there are pauses before it
	 * is raised again. */
	REPORT_CHANGE_CONTESTED = 1 << 6,
	/* With REFUSED: admission stored a lower value than was sent, which is vscaled's. */
	REPORT_CHANGE_LOWERED = 1 << 7,
};

/* The patch is on its way. */
void report_sent(struct report_state *s, const struct report_facts *f,
		 const struct report_patch *patch, usec_t now);
/* Its answer is no longer waited for: it may be stored or not. */
void report_abandoned(struct report_state *s, usec_t now);
/* f: for a 200 with the pod of the answer. Returns REPORT_CHANGE_*. */
uint32_t report_answered(const struct report_tuning *t, struct report_node *n,
			 struct report_state *s, const struct report_facts *f,
			 const struct report_answer *a, usec_t now);
/* The pod was seen: generation, conditions, spec. Returns REPORT_CHANGE_*. */
uint32_t report_observed(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* Is a request under way, or waited for until the kubelet has carried it out? */
bool report_pending(const struct report_state *s);
/* Until then a refusal that is due to no value holds back requests. */
usec_t report_refused_until(const struct report_state *s);
/* Does the server take what is sent? Otherwise memory may outgrow what others hold. */
bool report_ratifies(const struct report_state *s, usec_t now);
/* May a request that had no answer still be stored, one of an earlier agent process too? */
bool report_late(const struct report_state *s, usec_t now);
/* Did vscaled make the spec that was seen last? */
bool report_expects(const struct report_state *s);
/* RESOURCES_* that an external writer set at the last change of the spec. */
uint32_t report_foreign(const struct report_state *s, size_t container);
/* The highest limit that a refusal left allowed; LIMIT_MAX: no such bound. ret_until: when the
 * bound ends; 0: there is none. */
uint64_t report_allows(const struct report_state *s, size_t container, enum resource r, usec_t now,
		       usec_t *ret_until);
/* After a restart: the refusal that the former agent has left. What it sent and is not in the spec
 * is not asked for again; memory, whose leads wait no longer than that, only for small_usec. */
void report_recall(const struct report_tuning *t, struct report_state *s,
		   const struct report_facts *f, const struct report_answer *a, usec_t now);
