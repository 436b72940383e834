// SPDX-License-Identifier: Apache-2.0
/* Which systemd units are managed: PID 1's list. */
#include "agent/units/units.h"
#include "agent/apply/release.h"
#include "agent/apply/rules.h"
#include "agent/apply/start.h"
#include "agent/base/footprint.h"
#include "agent/drift/drift_events.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/persist.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"
#include <stdio.h>
#include <string.h>

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

	return strncmp(d->host.own_cgroup, cgroup, len) == 0 &&
	       (d->host.own_cgroup[len] == '/' || d->host.own_cgroup[len] == '\0');
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

	return m != NULL && m->kind == UNIT_KIND_UNIT && managed_rule(m) != NULL &&
	       m->cgroup.cg != NULL && !m->properties.stored_check &&
	       m->cgroup.reattached_at < d->pid1.list_asked_at &&
	       d->pid1.list_whole_at != d->pid1.list_asked_at &&
	       cg_same(m->cgroup.cg, d->host.root, m->cgroup.path) == 1;
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

	if (info->known && m != NULL && m->cgroup.cg != NULL) {
		m->listed = true;
		return;
	}
	if (info->known) {
		/* It was removed before the list arrived. */
		pid1_need_list(&d->pid1);
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
	if (m->cgroup.reattached_at != 0 && m->cgroup.reattached_at >= d->pid1.list_asked_at) {
		pid1_need_list(&d->pid1);
		return;
	}
	if (m->cgroup.cg != NULL && cg_replaced(m->cgroup.cg, d->host.root, info->cgroup))
		managed_lost(m);
	if (m->cgroup.cg != NULL) {
		drift_stored(m, &info->props);
		return;
	}
	managed_start(m, rule, &arrival);
}

void units_listed(struct daemon *d, const struct unit_info *units, size_t count)
{
	for (size_t i = 0; i < d->units.count; i++)
		d->units.items[i]->listed = false;
	for (size_t i = 0; i < count; i++)
		unit_listed(d, &units[i]);
	for (size_t i = 0; i < d->units.count; i++)
		if (!d->units.items[i]->listed && d->units.items[i]->kind == UNIT_KIND_UNIT)
			managed_lost(d->units.items[i]);
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

	return m->cgroup.cg == NULL && m->cgroup.lost_at != 0 && !m->hand_back.due &&
	       m->wake->now - m->cgroup.lost_at >= keep;
}

void units_forget(struct daemon *d)
{
	for (size_t i = d->units.count; i > 0; i--) {
		struct managed *m = d->units.items[i - 1];

		if (m->kind != UNIT_KIND_UNIT || !unseen_for_good(m))
			continue;
		/* systemd may still store vscaled's values for the next start of a service. */
		if (!is_scope(m) && persist_has(d, m)) {
			lifecycle_release(m, "not seen for days");
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

	if (pid1_awaits_list(&d->pid1, d->wake.now)) {
		pid1_need_list(&d->pid1);
		return;
	}
	pid1_list_asked(&d->pid1, d->wake.now);
	for (size_t i = 0; i < d->config.unit_count; i++)
		count += d->config.units[i].glob_count;
	if (count == 0) {
		drift_listed(d, 0, NULL, 0);
		return;
	}
	globs = calloc(count, sizeof *globs);
	if (globs == NULL)
		return;
	for (size_t i = 0; i < d->config.unit_count; i++)
		for (size_t g = 0; g < d->config.units[i].glob_count; g++)
			globs[n++] = d->config.units[i].globs[g];
	pid1_list_send(&d->pid1, globs, n);
	free(globs);
}

void drift_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct daemon *d = ctx;

	daemon_wake(d);
	pid1_list_answered(&d->pid1, error);
	if (error < 0)
		return;
	units_listed(d, units, count);
	if (pid1_listed(&d->pid1)) {
		event_ready(&(struct daemon_event){.count = d->units.count});
		footprint_trim();
	}
}

void units_apply_rules(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++) {
		struct managed *m = d->units.items[i];
		const struct policy_rule *rule = managed_rule(m);

		if (m->kind != UNIT_KIND_UNIT)
			continue; /* by its pod */

		if (rule != NULL)
			rule_apply(m, rule);
		else if (m->state != UNIT_UNMANAGED)
			lifecycle_release(m, "no longer named in the configuration");
		unit_update_blocked(m);
	}
	pods_apply_rules(d);
	units_request_list(d);
}
