// SPDX-License-Identifier: Apache-2.0
/* Was a process OOM-killed under the held limit, or under an external writer's? */
#include "agent/manage/oom.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"

void oom_lowered(struct managed *m, const struct managed *at, uint64_t seen)
{
	const struct control *c = &at->control;
	uint64_t held = MAX(c->kernel.mem_max, c->unclassified_bytes);
	const struct mem_lowered l = {
		.at = m->wake->now,
		.from = held,
		.to = seen,
		.pod = at != m,
	};

	/* The file has the held limit again, whatever systemd had written before. */
	if (m->control.resource[RESOURCE_MEMORY].managed && seen < held &&
	    seen != c->kernel.mem_max)
		control_mem_lowered(&m->control, &l);
}

/* memory.max as its file has it now; the held limit where there is no file. */
static void read_limit(struct managed *m, const struct managed *at, uint32_t more,
		       struct usage *ret)
{
	if (cg_read(at->cgroup.cg, USAGE_MEM_LIMIT | more, ret) < 0)
		*ret = (struct usage){0};
	unit_fill_absent(at, ret);
	oom_lowered(m, at, ret->limits.mem_max);
}

/* A process was OOM-killed since the last read: under which limit? inotify reports a write when it
 * returns, and a write of less than use returns after the kill. */
void oom_check(struct managed *m, struct usage *u)
{
	const struct usage *last = &m->control.last;
	const struct managed *level = m->pod != NULL ? m->pod->level : NULL;
	struct usage now = {0}, above = {0};

	if (!(u->have & last->have & USAGE_MEM_EVENTS) ||
	    u->events.oom_kill <= last->events.oom_kill)
		return;
	if (level != NULL && level->cgroup.cg != NULL)
		read_limit(m, level, 0, &above);
	read_limit(m, m, USAGE_MEM_PEAK, &now);
	if (now.limits.mem_max < m->control.kernel.mem_max)
		drift_request_check(m);
	if (now.have & USAGE_MEM_PEAK) {
		u->have |= USAGE_MEM_PEAK;
		u->mem_peak = now.mem_peak;
	}
}
