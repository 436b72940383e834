// SPDX-License-Identifier: Apache-2.0
/* History and original values on disk. */
#include "agent/manage/persist.h"
#include "agent/base/drop.h"
#include "agent/base/footprint.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file that exists while the records are not complete, for a restart in that time. */
#define LOST_FILE "originals-lost"
/* A save that takes longer is reported. */
#define SAVE_LATE_USEC (30 * USEC_PER_SEC)

static int mark_make(const struct records *records)
{
	OWN(drop_fd)
	int fd = openat(records->dir, LOST_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 || fsync(fd) < 0 || fsync(records->dir) < 0 ? -errno : 0;
}

/* Reported again only when the error is another one. */
static void mark_result(struct records *records, int r)
{
	if (r < 0 && r != records->lost_mark_error)
		event_tell(EVENT_STATE_UNSAVED, .file = LOST_FILE, .error = r);
	records->lost_mark_error = r;
}

/* Without the mark no record may go to disk: the next start would take them for all. */
static int mark_make_due(struct records *records)
{
	int r = records->lost_mark_due ? mark_make(records) : 0;

	if (!records->lost_mark_due)
		return 0;
	mark_result(records, r);
	records->lost_mark_due = r < 0;
	return r;
}

static void note_lost(struct records *records, bool lost)
{
	records->originals_lost =
		lost || faccessat(records->dir, LOST_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	records->lost_mark_due = lost;
	(void)mark_make_due(records);
}

/* All records are on disk. */
static void mark_end(struct records *records)
{
	int r = unlinkat(records->dir, LOST_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;

	records->lost_mark_ends = false;
	mark_result(records, r);
	if (r < 0)
		return;
	records->originals_lost = false;
	records->lost_mark_due = false;
}

static void mark_end_due(struct records *records)
{
	if (records->lost_mark_ends && records->on_disk == records->changes)
		mark_end(records);
}

void persist_originals_found(struct records *records)
{
	records->lost_mark_ends = true;
	persist_baselines(records);
	mark_end_due(records);
}

void persist_init(struct records *r, struct unit_table *units)
{
	*r = (struct records){.units = units, .dir = -1};
	saver_init(&r->saver);
}

void persist_changed(struct records *r)
{
	r->changes++;
	r->lift_copy_due = true;
}

bool persist_is_dirty(const struct records *r)
{
	return r->given != r->changes;
}

void persist_free(struct records *r)
{
	saver_free(&r->saver);
	baseline_set_free(&r->baselines);
	history_store_free(&r->histories);
	drop_fd(&r->dir);
}

int persist_put(struct records *r, const struct baseline *b)
{
	int result = baseline_put(&r->baselines, b);

	if (result == 0)
		persist_changed(r);
	return result;
}

void persist_use_folder(struct records *r, int fd)
{
	if (r->dir >= 0) {
		close(r->dir);
		persist_changed(r);
		r->lost_mark_due = r->originals_lost;
		r->next_save = r->units->wake->now;
		r->folder++;
	}
	r->dir = fd;
}

int persist_load(struct records *records)
{
	char aside[STATE_ASIDE_MAX] = "";
	int r = baseline_load(records->dir, aside, &records->baselines);

	if (aside[0] != '\0' || (r < 0 && r != -ENOENT))
		event_tell(EVENT_STATE_DAMAGED, .file = baseline_state.name, .detail = aside,
			   .error = r);
	if (r == -ENOMEM)
		return r;
	note_lost(records, r < 0 && config_cluster_wanted(&records->units->config->kubernetes));
	aside[0] = '\0';
	r = history_load(records->dir, aside, &records->histories);
	if (r < 0 && r != -ENOENT)
		event_tell(EVENT_STATE_DAMAGED, .file = history_state.name, .detail = aside,
			   .error = r);
	records->next_save = records->units->wake->now + records->units->config->clocks.state_usec;
	return r == -ENOMEM ? r : 0;
}

/* --- saving --- */

static void save_result(struct records *records, const char *name, int r)
{
	bool changed = r != records->save_error;

	records->save_error = r;
	if (r == 0) {
		records->units->tally->saves++;
		snprintf(records->result, sizeof records->result, "ok");
		records->saved_real = records->units->wake->now_real;
		return;
	}
	snprintf(records->result, sizeof records->result, "%s: %s", name, strerror(-r));
	if (changed)
		event_tell(EVENT_STATE_UNSAVED, .file = name, .error = r);
}

/* Every unit whose record is on disk may be written to. True: one more than before. */
static bool mark_saved(struct records *r)
{
	bool more = false;

	for (size_t i = 0; i < r->units->count; i++) {
		struct managed *m = r->units->items[i];
		bool before = m->originals.saved;

		m->originals.saved = baseline_find(&r->baselines, m->key) != NULL &&
				     (before || m->originals.change <= r->on_disk);
		m->originals.unsaved_reported &= !m->originals.saved;
		more |= m->originals.saved && !before;
	}
	return more;
}

static void baselines_failed(struct records *records, int error)
{
	message_unsaved_baseline(records->units, error);
	snprintf(records->result, sizeof records->result, "%s: %s", baseline_state.name,
		 strerror(-error));
}

static int give_baselines(struct records *r)
{
	struct save save = {.files = {&baseline_state, &baseline_copy}};
	int error = baseline_encode(&r->baselines, &save.body, &save.len);

	return error < 0 ? error : saver_put(&r->saver, SAVE_ORIGINALS, r->dir, &save);
}

/* On a node that is not supported nothing was loaded: the file is all there is. */
static bool may_save(const struct records *r)
{
	return r->units->host->unsupported == NULL && !r->abandoned;
}

/* True: a save is under way. One that takes too long is reported. */
static bool is_saving(struct records *r)
{
	if (!saver_busy(&r->saver, SAVE_ORIGINALS))
		return false;
	if (r->units->wake->now - r->given_at > SAVE_LATE_USEC)
		baselines_failed(r, -ETIMEDOUT);
	return true;
}

/* Copies the records to the runtime folder when they were changed since. That folder is in memory:
 * what is sent to the API server is there before it goes out, and in the state folder when the disk
 * has it. A failure is reported and tried again. */
static void keep_lift(struct records *r)
{
	OWN(drop_fd) int dir = -1;
	int result;

	if (!r->lift_copy_due)
		return;
	dir = open(r->units->config->paths.runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	result = dir < 0 ? -errno : baseline_save_lift(dir, &r->baselines);
	/* An old copy would be taken for the newest. */
	if (result < 0 && dir >= 0)
		unlinkat(dir, baseline_lift.name, 0);
	r->lift_copy_due = result < 0;
	if (result < 0 && result != r->lift_copy_error)
		event_tell(EVENT_STATE_UNSAVED, .file = baseline_lift.name, .error = result);
	r->lift_copy_error = MIN(result, 0);
}

void persist_baselines(struct records *records)
{
	int r;

	if (!may_save(records))
		return;
	keep_lift(records);
	r = mark_make_due(records);
	if (is_saving(records) || !persist_is_dirty(records))
		return;
	if (r == 0)
		r = give_baselines(records);
	if (r < 0) {
		baselines_failed(records, r);
		return;
	}
	records->given = records->changes;
	records->given_at = records->units->wake->now;
	records->given_folder = records->folder;
	persist_saved(records);
}

static bool baselines_saved(struct records *r, int result)
{
	r->failed = result < 0;
	if (r->failed)
		baselines_failed(r, result);
	/* What went to a folder that was replaced meanwhile is saved again. */
	if (r->failed || r->given_folder != r->folder) {
		r->given = r->on_disk;
		return false;
	}
	r->on_disk = r->given;
	mark_end_due(r);
	return mark_saved(r);
}

static void rollouts_saved(struct records *r, int result)
{
	if (result < 0 && !r->rollouts_failed)
		event_tell(EVENT_STATE_UNSAVED, .file = rollout_state.name, .error = result);
	r->rollouts_failed = result < 0;
}

int persist_rollouts(struct records *r, const struct rollout_stops *stops)
{
	struct save save = {.files = {&rollout_state}};
	int error;

	if (!may_save(r))
		return 0;
	error = rollout_stops_encode(stops, &save.body, &save.len);
	if (error == 0)
		error = saver_put(&r->saver, SAVE_ROLLOUTS, r->dir, &save);
	if (error == 0)
		r->rollouts_folder = r->folder;
	persist_saved(r);
	return error;
}

bool persist_rollouts_lost(const struct records *r)
{
	return r->rollouts_failed || r->rollouts_folder != r->folder;
}

void persist_load_rollouts(struct records *r, struct rollout_stops *ret)
{
	char aside[STATE_ASIDE_MAX] = "";
	int error = rollout_stops_load(r->dir, aside, ret);

	if (error < 0 && error != -ENOENT)
		event_tell(EVENT_STATE_DAMAGED, .file = rollout_state.name, .detail = aside,
			   .error = error);
}

bool persist_saved(struct records *records)
{
	struct saver *s = &records->saver;
	bool more = false;
	int r;

	if (saver_take(s, SAVE_HISTORY, &r))
		save_result(records, history_state.name, r);
	if (saver_take(s, SAVE_ROLLOUTS, &r))
		rollouts_saved(records, r);
	if (saver_take(s, SAVE_ORIGINALS, &r))
		more = baselines_saved(records, r);
	return more;
}

int persist_restore(struct records *records, const struct restore *how, const char *name,
		    restore_each_fn *each, void *arg)
{
	int r = restore_set(how, &records->baselines, name, each, arg);

	if (r >= 0) {
		persist_changed(records);
		persist_baselines(records);
	}
	return r;
}

/* What is live is in the table of units: a second copy in the store is only memory. */
static void forget_live(struct records *records)
{
	for (size_t i = 0; i < records->units->count; i++)
		if (records->units->items[i]->cgroup.cg != NULL &&
		    records->units->items[i]->history_key != NULL)
			history_store_remove(&records->histories,
					     records->units->items[i]->history_key);
}

static void give_history(struct records *records)
{
	struct save save = {.files = {&history_state}};
	int r;

	/* It is still being written. */
	if (saver_busy(&records->saver, SAVE_HISTORY)) {
		records->next_save = records->units->wake->now + USEC_PER_SEC;
		return;
	}
	history_store_prune(&records->histories, records->units->wake->now_real);
	r = history_encode(&records->histories, &save.body, &save.len);
	if (r == 0)
		r = saver_put(&records->saver, SAVE_HISTORY, records->dir, &save);
	if (r < 0)
		save_result(records, history_state.name, r);
	persist_saved(records);
}

void persist_save(struct records *records)
{
	if (!may_save(records))
		return;
	records->next_save = records->units->wake->now + records->units->config->clocks.state_usec;
	for (size_t i = 0; i < records->units->count; i++)
		if (records->units->items[i]->cgroup.cg != NULL)
			persist_keep_history(records->units->items[i]);
	give_history(records);
	forget_live(records);
	persist_baselines(records);
	/* The text of all records is the largest allocation. */
	footprint_trim();
}

void persist_abandon(struct records *records)
{
	records->abandoned = true;
	saver_discard(&records->saver);
}

void persist_end(struct records *records)
{
	saver_stop(&records->saver);
	persist_saved(records);
	persist_save(records);
}
