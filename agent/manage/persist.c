// SPDX-License-Identifier: Apache-2.0
/* History and original values on disk: the files, the records, and what of them an entry knows. */
#include "agent/manage/persist.h"
#include "agent/base/file.h"
#include "agent/base/process.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/metrics/counters.h"
#include "policy/base/base.h"
#include "policy/control/control.h"
#include "systemd/unit_dropin.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file that exists while the records are not complete, for a restart in that time. */
#define LOST_FILE "originals-lost"
/* A save that takes longer is reported. */
#define SAVE_LATE_USEC (30 * USEC_PER_SEC)

/* Without the mark no record may go to disk: the next start would take them for all. */
static int mark_make_due(struct records *records)
{
	OWN(drop_fd) int fd = -1;
	int r;

	if (!records->lost_mark_due)
		return 0;
	fd = openat(records->dir, LOST_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = fd < 0 || fsync(fd) < 0 || fsync(records->dir) < 0 ? -errno : 0;
	message_save(LOST_FILE, r, &records->lost_mark_error);
	records->lost_mark_due = r < 0;
	return r;
}

/* Once all records are on disk. */
static void mark_end_due(struct records *records)
{
	int r;

	if (!records->lost_mark_ends || records->on_disk != records->changes)
		return;
	r = unlinkat(records->dir, LOST_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
	records->lost_mark_ends = false;
	message_save(LOST_FILE, r, &records->lost_mark_error);
	if (r < 0)
		return;
	records->originals_lost = false;
	records->lost_mark_due = false;
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

int persist_put(struct records *r, struct baseline *b)
{
	int result;

	/* A trial may lower it at any time: any process that finds this record may lift it. */
	b->high = BASELINE_HIGH_LOWERED;
	b->high_before = b->limits.mem_high;
	b->saved_realtime_usec = r->units->wake->now_real;
	result = baseline_put(&r->baselines, b);
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
	records->loaded = r == 0;
	records->lost_mark_due =
		r < 0 && config_cluster_wanted(&records->units->config->kubernetes);
	records->originals_lost = records->lost_mark_due || faccessat(records->dir, LOST_FILE, F_OK,
								      AT_SYMLINK_NOFOLLOW) == 0;
	(void)mark_make_due(records);
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
	message_save(name, r, &records->save_error);
	if (r == 0) {
		records->units->tally->saves++;
		records->saved_real = records->units->wake->now_real;
		if (!records->failed)
			snprintf(records->result, sizeof records->result, "ok");
		return;
	}
	records->units->tally->saves_failed++;
	snprintf(records->result, sizeof records->result, "%s: %s", name, strerror(-r));
}

/* Every unit whose record is on disk may be written to. True: one more than before. */
static bool mark_saved(struct records *r)
{
	bool more = false;

	UNITS_FOREACH (m, r->units) {
		bool before = m->originals.saved;

		m->originals.saved =
			m->record != NULL && (before || m->originals.change <= r->on_disk);
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

/* On a node that is not supported nothing was loaded: the file is all there is. */
static bool may_save(const struct records *r)
{
	return r->units->host->unsupported == NULL && !r->abandoned;
}

/* Copies the records to the runtime folder when they were changed since. That folder is in memory:
 * what is sent to the API server is there before it goes out, and in the state folder when the disk
 * has it. A failure is reported and tried again. */
void persist_lift_copy(struct records *r)
{
	OWN(drop_free) char *text = NULL;
	OWN(drop_fd) int dir = -1;
	size_t len;
	int result;

	if (!r->lift_copy_due || !may_save(r))
		return;
	dir = open(r->units->config->paths.runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	result = dir < 0 ? -errno : baseline_encode(&r->baselines, &text, &len);
	if (result == 0)
		result = state_file_save(dir, &baseline_lift, text, len);
	/* An old copy would be taken for the newest. */
	if (result < 0 && dir >= 0)
		unlinkat(dir, baseline_lift.name, 0);
	r->lift_copy_due = result < 0;
	message_save(baseline_lift.name, result, &r->lift_copy_error);
}

void persist_baselines(struct records *records)
{
	struct save save = {.files = {&baseline_state, &baseline_copy}};
	int r;

	if (!may_save(records))
		return;
	persist_lift_copy(records);
	r = mark_make_due(records);
	if (saver_busy(&records->saver, SAVE_ORIGINALS)) {
		if (records->units->wake->now - records->given_at > SAVE_LATE_USEC)
			baselines_failed(records, -ETIMEDOUT);
		return;
	}
	if (!persist_is_dirty(records))
		return;
	if (r == 0)
		r = baseline_encode(&records->baselines, &save.body, &save.len);
	if (r == 0)
		r = saver_put(&records->saver, SAVE_ORIGINALS, records->dir, &save);
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
	if (result == 0 && r->result[0] != '\0' && r->save_error == 0)
		snprintf(r->result, sizeof r->result, "ok");
	r->failed = result < 0;
	r->units->tally->saves_failed += r->failed;
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
	if (saver_take(s, SAVE_ROLLOUTS, &r)) {
		if (r < 0 && !records->rollouts_failed)
			event_tell(EVENT_STATE_UNSAVED, .file = rollout_state.name, .error = r);
		records->rollouts_failed = r < 0;
	}
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

static void give_history(struct records *records)
{
	struct save save = {.files = {&history_state}};
	int r;

	/* It is still being written. */
	if (saver_busy(&records->saver, SAVE_HISTORY)) {
		records->next_save = records->units->wake->now + USEC_PER_SEC;
		return;
	}
	if (history_store_prune(&records->histories, records->units->wake->now_real) &&
	    !records->history_full) {
		records->history_full = true;
		event_tell(EVENT_HISTORY_FULL, .count = HISTORY_GONE_MAX);
	}
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
	UNITS_FOREACH (m, records->units)
		if (m->cgroup.cg != NULL)
			persist_keep_history(m);
	give_history(records);
	/* What is live is in the table of units: a second copy in the store is only memory. */
	UNITS_FOREACH (m, records->units)
		if (m->cgroup.cg != NULL && m->history_key != NULL)
			history_store_remove(&records->histories, m->history_key);
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

/* --- the records of original values: made, changed, removed; persist_baselines() saves them --- */

/* The kubelet's present cpuCFSQuotaPeriod. */
static void follow_period(struct baseline *b, uint64_t period_usec)
{
	struct unit_props p;

	if (b->limits.cpu_period_usec == period_usec)
		return;
	b->limits.cpu_quota_usec =
		cpu_quota_exact(limit_amount(&b->limits, RESOURCE_CPU), period_usec);
	b->limits.cpu_period_usec = period_usec;
	b->cpu_stood_usec = 0;
	p = props_of_limits(&b->limits);
	unit_props_merge(&b->props, &p, UNIT_PROP_CPU_QUOTA);
}

/* Where a container runs now, for a restore without the daemon. */
void persist_follow(const struct managed *m, uint64_t period_usec)
{
	struct baseline b;

	if (m->record == NULL || m->pod == NULL)
		return;
	b = *m->record;
	if (b.cgroup != NULL && strcmp(b.cgroup, m->cgroup.path) == 0 &&
	    b.cgroup_inode == cg_id(m->cgroup.cg))
		return;
	follow_period(&b, period_usec);
	b.cgroup = m->cgroup.path;
	b.unit = m->unit;
	b.shown = m->name;
	b.cgroup_inode = cg_id(m->cgroup.cg);
	if (baseline_put(&m->records->baselines, &b) == 0)
		persist_changed(m->records);
}

void persist_baseline(struct managed *m, const struct arrival *a)
{
	struct baseline b = {
		.key = m->key,
		.limits = m->control.original,
		.props = a->props,
		.cgroup_inode = cg_id(m->cgroup.cg),
		.cgroup = m->pod != NULL ? m->cgroup.path : NULL,
		.unit = m->pod != NULL ? m->unit : NULL,
		.shown = m->pod != NULL ? m->name : NULL,
		.holder = &m->record,
		.cpu_stood_usec = a->cpu_stood_usec,
	};
	int r;

	if (m->record != NULL)
		return;
	if (m->kind == UNIT_KIND_CONTAINER)
		memcpy(b.request, pod_spec_of(m)->spec.request, sizeof b.request);
	if (m->unit != NULL)
		unit_dropin_find("", m->unit, &b.dropins);
	r = persist_put(m->records, &b);
	if (r < 0)
		message_unsaved_baseline(m->table, r);
	persist_property(m);
	m->originals.change = m->records->changes;
}

void persist_level(struct managed *m, const struct limits *was)
{
	struct baseline b = {
		.key = m->key,
		.limits = *was,
		.props = m->unit != NULL ? props_of_limits(was) : PROPS_NONE,
		.shown = m->name,
		.holder = &m->record,
	};

	(void)persist_put(m->records, &b);
}

static void forget(struct records *r, struct baseline *b)
{
	baseline_remove(&r->baselines, b);
	persist_changed(r);
}

void persist_forget(const struct managed *m)
{
	if (m->record != NULL)
		forget(m->records, m->record);
}

void persist_left_cgroup(const struct managed *m)
{
	struct baseline *b = m->record;

	if (b == NULL)
		return;
	free(STEAL(b->cgroup));
	free(STEAL(b->unit));
	b->cgroup_inode = 0;
	persist_changed(m->records);
}

void persist_external_high(const struct managed *m, uint64_t mem_high)
{
	struct baseline *b = m->record;

	if (b == NULL || b->high_before == mem_high)
		return;
	b->high_before = mem_high;
	persist_changed(m->records);
}

bool persist_boost_base(struct managed *m, uint64_t milli)
{
	if (m->record == NULL || m->record->boost_base_milli == milli)
		return false;
	m->record->boost_base_milli = milli;
	persist_changed(m->records);
	m->originals.boost_change = m->records->changes;
	return milli != 0;
}

bool persist_has_boost_base(const struct managed *m)
{
	return m->originals.boost_change <= m->records->on_disk;
}

void persist_adopted(const struct managed *m, enum resource r)
{
	persist_owners(m, r, &m->control.original);
}

void persist_owners(const struct managed *m, enum resource r, const struct limits *o)
{
	/* A pod's owner changes the spec, and the runtime sends systemd the same value. */
	struct unit_props stored = m->pod != NULL ? props_of_limits(o) : m->properties.stored;
	uint32_t props = props_of_resource(r), dropins = 0;
	struct baseline *b = m->record;

	if (b == NULL)
		return;
	if (r == RESOURCE_CPU) {
		b->limits.cpu_quota_usec = o->cpu_quota_usec;
		b->limits.cpu_period_usec = o->cpu_period_usec;
		b->cpu_stood_usec = 0;
	} else {
		b->limits.mem_max = o->mem_max;
		b->limits.mem_high = o->mem_high;
		b->high_before = o->mem_high;
	}
	unit_props_merge(&b->props, &stored, props);
	/* The owner's drop-ins replaced vscaled's: a restore leaves them where they are. He may
	 * have none: a changed unit file would not count beside one. */
	if (m->unit != NULL)
		unit_dropin_find("", m->unit, &dropins);
	b->dropins = (b->dropins & ~props) | (dropins & props);
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_adopted_request(const struct managed *m, enum resource r, uint64_t value)
{
	struct baseline *b = m->record;

	if (b == NULL || b->request[r] == value)
		return;
	b->request[r] = value;
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_stored(const struct managed *m)
{
	struct baseline *b = m->record;

	if (b == NULL || m->originals.touched ||
	    unit_props_equal(&b->props, &m->properties.stored, UNIT_PROP_ALL))
		return;
	b->props = m->properties.stored;
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_ratified(const struct managed *m, bool ratified)
{
	struct baseline *b = m->record;

	if (b == NULL || b->ratified == ratified)
		return;
	b->ratified = ratified;
	persist_changed(m->records);
}

void persist_sent(const struct managed *m, enum resource r, uint64_t sent, uint64_t over)
{
	struct baseline *b = m->record;

	if (b == NULL || (b->sent[r] == sent && b->sent_over[r] == over))
		return;
	if (b->sent[r] != sent)
		b->sent_before[r] = b->sent[r];
	b->sent[r] = sent;
	b->sent_over[r] = over;
	persist_changed(m->records);
}

void persist_none_late(const struct managed *m)
{
	struct baseline *b = m->record;

	for (enum resource r = 0; b != NULL && r < RESOURCE_COUNT; r++)
		if (b->sent_before[r] != 0 && b->sent[r] == b->sent_over[r]) {
			b->sent_before[r] = 0;
			persist_changed(m->records);
		}
}

void persist_property(const struct managed *m)
{
	const struct managed_properties *p = &m->properties;
	const struct unit_props *from[] = {&p->sent, &p->in_flight, &p->stored};
	struct baseline *b = m->record;
	bool known = b != NULL && b->sent_over[RESOURCE_CPU] != 0;

	if (b == NULL || m->pod != NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		uint64_t *to = (uint64_t *[]){b->sent, b->sent_before, b->sent_over}[i];

		to[RESOURCE_CPU] = props_milli(from[i]);
		to[RESOURCE_MEMORY] = from[i]->mem_max;
	}
	strcpy(b->boot_id, m->host->boot_id);
	/* Like PID 1 the runtime folder forgets it with a reboot. */
	m->records->lift_copy_due = true;
	if (!known)
		persist_changed(m->records);
}

bool persist_property_external(const struct managed *m, enum resource r,
			       const struct unit_props *stored)
{
	const struct baseline *b = m->record;
	uint64_t now = r == RESOURCE_CPU ? props_milli(stored) : stored->mem_max;
	uint64_t was = r == RESOURCE_CPU ? props_milli(&b->props) : b->props.mem_max;

	if (b->sent_over[r] == 0 || limit_same(r, now, was))
		return false;
	return !limit_same(r, now, b->sent[r]) && !limit_same(r, now, b->sent_before[r]) &&
	       !limit_same(r, now, b->sent_over[r]);
}

uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = m->record;

	return b != NULL && b->request[r] != 0 ? b->request[r] : present;
}

uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = m->record;

	if (b == NULL)
		return present;
	return limit_amount(&b->limits, r);
}

/* Of the pod or of a container of it; NULL: none. */
static struct baseline *record_of_pod(const struct records *r, const char *uid)
{
	size_t len = strlen(uid);

	for (size_t i = 0; i < r->baselines.count; i++) {
		const char *pod = baseline_pod(&r->baselines.items[i]);

		if (pod != NULL && strncmp(pod, uid, len) == 0 && strchr("/", pod[len]) != NULL)
			return &r->baselines.items[i];
	}
	return NULL;
}

bool persist_has_pod(const struct records *records, const char *uid)
{
	return record_of_pod(records, uid) != NULL;
}

struct baseline *persist_container(const struct pod *p, const struct kube_container *c)
{
	char key[RECORD_NAME_MAX];

	pod_key(p->uid, c->name, key);
	return baseline_find(&p->pods->records->baselines, key);
}

void persist_forget_pod(struct records *records, const char *uid)
{
	struct baseline *b;

	while ((b = record_of_pod(records, uid)) != NULL)
		forget(records, b);
}

/* --- a unit's history: taken from the store, or from a sibling, at its start; put back for the
 * next save --- */

/* So long does mode Initial wait for an answer of the API server (cluster_kin.c,
 * cluster_lists.c). */
#define FACTS_WAIT_USEC (30 * USEC_PER_SEC)

static usec_t later(usec_t wait_usec, usec_t now)
{
	return wait_usec == 0 ? 0 : now + wait_usec;
}

static usec_t left(usec_t until, usec_t now)
{
	return until > now ? until - now : 0;
}

void persist_history_key(const struct kube_pod *pod, const char *container, char *ret)
{
	snprintf(ret, RECORD_NAME_MAX, "%s/%s/%s/%s", pod->namespace, kube_pod_kind(pod),
		 pod->workload, container);
}

static usec_t observed(const struct history *h)
{
	return add_sat(h->observed_usec[RESOURCE_CPU], h->observed_usec[RESOURCE_MEMORY]);
}

/* Of the live copies of one workload's history the one with most samples is kept: each began as a
 * copy, so that adding them up would count the common part several times. */
const struct managed *persist_best_live(const struct unit_table *t, const char *history_key,
					const struct managed *but)
{
	const struct managed *best = NULL;

	UNITS_FOREACH (s, t) {
		if (s == but || s->cgroup.cg == NULL || s->history_key == NULL ||
		    s->control.history.samples == 0 || strcmp(s->history_key, history_key) != 0)
			continue;
		if (best == NULL ||
		    observed(&s->control.history) > observed(&best->control.history))
			best = s;
	}
	return best;
}

int persist_recommend(const struct records *records, const char *history_key,
		      struct recommendation *ret, uint64_t *ret_samples)
{
	const struct tuning_history *t = &records->units->config->tuning.history;
	OWN(history_record_drop) struct history_record rec = {0};
	int r = history_store_get(&records->histories, history_key, t, &rec);

	if (r < 0)
		return r;
	history_recommend(&rec.history, t, 1, ret);
	*ret_samples = rec.history.samples;
	return 0;
}

/* A further pod of a workload begins with what is known of the others on this node. */
static bool adopt_sibling(struct managed *m)
{
	const struct managed *s = m->kind == UNIT_KIND_CONTAINER
					  ? persist_best_live(m->table, m->history_key, m)
					  : NULL;
	struct control_past past;

	if (s == NULL || m->control.history.samples > 0 ||
	    history_copy(&s->control.history, &past.history) < 0)
		return false;
	past.cpu_floor = s->control.cpu.floor;
	past.mem_floor = s->control.mem.floor;
	past.backoff_usec = s->control.mem.backoff_usec;
	past.backoff_until = s->control.mem.backoff_until;
	control_set_past(&m->control, &past);
	return true;
}

static void take(struct managed *m, const struct history_record *rec)
{
	struct control *c = &m->control;
	const struct control_past past = {
		.history = rec->history,
		.cpu_floor = rec->floor[RESOURCE_CPU],
		.mem_floor = rec->floor[RESOURCE_MEMORY],
		.backoff_usec = rec->backoff[RESOURCE_MEMORY].span_usec,
		/* No longer than it was, whatever the clock said. */
		.backoff_until = later(MIN(left(rec->backoff[RESOURCE_MEMORY].until_realtime_usec,
						m->wake->now_real),
					   rec->backoff[RESOURCE_MEMORY].span_usec),
				       m->wake->now),
	};

	control_set_past(c, &past);
	/* Saved under a wall clock that ran ahead of today's. */
	if (rec->seen_realtime_usec > m->wake->now_real + USEC_PER_HOUR)
		control_shift_clock(c, (int64_t)(m->wake->now_real - rec->seen_realtime_usec));
}

void persist_adopt_history(struct managed *m)
{
	struct history_record rec;

	if (m->history_key == NULL)
		return;
	if (m->kind == UNIT_KIND_CONTAINER && m->pod->spec->owned)
		control_await_facts(&m->control, m->wake->now + FACTS_WAIT_USEC);
	if (adopt_sibling(m))
		return;
	if (history_store_get(&m->records->histories, m->history_key, &m->config->tuning.history,
			      &rec) == 0)
		take(m, &rec);
}

void persist_keep_history(const struct managed *m)
{
	const struct control *c = &m->control;
	struct history_record rec = {
		.seen_realtime_usec = m->wake->now_real,
		.history = c->history,
		.floor = {[RESOURCE_CPU] = c->cpu.floor, [RESOURCE_MEMORY] = c->mem.floor},
		.backoff[RESOURCE_MEMORY] =
			{
				.span_usec = c->mem.backoff_usec,
				.until_realtime_usec =
					later(left(c->mem.backoff_until, m->wake->now),
					      m->wake->now_real),
			},
	};
	OWN(history_record_drop) struct history_record old = {0};

	/* A kill before the first sample is known, too. */
	if (c->history.first_real == 0 || m->history_key == NULL)
		return;
	/* Another pod of the workload may have left more. */
	if (m->kind == UNIT_KIND_CONTAINER &&
	    history_store_get(&m->records->histories, m->history_key, &m->config->tuning.history,
			      &old) == 0 &&
	    observed(&old.history) > observed(&c->history)) {
		rec = old;
		rec.seen_realtime_usec = m->wake->now_real;
	}
	history_store_put(&m->records->histories, m->history_key, &rec);
}

/* --- what is known of the original limits of one entry --- */

void originals_begin(struct managed *m, const struct baseline *record, bool touched)
{
	const struct records *r = m->records;

	m->originals.change = r->changes;
	m->originals.saved = record != NULL && r->on_disk == r->changes;
	m->originals.recorded = record != NULL;
	m->originals.touched = touched;
	m->originals.boost_change = r->on_disk == r->changes ? 0 : r->changes;
}

void originals_forget(struct managed *m)
{
	m->originals.saved = false;
	m->originals.touched = false;
}

void originals_set_touched(struct managed *m, bool touched)
{
	m->originals.touched = touched;
}

void originals_set_trust(struct managed *m, enum originals_trust trust)
{
	m->originals.trust = trust;
}

/* --- memory.high that a trial or the brake lowered is set back first at the start and last at the
 * end. The records are in the runtime folder too (persist_lift_copy()), for a start with an empty
 * state folder: else what a killed agent left would be taken for the owner's. --- */

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
	bool unit = baseline_unit(newer) != NULL;

	/* Of a unit that was restored nothing is known. */
	if (b == NULL || (unit && b->sent_over[RESOURCE_CPU] == 0) ||
	    (b->ratified == newer->ratified && strcmp(b->boot_id, newer->boot_id) == 0 &&
	     memcmp(b->sent, newer->sent, sizeof b->sent) == 0 &&
	     memcmp(b->sent_before, newer->sent_before, sizeof b->sent_before) == 0 &&
	     memcmp(b->sent_over, newer->sent_over, sizeof b->sent_over) == 0))
		return;
	b->ratified = newer->ratified;
	strcpy(b->boot_id, newer->boot_id);
	memcpy(b->sent, newer->sent, sizeof b->sent);
	memcpy(b->sent_before, newer->sent_before, sizeof b->sent_before);
	memcpy(b->sent_over, newer->sent_over, sizeof b->sent_over);
	persist_changed(r);
}

/* In this boot units may have been sent more than their records on disk say. */
static void forget_sent(struct records *r)
{
	for (size_t i = 0; i < r->baselines.count; i++) {
		struct baseline *b = &r->baselines.items[i];

		if (baseline_unit(b) != NULL && strcmp(b->boot_id, r->units->host->boot_id) == 0)
			memset(b->sent_over, 0, sizeof b->sent_over);
	}
}

void lift_start(struct records *r, const char *runtime_dir, int root)
{
	OWN(baseline_set_free) struct baseline_set copy = {0};
	OWN(drop_fd) int dir = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct restore restore = {.root = root};
	char aside[STATE_ASIDE_MAX];

	r->lift_copy_due = r->baselines.count > 0;
	/* A damaged one counts as absent. */
	if (dir < 0 || baseline_load_kind(dir, &baseline_lift, aside, &copy) < 0) {
		forget_sent(r);
		return;
	}
	if (!r->loaded)
		restore_lift(&restore, &copy);
	for (size_t i = 0; i < copy.count; i++) {
		/* Those of a pod come from its status (pod_recover.c). */
		if (!r->loaded && baseline_unit(&copy.items[i]) != NULL &&
		    baseline_put(&r->baselines, &copy.items[i]) == 0)
			persist_changed(r);
		take_sent(r, &copy.items[i]);
	}
}
