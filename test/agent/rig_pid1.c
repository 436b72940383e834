// SPDX-License-Identifier: Apache-2.0
/*
 * The rig's PID 1, and the bus between: the calls go through the real queue, one in flight per
 * unit, and are done in the order in which they came.
 */
#include "agent/drift/drift_events.h"
#include "agent/units/units.h"
#include "test/agent/daemon_rig.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* As of systemd/unit.c. */
static const struct unit_queue_config queue_config = {
	.interval_usec = USEC_PER_SEC, .deadline_usec = 30 * USEC_PER_SEC, .window = 8};

static struct rig_unit *find(struct rig *r, const char *name)
{
	for (size_t i = 0; i < r->unit_count; i++)
		if (strcmp(r->unit[i].name, name) == 0)
			return &r->unit[i];
	return NULL;
}

static bool is_due(const struct rig *r, usec_t since)
{
	return !r->silent && r->boot - since >= r->lag_seconds * USEC_PER_SEC;
}

/* --- the bus, as the daemon sees it --- */

static void report_list(struct rig *r)
{
	static struct unit_info info[RIG_UNITS_MAX];
	static char path[RIG_UNITS_MAX][RIG_PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < r->unit_count; i++) {
		if (!r->unit[i].running || r->unit[i].name[0] == '\0')
			continue;
		snprintf(path[n], sizeof path[n], "/%s", r->unit[i].cgroup);
		info[n] = (struct unit_info){
			.name = r->unit[i].name,
			.cgroup = path[n],
			.active_state = "active",
			.invocation_id = "",
			.active_enter_usec = r->unit[i].active_enter_usec,
			.props = r->unit[i].props,
		};
		if (units_known(&r->daemon->units, r->unit[i].name)) {
			info[n].known = true;
			info[n].cgroup = NULL;
			info[n].props = (struct unit_props){0};
		}
		n++;
	}
	drift_listed(&r->daemon->units, 0, info, n);
}

static int port_list(struct unit_bus *bus, const char *const *, size_t)
{
	struct rig *r = (struct rig *)bus;

	r->list_asked_at = r->lag_seconds > 0 ? r->boot : 0;
	if (r->lag_seconds == 0)
		report_list(r);
	return 0;
}

static int port_set(struct unit_bus *bus, const char *unit, const struct unit_props *want,
		    uint32_t mask, bool urgent)
{
	const struct unit_call call = {.unit = unit, .props = *want, .mask = mask};
	struct rig *r = (struct rig *)bus;

	r->set_calls++;
	r->last_set = *want;
	r->last_mask = mask;
	snprintf(r->last_unit, sizeof r->last_unit, "%s", unit);
	return unit_queue_put(r->queue, &call, urgent, r->boot);
}

static bool port_pending(const struct unit_bus *bus, const char *unit)
{
	const struct rig *r = (const struct rig *)bus;

	return unit_queue_pending(r->queue, unit);
}

static void port_forget(struct unit_bus *bus, const char *unit)
{
	const struct rig *r = (const struct rig *)bus;

	unit_queue_forget(r->queue, unit);
}

static int port_get(struct unit_bus *bus, const char *unit)
{
	struct rig *r = (struct rig *)bus;
	struct rig_unit *u = find(r, unit);

	if (r->silent)
		return -ENOTCONN;
	if (u->asked_at == 0)
		u->asked_at = r->boot;
	return 0;
}

const struct unit_port rig_port = {
	.list = port_list,
	.set = port_set,
	.pending = port_pending,
	.forget = port_forget,
	.get = port_get,
};

/* --- PID 1 --- */

static void realise(struct rig *r, struct rig_unit *u, const struct unit_props *p, uint32_t mask)
{
	unit_props_merge(&u->props, p, mask);
	if (u->running)
		rig_realise(r, u);
}

static void send_calls(struct rig *r)
{
	struct unit_call job;

	while (unit_queue_take(r->queue, r->boot, &job)) {
		assert(r->call_count < RIG_CALLS_MAX);
		r->again_calls += unit_props_equal(&find(r, job.unit)->props, &job.props, job.mask);
		r->sent_calls++;
		r->call[r->call_count++] = (struct rig_call){
			.unit = find(r, job.unit),
			.props = job.props,
			.mask = job.mask,
			.sent_at = r->boot,
		};
	}
}

static void do_calls(struct rig *r)
{
	for (size_t i = 0; i < r->call_count; i++) {
		struct rig_call *c = &r->call[i];

		if (c->done || c->unit->waits || !is_due(r, c->sent_at))
			continue;
		r->broken_starts += c->unit->creating && c->unit->running;
		realise(r, c->unit, &c->props, c->mask);
		c->done = true;
	}
}

/* The first call that is done and its end reported. */
static bool answer_call(struct rig *r)
{
	for (size_t i = 0; i < r->call_count; i++) {
		struct rig_call c = r->call[i];

		if (!c.done)
			continue;
		memmove(&r->call[i], &r->call[i + 1], (r->call_count - i - 1) * sizeof c);
		r->call_count--;
		if (!c.orphaned) {
			usec_t lag = unit_queue_done(r->queue, c.unit->name, r->boot);

			drift_set_done(&r->daemon->units, c.unit->name, 0, &c.unit->props, lag);
		}
		return true;
	}
	return false;
}

/* The daemon waits no longer; PID 1 does it all the same when it comes to it. */
static void expire_calls(struct rig *r)
{
	const char *unit;

	while ((unit = unit_queue_expire(r->queue, r->boot)) != NULL) {
		struct rig_unit *u = find(r, unit);

		for (size_t i = 0; i < r->call_count; i++)
			r->call[i].orphaned |= r->call[i].unit == u;
		drift_set_done(&r->daemon->units, u->name, -ETIMEDOUT, NULL,
			       queue_config.deadline_usec);
	}
}

static void answer_questions(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		if (u->asked_at == 0 || !is_due(r, u->asked_at))
			continue;
		u->asked_at = 0;
		drift_got(&r->daemon->units, u->name, 0, &u->props);
	}
	if (r->list_asked_at != 0 && is_due(r, r->list_asked_at)) {
		r->list_asked_at = 0;
		report_list(r);
	}
}

void rig_pid1_turn(struct rig *r)
{
	/* An answer may lead to the next call, which is not behind the pause if it is urgent. */
	for (int round = 0; round < 8; round++) {
		while (round == 0 && r->answers_late && answer_call(r))
			;
		expire_calls(r);
		send_calls(r);
		do_calls(r);
		while (!r->answers_late && answer_call(r))
			;
		answer_questions(r);
	}
}

/* --- the calls that a restore waits for --- */

/* The daemon stands still, the units do not. */
static void wait_for_pid1(struct rig *r)
{
	for (unsigned i = 0; i < r->lag_seconds; i++) {
		r->boot += USEC_PER_SEC;
		r->real += USEC_PER_SEC;
		if (r->step != NULL)
			r->step(r);
		if (!r->overtakes)
			do_calls(r);
	}
}

static int restore_set_props(void *ctx, const char *unit, const struct unit_props *want,
			     uint32_t mask)
{
	struct rig *r = ctx;
	struct rig_unit *u = find(r, unit);

	r->restore_calls++;
	if (r->silent)
		return -ETIMEDOUT;
	if (u == NULL)
		return -ENOENT;
	wait_for_pid1(r);
	r->broken_starts += u->creating && u->running;
	realise(r, u, want, mask);
	return 0;
}

static int restore_get_props(void *ctx, const char *unit, struct unit_props *ret)
{
	struct rig *r = ctx;
	const struct rig_unit *u = find(r, unit);

	if (r->silent)
		return -ETIMEDOUT;
	if (u == NULL)
		return -ENOENT;
	*ret = u->props;
	return 0;
}

static int restore_drop(void *, const char *, uint32_t)
{
	return 0;
}

void rig_pid1_start(struct rig *r)
{
	r->restore = (struct restore_units){r, restore_set_props, restore_get_props, restore_drop};
	if (unit_queue_new(&queue_config, &r->queue) < 0)
		exit(EXIT_FAILURE);
}

void rig_pid1_stop(struct rig *r)
{
	unit_queue_free(r->queue);
	r->queue = NULL;
	r->list_asked_at = 0;
	for (size_t i = 0; i < r->call_count; i++)
		r->call[i].orphaned = true;
	for (size_t i = 0; i < r->unit_count; i++)
		r->unit[i].asked_at = 0;
}
