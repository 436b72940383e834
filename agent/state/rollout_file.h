/* SPDX-License-Identifier: Apache-2.0 */
/* The stopped rollouts of a node, as they are stored: they stay stopped after a restart. */
#pragma once

#include "agent/state/state_file.h"
#include "policy/report/rollout.h"

#define ROLLOUT_STOPS_MAX 1024

struct rollout_stop {
	char *workload; /* owned: "namespace/name" */
	uint32_t percent;
	uint32_t hurt; /* enum rollout_hurt */
};

/* Zero is the empty set. */
struct rollout_stops {
	struct rollout_stop *items; /* owned */
	size_t count;
};

extern const struct state_kind rollout_state;

void rollout_stops_free(struct rollout_stops *s);
/* Copies the name. -ENOSPC, -ENOMEM. */
int rollout_stops_add(struct rollout_stops *s, const char *workload, uint32_t percent,
		      enum rollout_hurt hurt);
/* The body of the state file. Strict: -EBADMSG, -ENOMEM. */
int rollout_stops_encode(const struct rollout_stops *s, char **ret, size_t *ret_len);
int rollout_stops_decode(const char *text, size_t len, struct rollout_stops *ret);
/* Like state_file_load(); a body that cannot be decoded is set aside as well. */
int rollout_stops_load(int dir, char *aside, struct rollout_stops *ret);
