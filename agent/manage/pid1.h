/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1: how properties and lists of units get there, and what is known of its state. */
#pragma once

#include "systemd/unit.h"

/* How properties get to PID 1; tests put a recorder here. Same contracts as systemd/unit.h. */
struct unit_port {
	struct unit_bus *bus; /* of a recorder: itself */
	int (*list)(struct unit_bus *bus, const char *const *patterns, size_t count);
	int (*set)(struct unit_bus *bus, const char *unit, const struct unit_props *want,
		   uint32_t mask, bool urgent);
	bool (*pending)(const struct unit_bus *bus, const char *unit);
	void (*forget)(struct unit_bus *bus, const char *unit); /* NULL: nothing ever waits */
	int (*get)(struct unit_bus *bus, const char *unit);
	/* For a unit with other drop-ins that beat a runtime property; NULL: there are none. */
	bool (*beaten)(const char *unit);
	int (*keep)(const char *unit, const struct unit_props *want, uint32_t mask);
};

/* Written by agent/units; reloading, reload_ended by agent/drift, list_due by all. */
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
