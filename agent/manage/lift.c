// SPDX-License-Identifier: Apache-2.0
/* memory.high that a trial or the brake lowered is set back first at the start and last at the end.
 * The records are in the runtime folder too (persist.c), for a start with an empty state folder:
 * else what a killed agent left would be taken for the owner's. */
#include "agent/manage/lift.h"
#include "agent/base/drop.h"
#include "agent/manage/persist.h"
#include <fcntl.h>
#include <string.h>

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
	OWN(drop_fd) int dir = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct restore restore = {.root = root};

	r->lift_copy_due = r->baselines.count > 0;
	if (dir < 0 || baseline_load_lift(dir, &copy) < 0)
		return;
	if (r->baselines.count == 0)
		restore_lift(&restore, &copy);
	for (size_t i = 0; i < copy.count; i++)
		take_sent(r, &copy.items[i]);
}
