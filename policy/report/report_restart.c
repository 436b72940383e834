// SPDX-License-Identifier: Apache-2.0
/* Memory with resizePolicy RestartContainer: when a container may be restarted for more of it. */
#include "policy/base/arithmetic.h"
#include "policy/report/report_impl.h"

bool restart_due(const struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
	usec_t last = d->s->container[i].restart_at;

	/* Only the spec shows a restart that an earlier agent process asked for. */
	if (last == 0 && x->spec_limit != x->original_limit)
		last = d->s->seen_at;
	return x->restart && x->managed && x->restart_to > x->spec_limit && !d->back && !x->back &&
	       limits_ours(d->f) &&
	       (last == 0 || d->now >= add_sat(last, d->t->restart_every_usec));
}

bool restart_undone(const struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];

	return goes_down(d->s) && d->f->pending_infeasible && x->restart && x->managed &&
	       limits_ours(d->f) && !(d->s->container[i].theirs & RESOURCES_MEMORY) &&
	       d->s->container[i].good.limit[RESOURCE_MEMORY] < x->spec_limit;
}

bool restart_replays_nothing(const struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if (d->want[i].limit[r] != d->s->container[i].good.limit[r] ||
			    d->want[i].request[r] != d->s->container[i].good.request[r])
				return false;
	return goes_down(d->s) && d->f->pending_infeasible;
}

void restart_sent(struct report_memory *m, const struct report_container *c,
		  const struct report_item *item, usec_t now)
{
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];

	if (x->restart && (item->limits & RESOURCES_MEMORY) &&
	    item->limit[RESOURCE_MEMORY] > x->spec_limit)
		m->restart_at = now;
}

void restart_answered(struct report_state *s, enum report_answer_kind kind)
{
	for (size_t i = 0; i < s->count; i++) {
		struct report_memory *m = &s->container[i];

		if (report_answer_undone(kind))
			m->restart_at = m->restart_before;
		m->restart_before = m->restart_at;
	}
}

bool report_answer_undone(enum report_answer_kind kind)
{
	return kind != REPORT_ANSWER_OK && kind != REPORT_ANSWER_FAILED;
}
