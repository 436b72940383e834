// SPDX-License-Identifier: Apache-2.0
/* An external writer that keeps lowering the spec's memory limit below what is needed. */
#include "policy/base/arithmetic.h"
#include "policy/report/report_impl.h"

/* At most this many leads answer it at once within this time. */
#define ANSWERS_MAX  3
#define ANSWERS_USEC (10 * USEC_PER_MIN)
/* After each pause one lead is sent. Without a further change for this long the contest is over. */
#define CONTEST_QUIET (10 * USEC_PER_MIN)

bool report_contested(const struct report_state *s, usec_t now)
{
	return now < s->contest.until;
}

void contest_answered(struct report_state *s, const struct report_patch *patch, usec_t now)
{
	struct report_contest *c = &s->contest;

	if (!c->lowered || !patch->leads)
		return;
	c->lowered = false;
	if (c->answers == 0 || now - c->since >= ANSWERS_USEC) {
		c->answers = 0;
		c->since = now;
	}
	c->answers++;
}

uint32_t contest_lowered(const struct report_tuning *t, struct report_state *s, usec_t now)
{
	struct report_contest *c = &s->contest;
	bool first;

	if (c->pause_usec != 0 && now >= add_sat(c->until, CONTEST_QUIET))
		*c = (struct report_contest){0};
	c->lowered = true;
	if (now < c->until ||
	    (c->pause_usec == 0 && (c->answers < ANSWERS_MAX || now - c->since >= ANSWERS_USEC)))
		return 0;
	first = c->pause_usec == 0;
	c->pause_usec = first ? t->up_interval_usec : MIN(2 * c->pause_usec, t->small_usec);
	c->until = add_sat(now, c->pause_usec);
	return first ? REPORT_CHANGE_CONTESTED : 0;
}

bool contest_low(const struct report_tuning *t, const struct report_memory *m,
		 const struct report_container *c, usec_t now)
{
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	usec_t covers = report_covers(t, m, c, t->ahead_usec, now);

	return ratifiable(x) && x->spec_limit < report_memory_floor(t, covers / 2, c);
}

void contest_ended(struct report_state *s, usec_t now)
{
	s->contest.until = MIN(s->contest.until, now);
	s->contest.lowered = false;
}
