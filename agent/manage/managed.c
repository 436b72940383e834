// SPDX-License-Identifier: Apache-2.0
/* One entry of the table: its state, and its id. */
#include "agent/manage/managed.h"
#include <stdlib.h>

void managed_set_state(struct managed *m, enum unit_state state, const char *reason)
{
	m->state = state;
	m->state_reason = reason;
}

void managed_set_unit(struct managed *m, char *unit)
{
	free(m->unit);
	m->unit = unit;
}

struct managed *managed_by_id(const struct unit_table *t, uint32_t id)
{
	return id < t->id_count ? t->by_id[id] : NULL;
}

/* 0 is no cookie. */
uint64_t managed_cookie(const struct managed *m)
{
	return (uint64_t)m->control.target + 1;
}

struct managed *managed_by_cookie(const struct unit_table *t, uint64_t cookie)
{
	return cookie != 0 && cookie <= UINT32_MAX ? managed_by_id(t, (uint32_t)(cookie - 1))
						   : NULL;
}
