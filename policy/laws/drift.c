// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/drift.h"
#include <string.h>

#define TENTH (100 * USEC_PER_MSEC)

/* Enough for 13 years since the boot. */
static uint32_t tenths(usec_t at)
{
	return (uint32_t)MIN(MAX(at / TENTH, (usec_t)1), (usec_t)UINT32_MAX);
}

uint32_t drift_count(const struct tuning_common *t, const struct drift_memory *m, usec_t now)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < DRIFT_TIMES; i++)
		if (m->at_tenths[i] != 0 &&
		    (usec_t)(tenths(now) - m->at_tenths[i]) * TENTH < t->foreign_window_usec)
			count++;
	return count;
}

/* Records one external write; true when there are more than the maximum. */
static bool note_write(const struct tuning_common *t, struct drift_memory *m, usec_t now)
{
	memmove(&m->at_tenths[1], &m->at_tenths[0], sizeof m->at_tenths - sizeof m->at_tenths[0]);
	m->at_tenths[0] = tenths(now);
	/* A maximum above the number of remembered writes would never be reached. */
	return drift_count(t, m, now) > MIN(t->foreign_max, DRIFT_TIMES - 1u);
}

enum drift_action drift_classify(const struct tuning_common *t, struct drift_memory *m,
				 const struct drift_facts *f, usec_t now)
{
	/* An external writer changed the stored property on purpose; a reload only reads files
	 * again. */
	bool stored_by_other =
		f->has_stored && f->has_property && f->stored != f->property && !f->not_deliberate;

	if (f->observed == f->expected)
		return DRIFT_NONE;
	if (f->set_pending || (f->has_property && f->observed == f->property))
		return DRIFT_ECHO;
	if (stored_by_other && f->observed == f->stored)
		return note_write(t, m, now) ? DRIFT_GIVE_WAY : DRIFT_ADOPT;
	if (f->not_deliberate || (f->has_stored && f->observed == f->stored))
		return DRIFT_REASSERT;
	return note_write(t, m, now) ? DRIFT_GIVE_WAY : DRIFT_COUNTED;
}
