// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/originals.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"

void originals_begin(struct managed *m, const struct baseline *record, bool touched)
{
	const struct records *r = m->records;

	m->originals.change = r->changes;
	m->originals.saved = record != NULL && r->on_disk == r->changes;
	m->originals.recorded = record != NULL;
	m->originals.touched = touched;
	m->originals.boost_base_milli = record != NULL ? record->boost_base_milli : 0;
	m->originals.boost_change = r->on_disk == r->changes ? 0 : r->changes;
}

void originals_forget(struct managed *m)
{
	m->originals.saved = false;
	m->originals.touched = false;
}

void originals_touch(struct managed *m)
{
	m->originals.touched = true;
}

void originals_restored(struct managed *m)
{
	m->originals.touched = false;
}

void originals_set_trust(struct managed *m, enum originals_trust trust)
{
	m->originals.trust = trust;
}
