// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit.h"
#include "systemd/unit_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ALREADY_SUBSCRIBED "org.freedesktop.systemd1.AlreadySubscribed"
/* Property calls in flight; each ends with a read of the unit, see unit_read.h for the sum. */
#define WINDOW_SETS 8

void unit_bus_unref(struct unit_bus **at)
{
	if (--(*at)->refs == 0)
		free(*at);
}

struct unit_bus *unit_bus_ref(struct unit_bus *b)
{
	b->refs++;
	return b;
}

usec_t unit_bus_now(const struct unit_bus *b)
{
	uint64_t now = 0;

	sd_event_now(b->event, CLOCK_BOOTTIME, &now);
	return now;
}

void unit_bus_arm(struct unit_bus *b)
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

static void schedule_changed(struct unit_bus *b)
{
	if (b->changed_at == UINT64_MAX)
		b->changed_at = unit_bus_now(b) + b->options.debounce_usec;
	unit_bus_arm(b);
}

/* Connection */

static void unsubscribe(struct unit_bus *b)
{
	for (size_t i = 0; i < UNIT_BUS_MATCHES; i++)
		b->matches[i] = sd_bus_slot_unref(b->matches[i]);
	b->subscribe = sd_bus_slot_unref(b->subscribe);
}

/* No callback of this connection is called any more. */
static void close_bus(struct unit_bus *b)
{
	unsubscribe(b);
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

static int on_unit_signal(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;
	const char *unit;

	if (sd_bus_message_read(m, "s", &unit) > 0 && unit_watch_concerns(&b->watch, unit))
		schedule_changed(b);
	return 0;
}

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_bus *b = userdata;
	const char *unit;

	if (sd_bus_message_read(m, "uos", NULL, NULL, &unit) > 0 &&
	    unit_watch_concerns(&b->watch, unit))
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
	{FROM_MANAGER "'JobRemoved'", on_job_removed, MATCH_PID1},
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

static void on_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct unit_bus *b = ctx;
	BUS_KEEP(b);

	b->list = NULL; /* frees itself */
	/* Without the memory for it, signals are compared with an older list: more listings. */
	if (error == 0)
		unit_watch_set_seen(&b->watch, units, count);
	BUS_CALL(b, listed, error, units, count);
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

static void reconnect(struct unit_bus *b)
{
	if (open_bus(b) < 0)
		schedule_reconnect(b);
}

static int on_timer(sd_event_source *, uint64_t, void *userdata)
{
	struct unit_bus *b = userdata;
	usec_t now = unit_bus_now(b);
	BUS_KEEP(b);

	if (is_due(&b->reconnect_at, now))
		reconnect(b);
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

static int copy_options(struct unit_bus *b, const struct unit_bus_options *given)
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
	if (o->at.private_socket)
		o->at.private_socket = b->private_socket = strdup(o->at.private_socket);
	if (o->at.system_socket)
		o->at.system_socket = b->system_socket = strdup(o->at.system_socket);
	b->backoff_usec = o->backoff_usec;
	return (given && given->at.private_socket && !b->private_socket) ||
			       (given && given->at.system_socket && !b->system_socket)
		       ? -ENOMEM
		       : 0;
}

/* PID 1 is about to make its socket again, or is too busy to accept a connection. */
static bool is_busy(int error)
{
	return error == -ECONNREFUSED || error == -EAGAIN;
}

static int first_connection(struct unit_bus *b)
{
	int r = open_bus(b);

	if (!is_busy(r))
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
	r = copy_options(b, options);
	if (r >= 0)
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
	free(STEAL(b->private_socket));
	free(STEAL(b->system_socket));
	unit_bus_unref(&b);
}
