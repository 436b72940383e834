/* SPDX-License-Identifier: Apache-2.0 */
/* Limits repeated events: a number per key and window is shown, the others are counted, and their
 * count goes with the next one that is shown. Pure; the caller owns the state, zero = nothing seen.
 */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

#define EVENT_LIMIT_SLOTS  128
#define EVENT_LIMIT_WINDOW (10 * USEC_PER_MIN)

struct event_limit_slot {
	uint64_t key; /* 0: free */
	usec_t began;
	uint32_t shown;
	uint32_t held;
};

struct event_limit {
	struct event_limit_slot slots[EVENT_LIMIT_SLOTS];
};

/* A key of a kind and what it is about; never 0. parts ends with NULL. */
uint64_t event_limit_key(uint32_t kind, const char *const *parts);
/* True: show it; *ret_held were held back before it. burst 0: always shown. If all slots are taken,
 * the one that began longest ago is reused. */
bool event_limit_pass(struct event_limit *l, uint64_t key, uint32_t burst, usec_t now,
		      uint32_t *ret_held);
