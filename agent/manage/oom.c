// SPDX-License-Identifier: Apache-2.0
/* Was a process OOM-killed under the held limit, under an external writer's, or for the limit of
 * another cgroup? */
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"

static const char POD[] = "its pod";

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

/* --- for whose limit? The kernel counts `oom` in the cgroup whose limit was full, and above it. */

void oom_look_above(const struct unit_table *t)
{
	for (uint32_t i = 1; i < t->memory->above.count; i++)
		oom_seen_look(t->memory->above.items[i].cg, &t->memory->above.items[i].ooms,
			      t->wake->now);
}

/* The nearest cgroup above that was full at the time; NULL: none. */
static const char *full_above(struct managed *m, usec_t at, uint64_t *ret_limit)
{
	struct above_table *t = &m->table->memory->above;
	usec_t now = m->wake->now;

	for (uint32_t id = m->cgroup.above; id != 0; id = t->items[id].above) {
		struct above *a = above_read(t, id, now, UINT64_MAX);

		*ret_limit = a->limit;
		if (oom_seen_look(a->cg, &a->ooms, now) && oom_seen_at(a->ooms.own_at, at))
			return a->path;
	}
	*ret_limit = 0;
	return NULL;
}

/* NULL: its own limit, or that is not known. */
static const char *whose(struct managed *m, uint64_t *ret_limit)
{
	struct managed *level = m->pod != NULL ? m->pod->level : NULL;
	struct oom_seen *own = &m->reported.ooms;
	usec_t now = m->wake->now;
	bool known = oom_seen_look(m->cgroup.cg, own, now);
	const char *name;

	*ret_limit = 0;
	if (known && oom_seen_at(own->own_at, now))
		return NULL;
	if (known && oom_seen_at(own->in_at, now))
		return "a cgroup in it";
	if (level != NULL && oom_seen_look(level->cgroup.cg, &level->reported.ooms, now) &&
	    oom_seen_at(level->reported.ooms.own_at, now)) {
		*ret_limit = level->control.kernel.mem_max;
		return POD;
	}
	name = full_above(m, now, ret_limit);
	/* The pod's own counter has to be known, too. */
	known &= m->pod == NULL || (level != NULL && level->cgroup.cg != NULL);
	return name == NULL && known ? "the node" : name;
}

static void find_limit(struct managed *m)
{
	m->reported.killed_by = whose(m, &m->reported.killed_at);
	if (m->reported.killed_by != NULL && m->reported.killed_by != POD)
		control_spared(&m->control, m->wake->now);
	else if (m->reported.killed_by == POD || oom_seen_at(m->reported.ooms.own_at, m->wake->now))
		control_limit_full(&m->control, m->wake->now);
}

void oom_check_gone(struct managed *m)
{
	m->reported.killed_by = full_above(m, m->cgroup.lost_at, &m->reported.killed_at);
	if (m->reported.killed_by != NULL)
		control_spared(&m->control, m->wake->now);
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
	find_limit(m);
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
