/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actuate, then ratify: when does the API server hear of a size that the cgroup already has, and
 * with which values. The rules, each with its test in virtual time:
 *
 *	a value is a lease in the cgroup until it has held for lease_usec; then it is ratified
 *	the spec leads: memory that comes near the limit of its spec, or would pass it soon by its
 *		slope, has a limit with headroom sent at once; renewed when half of that is used,
 *		lowered by the ordinary lease once growth has ended for 30 s
 *	memory is ratified before CPU
 *	every memory limit in the spec after a request is at least use + ahead_usec of slope +
 *		margin where it is ours to raise: whoever replays one replays all of them; a body
 *		names them all, but one that leads, which is sent without resourceVersion, names
 *		only those that it changes, and so undoes nobody's newer limit of another container;
 *		what a container left alone uses above its spec is added to one that leads,
 *		since the kubelet writes the sum of the spec as the pod's limit; an owner's newer
 *		limit of the same container, seen afterwards, is the owner's change all the same
 *	requests only at a review, only when they are ours (controlled-values)
 *	of a Guaranteed pod under LimitsOnly no CPU, and memory with its request (pod_bounds.h)
 *	a resource with resizePolicy RestartContainer is never ratified in mode Auto; memory whose
 *		owner allows it (restart_to) at most once in restart_every_usec, and upwards only
 *	one resize of a pod at a time: the next waits for the kubelet's echo (generation,
 *		conditions), but for one that leads: that overtakes what is on its way, and where
 *		the server fails it is tried again within the kubelet's delay; where that is
 *		refused, a resize that left memory alone is taken back
 *	a resize that leads and is refused, deferred or infeasible is tried with a quarter and a
 *		sixteenth of the headroom
 *	another writer that lowers memory below what is needed is answered at once three times in
 *		10 min, then after a pause that doubles from up_interval_usec to small_usec
 *	a refusal is no value for the cgroup's memory: it becomes a ceiling for a time, CPU goes
 *		back
 *	what the server never takes (memory decreases on 1.33) stays in the cgroup alone
 *	the spec already says it: nothing is sent; the checkpoint says it and the cgroup does not:
 *		the cgroup is ours to write
 *
 * Pure: facts + state + now -> decision. Times are boottime unless they say real.
 */
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
	usec_t lease_usec;         /* a value is ratified when it has held for this long */
	usec_t memory_lease_usec;  /* memory: at the latest after this, growth settled */
	usec_t ahead_usec;         /* slope covered by a memory limit in a body */
	uint32_t margin_permille;  /* and this share of use ... */
	uint64_t margin_min_bytes; /* ... or this */
	uint32_t
		at_once_permille; /* a change of at least this share does not wait for small_usec */
	usec_t small_usec;        /* smaller ones go out this often at most */
	usec_t up_interval_usec;  /* between two resizes of a pod that raise */
	usec_t down_interval_usec; /* ... that lower */
	usec_t refusal_usec;       /* a refusal binds for this long, or until the spec changes */
	usec_t restart_every_usec; /* between two resizes that restart a container, at least */
	usec_t settle_max_usec;    /* an echo that never comes is waited for this long */
};
extern const struct report_tuning report_tuning_default;

/* One resource of one container. Millicores, bytes; LIMIT_MAX: no limit; request 0: none. */
struct report_resource {
	bool managed;        /* ours to change */
	bool restart;        /* resizePolicy RestartContainer */
	uint64_t restart_to; /* then: a limit worth a restart, which its owner allows; 0: none */
	bool back;           /* not ours any more: held is what it was before us */
	uint64_t spec_limit; /* what the API object says now */
	uint64_t spec_request;
	uint64_t original_limit; /* before us: what restoring goes back to */
	uint64_t original_request;
	uint64_t held;     /* what the cgroup is held at */
	usec_t held_since; /* unchanged since */
	uint64_t actual;   /* what the cgroup's file says; 0: not read */
	uint64_t reported; /* limit that the kubelet reports as carried out; 0: not reported */
	uint64_t ceiling;  /* it is never held above this; 0: no such bound */
	uint64_t request;  /* what it should request; 0: leave it */
};

struct report_container {
	struct report_resource resource[RESOURCE_COUNT];
	uint64_t use_bytes; /* max of memory.current's unreclaimable part and what must not go */
	uint64_t slope_bps; /* growth now */
	bool growing;       /* not settled yet */
	usec_t grew_at;     /* when it was last seen to grow; 0: not since it has been observed */
	bool replayed;      /* the runtime may write what it holds at any moment (CPU manager) */
	bool running;
	bool limits_only; /* its requests are not ours, though those of others in the pod are */
};

struct report_facts {
	uint64_t generation;
	uint64_t observed_generation; /* 0: not told by this server */
	bool pending_deferred;
	bool pending_infeasible;
	bool in_progress;
	bool progress_error;
	uint32_t condition_resources; /* RESOURCES_* that its message names; 0: none of them */
	bool echoed;                  /* what the runtime has on record is what the spec says */
	bool ours;       /* the spec's resources were last written by us (managedFields) */
	bool guaranteed; /* limit = request, always */
	bool active;     /* mode Auto or Initial, running, not deleting, not paused */
	bool restoring;  /* the originals go back into the spec */
	bool offered;    /* pods/resize exists, and we may */
	bool adopting;   /* its owner has resized it, and that is not adopted yet */
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
	bool leads; /* it raises memory limits ahead of use, and nothing else */
};

/* --- what is remembered */

/* Of the node: what one pod teaches holds for all. Zero: nothing learnt. */
struct report_node {
	usec_t no_decrease_until; /* the server takes no lower memory limit (1.33) */
	usec_t forbidden_until;   /* RBAC */
};

struct report_values {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT];
};

struct report_memory {
	struct report_values known;   /* the spec as last seen */
	struct report_values asked;   /* in the last request; what it left out is as known then */
	struct report_values from;    /* the spec that the last request was made from */
	struct report_values good;    /* the last spec that was carried out */
	struct report_values ceiling; /* what a refusal left allowed, until ... */
	usec_t ceiling_until[RESOURCE_COUNT]; /* 0: none */
	usec_t restart_at;     /* the last request that restarts it; 0: none that is known */
	usec_t restart_before; /* as of the last answer */
	uint32_t foreign; /* RESOURCES_*: set by somebody else at the last change of the spec */
	/* RESOURCES_*: set by somebody else and not carried out yet. Not ours to take back. */
	uint32_t theirs;
	/* RESOURCES_*: set by somebody else before a request of ours that did not know of it, by
	 * the object that was seen last. */
	uint32_t overtaken;
};

enum report_phase {
	REPORT_IDLE,
	REPORT_SENT,    /* no answer yet */
	REPORT_WAITING, /* for the kubelet's echo */
};

/* Another writer lowers a memory limit of the spec below what is needed, and is answered. */
struct report_contest {
	bool lowered;      /* and not answered yet */
	uint32_t answers;  /* at once ... */
	usec_t since;      /* ... beginning with that one */
	usec_t pause_usec; /* between two answers, once there were too many; 0: none */
	usec_t until;      /* no answer before */
};

struct report_state {
	enum report_phase phase;
	usec_t since;         /* of the phase */
	usec_t seen_at;       /* for the first time */
	usec_t sent_at;       /* of the last request that changed something; 0: never */
	usec_t wait_until;    /* nothing before */
	usec_t refused_until; /* nothing but a way back before */
	bool seen;            /* what follows is known */
	bool ours;            /* the spec as it is now was our doing */
	bool uncertain;       /* a request ended without an answer: it may have landed */
	bool put_back;        /* a condition stands on what we asked: the old spec is to be sent */
	bool carrying;        /* the kubelet has not done what was asked, whatever followed */
	bool withdraw;        /* put_back before the kubelet does it: then it has nothing to do */
	bool restored;        /* the way back to the originals was taken */
	bool leading;         /* the last request leads */
	bool led;             /* and so does the last one that was taken */
	uint32_t lead_cuts;   /* times that the headroom was cut because it was refused ... */
	usec_t lead_until;    /* ... and until when that counts */
	usec_t least_until;   /* the server refused the least headroom: no lead before */
	bool stuck;           /* a condition stands on headroom: the kubelet does not hold it */
	usec_t cut_at;        /* headroom cut for that, no result yet; 0: none under way */
	uint64_t cut_generation;
	struct report_contest contest;
	uint64_t generation; /* as last seen; before 1.33 pods have none: always 0 */
	uint64_t base;       /* that of the request */
	uint64_t observed;
	uint32_t fact_bits; /* of the conditions as last seen */
	uint32_t conflicts;
	uint32_t failures; /* in a row */
	size_t count;
	struct report_memory container[];
};

/* NULL: no memory, or more than REPORT_CONTAINERS_MAX. Freed with free(). */
struct report_state *report_state_new(size_t container_count);

/* --- decide */

enum report_hold {
	REPORT_HOLD_NONE,      /* nothing to say: the spec is as it should be */
	REPORT_HOLD_OFFERED,   /* no pods/resize, or no right to it */
	REPORT_HOLD_INACTIVE,  /* the pod is not ours to resize now */
	REPORT_HOLD_SENT,      /* a request is under way */
	REPORT_HOLD_WAIT,      /* the server asked for time, or failed */
	REPORT_HOLD_ECHO,      /* the kubelet has not done the last one */
	REPORT_HOLD_CONDITION, /* a condition stands on somebody else's resize */
	REPORT_HOLD_REFUSED,   /* and nothing has changed since */
	REPORT_HOLD_UNSAFE,    /* a memory limit that may not be raised could land below use */
	REPORT_HOLD_MEMORY,    /* memory comes before CPU and has not held long enough */
	REPORT_HOLD_LEASE,     /* has not held long enough */
	REPORT_HOLD_SMALL,     /* small, and the last one is not long ago */
	REPORT_HOLD_INTERVAL,  /* too soon after the last one */
	REPORT_HOLD_CONTESTED, /* another writer lowers the memory limit again and again */
	REPORT_HOLD_COUNT
};
const char *report_hold_name(enum report_hold h);

/* What goes first when writes are scarce. */
enum report_urgency {
	REPORT_LEADS, /* what the spec holds would end in a kill if anybody wrote it */
	REPORT_AT_ONCE,
	REPORT_MEMORY_RAISE,
	REPORT_ORDINARY,
	REPORT_ANNOTATION, /* the status annotation alone: on a full node there are hundreds */
	REPORT_URGENCY_COUNT
};

struct report_decision {
	bool send;
	enum report_hold hold; /* why not; REPORT_HOLD_NONE when it is sent */
	usec_t again;          /* look again then at the latest; 0: when something changes */
	bool blocked; /* it should lead and cannot: memory may grow above what others hold */
	enum report_urgency urgency;
	/* Bit of the container: spec and checkpoint say it and the cgroup does not. No request will
	 * change that: it is to be written directly. */
	uint64_t write[RESOURCE_COUNT];
	struct report_patch patch;
};

/* Changes nothing; what is sent is then told to report_sent(). */
void report_decide(const struct report_tuning *t, const struct report_node *n,
		   const struct report_state *s, const struct report_facts *f, usec_t now,
		   struct report_decision *ret);
/* How much growth a memory limit in a body covers. */
usec_t report_ahead(const struct report_tuning *t, const struct report_node *n,
		    const struct report_facts *f, usec_t now);
/* The least memory limit that may stand in a request for this container. */
uint64_t report_memory_floor(const struct report_tuning *t, usec_t ahead_usec,
			     const struct report_container *c);

/* Is another writer's lower memory limit left standing for now? */
bool report_contested(const struct report_state *s, usec_t now);
/* Headroom was refused, by the server or by the kubelet (deferred, infeasible), with less of it as
 * well, or is contested: memory may grow above what others hold. */
bool report_lead_denied(const struct report_state *s, usec_t now);

/* --- what happens then */

enum report_answer_kind {
	REPORT_ANSWER_OK,
	REPORT_ANSWER_REFUSED,     /* quota, LimitRange, capacity, policy, validation */
	REPORT_ANSWER_UNSUPPORTED, /* not because of a value: an old kubelet, a request of ours that
				      the server does not understand */
	REPORT_ANSWER_NO_DECREASE, /* this server takes no lower memory limit */
	REPORT_ANSWER_FORBIDDEN,   /* RBAC */
	REPORT_ANSWER_CONFLICT,    /* the object moved on */
	REPORT_ANSWER_GONE,        /* the pod, or another one of its name */
	REPORT_ANSWER_SLOW_DOWN,   /* 429 */
	REPORT_ANSWER_FAILED,      /* 5xx, or no answer at all */
	REPORT_ANSWER_KINDS
};
struct report_answer {
	enum report_answer_kind kind;
	uint32_t resources;      /* of a refusal: RESOURCES_*; 0: not said */
	usec_t retry_after_usec; /* 0: not said */
};

/* Does the answer prove that the request changed nothing? */
bool report_answer_undone(enum report_answer_kind kind);

/* What the caller is to do after something happened. */
enum report_news {
	REPORT_NEWS_VERIFY = 1 << 0,   /* values may have been replaced: read the cgroups now */
	REPORT_NEWS_RATIFIED = 1 << 1, /* the kubelet has done what we asked */
	REPORT_NEWS_REFUSED = 1 << 2,  /* report_allows() has new ceilings; CPU goes back at once */
	REPORT_NEWS_FOREIGN = 1 << 3,  /* somebody else changed the spec: report_foreign() */
	REPORT_NEWS_GONE = 1 << 4,
	REPORT_NEWS_RETRY = 1 << 5, /* look again soon */
	/* Another writer lowers a memory limit again and again: it is answered seldom from now on.
	 */
	REPORT_NEWS_CONTESTED = 1 << 6,
};

/* The patch is on its way. */
void report_sent(struct report_state *s, const struct report_facts *f,
		 const struct report_patch *patch, usec_t now);
/* f: for a 200 with the pod of the answer. Returns REPORT_NEWS_*. */
uint32_t report_answered(const struct report_tuning *t, struct report_node *n,
			 struct report_state *s, const struct report_facts *f,
			 const struct report_answer *a, usec_t now);
/* The pod was seen: generation, conditions, spec. Returns REPORT_NEWS_*. */
uint32_t report_observed(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* Is the spec that was seen last our own doing? */
bool report_expects(const struct report_state *s);
/* RESOURCES_* that somebody else set, at the last change of the spec. */
uint32_t report_foreign(const struct report_state *s, size_t container);
/* The highest limit that the server was not heard to refuse; LIMIT_MAX: no such bound. */
uint64_t report_allows(const struct report_state *s, size_t container, enum resource r, usec_t now,
		       usec_t *ret_until);
