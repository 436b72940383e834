// SPDX-License-Identifier: Apache-2.0
/*
 * A memory.high that a trial or the brake lowered: it is set back first at the start and last at
 * the end. Every record has the value to restore; the records are kept in the runtime folder too,
 * for a start that finds the state folder empty. Without them a memory.high that a killed agent
 * left would be taken for the owner's, and limit the container for good. Cgroups and that folder
 * end with the same reboot, and a record names its cgroup by its inode.
 */
#include "agent/manage/lift.h"
#include "agent/base/drop.h"
#include "agent/manage/daemon_state.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int runtime_open(const struct daemon *d)
{
	int fd = open(d->config.paths.runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void lift_all(struct daemon *d)
{
	struct restore r = {.root = d->host.root};

	/* Every record says "lowered", on disk too: a trial may lower memory.high at any time, and
	 * after a crash any process that finds the record may lift it. */
	for (size_t i = 0; i < d->records.baselines.count; i++) {
		d->records.dirty |= d->records.baselines.items[i].high != BASELINE_HIGH_LOWERED;
		d->records.baselines.items[i].high = BASELINE_HIGH_LOWERED;
	}
	restore_lift(&r, &d->records.baselines);
	for (size_t i = 0; i < d->records.baselines.count; i++)
		d->records.baselines.items[i].high = BASELINE_HIGH_LOWERED;
}

void lift_lost(struct daemon *d)
{
	OWN(baseline_set_free) struct baseline_set lost = {0};
	OWN(drop_fd) int dir = -1;
	struct restore r = {.root = d->host.root};

	d->records.lift_copy_due = d->records.baselines.count > 0;
	if (d->records.baselines.count > 0)
		return;
	dir = runtime_open(d);
	if (dir < 0 || baseline_load_lift(dir, &lost) < 0)
		return;
	restore_lift(&r, &lost);
}

void lift_keep(struct daemon *d)
{
	OWN(drop_fd) int dir = -1;
	int r;

	if (!d->records.lift_copy_due)
		return;
	r = dir = runtime_open(d);
	if (dir >= 0)
		r = baseline_save_lift(dir, &d->records.baselines);
	d->records.lift_copy_due = r < 0;
	if (r < 0 && r != d->records.lift_copy_error)
		event_state_unsaved(&(struct daemon_event){.file = baseline_lift.name, .error = r});
	d->records.lift_copy_error = MIN(r, 0);
}
