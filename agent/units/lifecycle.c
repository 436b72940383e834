// SPDX-License-Identifier: Apache-2.0
/* Pause, resume, restore, and handing back a unit that is no longer managed. */
#include "agent/units/lifecycle.h"
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/pods.h"
#include <errno.h>
#include <string.h>

/* The interval of tries to hand back a unit that could not be handed back completely. */
#define HAND_BACK_RETRY_USEC USEC_PER_MIN

/* The event loop is blocked meanwhile: well below the watchdog's minute. */
#define RESTORE_CALL_USEC  (5 * USEC_PER_SEC)
#define RESTORE_TOTAL_USEC (20 * USEC_PER_SEC)
/* After this time, hand-backs continue at the next tick. */
#define HAND_BACK_BUDGET_USEC (5 * USEC_PER_SEC)
/* For a client that requested a restore and is asked to try again. */
#define SETTLING_USEC (3 * USEC_PER_SEC)
/* A call to PID 1 was on its way: the next try. */
#define HAND_BACK_SOON_USEC USEC_PER_SEC

/* --- pause and resume --- */

static void pause_unit(struct managed *m)
{
	boost_end(m);
	m->paused = true;
	unit_update_blocked(m);
}

static void resume_unit(struct managed *m)
{
	bool given_back = managed_state(m) == UNIT_RESTORED;
	bool was_held = m->paused;

	m->paused = false;
	if (given_back || managed_state(m) == UNIT_GAVE_WAY)
		managed_set_reason(m, m->cgroup.cg != NULL ? STATE_SIZING : STATE_NO_CGROUP);
	if (m->originals.trust == ORIGINALS_UNKNOWN) {
		originals_set_trust(m, ORIGINALS_ACCEPTED);
		managed_set_reason(m, STATE_NO_CGROUP);
	}
	control_end_suspension(&m->control);
	drift_forget_writers(m);
	persist_external_high(m, m->control.original.mem_high);
	if (given_back)
		managed_reattach(m);
	else if (was_held)
		managed_adopt_limits(m);
	managed_check_again(m);
}

/* NULL is everything, a pod's name is all of it. */
static bool is_meant(const struct managed *m, const char *name)
{
	return name == NULL || strcmp(m->name, name) == 0 ||
	       (m->pod != NULL && pods_named(m->table->pods, name) == m->pod);
}

/* Applies fn to one unit or all; the number concerned, -ENOENT for an unknown name. */
static int for_units(struct unit_table *t, const char *name, void (*fn)(struct managed *m))
{
	int n = 0;

	UNITS_FOREACH (m, t) {
		if (!is_meant(m, name))
			continue;
		fn(m);
		n++;
	}
	return name != NULL && n == 0 ? -ENOENT : n;
}

int lifecycle_pause(struct unit_table *t, const char *name)
{
	int n = for_units(t, name, pause_unit);

	if (name == NULL)
		t->paused = true;
	if (n >= 0)
		event_tell(EVENT_PAUSED, .who.unit = name);
	return n;
}

int lifecycle_resume(struct unit_table *t, const char *name)
{
	int n = for_units(t, name, resume_unit);

	if (name == NULL)
		t->paused = false;
	/* The level above a container that is managed again. */
	UNITS_FOREACH (m, t)
		if (m->kind == UNIT_KIND_POD && managed_state(m) == UNIT_RESTORED &&
		    pod_is_sized(m->pod))
			resume_unit(m);
	UNITS_FOREACH (m, t)
		unit_update_blocked(m);
	if (n >= 0)
		event_tell(EVENT_RESUMED, .who.unit = name);
	return n;
}

/* --- restore --- */

struct restore_job {
	struct unit_table *units;
	control_result_fn *each; /* of the operator who restores; NULL: it is a hand-back */
	void *arg;
	enum restore_outcome outcome; /* of the last unit */
	const struct managed *only;   /* whose outcome it is; NULL: of any */
	bool quiet;
	bool quick; /* no client waits for it */
	bool files; /* in the files alone */
};

/* Updates held limits, or the pod above would keep room for limits that are gone. */
static void note_what_stands(struct managed *m)
{
	struct usage u = {0};

	if (m->cgroup.cg == NULL || cg_read(m->cgroup.cg, LIMITS_USAGE, &u) < 0)
		return;
	unit_fill_absent(m, &u);
	control_set_kernel(&m->control, &u.limits);
}

/* A pod and the one before it may have the same name. */
static struct managed *managed_of_record(const struct unit_table *t, const struct baseline *record)
{
	UNITS_FOREACH (m, t)
		if (m->record == record)
			return m;
	return NULL;
}

static void on_result(void *arg, const struct restore_result *result)
{
	struct restore_job *job = arg;
	struct managed *m = managed_of_record(job->units, result->record);
	bool tried = m != NULL && result->outcome != RESTORE_PENDING;
	bool restored = tried && result->outcome != RESTORE_FAILED;

	if (job->only == NULL || job->only == m)
		job->outcome = result->outcome;
	if (tried && !job->quiet)
		message_restored(m, result);
	if (restored) {
		originals_set_touched(m, false);
		boost_forget(m);
		property_cancel(m);
		note_what_stands(m);
	}
	if (job->each == NULL)
		return;
	if (restored) {
		managed_set_reason(m, STATE_RESTORED);
		unit_update_blocked(m);
	}
	job->each(job->arg, result);
}

/* Property calls that PID 1 has not carried out would overwrite the originals; and PID 1 is not
 * called for a container that is being created. */
static const char *why_pending(const struct managed *m)
{
	if (scope_is_creating(m))
		return "its container runtime is starting it";
	if (managed_call_pending(m))
		return "systemd has not answered the last call for it";
	return NULL;
}

/* The limits of a pod's own cgroup go back after those of its containers. */
static bool has_pending(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (why_pending(m) != NULL)
			return true;
	return false;
}

/* No property call is sent to PID 1 meanwhile. */
static const char *keep_pending(void *ctx, const char *name)
{
	struct unit_table *t = ctx;
	struct managed *m = managed_find(t, name);
	const char *why = m != NULL ? why_pending(m) : NULL;

	if (why == NULL && m != NULL && m->kind == UNIT_KIND_POD && has_pending(m->pod))
		why = "a container of it is pending";
	if (why == NULL)
		return NULL;
	m->hand_back.settling_until = t->wake->now + SETTLING_USEC;
	unit_update_blocked(m);
	return why;
}

static bool must_wait(struct unit_table *t, const char *name)
{
	bool any = false;

	UNITS_FOREACH (m, t)
		if (is_meant(m, name))
			any |= keep_pending(t, m->name) != NULL;
	return any;
}

/* Waits for PID 1, unlike all other code: the restore has to be complete when it returns. */
static int restore_units(const struct hand_back *h, const char *name, bool force,
			 struct restore_job *job)
{
	const struct tuning_memory *t = &h->units->config->tuning.memory;
	struct restore_systemd systemd;
	struct restore r = {
		.root = h->units->host->root,
		.units = h->port != NULL ? h->port : &systemd.units,
		.margin_permille = t->margin_permille,
		.margin_min_bytes = t->margin_min_bytes,
		.force = force,
		.keep_pods = config_cluster_wanted(&h->units->config->kubernetes),
		.pending = keep_pending,
		.pending_ctx = h->units,
	};
	int result = restore_systemd_init(&systemd, "");

	if (result < 0)
		return result;
	if (job->files) {
		r.units = NULL;
		/* The record of a container that was restarted stays. */
		r.exact = true;
	}
	if (job->quick && must_wait(h->units, name))
		return -EAGAIN;
	systemd.timeout_usec = RESTORE_CALL_USEC;
	systemd.waits_for_runtime = false;
	systemd.total_usec = job->quick ? HAND_BACK_BUDGET_USEC : RESTORE_TOTAL_USEC;
	UNITS_FOREACH (m, h->units)
		if (is_meant(m, name))
			pod_make_room(m);
	result = persist_restore(h->units->records, &r, name, on_result, job);
	h->units->wake->iteration = UINT64_MAX; /* it may have waited for PID 1 */
	return result;
}

int lifecycle_restore(struct hand_back *h, const char *name, bool force, control_result_fn *each,
		      void *arg)
{
	struct restore_job job = {.units = h->units, .each = each, .arg = arg};

	/* The records stay on disk, unread, until the node is supported again. */
	if (h->units->host->unsupported != NULL)
		return -ENOTSUP;
	return restore_units(h, name, force, &job);
}

/* --- hand-back --- */

static void given_back(struct managed *m)
{
	m->hand_back.due = false;
	m->hand_back.done = true;
	managed_reattach(m);
	managed_set_reason(m, managed_rule(m) == NULL ? m->hand_back.why : STATE_NO_CGROUP);
	unit_update_blocked(m);
	if (m->kind != UNIT_KIND_POD)
		event_tell(EVENT_UNIT_UNMANAGED, .who = message_who(m),
			   .detail = state_rows[m->hand_back.why].text);
	/* The spec follows the cgroup. */
	if (m->pod != NULL)
		pod_report(m->pod);
	managed_check_again(m);
}

/* No value by vscaled is left. */
static bool is_restored(enum restore_outcome outcome)
{
	return outcome == RESTORE_RESTORED || outcome == RESTORE_GONE;
}

/* It was not tried, and is tried again soon. */
static bool is_pending(int r, enum restore_outcome outcome)
{
	return r == -EAGAIN || (r >= 0 && outcome == RESTORE_PENDING);
}

static void hand_back(struct hand_back *h, struct managed *m)
{
	struct restore_job job = {
		.units = h->units,
		.quiet = m->hand_back.reported,
		.only = m,
		.quick = true,
		/* It stays on record: PID 1 gets the originals once it can be called. */
		.files = h->units->pid1->absent && managed_rule(m) != NULL,
	};
	usec_t begin = daemon_clock();
	int r = restore_units(h, m->name, false, &job);
	bool pending = is_pending(r, job.outcome);

	/* Nothing was reported of one that is tried again at once. */
	m->hand_back.reported |= !pending;
	m->hand_back.next_at =
		h->units->wake->now + (pending ? HAND_BACK_SOON_USEC : HAND_BACK_RETRY_USEC);
	/* A PID 1 that hangs is not called for each. */
	if (daemon_clock() - begin >= HAND_BACK_BUDGET_USEC / 2)
		h->not_before = m->hand_back.next_at;
	/* -ENOENT: it has no record, so no value by vscaled is left. */
	if (r == -ENOENT || (r >= 0 && is_restored(job.outcome)))
		given_back(m);
}

static bool is_stray(const struct unit_table *t, const struct baseline *b, const char *name)
{
	const struct policy_rule *rule = config_rule_for(t->config, name);
	OWN(history_record_drop) struct history_record rec = {0};
	const char *dot = strrchr(name, '.');

	if (managed_find(t, name) != NULL)
		return false;
	if (rule == NULL || rule->mode == MODE_OFF)
		return true;
	/* It ended while vscaled did not run. A scope does not come back; a service may, for as
	 * long as its use is remembered. */
	return (dot != NULL && strcmp(dot, ".scope") == 0) ||
	       history_store_get(&t->records->histories, b->key, &t->config->tuning.history,
				 &rec) == -ENOENT;
}

/* 0, or -errno when no other is to be tried now. */
static int release_stray(struct hand_back *h, const char *name, bool reported)
{
	struct restore_job job = {.units = h->units, .quiet = true, .quick = true};
	int r = restore_units(h, name, false, &job);

	if (is_pending(r, job.outcome)) {
		h->strays_at = MIN(h->strays_at, h->units->wake->now + HAND_BACK_SOON_USEC);
		return 0;
	}
	if (r < 0 || !is_restored(job.outcome))
		h->strays_at = MIN(h->strays_at, h->units->wake->now + HAND_BACK_RETRY_USEC);
	if (!reported || h->strays_at == UINT64_MAX)
		message_stray(name, r < 0 ? RESTORE_FAILED : job.outcome);
	return MIN(r, 0);
}

/* Units that an earlier run sized and the present configuration does not name, or not so; or that
 * are gone. */
static void release_strays(struct hand_back *h)
{
	bool reported = h->strays_reported;

	h->strays_reported = true;
	h->strays_at = UINT64_MAX;
	for (size_t i = h->units->records->baselines.count; i > 0; i--) {
		const struct baseline *b = &h->units->records->baselines.items[i - 1];
		const char *name = baseline_unit(b);
		char copy[RECORD_NAME_MAX];

		if (name == NULL || !is_stray(h->units, b, name))
			continue;
		/* The name is part of the record, which release_stray() may delete. */
		snprintf(copy, sizeof copy, "%s", name);
		if (release_stray(h, copy, reported) < 0)
			return;
	}
}

void lifecycle_tick(struct hand_back *h)
{
	usec_t begin = daemon_clock();

	if (h->units->pid1->listed && h->units->wake->now >= h->strays_at)
		release_strays(h);
	UNITS_FOREACH (m, h->units) {
		const struct policy_rule *rule = managed_has_laws(m) ? managed_rule(m) : NULL;

		/* Memory that it leaves out may wait for its use to fall. */
		if (rule != NULL && m->control.rule.resources != rule->resources)
			rule_apply(m);
		unit_update_blocked(m);
		if (!m->hand_back.due || h->units->wake->now < m->hand_back.next_at ||
		    h->units->wake->now < h->not_before ||
		    (m->kind == UNIT_KIND_POD && pod_hand_back_due(m->pod)))
			continue;
		if (daemon_clock() - begin >= HAND_BACK_BUDGET_USEC)
			return;
		hand_back(h, m);
	}
}
