// SPDX-License-Identifier: Apache-2.0
#include "agent/pod/pod_put_back.h"
#include "agent/apply/release.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/pod_guess.h"
#include <string.h>

const char pod_unreachable_why[] =
	"systemd holds its limits and cannot be called: mount /run/systemd (components/systemd)";

bool pod_out_of_reach(const struct managed *m, const char *path)
{
	return m->container.rule.rule.mode != MODE_OFF && scope_out_of_reach(m->pid1, path);
}

/* The cgroup on record; NULL: none. */
static const char *recorded_cgroup(const struct managed *m)
{
	const struct baseline *b = persist_record(m);

	return b != NULL ? b->cgroup : NULL;
}

void pod_put_back(struct managed *m, const char *path)
{
	const char *recorded = recorded_cgroup(m);

	if (!m->hand_back.due && !m->hand_back.done && recorded != NULL &&
	    strcmp(recorded, path) == 0)
		lifecycle_release(m, pod_unreachable_why);
}

static bool has_child(const struct pod_children *all, const char *path)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->item[i].path, path) == 0)
			return true;
	return false;
}

/* Its limits may still be those of an earlier agent, and are not requested back yet. One with mode
 * Off is released, if at all, when it is attached. */
static bool is_awaited(const struct managed *m, const struct pod_children *all)
{
	const char *recorded = recorded_cgroup(m);

	if (recorded == NULL || m->hand_back.due || m->hand_back.done || m->state == UNIT_RESTORED)
		return false;
	return has_child(all, recorded) && (pod_out_of_reach(m, recorded) || m->cgroup.cg == NULL);
}

void pod_put_back_level(struct pod *p, const struct pod_children *all)
{
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL && is_awaited(p->members[i].managed, all))
			return;
	pod_put_back(p->level, p->path);
}
