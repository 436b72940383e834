/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1: how properties and lists of units get there, and what is known of its state. */
#pragma once

#include "systemd/unit.h"

/* The bus gives up a list after as long. */
#define PID1_LIST_DEADLINE_USEC (30 * USEC_PER_SEC)
/* In between, properties are read of what is new or changed: what others store they write to the
 * files too, and a reload asks for itself. */
#define PID1_LIST_WHOLE_USEC (5 * USEC_PER_MIN)

/* How properties get to PID 1; tests put a recorder here. Same contracts as systemd/unit.h. */
struct unit_port {
	void *ctx;
	int (*list)(void *ctx, const char *const *patterns, size_t count);
	int (*set)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask,
		   bool urgent);
	bool (*pending)(void *ctx, const char *unit);
	void (*forget)(void *ctx, const char *unit); /* NULL: nothing ever waits */
	int (*get)(void *ctx, const char *unit);
	/* For a unit with other drop-ins that beat a runtime property; NULL: there are none. */
	bool (*beaten)(void *ctx, const char *unit);
	int (*keep)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask);
};

struct pid1 {
	struct unit_port port;
	bool connected;
	bool lost;   /* the connection was lost once, which is reported */
	bool absent; /* there is no connection, and none is needed */
	bool reloading;
	usec_t reload_ended;
	bool list_due;        /* to be requested */
	bool list_pending;    /* requested, not answered */
	bool listed;          /* the first list arrived */
	usec_t list_asked_at; /* when the newest list was requested */
	usec_t list_whole_at; /* the same, with the properties of all units */
};

void pid1_use(struct pid1 *p, const struct unit_port *port);
void pid1_set_absent(struct pid1 *p);
/* True: it had been lost. */
bool pid1_set_connected(struct pid1 *p);
/* True: it was connected. */
bool pid1_set_lost(struct pid1 *p);
/* A reload begins or ends. */
void pid1_reload(struct pid1 *p, bool active, usec_t now);
void pid1_need_list(struct pid1 *p);
/* Is a list on its way, and not overdue? Another request would drop it. */
bool pid1_awaits_list(const struct pid1 *p, usec_t now);
/* A list is about to be requested. */
void pid1_list_asked(struct pid1 *p, usec_t now);
/* Sends the request; when it fails, the list is due again. */
void pid1_list_send(struct pid1 *p, const char *const *globs, size_t count);
/* The answer arrived; error < 0: without a list, which is due again. */
void pid1_list_answered(struct pid1 *p, int error);
/* The list was carried out. True: it is the first. */
bool pid1_listed(struct pid1 *p);
