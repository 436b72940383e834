// SPDX-License-Identifier: Apache-2.0
/* memory.high that a trial or the brake lowered is set back first at the start and last at the end.
 * The records are in the runtime folder too, for a start with an empty state folder: else what a
 * killed agent left would be taken for the owner's. That folder is in memory: what is sent to the
 * API server is there before it goes out, and in the state folder when the disk has it. */
#include "agent/manage/lift.h"
#include "agent/base/drop.h"
#include "agent/journal/event.h"
#include "agent/manage/persist.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int runtime_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void lift_all(struct records *r, int root)
{
	struct restore restore = {.root = root};

	/* Every record says "lowered", on disk too: a trial may lower memory.high at any time, and
	 * after a crash any process that finds the record may lift it. */
	for (size_t i = 0; i < r->baselines.count; i++) {
		if (r->baselines.items[i].high != BASELINE_HIGH_LOWERED)
			persist_changed(r);
		r->baselines.items[i].high = BASELINE_HIGH_LOWERED;
	}
	restore_lift(&restore, &r->baselines);
	for (size_t i = 0; i < r->baselines.count; i++)
		r->baselines.items[i].high = BASELINE_HIGH_LOWERED;
}

static void take_sent(struct records *r, const struct baseline *newer)
{
	struct baseline *b = baseline_find(&r->baselines, newer->key);

	if (b == NULL ||
	    (b->ratified == newer->ratified && memcmp(b->sent, newer->sent, sizeof b->sent) == 0 &&
	     memcmp(b->sent_before, newer->sent_before, sizeof b->sent_before) == 0 &&
	     memcmp(b->sent_over, newer->sent_over, sizeof b->sent_over) == 0))
		return;
	b->ratified = newer->ratified;
	memcpy(b->sent, newer->sent, sizeof b->sent);
	memcpy(b->sent_before, newer->sent_before, sizeof b->sent_before);
	memcpy(b->sent_over, newer->sent_over, sizeof b->sent_over);
	persist_changed(r);
}

void lift_start(struct records *r, const char *runtime_dir, int root)
{
	OWN(baseline_set_free) struct baseline_set copy = {0};
	OWN(drop_fd) int dir = runtime_open(runtime_dir);
	struct restore restore = {.root = root};

	r->lift_copy_due = r->baselines.count > 0;
	if (dir < 0 || baseline_load_lift(dir, &copy) < 0)
		return;
	if (r->baselines.count == 0)
		restore_lift(&restore, &copy);
	for (size_t i = 0; i < copy.count; i++)
		take_sent(r, &copy.items[i]);
}

void lift_keep(struct records *r, const char *runtime_dir)
{
	OWN(drop_fd) int dir = -1;
	int result;

	if (!r->lift_copy_due)
		return;
	result = dir = runtime_open(runtime_dir);
	if (dir >= 0)
		result = baseline_save_lift(dir, &r->baselines);
	/* An old copy would be taken for the newest. */
	if (result < 0 && dir >= 0)
		unlinkat(dir, baseline_lift.name, 0);
	r->lift_copy_due = result < 0;
	if (result < 0 && result != r->lift_copy_error)
		event_state_unsaved(
			&(struct daemon_event){.file = baseline_lift.name, .error = result});
	r->lift_copy_error = MIN(result, 0);
}
