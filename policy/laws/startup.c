// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/startup.h"
#include "policy/base/arithmetic.h"

/* As with a startup boost: history would get no sample of a container that never becomes Ready. */
#define STARTUP_MOST_USEC USEC_PER_HOUR

void startup_set(struct startup *s, const struct startup_life *life)
{
	if (life->started_at != s->started_at)
		*s = (struct startup){.started_at = life->started_at};
	s->probed = life->probed;
	/* The pod's condition may name an earlier time than the one at which it was seen. */
	if (life->ready_since != 0 && (s->first_ready == 0 || life->ready_since < s->first_ready))
		s->first_ready = life->ready_since;
}

usec_t startup_end(const struct startup *s, const struct tuning_startup *t)
{
	usec_t most = add_sat(s->started_at, STARTUP_MOST_USEC);

	if (s->started_at == 0)
		return 0;
	if (!s->probed)
		return add_sat(s->started_at, t->unprobed_usec);
	if (s->first_ready == 0)
		return most;
	return MIN(most, add_sat(MAX(s->first_ready, s->started_at), t->ready_usec));
}

bool startup_covers(const struct startup *s, const struct tuning_startup *t, usec_t from, usec_t to)
{
	return to > s->started_at && from < startup_end(s, t);
}
