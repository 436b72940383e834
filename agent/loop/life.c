// SPDX-License-Identifier: Apache-2.0
#include "agent/loop/life.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"
#include "cgroup/kubepods.h"
#include "cgroup/levels.h"
#include <string.h>

static void on_removed(struct unit_table *t, uint64_t id)
{
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		if (m->cgroup.cg == NULL ||
		    (cg_id(m->cgroup.cg) != id && cg_inner_id(m->cgroup.cg) != id))
			continue;
		if (cg_id(m->cgroup.cg) == id)
			managed_lost(m);
		else
			managed_check_levels(m);
		return;
	}
}

/* PID 1 reports the units that it starts; the runtime does not report containers. path NULL: it is
 * not known. */
static void on_made(struct pods *pods, const char *path)
{
	struct kubepods_name name;

	if (path == NULL) {
		pods_scan_again(pods);
		return;
	}
	if (kubepods_parse(path, &name) < 0)
		return;
	for (size_t i = 0; i < pods->count; i++)
		if (strcmp(pods->items[i]->spec->cgroup_uid, name.uid) == 0)
			pod_scan_again(pods->items[i]);
}

static void on_life_event(void *ctx, const struct cg_life_event *e)
{
	struct unit_table *t = ctx;

	if (e->what == CG_LIFE_REMOVED)
		on_removed(t, e->id);
	else
		on_made(t->pods, e->what == CG_LIFE_MADE ? e->path : NULL);
}

int life_events(sd_event_source *, int, uint32_t, void *userdata)
{
	struct unit_table *t = userdata;

	daemon_wake(t->wake);
	cg_life_drain(t->reader->life, on_life_event, t);
	pods_scan(t->pods);
	return 0;
}
