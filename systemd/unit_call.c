// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_internal.h"
#include <errno.h>
#include <string.h>

static struct unit_pending *call_new(struct unit_bus *b, enum unit_call_kind kind, const char *unit)
{
	struct unit_pending *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->unit = strdup(unit);
	if (c->unit == NULL) {
		free(c);
		return NULL;
	}
	c->bus = b;
	c->kind = kind;
	c->sent_usec = unit_bus_now(b);
	LIST_INSERT_HEAD(&b->calls, c, link);
	return c;
}

static void call_free(struct unit_pending *c)
{
	LIST_REMOVE(c, link);
	sd_bus_slot_unref(c->slot);
	unit_read_cancel(c->read);
	free(c->unit);
	free(c);
}

/* Ends a call and reports its outcome. The caller holds the bus. */
static void call_finish(struct unit_pending *c, int error, const struct unit_props *stored)
{
	struct unit_bus *b = c->bus;
	OWN(drop_free) char *unit = STEAL(c->unit);
	enum unit_call_kind kind = c->kind;
	usec_t lag = c->lag_usec ? c->lag_usec : unit_bus_now(b) - c->sent_usec;

	if (kind == CALL_SET)
		unit_queue_done(b->queue, unit, unit_bus_now(b));
	call_free(c);
	if (kind == CALL_SET)
		BUS_CALL(b, set_done, unit, error, stored, lag);
	else
		BUS_CALL(b, got, unit, error, stored);
	if (!b->closed)
		unit_calls_pump(b);
}

static void on_read(void *ctx, struct unit_read *, int error, struct unit_record *record)
{
	struct unit_pending *c = ctx;
	BUS_KEEP(c->bus);

	c->read = NULL;
	call_finish(c, error, error ? NULL : &record->props);
}

static int on_set(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_pending *c = userdata;
	BUS_KEEP(c->bus);
	int r = unit_message_error(m);

	c->lag_usec = MAX(unit_bus_now(c->bus) - c->sent_usec, (usec_t)1);
	if (r >= 0)
		r = unit_read_start(c->bus->reader, c->unit, UNIT_READ_PROPS, on_read, c, &c->read);
	if (r < 0)
		call_finish(c, r, NULL);
	return 1;
}

static int send_set(struct unit_pending *c, const struct unit_call *job)
{
	struct unit_bus *b = c->bus;
	sd_bus_message *m = NULL;
	int r;

	r = sd_bus_message_new_method_call(b->bus, &m, UNIT_BUS_NAME, UNIT_BUS_PATH,
					   UNIT_INTERFACE_MANAGER, "SetUnitProperties");
	if (r >= 0)
		r = unit_message_append_set(m, c->unit, &job->props, job->mask);
	/* The queue's deadline covers the read-back too, so the bus needs none. */
	if (r >= 0)
		r = sd_bus_call_async(b->bus, &c->slot, m, on_set, c, UINT64_MAX);
	sd_bus_message_unref(m);
	return r;
}

/* Sends what may go. The caller holds the bus. */
void unit_calls_pump(struct unit_bus *b)
{
	struct unit_call job;

	while (!b->closed && b->bus && unit_queue_take(b->queue, unit_bus_now(b), &job)) {
		struct unit_pending *c = call_new(b, CALL_SET, job.unit);
		int r;

		if (c == NULL)
			break; /* no memory: the queue ends it at its deadline */
		r = send_set(c, &job);
		if (r < 0)
			call_finish(c, r, NULL);
	}
	if (!b->closed)
		unit_bus_arm(b);
}

static struct unit_pending *find_set(const struct unit_bus *b, const char *unit)
{
	struct unit_pending *c;

	LIST_FOREACH (c, &b->calls, link)
		if (c->kind == CALL_SET && strcmp(c->unit, unit) == 0)
			return c;
	return NULL;
}

void unit_calls_expire(struct unit_bus *b)
{
	const char *expired;

	while (!b->closed && (expired = unit_queue_expire(b->queue, unit_bus_now(b)))) {
		OWN(drop_free) char *unit = strdup(expired);
		struct unit_pending *c = find_set(b, expired);

		if (c)
			call_finish(c, -ETIMEDOUT, NULL);
		else if (unit)
			BUS_CALL(b, set_done, unit, -ETIMEDOUT, NULL, b->options.deadline_usec);
	}
}

void unit_calls_drop(struct unit_bus *b)
{
	char *unit;

	while (!LIST_EMPTY(&b->calls))
		call_free(LIST_FIRST(&b->calls));
	while ((unit = unit_queue_drop(b->queue)))
		free(unit);
}

void unit_calls_fail(struct unit_bus *b, int error)
{
	while (!b->closed && !LIST_EMPTY(&b->calls))
		call_finish(LIST_FIRST(&b->calls), error, NULL);
	while (!b->closed) {
		OWN(drop_free) char *unit = unit_queue_drop(b->queue);

		if (unit == NULL)
			return;
		BUS_CALL(b, set_done, unit, error, NULL, 0);
	}
}

int unit_set(struct unit_bus *b, const char *unit, const struct unit_props *want, uint32_t mask,
	     bool urgent)
{
	struct unit_call job = {.unit = unit, .props = *want, .mask = mask};
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	if (b->bus == NULL)
		return -ENOTCONN;
	r = unit_queue_put(b->queue, &job, urgent, unit_bus_now(b));
	if (r < 0)
		return r;
	/* Sent by the timer, so that no callback runs inside this call. */
	unit_bus_arm(b);
	return 0;
}

void unit_set_forget(struct unit_bus *b, const char *unit)
{
	unit_queue_forget(b->queue, unit);
}

bool unit_set_pending(const struct unit_bus *b, const char *unit)
{
	return unit_queue_pending(b->queue, unit);
}

int unit_get(struct unit_bus *b, const char *unit)
{
	struct unit_pending *c;
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	if (b->bus == NULL)
		return -ENOTCONN;
	c = call_new(b, CALL_GET, unit);
	if (c == NULL)
		return -ENOMEM;
	r = unit_read_start(b->reader, unit, UNIT_READ_PROPS, on_read, c, &c->read);
	if (r < 0)
		call_free(c);
	return r;
}
