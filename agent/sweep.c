// SPDX-License-Identifier: Apache-2.0
/*
 * All units on the clock, and whoever cannot wait before the others: one cheap file of each tells
 * who that is. What a unit is granted stands in its files before the next one is read.
 */
#include "agent/daemon.h"
#include <errno.h>

/* True: there is more to do for it. */
static bool read_first(struct managed *m, enum reader_clock clock)
{
	static const struct usage nothing;
	uint32_t want = USAGE_CPU | USAGE_THROTTLE;
	int r;

	m->seen = nothing;
	if (clock == READER_LOOK)
		want = control_look_wants(&m->control, &nothing);
	if (want == 0)
		return true;
	r = reader_read(m, want, 0, &m->seen);
	if (r == -ENODEV)
		managed_lost(m);
	return r >= 0;
}

/* True: it was raised. */
static bool visit_one(struct managed *m, visit_fn *visit, struct plan *plan)
{
	size_t before = plan->count;

	m->waits = false;
	visit(m, plan);
	return plan->count > before && plan_raise(m->daemon, plan, before);
}

bool sweep_units(struct daemon *d, enum reader_clock clock, visit_fn *visit, struct plan *plan)
{
	bool raised = false;

	reader_begin(d, clock);
	for (size_t i = 0; i < d->unit_count; i++) {
		struct managed *m = d->units[i];

		m->waits = managed_has_laws(m) && read_first(m, clock);
		if (m->waits && control_presses(&m->control, &m->seen))
			raised |= visit_one(m, visit, plan);
	}
	for (size_t i = 0; i < d->unit_count; i++)
		if (d->units[i]->waits)
			raised |= visit_one(d->units[i], visit, plan);
	reader_end(d);
	return raised;
}
