// SPDX-License-Identifier: Apache-2.0
#include "agent/journal/event_limit.h"
#include <stddef.h>

/* FNV-1a, 64 bit; parts are set apart by a byte that is in none of them. */
uint64_t event_limit_key(uint32_t kind, const char *const *parts)
{
	uint64_t hash = (14695981039346656037ULL ^ kind) * 1099511628211ULL;

	for (; *parts; parts++) {
		for (const char *c = *parts; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
		hash = (hash ^ '\n') * 1099511628211ULL;
	}
	return hash ? hash : 1;
}

static struct event_limit_slot *slot_of(struct event_limit *l, uint64_t key)
{
	struct event_limit_slot *oldest = &l->slots[0];

	for (size_t i = 0; i < EVENT_LIMIT_SLOTS; i++) {
		struct event_limit_slot *s = &l->slots[i];

		if (s->key == key)
			return s;
		if (oldest->key != 0 && (s->key == 0 || s->began < oldest->began))
			oldest = s;
	}
	*oldest = (struct event_limit_slot){0};
	return oldest;
}

bool event_limit_pass(struct event_limit *l, uint64_t key, uint32_t burst, usec_t now,
		      uint32_t *ret_held)
{
	struct event_limit_slot *s;

	if (burst == 0) {
		*ret_held = 0;
		return true;
	}
	s = slot_of(l, key);
	if (s->key == 0 || now >= s->began + EVENT_LIMIT_WINDOW)
		*s = (struct event_limit_slot){.key = key, .began = now, .held = s->held};
	if (s->shown >= burst) {
		s->held++;
		return false;
	}
	*ret_held = s->held;
	s->shown++;
	s->held = 0;
	return true;
}
