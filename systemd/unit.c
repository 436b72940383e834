// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit.h"
#include "systemd/unit_queue.h"
#include "systemd/unit_read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#define UNIT_BUS_MATCHES 7

enum unit_call_kind { CALL_SET, CALL_GET };

struct unit_pending {
	LIST_ENTRY(unit_pending) link;
	struct unit_bus *bus;
	enum unit_call_kind kind;
	char *unit;
	sd_bus_slot *slot;
	struct unit_read *read;
	usec_t sent_usec;
	usec_t lag_usec;
};

struct unit_bus {
	unsigned refs; /* the owner's, and one per function that calls out */
	bool closed;   /* by unit_bus_free(): touch nothing but refs */
	sd_event *event;
	struct unit_bus_options options;
	const struct unit_bus_ops *ops;
	void *ctx;

	sd_bus *bus; /* NULL: waiting for reconnect_at */
	bool direct;
	bool was_answered; /* PID 1 has answered at least once */
	bool lost;         /* disconnected() was called since then */
	bool reloading;
	sd_bus_slot *matches[UNIT_BUS_MATCHES];
	sd_bus_slot *subscribe;

	sd_event_source *timer;
	usec_t changed_at, reconnect_at, empty_at; /* UINT64_MAX: not due */
	usec_t backoff_usec;

	struct unit_queue *queue;
	struct unit_reader *reader;
	struct unit_list *list;
	struct unit_watch watch;
	LIST_HEAD(, unit_pending) calls;
};

/* Calls an operation if there is one. */
#define BUS_CALL(b, op, ...)                                                                       \
	do {                                                                                       \
		if ((b)->ops->op)                                                                  \
			(b)->ops->op((b)->ctx, ##__VA_ARGS__);                                     \
	} while (0)

/* Keeps the bus in memory for a scope in which a callback may free it. */
#define BUS_KEEP(b)                                                                                \
	__attribute__((__unused__)) OWN(unit_bus_unref) struct unit_bus *held_ = unit_bus_ref(b)

#define ALREADY_SUBSCRIBED "org.freedesktop.systemd1.AlreadySubscribed"
/* Property calls in flight; each ends with a read of the unit, see unit_read.h for the sum. */
#define WINDOW_SETS 8

static void unit_bus_unref(struct unit_bus **at)
{
	if (--(*at)->refs == 0)
		free(*at);
}

static struct unit_bus *unit_bus_ref(struct unit_bus *b)
{
	b->refs++;
	return b;
}

static usec_t unit_bus_now(const struct unit_bus *b)
{
	uint64_t now = 0;

	sd_event_now(b->event, CLOCK_BOOTTIME, &now);
	return now;
}

/* Sets the timer to the earliest thing due. */
static void unit_bus_arm(struct unit_bus *b)
{
	usec_t at = MIN(b->reconnect_at, b->empty_at);

	if (b->bus)
		at = MIN(at, MIN(b->changed_at, unit_queue_next(b->queue)));
	if (at == UINT64_MAX) {
		sd_event_source_set_enabled(b->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(b->timer, at);
	sd_event_source_set_enabled(b->timer, SD_EVENT_ONESHOT);
}

/* --- property calls */

static void unit_calls_pump(struct unit_bus *b);

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

static void on_read(void *ctx, int error, struct unit_info *info)
{
	struct unit_pending *c = ctx;
	BUS_KEEP(c->bus);

	c->read = NULL;
	call_finish(c, error, error ? NULL : &info->props);
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
static void unit_calls_pump(struct unit_bus *b)
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

static void unit_calls_expire(struct unit_bus *b)
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

/* Ends every call without a callback. */
static void unit_calls_drop(struct unit_bus *b)
{
	char *unit;

	while (!LIST_EMPTY(&b->calls))
		call_free(LIST_FIRST(&b->calls));
	while ((unit = unit_queue_drop(b->queue)))
		free(unit);
}

/* Ends every call with an error, and calls its callback. */
static void unit_calls_fail(struct unit_bus *b, int error)
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

/* --- connection, signals, listing */

static void schedule_changed(struct unit_bus *b)
{
	if (b->changed_at == UINT64_MAX)
		b->changed_at = unit_bus_now(b) + b->options.debounce_usec;
	unit_bus_arm(b);
}

/* Connection */

/* No callback of this connection is called any more. */
static void close_bus(struct unit_bus *b)
{
	for (size_t i = 0; i < UNIT_BUS_MATCHES; i++)
		b->matches[i] = sd_bus_slot_unref(b->matches[i]);
	b->subscribe = sd_bus_slot_unref(b->subscribe);
	unit_reader_set_bus(b->reader, NULL);
	b->bus = sd_bus_close_unref(b->bus);
}

static void schedule_reconnect(struct unit_bus *b)
{
	b->reconnect_at = unit_bus_now(b) + b->backoff_usec;
	b->backoff_usec = MIN(b->backoff_usec * 2, b->options.backoff_max_usec);
	unit_bus_arm(b);
}

/* The connection has ended: every call on it fails, and it is made again later. The calls get their
 * callbacks one by one, and each may free the bus. */
static void lose(struct unit_bus *b, int error)
{
	bool had_list = b->list != NULL;
	struct unit_pending *c;
	BUS_KEEP(b);

	LIST_FOREACH (c, &b->calls, link)
		c->read = NULL; /* freed with the reader's connection */
	unit_list_free(STEAL(b->list));
	close_bus(b);
	schedule_reconnect(b);
	unit_calls_fail(b, -ENOTCONN);
	if (!b->closed && had_list)
		BUS_CALL(b, listed, -ENOTCONN, NULL, 0);
	if (!b->closed && !b->lost) {
		b->lost = true;
		BUS_CALL(b, disconnected, error);
	}
}

static int on_disconnected(sd_bus_message *, void *userdata, sd_bus_error *)
{
	lose(userdata, -ECONNRESET);
	return 0;
}

/* The unit that came, went or had a job. */
static int on_unit_signal(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	bool job = sd_bus_message_is_signal(m, NULL, "JobRemoved") > 0;
	struct unit_bus *b = userdata;
	const char *unit;
	int r = job ? sd_bus_message_read(m, "uos", NULL, NULL, &unit)
		    : sd_bus_message_read(m, "s", &unit);

	if (r > 0 && unit_watch_concerns(&b->watch, unit))
		schedule_changed(b);
	return 0;
}

static int on_properties(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;

	if (unit_watch_changed(&b->watch, m))
		schedule_changed(b);
	return 0;
}

static int on_reloading(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;
	int active;
	BUS_KEEP(b);

	if (sd_bus_message_read(m, "b", &active) <= 0)
		return 0;
	b->reloading = active;
	if (!active)
		schedule_changed(b);
	BUS_CALL(b, reloading, active != 0);
	return 0;
}

/* PID 1 has left the bus daemon: open calls will not be answered, and when PID 1 is back it has no
 * subscribers. */
static int on_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;
	const char *old;

	if (sd_bus_message_read(m, "ss", NULL, &old) > 0 && old[0] != '\0')
		lose(b, -ECONNRESET);
	return 0;
}

/* PID 1 has answered: the connection is established. Handlers of answers return 1: after 0 for a
 * call that timed out libsystemd goes on with the connection, and aborts if it was closed here. */
static int on_subscribed(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;
	bool again = b->was_answered;
	BUS_KEEP(b);

	if (sd_bus_message_get_error(m) &&
	    !sd_bus_error_has_name(sd_bus_message_get_error(m), ALREADY_SUBSCRIBED)) {
		lose(b, unit_message_error(m));
		return 1;
	}
	b->lost = false;
	b->was_answered = true;
	b->reloading = false;
	b->backoff_usec = b->options.backoff_usec;
	if (again)
		schedule_changed(b);
	BUS_CALL(b, connected);
	/* A daemon-reexec may have begun without a signal. */
	if (!b->closed && again)
		BUS_CALL(b, reloading, false);
	return 1;
}

static int subscribe(struct unit_bus *b)
{
	return sd_bus_call_method_async(b->bus, &b->subscribe, UNIT_BUS_NAME, UNIT_BUS_PATH,
					UNIT_INTERFACE_MANAGER, "Subscribe", on_subscribed, b, "");
}

#define FROM_MANAGER                                                                               \
	"type='signal',path='" UNIT_BUS_PATH "',interface='" UNIT_INTERFACE_MANAGER "',member="
#define FROM_UNIT                                                                                  \
	"type='signal',path_namespace='" UNIT_BUS_PATH_UNIT                                        \
	"',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"                \
	"arg0='" UNIT_INTERFACE "'"
#define FROM_LOCAL                                                                                 \
	"type='signal',sender='org.freedesktop.DBus.Local',path='/org/freedesktop/DBus/Local',"    \
	"interface='org.freedesktop.DBus.Local',member='Disconnected'"
#define FROM_DAEMON                                                                                \
	"type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"                \
	"interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" UNIT_BUS_NAME "'"

enum match_source {
	MATCH_PID1,   /* on the bus any client can send such a signal: take PID 1's alone */
	MATCH_LOCAL,  /* made by libsystemd */
	MATCH_DAEMON, /* there is none on the private socket */
};

static const struct {
	const char *rule;
	sd_bus_message_handler_t handler;
	enum match_source source;
} matches[UNIT_BUS_MATCHES] = {
	{FROM_MANAGER "'UnitNew'", on_unit_signal, MATCH_PID1},
	{FROM_MANAGER "'UnitRemoved'", on_unit_signal, MATCH_PID1},
	{FROM_MANAGER "'JobRemoved'", on_unit_signal, MATCH_PID1},
	{FROM_MANAGER "'Reloading'", on_reloading, MATCH_PID1},
	{FROM_UNIT, on_properties, MATCH_PID1},
	{FROM_LOCAL, on_disconnected, MATCH_LOCAL},
	{FROM_DAEMON, on_owner_changed, MATCH_DAEMON},
};

static int add_matches(struct unit_bus *b)
{
	for (size_t i = 0; i < UNIT_BUS_MATCHES; i++) {
		bool ask = matches[i].source == MATCH_PID1 && !b->direct;
		char rule[512];
		int r;

		if (matches[i].source == MATCH_DAEMON && b->direct)
			continue;
		snprintf(rule, sizeof rule, "%s%s", matches[i].rule,
			 ask ? ",sender='" UNIT_BUS_NAME "'" : "");
		r = sd_bus_add_match_async(b->bus, &b->matches[i], rule, matches[i].handler, NULL,
					   b);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_bus(struct unit_bus *b)
{
	int r = unit_conn_open(&b->options.at, &b->bus, &b->direct);

	if (r >= 0)
		r = sd_bus_set_method_call_timeout(b->bus, b->options.deadline_usec);
	if (r >= 0)
		r = add_matches(b);
	if (r >= 0)
		r = subscribe(b);
	if (r >= 0)
		r = sd_bus_attach_event(b->bus, b->event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0) {
		close_bus(b);
		return r;
	}
	unit_reader_set_bus(b->reader, b->bus);
	return 0;
}

/* Listing */

static void on_listed(void *ctx, int error, struct unit_info *units, size_t count)
{
	struct unit_bus *b = ctx;
	BUS_KEEP(b);

	b->list = NULL; /* frees itself */
	BUS_CALL(b, listed, error, units, count);
	if (error == 0 && !b->closed)
		unit_watch_take_seen(&b->watch, units, count);
	else
		unit_infos_free(units, count);
}

static bool is_known(void *ctx, const char *name)
{
	struct unit_bus *b = ctx;

	return b->ops->known(b->ctx, name);
}

int unit_bus_list(struct unit_bus *b, const char *const *patterns, size_t count)
{
	struct unit_list_request request = {
		.patterns = patterns,
		.count = count,
		.done = on_listed,
		.known = b->ops->known != NULL ? is_known : NULL,
		.ctx = b,
	};
	int r;

	if (b->bus == NULL)
		return -ENOTCONN;
	r = unit_watch_set_patterns(&b->watch, patterns, count);
	if (r < 0)
		return r;
	unit_list_free(STEAL(b->list));
	b->empty_at = UINT64_MAX;
	if (count > 0)
		return unit_list_start(b->bus, b->reader, &request, &b->list);
	/* PID 1 takes an empty list of patterns for "everything". */
	b->empty_at = unit_bus_now(b);
	unit_bus_arm(b);
	return 0;
}

/* The one timer */

static bool is_due(usec_t *at, usec_t now)
{
	if (now < *at)
		return false;
	*at = UINT64_MAX;
	return true;
}

static int on_timer(sd_event_source *, uint64_t, void *userdata)
{
	struct unit_bus *b = userdata;
	usec_t now = unit_bus_now(b);
	BUS_KEEP(b);

	if (is_due(&b->reconnect_at, now) && open_bus(b) < 0)
		schedule_reconnect(b);
	unit_calls_expire(b);
	unit_calls_pump(b);
	if (!b->closed && is_due(&b->empty_at, now))
		on_listed(b, 0, NULL, 0);
	if (!b->closed && b->bus && is_due(&b->changed_at, now))
		BUS_CALL(b, changed);
	if (!b->closed)
		unit_bus_arm(b);
	return 0;
}

static void take_options(struct unit_bus *b, const struct unit_bus_options *given)
{
	static const struct unit_bus_options defaults = {
		.deadline_usec = 30 * USEC_PER_SEC,
		.interval_usec = USEC_PER_SEC,
		.debounce_usec = 100 * USEC_PER_MSEC,
		.backoff_usec = 100 * USEC_PER_MSEC,
		.backoff_max_usec = 5 * USEC_PER_SEC,
	};
	struct unit_bus_options *o = &b->options;

	*o = given ? *given : defaults;
	o->deadline_usec = o->deadline_usec ?: defaults.deadline_usec;
	o->interval_usec = o->interval_usec ?: defaults.interval_usec;
	o->debounce_usec = o->debounce_usec ?: defaults.debounce_usec;
	o->backoff_usec = o->backoff_usec ?: defaults.backoff_usec;
	o->backoff_max_usec = o->backoff_max_usec ?: defaults.backoff_max_usec;
	b->backoff_usec = o->backoff_usec;
}

static int first_connection(struct unit_bus *b)
{
	int r = open_bus(b);

	/* PID 1 is about to make its socket again, or is too busy to accept a connection. */
	if (r != -ECONNREFUSED && r != -EAGAIN)
		return r;
	schedule_reconnect(b);
	return 0;
}

static int unit_start(struct unit_bus *b)
{
	struct unit_queue_config queue = {
		.interval_usec = b->options.interval_usec,
		.deadline_usec = b->options.deadline_usec,
		.window = WINDOW_SETS,
	};
	int r;

	r = unit_queue_new(&queue, &b->queue);
	if (r >= 0)
		r = unit_reader_new(&b->reader);
	if (r >= 0)
		r = sd_event_add_time(b->event, &b->timer, CLOCK_BOOTTIME, 0, USEC_PER_MSEC,
				      on_timer, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->timer, SD_EVENT_OFF);
	return r < 0 ? r : first_connection(b);
}

int unit_bus_new(sd_event *event, const struct unit_bus_options *options,
		 const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret)
{
	struct unit_bus *b = calloc(1, sizeof *b);
	int r;

	if (b == NULL)
		return -ENOMEM;
	*b = (struct unit_bus){
		.refs = 1,
		.event = sd_event_ref(event),
		.ops = ops,
		.ctx = ctx,
		.changed_at = UINT64_MAX,
		.reconnect_at = UINT64_MAX,
		.empty_at = UINT64_MAX,
	};
	take_options(b, options);
	r = unit_start(b);
	if (r < 0) {
		unit_bus_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

void unit_bus_free(struct unit_bus *b)
{
	if (b == NULL)
		return;
	b->closed = true;
	unit_list_free(STEAL(b->list));
	if (b->queue)
		unit_calls_drop(b);
	if (b->reader) {
		close_bus(b);
		unit_reader_free(STEAL(b->reader));
	}
	unit_queue_free(STEAL(b->queue));
	unit_watch_clear(&b->watch);
	b->timer = sd_event_source_disable_unref(b->timer);
	b->event = sd_event_unref(b->event);
	unit_bus_unref(&b);
}
