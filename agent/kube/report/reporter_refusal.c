// SPDX-License-Identifier: Apache-2.0
/* Refusals: kept for the annotation and explain, and reported to the daemon. */
#include "agent/kube/report/reporter_impl.h"
#include "policy/base/arithmetic.h"
#include <string.h>

void reporter_set_refusal(struct tracked *t, const char *text)
{
	free(t->refusal);
	t->refusal = text ? strdup(text) : NULL;
}

void reporter_show_refusal(struct tracked *t, const char *text, usec_t now)
{
	const struct reporter_events *e = &t->reporter->events;
	usec_t end = add_sat(now, t->reporter->options.tuning.refusal_usec);
	bool any = false;

	for (size_t i = 0; i < t->state->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			usec_t until;
			uint64_t ceiling =
				report_allows(t->state, i, (enum resource)r, now, &until);

			if (until < end)
				continue; /* there was no refusal, or it has been reported */
			any = true;
			e->refused(e->ctx, t->uid, i, (enum resource)r, ceiling, until, text);
		}
	if (!any)
		e->refused(e->ctx, t->uid, 0, RESOURCE_CPU, LIMIT_MAX,
			   MAX(t->state->refused_until, t->state->wait_until), text);
}

bool reporter_retry(struct reporter *r, const char *uid, usec_t now)
{
	struct tracked *t = reporter_find(r, uid);

	if (t == NULL || t->state == NULL || !report_retry(t->state, now))
		return false;
	reporter_set_refusal(t, NULL);
	t->hurry = t->dirty = true;
	return true;
}

usec_t reporter_bound_until(const struct tracked *t, usec_t now)
{
	usec_t last = 0, until;

	for (size_t i = 0; i < t->state->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			report_allows(t->state, i, (enum resource)r, now, &until);
			last = MAX(last, until);
		}
	return last;
}

bool reporter_is_bound(const struct tracked *t, usec_t now)
{
	return reporter_bound_until(t, now) != 0;
}

void reporter_show_denied(struct tracked *t, uint32_t changes, const char *why, usec_t now)
{
	const struct reporter_events *e = &t->reporter->events;
	const char *text = report_contested(t->state, now)
				   ? "another writer lowers the memory limit again and again"
				   : why;

	reporter_set_refusal(t, text);
	t->hurry = true;
	if ((changes & REPORT_CHANGE_CONTESTED) && e->contested != NULL)
		e->contested(e->ctx, t->uid, text);
}

void reporter_refusal_ends(struct tracked *t, const struct report_facts *f, usec_t now)
{
	const struct report_state *s = t->state;
	bool condition = f->pending_deferred || f->pending_infeasible || f->progress_error;

	if (t->refusal == NULL || condition || s->back != BACK_NONE ||
	    now < MAX(s->refused_until, s->wait_until) || reporter_is_bound(t, now) ||
	    report_lead_denied(s, now))
		return;
	reporter_set_refusal(t, NULL);
}
