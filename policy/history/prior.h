/* SPDX-License-Identifier: Apache-2.0 */
/* What other pods of the same workload are known to need, for a container whose own history is
 * short. The part of the prior in a recommendation falls from all to nothing while the confidence
 * of the container's own history grows from 0 to 1000 permille. */
#pragma once

#include "policy/history/history.h"

/* Of one list (agent/cluster/cluster_kin.c). */
#define PRIOR_PODS_MAX 50

/* All 0: nothing is known. */
struct prior {
	struct recommendation of; /* confidence_permille: at most 1000 */
	uint32_t pods;            /* it was made from */
};

/* Is it possible as the recommendation of a container? 0 in all four: the resource is unknown. */
bool prior_is_possible(const struct recommendation *r);
/* Per value the median, weighted by confidence: one wrong pod among several changes little.
 * Confidence is their sum. count: at most PRIOR_PODS_MAX; each possible. */
void prior_merge(const struct recommendation *pods, size_t count, struct prior *ret);
/* No value above what this node has; 0: not known. */
void prior_bound(struct prior *p, const uint64_t most[RESOURCE_COUNT]);
/* No upper bound above what there is: with little confidence it is many times the target. */
void prior_bound_upper(struct recommendation *r, const uint64_t most[RESOURCE_COUNT]);
/* own: from the container's history alone. The peak is never below its own. ret may be own. */
void prior_blend(const struct prior *p, const struct recommendation *own,
		 struct recommendation *ret);
