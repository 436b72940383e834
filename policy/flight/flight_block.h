/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for a block of records. */
#pragma once

#include "policy/flight/replay.h"

struct flight_block {
	uint64_t run; /* realtime of the agent's start: numbers of containers are of one run */
	struct replay_node node;
};
