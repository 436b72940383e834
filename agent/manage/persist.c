// SPDX-License-Identifier: Apache-2.0
/* History and original values on disk. */
#include "agent/manage/persist.h"
#include "agent/base/drop.h"
#include "agent/base/footprint.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/lift.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file that exists while the records are not complete, for a restart in that time. */
#define LOST_FILE "originals-lost"

static int mark_make(const struct daemon *d)
{
	OWN(drop_fd)
	int fd = openat(d->records.dir, LOST_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 || fsync(fd) < 0 || fsync(d->records.dir) < 0 ? -errno : 0;
}

/* Reported again only when the error is another one. */
static void mark_result(struct daemon *d, int r)
{
	if (r < 0 && r != d->records.lost_mark_error)
		event_state_unsaved(&(struct daemon_event){.file = LOST_FILE, .error = r});
	d->records.lost_mark_error = r;
}

/* Without the mark no record may go to disk: the next start would take them for all. */
static int mark_make_due(struct daemon *d)
{
	int r = d->records.lost_mark_due ? mark_make(d) : 0;

	if (!d->records.lost_mark_due)
		return 0;
	mark_result(d, r);
	d->records.lost_mark_due = r < 0;
	return r;
}

static void note_lost(struct daemon *d, bool lost)
{
	d->records.originals_lost =
		lost || faccessat(d->records.dir, LOST_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	d->records.lost_mark_due = lost;
	(void)mark_make_due(d);
}

/* All records are on disk. */
static void mark_end(struct daemon *d)
{
	int r = unlinkat(d->records.dir, LOST_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;

	d->records.lost_mark_ends = false;
	mark_result(d, r);
	if (r < 0)
		return;
	d->records.originals_lost = false;
	d->records.lost_mark_due = false;
}

static void mark_end_due(struct daemon *d)
{
	if (d->records.lost_mark_ends && d->records.on_disk == d->records.changes)
		mark_end(d);
}

void persist_originals_found(struct daemon *d)
{
	d->records.lost_mark_ends = true;
	persist_baselines(d);
	mark_end_due(d);
}

void persist_init(struct records *r)
{
	*r = (struct records){.dir = -1};
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

void persist_use_folder(struct daemon *d, int fd)
{
	struct records *r = &d->records;

	if (r->dir >= 0) {
		close(r->dir);
		persist_changed(r);
		r->lost_mark_due = r->originals_lost;
		r->next_save = d->wake.now;
	}
	r->dir = fd;
}

int persist_load(struct daemon *d)
{
	char aside[STATE_ASIDE_MAX] = "";
	int r = baseline_load(d->records.dir, aside, &d->records.baselines);

	if (aside[0] != '\0' || (r < 0 && r != -ENOENT))
		event_state_damaged(&(struct daemon_event){
			.file = baseline_state.name, .detail = aside, .error = r});
	if (r == -ENOMEM)
		return r;
	note_lost(d, r < 0 && config_cluster_wanted(&d->config.kubernetes));
	aside[0] = '\0';
	r = history_load(d->records.dir, aside, &d->records.histories);
	if (r < 0 && r != -ENOENT)
		event_state_damaged(&(struct daemon_event){
			.file = history_state.name, .detail = aside, .error = r});
	d->records.next_save = d->wake.now + d->config.clocks.state_usec;
	return r == -ENOMEM ? r : 0;
}

/* --- saving --- */

static void save_result(struct daemon *d, const char *name, int r)
{
	bool changed = r != d->records.save_error;

	d->records.save_error = r;
	counters_saved(&d->tally, r == 0);
	if (r == 0) {
		snprintf(d->records.result, sizeof d->records.result, "ok");
		d->records.saved_real = d->wake.now_real;
		return;
	}
	snprintf(d->records.result, sizeof d->records.result, "%s: %s", name, strerror(-r));
	if (changed)
		event_state_unsaved(&(struct daemon_event){.file = name, .error = r});
}

/* Every unit whose record is on disk may be written to. True: one more than before. */
static bool mark_saved(struct daemon *d)
{
	const struct records *r = &d->records;
	bool more = false;

	for (size_t i = 0; i < d->units.count; i++) {
		struct managed *m = d->units.items[i];
		bool before = m->originals.saved;

		m->originals.saved = baseline_find(&r->baselines, m->key) != NULL &&
				     (before || m->originals.change <= r->on_disk);
		m->originals.unsaved_reported &= !m->originals.saved;
		more |= m->originals.saved && !before;
	}
	return more;
}

static void baselines_failed(struct daemon *d, int error)
{
	message_unsaved_baseline(d, error);
	snprintf(d->records.result, sizeof d->records.result, "%s: %s", baseline_state.name,
		 strerror(-error));
}

static int give_baselines(struct records *r)
{
	struct save save = {.files = {&baseline_state, &baseline_copy}};
	int error = baseline_encode(&r->baselines, &save.body, &save.len);

	return error < 0 ? error : saver_put(&r->saver, SAVE_ORIGINALS, r->dir, &save);
}

void persist_baselines(struct daemon *d)
{
	struct records *records = &d->records;
	int r;

	/* On a node that is not supported nothing was loaded: the file is all there is. */
	if (d->host.unsupported != NULL)
		return;
	lift_keep(records, d->config.paths.runtime_dir);
	r = mark_make_due(d);
	if (!persist_is_dirty(records) || saver_busy(&records->saver, SAVE_ORIGINALS))
		return;
	if (r == 0)
		r = give_baselines(records);
	if (r < 0) {
		baselines_failed(d, r);
		return;
	}
	records->given = records->changes;
	persist_saved(d);
}

static bool baselines_saved(struct daemon *d, int result)
{
	struct records *r = &d->records;

	if (result < 0) {
		r->given = r->on_disk;
		baselines_failed(d, result);
		return false;
	}
	r->on_disk = r->given;
	mark_end_due(d);
	return mark_saved(d);
}

bool persist_saved(struct daemon *d)
{
	struct saver *s = &d->records.saver;
	bool more = false;
	int r;

	if (saver_take(s, SAVE_HISTORY, &r))
		save_result(d, history_state.name, r);
	if (saver_take(s, SAVE_ORIGINALS, &r))
		more = baselines_saved(d, r);
	return more;
}

int persist_restore(struct daemon *d, const struct restore *how, const char *name,
		    restore_each_fn *each, void *arg)
{
	int r = restore_set(how, &d->records.baselines, name, each, arg);

	if (r >= 0) {
		persist_changed(&d->records);
		persist_baselines(d);
	}
	return r;
}

/* What is live is in the table of units: a second copy in the store is only memory. */
static void forget_live(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++)
		if (d->units.items[i]->cgroup.cg != NULL && d->units.items[i]->history_key != NULL)
			history_store_remove(&d->records.histories, d->units.items[i]->history_key);
}

static void give_history(struct daemon *d)
{
	struct records *records = &d->records;
	struct save save = {.files = {&history_state}};
	int r;

	/* It is still being written: the next save has it. */
	if (saver_busy(&records->saver, SAVE_HISTORY))
		return;
	history_store_prune(&records->histories, d->wake.now_real);
	r = history_encode(&records->histories, &save.body, &save.len);
	if (r == 0)
		r = saver_put(&records->saver, SAVE_HISTORY, records->dir, &save);
	if (r < 0)
		save_result(d, history_state.name, r);
	persist_saved(d);
}

void persist_save(struct daemon *d)
{
	if (d->host.unsupported != NULL)
		return;
	d->records.next_save = d->wake.now + d->config.clocks.state_usec;
	for (size_t i = 0; i < d->units.count; i++)
		if (d->units.items[i]->cgroup.cg != NULL)
			persist_keep_history(d, d->units.items[i]);
	give_history(d);
	forget_live(d);
	persist_baselines(d);
	/* The text of all records is the largest allocation. */
	footprint_trim();
}

void persist_end(struct daemon *d)
{
	saver_stop(&d->records.saver);
	persist_saved(d);
	persist_save(d);
}
