/* SPDX-License-Identifier: Apache-2.0 */
/* One eviction per workload and hour, by any node: the pod that is to be evicted takes the Lease of
 * its workload, in the agent's namespace. Agents that decide in the same moment see the same pods;
 * the API server gives the Lease to one of them. It is never released: it expires. */
#pragma once

#include "agent/cluster/cluster.h"
#include "agent/kube/model/decode.h"
#include "policy/report/recreate.h"

struct pod;

/* RECREATE_EVICT: taken; RECREATE_LEASED; RECREATE_REFUSED: by the API server, detail says why.
 * RECREATE_ANSWER_COUNT: no answer, or none that can be read. status: of HTTP; 0: none. */
typedef void cluster_lease_fn(struct cluster *c, enum recreate_answer answer, unsigned status,
			      const char *detail);

/* One request at a time. Begins zeroed; does not move while a request is under way. */
struct cluster_lease {
	struct cluster *cluster;
	cluster_lease_fn *done;
	struct kube_call *call; /* NULL: none under way */
	struct kube_lease want;
	char name[40];
	char workload[600];
};

/* Nothing is under way. done is called once, maybe at once. */
void cluster_lease_take(struct cluster *c, struct cluster_lease *l, const struct pod *p,
			cluster_lease_fn *done);
void cluster_lease_cancel(struct cluster_lease *l);
