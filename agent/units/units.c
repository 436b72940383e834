// SPDX-License-Identifier: Apache-2.0
/* Which systemd units are managed: PID 1's list. */
#include "agent/units/units.h"
#include "agent/apply/release.h"
#include "agent/apply/rules.h"
#include "agent/apply/start.h"
#include "agent/base/footprint.h"
#include "agent/drift/guard.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/persist.h"
#include "agent/manage/shared.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"
#include <stdio.h>
#include <string.h>

/* The bus gives up a call after as long. */
#define LIST_DEADLINE_USEC (30 * USEC_PER_SEC)
/* In between, properties are read of what is new or changed: what others store they write to the
 * files too, and a reload asks for itself. */
#define LIST_WHOLE_USEC (5 * USEC_PER_MIN)

static struct managed *unit_new(struct daemon *d, const char *name)
{
	char key[RECORD_NAME_MAX];
	struct managed_names names = {
		.kind = UNIT_KIND_UNIT,
		.name = name,
		.unit = name,
		.key = key,
		.history_key = key,
	};

	snprintf(key, sizeof key, "unit:%s", name);
	return managed_new(d, &names);
}

/* vscaled does not limit itself: such a limit could stop the process that has to raise it. */
static bool holds_us(const struct daemon *d, const char *cgroup)
{
	size_t len = strlen(cgroup);

	return strncmp(d->own_cgroup, cgroup, len) == 0 &&
	       (d->own_cgroup[len] == '/' || d->own_cgroup[len] == '\0');
}

/* Pods win over a glob that matches their scopes and slices too. */
static bool is_of_pod(const struct daemon *d, const char *name)
{
	const struct managed *m = managed_of_unit(d, name);

	return m != NULL && m->pod != NULL;
}

bool units_known(const struct daemon *d, const char *name)
{
	const struct managed *m = managed_find(d, name);

	return m != NULL && m->kind == UNIT_KIND_UNIT && managed_rule(m) != NULL && m->cg != NULL &&
	       !m->stored_check && m->reattached_at < d->list_asked_at &&
	       d->list_whole_at != d->list_asked_at && cg_same(m->cg, d->root, m->path) == 1;
}

static void unit_listed(struct daemon *d, const struct unit_info *info)
{
	const struct policy_rule *rule = config_rule_for(&d->config, info->name);
	const struct arrival arrival = {
		.cgroup = info->cgroup,
		.invocation_id = info->invocation_id,
		.active_enter_usec = info->active_enter_usec,
		.props = info->props,
	};
	struct managed *m = managed_find(d, info->name);

	if (info->known && m != NULL && m->cg != NULL) {
		m->listed = true;
		return;
	}
	if (info->known) {
		/* It was removed before the list arrived. */
		d->list_due = true;
		return;
	}
	if (rule == NULL || info->cgroup[0] == '\0' || holds_us(d, info->cgroup) ||
	    is_of_pod(d, info->name))
		return;
	if (m == NULL)
		m = unit_new(d, info->name);
	if (m == NULL)
		return;
	m->listed = true;
	if (m->reattached_at != 0 && m->reattached_at >= d->list_asked_at) {
		d->list_due = true;
		return;
	}
	if (m->cg != NULL && cg_replaced(m->cg, d->root, info->cgroup))
		managed_lost(m);
	if (m->cg != NULL) {
		guard_stored(m, &info->props);
		return;
	}
	managed_start(m, rule, &arrival);
}

void units_listed(struct daemon *d, const struct unit_info *units, size_t count)
{
	for (size_t i = 0; i < d->unit_count; i++)
		d->units[i]->listed = false;
	for (size_t i = 0; i < count; i++)
		unit_listed(d, &units[i]);
	for (size_t i = 0; i < d->unit_count; i++)
		if (!d->units[i]->listed && d->units[i]->kind == UNIT_KIND_UNIT)
			managed_lost(d->units[i]);
	persist_baselines(d);
}

static bool is_scope(const struct managed *m)
{
	const char *dot = strrchr(m->name, '.');

	return dot != NULL && strcmp(dot, ".scope") == 0;
}

/* A scope never comes back under its name; a service may, within what the history keeps. */
static bool unseen_for_good(const struct managed *m)
{
	usec_t keep = is_scope(m) ? 0 : HISTORY_UNSEEN_USEC;

	return m->cg == NULL && m->lost_at != 0 && !m->hand_back_due &&
	       m->daemon->now - m->lost_at >= keep;
}

void units_forget(struct daemon *d)
{
	for (size_t i = d->unit_count; i > 0; i--) {
		struct managed *m = d->units[i - 1];

		if (m->kind != UNIT_KIND_UNIT || !unseen_for_good(m))
			continue;
		/* systemd may still store vscaled's values for the next start of a service. */
		if (!is_scope(m) && persist_has(d, m)) {
			hold_release(m, "not seen for days");
		} else {
			persist_forget(d, m);
			managed_remove(m);
		}
	}
}

void units_request_list(struct daemon *d)
{
	const char **globs;
	size_t count = 0, n = 0;

	/* Another request would drop the pending list, and a slow PID 1 would never deliver one. */
	if (d->list_pending && d->now - d->list_asked_at < LIST_DEADLINE_USEC) {
		d->list_due = true;
		return;
	}
	d->list_due = false;
	d->list_asked_at = d->now;
	if (d->list_whole_at == 0 || d->now - d->list_whole_at >= LIST_WHOLE_USEC)
		d->list_whole_at = d->now;
	for (size_t i = 0; i < d->config.unit_count; i++)
		count += d->config.units[i].glob_count;
	if (count == 0) {
		guard_listed(d, 0, NULL, 0);
		return;
	}
	globs = calloc(count, sizeof *globs);
	if (globs == NULL)
		return;
	for (size_t i = 0; i < d->config.unit_count; i++)
		for (size_t g = 0; g < d->config.units[i].glob_count; g++)
			globs[n++] = d->config.units[i].globs[g];
	d->list_pending = true;
	if (d->port.list(d->port.ctx, globs, n) < 0) {
		d->list_pending = false;
		d->list_due = true;
	}
	free(globs);
}

void guard_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct daemon *d = ctx;

	daemon_wake(d);
	d->list_pending = false;
	if (error < 0) {
		d->list_due = true;
		return;
	}
	units_listed(d, units, count);
	if (!d->ready_told) {
		event_ready(&(struct daemon_event){.count = d->unit_count});
		footprint_trim();
	}
	d->ready_told = true;
}

void units_apply_rules(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++) {
		struct managed *m = d->units[i];
		const struct policy_rule *rule = managed_rule(m);

		if (m->kind != UNIT_KIND_UNIT)
			continue; /* by its pod */

		if (rule != NULL)
			rule_apply(m, rule);
		else if (m->state != UNIT_UNMANAGED)
			hold_release(m, "no longer named in the configuration");
		unit_update_hold(m);
	}
	pods_apply_rules(d);
	units_request_list(d);
}
