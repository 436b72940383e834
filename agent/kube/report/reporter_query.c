// SPDX-License-Identifier: Apache-2.0
/* The reporter's queries. */
#include "agent/kube/report/reporter_impl.h"

bool reporter_expects(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL && t->state != NULL && report_expects(t->state);
}

uint32_t reporter_foreign(const struct reporter *r, const char *uid, size_t container)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL && t->state != NULL ? report_foreign(t->state, container) : 0;
}

bool reporter_pending(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL && t->state != NULL && t->state->phase != REPORT_IDLE;
}

bool reporter_unsent(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL && (t->dirty || t->resize.under_way || t->patch.under_way || t->unsent ||
			     report_queue_holds(&r->queue, uid));
}

uint64_t reporter_allows(const struct reporter *r, const char *uid, size_t container,
			 enum resource resource, usec_t now, usec_t *ret_until)
{
	const struct tracked *t = reporter_find(r, uid);

	*ret_until = 0;
	return t == NULL || t->state == NULL
		       ? LIMIT_MAX
		       : report_allows(t->state, container, resource, now, ret_until);
}

/* t: NULL where the pod is not tracked. */
static bool ratifies(const struct reporter *r, const struct tracked *t, usec_t now)
{
	if (!r->offered || (t != NULL && now < holds_until(&r->denied[RIGHT_RESIZE], t->space)))
		return false;
	return t == NULL || t->state == NULL ||
	       (t->state->failures == 0 && now >= t->state->refused_until && !t->blocked &&
		!report_lead_denied(t->state, now));
}

bool reporter_ratifies(const struct reporter *r, const char *uid, usec_t now)
{
	return ratifies(r, reporter_find(r, uid), now);
}

static bool tries(const struct tracked *t, usec_t now)
{
	return t != NULL && t->state != NULL && report_lead_tried(t->state, now);
}

bool reporter_tries(const struct reporter *r, const char *uid, usec_t now)
{
	return tries(reporter_find(r, uid), now);
}

void reporter_report_bounds(struct tracked *t, usec_t now)
{
	const struct reporter_events *e = &t->reporter->events;
	bool unratified = !ratifies(t->reporter, t, now), tried = tries(t, now);

	if (unratified == t->unratified && tried == t->tried)
		return;
	t->unratified = unratified;
	t->tried = tried;
	if (e->bounds != NULL)
		e->bounds(e->ctx);
}

enum report_block reporter_block(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t == NULL || t->state == NULL ? REPORT_BLOCK_NONE : t->block;
}

const char *reporter_refusal(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL ? t->refusal : NULL;
}

usec_t reporter_sent_at(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t != NULL && t->state != NULL ? t->state->sent_at : 0;
}

bool reporter_late(const struct reporter *r, const char *uid, usec_t now)
{
	const struct tracked *t = reporter_find(r, uid);

	/* Not looked at yet, as after a restart: it may have been. */
	return t == NULL || t->state == NULL || report_late(t->state, now);
}

usec_t reporter_infeasible_since(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	if (t == NULL || t->state == NULL)
		return 0;
	return sooner(t->state->infeasible_since, t->room_since);
}

const char *reporter_block_text(const struct reporter *r, const char *uid)
{
	const struct tracked *t = reporter_find(r, uid);

	return t == NULL || t->state == NULL ? "" : report_block_name(t->block);
}

usec_t reporter_ahead(const struct reporter *r, const struct kube_pod *pod, usec_t now)
{
	const struct report_facts f = {.observed_generation = pod->observed_generation};

	return report_ahead(&r->tuning, &r->node, &f, now);
}

bool reporter_offered(const struct reporter *r)
{
	return r->offered;
}

const struct reporter_tally *reporter_tally(const struct reporter *r)
{
	return &r->tally;
}

size_t reporter_waiting(const struct reporter *r)
{
	return r->queue.count;
}

size_t reporter_refused(const struct reporter *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->pods[i]->refusal != NULL;
	return n;
}
