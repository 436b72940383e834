// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/drift.h"
#include <string.h>

uint32_t drift_count(const struct tuning_common *t, const struct drift_memory *m, usec_t now)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < DRIFT_TIMES; i++)
		if (m->at[i] != 0 && now - m->at[i] < t->foreign_window_usec)
			count++;
	return count;
}

/* Records one external write; true when there are more than the maximum. */
static bool insists(const struct tuning_common *t, struct drift_memory *m, usec_t now)
{
	memmove(&m->at[1], &m->at[0], sizeof m->at - sizeof m->at[0]);
	m->at[0] = now;
	/* A maximum above the number of remembered writes would never be reached. */
	return drift_count(t, m, now) > MIN(t->foreign_max, DRIFT_TIMES - 1u);
}

enum drift_action drift_classify(const struct tuning_common *t, struct drift_memory *m,
				 const struct drift_facts *f, usec_t now)
{
	/* An external writer changed the stored property on purpose; a reload only reads files
	 * again. */
	bool stored_by_other =
		f->has_stored && f->has_property && f->stored != f->property && !f->reloaded;

	if (f->observed == f->expected)
		return DRIFT_NONE;
	if (f->set_pending || (f->has_property && f->observed == f->property))
		return DRIFT_ECHO;
	if (f->spec_changed || (stored_by_other && f->observed == f->stored))
		return insists(t, m, now) ? DRIFT_GIVE_WAY : DRIFT_ADOPT;
	if (f->reloaded || (f->has_stored && f->observed == f->stored))
		return DRIFT_REASSERT;
	return insists(t, m, now) ? DRIFT_GIVE_WAY : DRIFT_COUNTED;
}
