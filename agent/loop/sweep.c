// SPDX-License-Identifier: Apache-2.0
/* All units on the clock, those that cannot wait before the others: one cheap file of each shows
 * which these are. A raise is written to a unit's files before the next unit is read. */
#include "agent/loop/sweep.h"
#include "agent/apply/apply.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/reader.h"
#include <errno.h>

#define FIRST_USAGE (USAGE_CPU | USAGE_THROTTLE)

/* True: there is more to do for it. */
static bool read_first(struct managed *m, enum reader_clock clock, struct usage *ret)
{
	uint32_t want = FIRST_USAGE;
	int r;

	if (clock == READER_REFLEX)
		want &= control_reflex_wants(&m->control, ret);
	if (want == 0)
		return true;
	r = reader_read(m, want, 0, ret);
	if (r == -ENODEV)
		managed_lost(m);
	else if (m->control.last_at == 0 || m->cgroup.unsampled != NULL)
		managed_read_totals(m);
	return r >= 0;
}

/* A whole record for each of a thousand units would be a quarter of a megabyte. */
static void keep_first(struct managed *m, const struct usage *u)
{
	m->sweep.deferred = true;
	m->sweep.first = (struct first_read){
		.have = u->have & FIRST_USAGE,
		.cpu_usage_usec = u->cpu_usage_usec,
		.nr_periods = u->nr_periods,
		.nr_throttled = u->nr_throttled,
		.throttled_usec = u->throttled_usec,
	};
}

static struct usage kept_first(const struct managed *m)
{
	return (struct usage){
		.have = m->sweep.first.have,
		.cpu_usage_usec = m->sweep.first.cpu_usage_usec,
		.nr_periods = m->sweep.first.nr_periods,
		.nr_throttled = m->sweep.first.nr_throttled,
		.throttled_usec = m->sweep.first.throttled_usec,
	};
}

/* True: it was raised. */
static bool visit_one(struct managed *m, struct usage *u, visit_fn *visit, struct plan *plan)
{
	size_t before = plan->count;

	visit(m, u, plan);
	return plan->count > before && plan_raise(m->table, plan, before);
}

bool sweep_units(struct unit_table *t, enum reader_clock clock, visit_fn *visit, struct plan *plan)
{
	/* Raises that the plan has already are written first. */
	bool raised = plan->count > 0 && plan_raise(t, plan, 0);

	reader_begin(t->reader, clock);
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];
		struct usage u = {0};

		m->sweep.deferred = false;
		if (!managed_has_laws(m) || !read_first(m, clock, &u))
			continue;
		if (control_presses(&m->control, &u))
			raised |= visit_one(m, &u, visit, plan);
		else
			keep_first(m, &u);
	}
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];
		struct usage u = kept_first(m);

		if (m->sweep.deferred)
			raised |= visit_one(m, &u, visit, plan);
	}
	reader_end(t->reader);
	return raised;
}
