/* SPDX-License-Identifier: Apache-2.0 */
/* Units and their resource properties over sd-bus. Everything is asynchronous on the caller's event
 * loop; nothing here decides, logs or blocks on PID 1.
 * Prefers /run/systemd/private (root, no dbus-daemon needed), else the system bus. */
#pragma once

#include "systemd/unit_conn.h"
#include <systemd/sd-event.h>

struct unit_bus;

/* Every one may be NULL, and every one may call unit_bus_free(). */
struct unit_bus_ops {
	/* Answer to unit_bus_list(): all units that match, complete. error < 0: nothing else is
	 * valid. */
	void (*listed)(void *ctx, int error, const struct unit_info *units, size_t count);
	/* Asked for each unit of a listing: true where its properties need not be read. They are
	 * several calls for PID 1, and there may be hundreds of units. */
	bool (*known)(void *ctx, const char *unit);
	/* A unit came, went, changed state, or a reload ended: list again. Debounced to once per
	 * 100 ms. */
	void (*changed)(void *ctx);
	/* PID 1 began (true) or finished (false) a daemon-reload or daemon-reexec. Every connection
	 * after the first one counts as the end of one: signals sent meanwhile are not known. */
	void (*reloading)(void *ctx, bool active);
	/* Outcome of unit_set(): error 0 or -errno; stored = what systemd holds now, read back
	 * (NULL on error); lag = time from the call to the answer. error < 0 does not mean that
	 * nothing will happen: after -ETIMEDOUT PID 1 may still do it. */
	void (*set_done)(void *ctx, const char *unit, int error, const struct unit_props *stored,
			 usec_t lag);
	/* Answer to unit_get(). */
	void (*got)(void *ctx, const char *unit, int error, const struct unit_props *stored);
	/* PID 1 answered on a new connection, the first one included. */
	void (*connected)(void *ctx);
	/* The connection is gone, and so are all calls: each got its callback with an error first.
	 * Nothing is kept: a value that waited may be below use. Reconnects itself (a daemon-reexec
	 * does this). */
	void (*disconnected)(void *ctx, int error);
};

/* Zero means the default. */
struct unit_bus_options {
	struct unit_address at;
	usec_t deadline_usec;    /* of every call; 30 s */
	usec_t interval_usec;    /* between two property calls for a unit; 1 s */
	usec_t debounce_usec;    /* of changed(); 100 ms */
	usec_t backoff_usec;     /* before the first reconnect, then doubled; 100 ms */
	usec_t backoff_max_usec; /* 5 s */
};

/* ops, ctx and the paths in options must outlive the bus; options may be NULL. -errno when PID 1
 * cannot be reached at all; when its socket exists and the connection is not accepted, it is tried
 * again as after a lost connection. */
int unit_bus_new(sd_event *event, const struct unit_bus_options *options,
		 const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret);
void unit_bus_free(struct unit_bus *b);

/* Asks for all loaded, running services, scopes and slices whose names match one of the globs. A
 * list that is still on its way is replaced by this one. The globs also choose the signals that
 * lead to changed(). */
int unit_bus_list(struct unit_bus *b, const char *const *patterns, size_t count);

/* Sets the properties in mask, runtime only, in one SetUnitProperties call. Coalesced: one call in
 * flight per unit; what comes meanwhile replaces what waits (masks are joined), and goes out when
 * the answer is in, not sooner than 1 s after the last call unless urgent. Deadline 30 s
 * (-ETIMEDOUT). */
int unit_set(struct unit_bus *b, const char *unit, const struct unit_props *want, uint32_t mask,
	     bool urgent);
/* The unit is gone: a waiting call is not made, not even to a new unit of the same name. There is
 * no callback. */
void unit_set_forget(struct unit_bus *b, const char *unit);
/* True while a call for this unit is in flight or waiting. */
bool unit_set_pending(const struct unit_bus *b, const char *unit);

/* Asks for the stored properties of one unit. */
int unit_get(struct unit_bus *b, const char *unit);
