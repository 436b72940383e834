// SPDX-License-Identifier: Apache-2.0
/* Which systemd units are managed: PID 1's list, and the connection to it. */
#include "agent/units/units.h"
#include "agent/apply/apply.h"
#include "agent/base/process.h"
#include "agent/drift/drift_events.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/pod/pods.h"
#include "systemd/unit_dropin.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The bus gives up a list after as long. */
#define LIST_DEADLINE_USEC (30 * USEC_PER_SEC)
/* In between, properties are read of what is new or changed: what others store they write to the
 * files too, and a reload asks for itself. */
#define LIST_WHOLE_USEC (5 * USEC_PER_MIN)

static struct managed *unit_new(struct unit_table *t, const char *name)
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
	return managed_new(t, &names);
}

/* vscaled does not limit itself: such a limit could stop the process that has to raise it. */
static bool holds_us(const struct host *host, const char *cgroup)
{
	size_t len = strlen(cgroup);

	return strncmp(host->own_cgroup, cgroup, len) == 0 &&
	       (host->own_cgroup[len] == '/' || host->own_cgroup[len] == '\0');
}

/* Pods win over a glob that matches their scopes and slices too. */
static bool is_of_pod(const struct unit_table *t, const char *name)
{
	const struct managed *m = managed_of_unit(t, name);

	return m != NULL && m->pod != NULL;
}

bool units_known(const struct unit_table *t, const char *name)
{
	const struct managed *m = managed_find(t, name);

	return m != NULL && m->kind == UNIT_KIND_UNIT && managed_rule(m) != NULL &&
	       m->cgroup.cg != NULL && !m->properties.stored_check &&
	       m->cgroup.reattached_at < t->pid1->list_asked_at &&
	       t->pid1->list_whole_at != t->pid1->list_asked_at &&
	       cg_same(m->cgroup.cg, t->host->root, m->cgroup.path) == 1;
}

static void unit_listed(struct unit_table *t, const struct unit_info *info)
{
	const struct arrival arrival = {
		.spec_milli = LIMIT_MAX,
		.cgroup = info->cgroup,
		.active_enter_usec = info->active_enter_usec,
		.props = info->props,
	};
	struct managed *m = managed_find(t, info->name);

	if (info->known && m != NULL && m->cgroup.cg != NULL) {
		m->listed = true;
		return;
	}
	if (info->known) {
		/* It was removed before the list arrived. */
		t->pid1->list_due = true;
		return;
	}
	if (config_rule_for(t->config, info->name) == NULL || info->cgroup[0] == '\0' ||
	    holds_us(t->host, info->cgroup) || is_of_pod(t, info->name))
		return;
	if (m == NULL)
		m = unit_new(t, info->name);
	if (m == NULL)
		return;
	m->listed = true;
	if (m->cgroup.reattached_at != 0 && m->cgroup.reattached_at >= t->pid1->list_asked_at) {
		t->pid1->list_due = true;
		return;
	}
	if (m->cgroup.cg != NULL && cg_replaced(m->cgroup.cg, t->host->root, info->cgroup))
		managed_lost(m);
	if (m->cgroup.cg != NULL) {
		drift_stored(m, &info->props);
		return;
	}
	managed_start(m, &arrival);
}

static void units_listed(struct unit_table *t, const struct unit_info *units, size_t count)
{
	UNITS_FOREACH (m, t)
		m->listed = false;
	for (size_t i = 0; i < count; i++)
		unit_listed(t, &units[i]);
	UNITS_FOREACH (m, t)
		if (!m->listed && m->kind == UNIT_KIND_UNIT)
			managed_lost(m);
	persist_baselines(t->records);
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

void units_forget(struct unit_table *t)
{
	for (size_t i = t->count; i > 0; i--) {
		struct managed *m = t->items[i - 1];

		if (m->kind != UNIT_KIND_UNIT || !unseen_for_good(m))
			continue;
		/* systemd may still store vscaled's values for the next start of a service. */
		if (!is_scope(m) && m->record != NULL) {
			lifecycle_release(m, STATE_NOT_SEEN);
		} else {
			persist_forget(m);
			managed_remove(m);
		}
	}
}

void units_request_list(struct unit_table *t)
{
	struct pid1 *p = t->pid1;
	usec_t now = t->wake->now;
	const char **globs;
	size_t count = 0, n = 0;

	/* Another request would drop the one that is under way. */
	p->list_due = p->list_pending && now - p->list_asked_at < LIST_DEADLINE_USEC;
	if (p->list_due)
		return;
	p->list_asked_at = now;
	if (p->list_whole_at == 0 || now - p->list_whole_at >= LIST_WHOLE_USEC)
		p->list_whole_at = now;
	for (size_t i = 0; i < t->config->unit_count; i++)
		count += t->config->units[i].match.count;
	if (count == 0) {
		drift_listed(t, 0, NULL, 0);
		return;
	}
	globs = calloc(count, sizeof *globs);
	if (globs == NULL)
		return;
	for (size_t i = 0; i < t->config->unit_count; i++)
		for (size_t g = 0; g < t->config->units[i].match.count; g++)
			globs[n++] = t->config->units[i].match.item[g];
	p->list_pending = true;
	if (p->port.list(p->port.bus, globs, n) < 0) {
		p->list_pending = false;
		p->list_due = true;
	}
	free(globs);
}

void drift_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	t->pid1->list_pending = false;
	t->pid1->list_due |= error < 0;
	if (error < 0)
		return;
	units_listed(t, units, count);
	if (t->pid1->listed)
		return;
	t->pid1->listed = true;
	event_tell(EVENT_READY, .count = t->count);
	footprint_trim();
}

void units_apply_rules(struct unit_table *t)
{
	UNITS_FOREACH (m, t) {
		if (m->kind != UNIT_KIND_UNIT)
			continue; /* by its pod */
		if (managed_rule(m) != NULL)
			rule_apply(m);
		else if (managed_state(m) != UNIT_UNMANAGED)
			lifecycle_release(m, STATE_NOT_CONFIGURED);
		unit_update_blocked(m);
	}
	pods_apply_rules(t->pods);
	units_request_list(t);
}

/* --- the connection to PID 1: its calls, and where the replies go --- */

static bool on_bus_beaten(const char *unit)
{
	bool beaten;

	return unit_dropin_beaten("", unit, &beaten) == 0 && beaten;
}

static int on_bus_keep(const char *unit, const struct unit_props *want, uint32_t mask)
{
	return unit_dropin_write("", unit, want, mask);
}

static bool on_bus_known(void *ctx, const char *unit)
{
	return units_known(ctx, unit);
}

static void on_bus_changed(void *ctx)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	units_request_list(t);
}

static void on_bus_connected(void *ctx)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	if (t->pid1->lost && !t->pid1->connected)
		event_tell(EVENT_BUS_BACK);
	t->pid1->connected = true;
	units_request_list(t);
}

static void on_bus_disconnected(void *ctx, int error)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	if (t->pid1->connected)
		event_tell(EVENT_BUS_LOST, .error = error);
	t->pid1->connected = false;
	t->pid1->lost = true;
}

static const struct unit_bus_ops bus_ops = {
	.listed = drift_listed,
	.known = on_bus_known,
	.changed = on_bus_changed,
	.reloading = drift_reloading,
	.set_done = drift_set_done,
	.got = drift_got,
	.connected = on_bus_connected,
	.disconnected = on_bus_disconnected,
};

/* Pods can be managed without PID 1: it holds their limits only under the systemd cgroup driver,
 * and a container of an agent that may not write has no socket of it. */
static bool can_do_without(const struct config *config, int error)
{
	return config->unit_count == 0 && config_cluster_wanted(&config->kubernetes) &&
	       (error == -ENOENT || error == -EACCES);
}

int bus_start(struct unit_table *t, const struct unit_port *port, struct unit_bus **ret)
{
	struct unit_bus *bus = NULL;
	int r;

	if (port != NULL) {
		t->pid1->port = *port;
		t->pid1->connected = true;
		return 0;
	}
	r = unit_bus_new(t->wake->event, NULL, &bus_ops, t, &bus);
	if (can_do_without(t->config, r)) {
		event_tell(EVENT_BUS_ABSENT, .error = r);
		t->pid1->absent = true;
		return 0;
	}
	if (r < 0) {
		message_unsupported("systemd does not answer",
				    "PID 1 must be systemd, and vscaled must run as root", r);
		return r;
	}
	t->pid1->port = (struct unit_port){
		.bus = bus,
		.list = unit_bus_list,
		.set = unit_set,
		.pending = unit_set_pending,
		.forget = unit_set_forget,
		.get = unit_get,
		.beaten = on_bus_beaten,
		.keep = on_bus_keep,
	};
	*ret = bus;
	return 0;
}
