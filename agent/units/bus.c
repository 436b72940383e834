// SPDX-License-Identifier: Apache-2.0
/* The daemon's connection to PID 1: its calls, and where the replies go. */
#include "agent/units/bus.h"
#include "agent/config/config.h"
#include "agent/drift/drift_events.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pid1.h"
#include "agent/manage/wake.h"
#include "agent/units/units.h"
#include "systemd/unit_dropin.h"
#include <errno.h>

static int on_bus_list(void *ctx, const char *const *patterns, size_t count)
{
	return unit_bus_list(ctx, patterns, count);
}

static int on_bus_set(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask,
		      bool urgent)
{
	return unit_set(ctx, unit, want, mask, urgent);
}

static bool on_bus_pending(void *ctx, const char *unit)
{
	return unit_set_pending(ctx, unit);
}

static void on_bus_forget(void *ctx, const char *unit)
{
	unit_set_forget(ctx, unit);
}

static int on_bus_get(void *ctx, const char *unit)
{
	return unit_get(ctx, unit);
}

static bool on_bus_beaten(void *, const char *unit)
{
	bool beaten;

	return unit_dropin_beaten("", unit, &beaten) == 0 && beaten;
}

static int on_bus_keep(void *, const char *unit, const struct unit_props *want, uint32_t mask)
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
	if (pid1_set_connected(t->pid1))
		event_tell(EVENT_BUS_BACK);
	units_request_list(t);
}

static void on_bus_disconnected(void *ctx, int error)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	if (pid1_set_lost(t->pid1))
		event_tell(EVENT_BUS_LOST, .error = error);
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
		pid1_use(t->pid1, port);
		pid1_set_connected(t->pid1);
		return 0;
	}
	r = unit_bus_new(t->wake->event, NULL, &bus_ops, t, &bus);
	if (can_do_without(t->config, r)) {
		event_tell(EVENT_BUS_ABSENT, .error = r);
		pid1_set_absent(t->pid1);
		return 0;
	}
	if (r < 0) {
		message_unsupported("systemd does not answer",
				    "PID 1 must be systemd, and vscaled must run as root", r);
		return r;
	}
	pid1_use(t->pid1, &(struct unit_port){
				  .ctx = bus,
				  .list = on_bus_list,
				  .set = on_bus_set,
				  .pending = on_bus_pending,
				  .forget = on_bus_forget,
				  .get = on_bus_get,
				  .beaten = on_bus_beaten,
				  .keep = on_bus_keep,
			  });
	*ret = bus;
	return 0;
}
