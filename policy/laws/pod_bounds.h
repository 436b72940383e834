/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a container's limits that follow from its pod. All 0: a unit, or nothing is known.
 *
 * The API server refuses a resize that would change the QoS class; the cgroup has no class. Hence:
 *
 *  - Burstable, LimitsOnly: cgroup: limit >= request, a quantum above it where the class depends on
 *    it (qos_near). Sent: the limit as held.
 *  - Burstable, RequestsAndLimits: the request follows, so it is no floor. Sent: the limit as held;
 *    request = target, within limit / ratio and limit. A quantum between both where qos_near.
 *  - Guaranteed, LimitsOnly: cgroup: limit >= the original request. Sent: no CPU; memory as held,
 *    at least the original request, request = limit.
 *  - Guaranteed, RequestsAndLimits: the limit follows the peak. Sent: limit as held, request =
 *    limit.
 *  - RequestsOnly: the cgroup is written to restore limits alone (limits_stay). Sent: request =
 *    target; of a Guaranteed pod nothing.
 *
 * In a Guaranteed pod under `LimitsOnly` the CPU limit changes in the cgroup only and is not sent
 * to the API server. A memory limit that has to rise above the spec is sent together with its
 * request, since the class allows nothing else; both come back when use falls. Neither goes below
 * the original request. Under `RequestsAndLimits` limit and request move together, up and down. */
#pragma once

#include "policy/laws/heap.h"
#include "policy/types/profile.h"

/* Of one resource. Millicores or bytes; 0: not set. */
struct pod_resource_bounds {
	uint64_t request;       /* in the spec; Guaranteed: the original one */
	uint64_t accepted;      /* limit in the spec, as the API server accepted it; LIMIT_MAX: none
				 */
	struct range admin;     /* of the configuration; overrides what the pod's owner set */
	struct range namespace; /* LimitRange: of the container, and its share of the pod's */
	struct range container_range; /* LimitRange, type Container: of requests, too */
	uint64_t budget;              /* the limit of the pod's own cgroup, set by its spec */
	uint64_t ratio_permille;      /* LimitRange: limit / request at most */
	uint64_t refused;             /* the API server took no more than this ... */
	usec_t refused_until;         /* ... and that counts until then (boottime) */
};

struct pod_bounds {
	bool guaranteed;
	bool qos_near;         /* see pod_qos_near() */
	bool requests_move;    /* RequestsAndLimits */
	bool limits_stay;      /* RequestsOnly */
	bool not_ready;        /* nothing shrinks */
	bool swaps;            /* the kubelet takes no other request of memory */
	bool ranges_unknown;   /* LimitRanges were not read yet */
	bool pod_requests;     /* the pod has resources of its own: its containers' requests stay */
	bool requests_unknown; /* that is not known yet: requests of Burstable pods wait */
	uint8_t qos; /* second key after priority: 0 Guaranteed or a unit, 1 Burstable, 2 BestEffort
		      */
	/* A higher limit was refused, and less is being tried: the brake holds growth below the
	 * accepted one. */
	bool growth_held;
	/* RESOURCES_*: whose request stays, as a HorizontalPodAutoscaler scales by its utilisation
	 * or a VerticalPodAutoscaler may move it ... */
	uint32_t requests_stay;
	uint32_t limits_frozen; /* ... and whose limit that one may move along */
	/* No higher memory limit can be ratified now (API server away, no pods/resize, refused
	 * ...): growth ends at this share of the original. 0: it can, or there is no such bound. */
	uint32_t unratified_permille;
	int32_t priority;       /* first key of the order when the node is short; a unit: 0 */
	uint64_t found_request; /* Burstable: of memory, beside the original limits; 0: none */
	struct heap_ceiling heap;
	uint64_t heap_request; /* of memory, which heap.bytes are made of; 0: of none */
	/* The memory limit that the runtime may replay at any moment, because a CPU manager is
	 * active or a resize is under way; 0: none. Use must not exceed it. */
	uint64_t replay_mem_bytes;
	bool replay_due;   /* a resize is under way: it will be written within seconds */
	uint32_t threads;  /* processes and threads when that began; 0: not known */
	usec_t probe_usec; /* a liveness probe without an answer ends it after this; 0: none */
	struct pod_resource_bounds resource[RESOURCE_COUNT];
};

/* Neither ResourceQuota nor LimitRange has checked memory above the spec's limit. While it cannot
 * be ratified, growth ends at max(limit in the spec, original, original x unratified_permille).
 * LIMIT_MAX: no such bound. An administrator's maximum takes its place; an owner's max-memory does
 * not. */
uint64_t pod_unratified_max(const struct pod_bounds *p, uint64_t original);
/* The memory limit that others hold and may write, which use must stay below; LIMIT_MAX: none. */
uint64_t pod_replay_max(const struct pod_bounds *p);

/* The kubelet's memory.high of a Burstable container by MemoryQoS (KEP-2570):
 * floor((request + factor x (limit - request)) / page) x page. LIMIT_MAX: it sets none. */
uint64_t pod_qos_high(uint64_t request, uint64_t limit, uint32_t factor_permille,
		      uint64_t page_bytes);
/* The factor of such a value; 0: it is no value of the kubelet's. */
uint32_t pod_qos_factor(uint64_t request, uint64_t limit, uint64_t high, uint64_t page_bytes);

/* One resource of one container of the pod, for pod_qos_near(). */
struct pod_qos_part {
	uint64_t limit; /* LIMIT_MAX: none */
	uint64_t request;
	bool moves; /* we may change the limit or the request */
};

/* Could our changes make a Burstable pod Guaranteed? Only if every container (init too) has all
 * four values and every pair is equal or can be changed by us. Then each keeps a quantum between
 * limit and request. */
bool pod_qos_near(const struct pod_qos_part *parts, size_t count);
