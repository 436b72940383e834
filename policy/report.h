/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actuate, then ratify: when does the API server hear of a size that the cgroup already has, and
 * with which values. The rules, each with its test in virtual time:
 *
 *	a value is a lease in the cgroup until it has held for lease_usec; then it is ratified
 *	memory is ratified before CPU, and nothing goes out while any memory of the pod grows
 *	a body names the memory limit of every container of the pod that has one, each at least
 *		use + ahead_usec of slope + margin: whoever replays it replays all of it
 *	requests only at a review, only when they are ours (controlled-values)
 *	a resource with resizePolicy RestartContainer is never ratified in mode Auto
 *	one resize of a pod at a time: the next waits for the kubelet's echo (generation, conditions)
 *	a refusal is no value for the cgroup's memory: it becomes a ceiling for a time, CPU goes back
 *	what the server never takes (memory decreases on 1.33) stays in the cgroup alone
 *	the spec already says it: nothing is sent; the checkpoint says it and the cgroup does not:
 *		the cgroup is ours to write
 *
 * Pure: facts + state + now -> decision. Times are boottime unless they say real.
 */
#pragma once

#include "policy/limits.h"

#define REPORT_CONTAINERS_MAX 64

enum controlled_values {
	CONTROLLED_LIMITS,              /* LimitsOnly, the default */
	CONTROLLED_REQUESTS_AND_LIMITS, /* RequestsAndLimits */
	CONTROLLED_REQUESTS,            /* RequestsOnly: through the API alone */
	CONTROLLED_COUNT
};

struct report_tuning {
	usec_t lease_usec;          /* a value is ratified when it has held for this long */
	usec_t memory_lease_usec;   /* memory: at the latest after this, growth settled */
	usec_t ahead_usec;          /* slope covered by a memory limit in a body */
	uint32_t margin_permille;   /* and this share of use ... */
	uint64_t margin_min_bytes;  /* ... or this */
	uint32_t at_once_permille;  /* a change of at least this share does not wait for small_usec */
	usec_t small_usec;          /* smaller ones go out this often at most */
	usec_t up_interval_usec;    /* between two resizes of a pod that raise */
	usec_t down_interval_usec;  /* ... that lower */
	usec_t refusal_usec;        /* a refusal binds for this long, or until the spec changes */
	usec_t settle_max_usec;     /* an echo that never comes is waited for this long */
};
extern const struct report_tuning report_tuning_default;

/* One resource of one container. Millicores, bytes; LIMIT_MAX: no limit; request 0: none. */
struct report_resource {
	bool managed;         /* ours to change */
	bool restart;         /* resizePolicy RestartContainer */
	uint64_t spec_limit;  /* what the API object says now */
	uint64_t spec_request;
	uint64_t held;        /* what the cgroup is held at */
	usec_t held_since;    /* unchanged since */
	uint64_t request;     /* what it should request; 0: leave it */
};

struct report_container {
	struct report_resource resource[RESOURCE_COUNT];
	uint64_t use_bytes; /* max of memory.current's unreclaimable part and what must not go */
	uint64_t slope_bps; /* growth now */
	bool growing;       /* not settled yet */
	bool running;
};

struct report_facts {
	uint64_t generation;
	uint64_t observed_generation; /* 0: not told by this server */
	bool pending_deferred;
	bool pending_infeasible;
	bool in_progress;
	bool progress_error;
	bool guaranteed; /* limit = request, always */
	bool active;     /* mode Auto or Initial, running, not deleting, not paused */
	bool offered;    /* pods/resize exists, and we may */
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
};
