/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded call, made once more: the laws must decide the same. */
#pragma once

#include "policy/flight/flight.h"

/* The node as it was. */
struct replay_node {
	struct tuning tuning;
	uint64_t cpu_milli;
};

/* What holds for a block of records. */
struct flight_block {
	uint64_t run; /* realtime of the agent's start: numbers of containers are of one run */
	struct replay_node node;
};

/* Where a replayed call differs from its record. */
struct replay_result {
	bool same;
	size_t decided_count;
	struct change decided[CONTROL_STEPS_MAX];
};

/* -ENOMEM; -EBADMSG: it is no call. */
int replay_call(struct control *c, const struct replay_node *node, enum flight_kind kind,
		const struct flight_call *call, struct replay_result *ret);
