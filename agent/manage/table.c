// SPDX-License-Identifier: Apache-2.0
/* The table of what is managed: an entry is added and removed; its id, and its state. */
#include "agent/manage/table.h"
#include "agent/manage/attach.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/wake.h"
#include "policy/control/control_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void managed_free(struct managed *m)
{
	if (m == NULL)
		return;
	managed_close(m);
	control_drop(&m->control);
	free(m->name);
	free(m->unit);
	free(m->key);
	free(m->history_key);
	free(m->cgroup.path);
	free(m->recording.of);
	free(m->recording.active);
	drift_forget_writers(m);
	free(m);
}

void managed_pause_new(struct unit_table *t, bool paused)
{
	t->paused = paused;
}

void managed_free_all(struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		managed_free(t->items[i]);
	free(t->items);
	free(t->by_id);
	free(t->plans.steps);
	t->items = t->by_id = NULL;
	t->count = t->id_count = 0;
}

/* NULL stays NULL. */
static int copy(const char *from, char **ret)
{
	*ret = from != NULL ? strdup(from) : NULL;
	return from != NULL && *ret == NULL ? -ENOMEM : 0;
}

/* Both arrays have room for one more before anything is changed. */
static int table_add(struct unit_table *t, struct managed *m)
{
	struct managed **items = reallocarray(t->items, t->count + 1, sizeof *items), **by_id;
	uint32_t id = 0;

	if (items == NULL)
		return -ENOMEM;
	t->items = items;
	while (id < t->id_count && t->by_id[id] != NULL)
		id++;
	if (id == t->id_count) {
		by_id = reallocarray(t->by_id, (size_t)id + 1, sizeof *by_id);
		if (by_id == NULL)
			return -ENOMEM;
		t->by_id = by_id;
		t->id_count++;
	}
	control_set_target(&m->control, id);
	control_set_page(&m->control, m->config->tuning.memory.page_bytes);
	t->by_id[id] = m;
	t->items[t->count++] = m;
	return 0;
}

struct managed *managed_new(struct unit_table *t, const struct managed_names *names)
{
	struct managed *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	/* The ledger's entries do not include the new unit. */
	node_memory_close(t->memory);
	m->table = t;
	m->records = t->records;
	m->pid1 = t->pid1;
	m->wake = t->wake;
	m->config = t->config;
	m->host = t->host;
	m->cgroup.slots = (struct cg_scan_slots){READER_NO_SLOT, READER_NO_SLOT};
	m->kind = names->kind;
	m->paused = t->paused;
	m->cgroup.lost_at = t->wake->now;
	m->state = UNIT_WAITING;

	if (copy(names->name, &m->name) < 0 || copy(names->unit, &m->unit) < 0 ||
	    copy(names->key, &m->key) < 0 || copy(names->history_key, &m->history_key) < 0 ||
	    table_add(t, m) < 0) {
		managed_free(m);
		return NULL;
	}
	return m;
}

void managed_remove(struct managed *m)
{
	struct unit_table *t = m->table;
	size_t i = 0;

	managed_close(m);
	node_memory_forget(m->table->memory, m->control.target);
	while (t->items[i] != m)
		i++;
	t->items[i] = t->items[--t->count];
	t->by_id[m->control.target] = NULL;
	managed_free(m);
}

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
