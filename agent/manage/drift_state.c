// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/managed.h"
#include "cgroup/writer.h"
#include <stdlib.h>
#include <string.h>

void drift_request_check(struct managed *m)
{
	m->drift.check_due = true;
}

void drift_replaced_early(struct managed *m, uint64_t found)
{
	const struct managed_properties *p = &m->properties;
	/* PID 1 writes what a call asks for a moment before it answers the call. */
	bool stored = found == cg_mem_kept(p->stored.mem_max) ||
		      found == cg_mem_kept(p->sent.mem_max) ||
		      found == cg_mem_kept(p->in_flight.mem_max);

	m->drift.early = stored ? DRIFT_EARLY_REPLACED_STORED : DRIFT_EARLY_REPLACED;
	m->drift.found_max = found;
}

void drift_end_early(struct managed *m)
{
	m->drift.early = DRIFT_EARLY_NONE;
}

static const struct drift_memory no_writes;

enum drift_action drift_decide(struct managed *m, enum resource r, const struct drift_facts *f)
{
	struct drift_memory w = m->drift.writers != NULL ? m->drift.writers[r] : no_writes;
	enum drift_action action = drift_classify(&m->config->tuning.common, &w, f, m->wake->now);

	/* Most units never see an external write. Without memory for the first one it is not
	 * counted. */
	if (m->drift.writers == NULL && memcmp(&w, &no_writes, sizeof w) != 0)
		m->drift.writers = calloc(RESOURCE_COUNT, sizeof w);
	if (m->drift.writers != NULL)
		m->drift.writers[r] = w;
	return action;
}

uint32_t drift_recent(const struct managed *m, enum resource r)
{
	return m->drift.writers != NULL
		       ? drift_count(&m->config->tuning.common, &m->drift.writers[r], m->wake->now)
		       : 0;
}

void drift_forget_writer(struct managed *m, enum resource r)
{
	if (m->drift.writers != NULL)
		m->drift.writers[r] = no_writes;
}

void drift_forget_writers(struct managed *m)
{
	free(m->drift.writers);
	m->drift.writers = NULL;
}
