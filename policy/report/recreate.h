/* SPDX-License-Identifier: Apache-2.0 */
/* Mode InPlaceOrRecreate: is a pod to be evicted because it cannot be sized in place? Its successor
 * is sized when it starts. Only what another node could have is a reason: the ceiling of a limit is
 * the same everywhere. Rare, and never the last one that is ready: the disruption budgets of
 * the cluster decide after that. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

/* A need has to last this long. */
#define RECREATE_AFTER_USEC (10 * USEC_PER_MIN)
/* So many OOM kills within an hour while the node denied memory. */
#define RECREATE_OOM_KILLS 3
/* One eviction per workload in this time, by any node ... */
#define RECREATE_WORKLOAD_USEC USEC_PER_HOUR
/* ... and one per node in this. */
#define RECREATE_NODE_USEC (10 * USEC_PER_MIN)

/* What is known of the pod without asking. */
struct recreate_pod {
	bool wanted;             /* its mode */
	bool replicated;         /* of a ReplicaSet, StatefulSet or ReplicationController */
	usec_t infeasible_since; /* the kubelet has no room for what it needs; 0: it has */
	uint32_t oom_kills;      /* while the node denied it memory, in the last hour */
	usec_t evicted_on_node;  /* the last eviction by this node; 0: none */
	usec_t retry_at;         /* not before, after a refusal; 0: none */
};

/* What the API server says of its workload; ages by the wall clock. */
struct recreate_workload {
	uint32_t ready;       /* pods of it that are Ready and stay, this one included if it is */
	usec_t youngest_usec; /* age of its newest pod */
};

enum recreate_answer {
	RECREATE_EVICT,
	RECREATE_NOT_WANTED,     /* another mode */
	RECREATE_NOT_NEEDED,     /* sized in place, or not for long enough */
	RECREATE_NOT_REPLICATED, /* nothing would start another one elsewhere */
	RECREATE_NO_LABELS,      /* none that all pods of the workload have: it cannot be listed */
	RECREATE_NODE_WAITS,     /* the node evicted another pod a moment ago */
	RECREATE_REFUSED,        /* by the API server, a moment ago */
	RECREATE_ALONE,          /* no other pod of the workload is ready */
	RECREATE_YOUNG,          /* a pod of the workload is new: rolled out, or evicted */
	RECREATE_LEASED,         /* another pod of the workload holds its lease */
	RECREATE_ANSWER_COUNT
};
/* In words, for explain and Events. */
extern const char *const recreate_texts[RECREATE_ANSWER_COUNT];

/* RECREATE_EVICT: the workload is to be asked about, and then recreate_allowed(). *ret_again: when
 * to ask again; 0: when something changes. */
enum recreate_answer recreate_needed(const struct recreate_pod *p, usec_t now, usec_t *ret_again);
enum recreate_answer recreate_allowed(const struct recreate_workload *w);
/* The lease of the workload was renewed then, by this pod or another one. RECREATE_EVICT: take it
 * first. One renewed in the future, by a clock that is ahead, is held. */
enum recreate_answer recreate_leased(bool by_this_pod, usec_t renewed_real, usec_t now_real);
/* Why, in words; static text. Of a pod that needs it. */
const char *recreate_why(const struct recreate_pod *p, usec_t now);
