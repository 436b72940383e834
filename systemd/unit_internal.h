/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by unit.c (connection, signals, listing) and unit_call.c (property calls) alone. */
#pragma once

#include "systemd/unit.h"
#include "systemd/unit_list.h"
#include "systemd/unit_queue.h"
#include "systemd/unit_watch.h"
#include <sys/queue.h>

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
	char *private_socket, *system_socket;
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

struct unit_bus *unit_bus_ref(struct unit_bus *b);
void unit_bus_unref(struct unit_bus **at);
usec_t unit_bus_now(const struct unit_bus *b);
/* Sets the timer to the earliest thing due. */
void unit_bus_arm(struct unit_bus *b);

/* Sends the property calls that may go, and gives up those past their deadline. The caller holds
 * the bus, here and below. */
void unit_calls_pump(struct unit_bus *b);
void unit_calls_expire(struct unit_bus *b);
/* Ends every call with an error, and calls its callback. */
void unit_calls_fail(struct unit_bus *b, int error);
/* Ends every call without a callback. */
void unit_calls_drop(struct unit_bus *b);
