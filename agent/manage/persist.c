// SPDX-License-Identifier: Apache-2.0
/* History and original values on disk. */
#include "agent/manage/persist.h"
#include "agent/base/drop.h"
#include "agent/base/footprint.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/lift.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "systemd/unit_sync.h"
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

void persist_originals_found(struct daemon *d)
{
	int r;

	persist_baselines(d);
	if (d->records.dirty)
		return;
	r = unlinkat(d->records.dir, LOST_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
	mark_result(d, r);
	if (r < 0)
		return;
	d->records.originals_lost = false;
	d->records.lost_mark_due = false;
}

void persist_init(struct records *r)
{
	*r = (struct records){.dir = -1};
}

void persist_free(struct records *r)
{
	baseline_set_free(&r->baselines);
	history_store_free(&r->histories);
	drop_fd(&r->dir);
}

int persist_put(struct records *r, const struct baseline *b)
{
	int result = baseline_put(&r->baselines, b);

	r->dirty |= result == 0;
	return result;
}

void persist_use_folder(struct daemon *d, int fd)
{
	struct records *r = &d->records;

	if (r->dir >= 0) {
		close(r->dir);
		r->dirty = true;
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

/* What is live is in the table of units: a second copy in the store is only memory. */
static void forget_live(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++)
		if (d->units.items[i]->cgroup.cg != NULL && d->units.items[i]->history_key != NULL)
			history_store_remove(&d->records.histories, d->units.items[i]->history_key);
}

void persist_save(struct daemon *d)
{
	if (d->host.unsupported != NULL)
		return;
	d->records.next_save = d->wake.now + d->config.clocks.state_usec;
	for (size_t i = 0; i < d->units.count; i++)
		if (d->units.items[i]->cgroup.cg != NULL)
			persist_keep_history(d, d->units.items[i]);
	save_result(d, history_state.name,
		    history_save(d->records.dir, &d->records.histories, d->wake.now_real));
	forget_live(d);
	persist_baselines(d);
	/* The text of all records is the largest allocation. */
	footprint_trim();
}

/* --- original values --- */

/* Where a container runs now, for a restore without the daemon. */
static void follow_cgroup(struct daemon *d, const struct managed *m, struct baseline *old)
{
	struct baseline b = *old;

	if (m->pod == NULL || (b.cgroup != NULL && strcmp(b.cgroup, m->cgroup.path) == 0 &&
			       b.cgroup_inode == cg_id(m->cgroup.cg)))
		return;
	b.cgroup = m->cgroup.path;
	b.unit = m->unit;
	b.shown = m->name;
	b.cgroup_inode = cg_id(m->cgroup.cg);
	d->records.dirty |= baseline_put(&d->records.baselines, &b) == 0;
}

void persist_follow(struct daemon *d, const struct managed *m)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b != NULL)
		follow_cgroup(d, m, b);
}

void persist_baseline(struct daemon *d, struct managed *m, const struct arrival *a)
{
	struct baseline *old = baseline_find(&d->records.baselines, m->key);
	struct baseline b = {0};
	int r;

	if (old != NULL) {
		d->records.dirty |= old->high != BASELINE_HIGH_LOWERED;
		old->high = BASELINE_HIGH_LOWERED;
		follow_cgroup(d, m, old);
		return;
	}
	b = (struct baseline){
		.key = m->key,
		.limits = m->control.original,
		.props = a->props,
		/* A trial may lower it at any time: any process that finds this record may lift
		 * it. */
		.high = BASELINE_HIGH_LOWERED,
		.high_before = m->control.original.mem_high,
		.cgroup_inode = cg_id(m->cgroup.cg),
		.saved_realtime_usec = d->wake.now_real,
		.cgroup = m->pod != NULL ? m->cgroup.path : NULL,
		.unit = m->pod != NULL ? m->unit : NULL,
		.shown = m->pod != NULL ? m->name : NULL,
	};
	if (m->kind == UNIT_KIND_CONTAINER && m->pod != NULL)
		memcpy(b.request,
		       kube_pod_container(m->pod->spec, pod_container_of(m))->spec.request,
		       sizeof b.request);
	snprintf(b.invocation_id, sizeof b.invocation_id, "%s", a->invocation_id);
	if (m->unit != NULL)
		unit_dropin_find("", m->unit, &b.dropins);
	m->originals.boost_base_milli = 0;
	r = baseline_put(&d->records.baselines, &b);
	if (r < 0)
		message_unsaved_baseline(d, r);
	d->records.dirty |= r == 0;
}

void persist_level(struct daemon *d, const struct managed *m, const struct limits *was)
{
	const struct baseline b = {
		.key = m->key,
		.limits = *was,
		.props = m->unit != NULL ? props_of_limits(was) : PROPS_NONE,
		.high = BASELINE_HIGH_LOWERED,
		.high_before = was->mem_high,
		.saved_realtime_usec = d->wake.now_real,
		.shown = m->name,
	};

	d->records.dirty |= baseline_put(&d->records.baselines, &b) == 0;
}

/* Every unit whose record is on disk may be written to. */
static void mark_saved(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++) {
		struct managed *m = d->units.items[i];

		m->originals.saved = baseline_find(&d->records.baselines, m->key) != NULL;
		m->originals.unsaved_reported = false;
	}
}

void persist_baselines(struct daemon *d)
{
	int r;

	/* On a node that is not supported nothing was loaded: the file is all there is. */
	if (d->host.unsupported != NULL)
		return;
	r = mark_make_due(d);
	if (!d->records.dirty) {
		lift_keep(&d->records, d->config.paths.runtime_dir);
		return;
	}
	if (r == 0)
		r = baseline_save(d->records.dir, &d->records.baselines);
	if (r < 0) {
		message_unsaved_baseline(d, r);
		snprintf(d->records.result, sizeof d->records.result, "%s: %s", baseline_state.name,
			 strerror(-r));
		return;
	}
	d->records.dirty = false;
	d->records.lift_copy_due = true;
	lift_keep(&d->records, d->config.paths.runtime_dir);
	mark_saved(d);
}

int persist_restore(struct daemon *d, const struct restore *how, const char *name,
		    restore_each_fn *each, void *arg)
{
	int r = restore_set(how, &d->records.baselines, name, each, arg);

	if (r >= 0) {
		d->records.dirty = true;
		persist_baselines(d);
	}
	return r;
}

bool persist_has(const struct daemon *d, const struct managed *m)
{
	return baseline_find(&d->records.baselines, m->key) != NULL;
}

void persist_forget(struct daemon *d, const struct managed *m)
{
	d->records.dirty |= baseline_remove(&d->records.baselines, m->key);
}

void persist_left_cgroup(struct daemon *d, const struct managed *m)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL)
		return;
	free(STEAL(b->cgroup));
	free(STEAL(b->unit));
	b->cgroup_inode = 0;
	d->records.dirty = true;
}

void persist_external_high(struct daemon *d, const struct managed *m, uint64_t mem_high)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL || b->high_before == mem_high)
		return;
	b->high_before = mem_high;
	d->records.dirty = true;
}

bool persist_boost_base(struct daemon *d, struct managed *m, uint64_t milli)
{
	struct baseline *b;

	if (m->originals.boost_base_milli == milli)
		return false;
	b = baseline_find(&d->records.baselines, m->key);
	if (b == NULL)
		return false;
	b->boost_base_milli = m->originals.boost_base_milli = milli;
	d->records.dirty = true;
	return milli != 0;
}

void persist_adopted(struct daemon *d, const struct managed *m, enum resource r)
{
	const struct limits *o = &m->control.original;
	/* A pod's owner changes the spec, and the runtime sends systemd the same value. */
	struct unit_props stored = m->pod != NULL ? props_of_limits(o) : m->properties.stored;
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL)
		return;
	if (r == RESOURCE_CPU) {
		b->limits.cpu_quota_usec = o->cpu_quota_usec;
		b->limits.cpu_period_usec = o->cpu_period_usec;
		unit_props_merge(&b->props, &stored, UNIT_PROP_CPU_QUOTA);
	} else {
		b->limits.mem_max = o->mem_max;
		b->limits.mem_high = o->mem_high;
		b->high_before = o->mem_high;
		unit_props_merge(&b->props, &stored, UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH);
	}
	/* The owner's drop-ins replaced vscaled's: a restore leaves them where they are. */
	b->dropins |=
		r == RESOURCE_CPU ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH;
	d->records.dirty = true;
	persist_baselines(d);
}

void persist_adopted_request(struct daemon *d, const struct managed *m, enum resource r,
			     uint64_t value)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL || b->request[r] == value)
		return;
	b->request[r] = value;
	d->records.dirty = true;
	persist_baselines(d);
}

void persist_stored(struct daemon *d, const struct managed *m)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL || m->originals.touched ||
	    unit_props_equal(&b->props, &m->properties.stored, UNIT_PROP_ALL))
		return;
	b->props = m->properties.stored;
	d->records.dirty = true;
	persist_baselines(d);
}

void persist_ratified(struct daemon *d, const struct managed *m, bool ratified)
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL || b->ratified == ratified)
		return;
	b->ratified = ratified;
	d->records.dirty = true;
}

void persist_sent(struct daemon *d, const struct managed *m, const uint64_t sent[RESOURCE_COUNT],
		  const uint64_t over[RESOURCE_COUNT])
{
	struct baseline *b = baseline_find(&d->records.baselines, m->key);

	if (b == NULL || (memcmp(b->sent, sent, sizeof b->sent) == 0 &&
			  memcmp(b->sent_over, over, sizeof b->sent_over) == 0))
		return;
	memcpy(b->sent, sent, sizeof b->sent);
	memcpy(b->sent_over, over, sizeof b->sent_over);
	d->records.dirty = true;
}

void persist_last_sent(const struct managed *m, enum resource r, uint64_t *ret_sent,
		       uint64_t *ret_over)
{
	const struct baseline *b = baseline_find(&m->daemon->records.baselines, m->key);

	*ret_sent = b != NULL ? b->sent[r] : 0;
	*ret_over = b != NULL ? b->sent_over[r] : 0;
}

bool persist_is_ratified(const struct daemon *d, const struct managed *m)
{
	const struct baseline *b = baseline_find(&d->records.baselines, m->key);

	return b != NULL && b->ratified;
}

uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = baseline_find(&m->daemon->records.baselines, m->key);

	return b != NULL && b->request[r] != 0 ? b->request[r] : present;
}

uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = baseline_find(&m->daemon->records.baselines, m->key);

	if (b == NULL)
		return present;
	return limit_amount(&b->limits, r);
}
