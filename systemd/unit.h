/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units and their resource properties over sd-bus. Everything is asynchronous on the caller's
 * event loop; nothing here decides, logs or blocks on PID 1.
 * Prefers /run/systemd/private (root, no dbus-daemon needed), else the system bus.
 */
#pragma once

#include "policy/base.h"
#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

/* The properties vscaled may own on a unit; UINT64_MAX = infinity (systemd's own value for it). */
struct unit_props {
	uint64_t cpu_quota_per_sec_usec;
	uint64_t cpu_quota_period_usec; /* UINT64_MAX = default (100 ms) */
	uint64_t mem_max;               /* bytes */
	uint64_t mem_high;              /* bytes */
};

enum unit_prop_mask {
	UNIT_PROP_CPU_QUOTA = 1 << 0, /* quota and period go together */
	UNIT_PROP_MEM_MAX = 1 << 1,
	UNIT_PROP_MEM_HIGH = 1 << 2,
};

/* One loaded service, scope or slice. Strings are borrowed for the duration of the callback. */
struct unit_info {
	const char *name;
	const char *cgroup; /* ControlGroup, "/system.slice/x.service"; "" when it has none */
	const char *active_state;
	const char *invocation_id; /* 32 hex digits, "" when not running */
	usec_t active_enter_usec;  /* ActiveEnterTimestampMonotonic, 0 = never */
	struct unit_props props;   /* as systemd holds them */
};

struct unit_bus;

struct unit_bus_ops {
	/* Answer to unit_bus_list(): all units that match, complete. error < 0: nothing else is
	 * valid. */
	void (*listed)(void *ctx, int error, const struct unit_info *units, size_t count);
	/* A unit came, went, changed state, or a reload ended: list again. Debounced to once per
	 * 100 ms. */
	void (*changed)(void *ctx);
	/* PID 1 began (true) or finished (false) a daemon-reload or daemon-reexec. */
	void (*reloading)(void *ctx, bool active);
	/* Outcome of unit_set(): error 0 or -errno; stored = what systemd holds now, read back
	 * (NULL on error); lag = time from the call to the answer. */
	void (*set_done)(void *ctx, const char *unit, int error, const struct unit_props *stored,
			 usec_t lag);
	/* Answer to unit_get(). */
	void (*got)(void *ctx, const char *unit, int error, const struct unit_props *stored);
	/* The connection is gone; unit_bus_* fail with -ENOTCONN until it is back (reconnects
	 * itself with back-off and then calls changed()). */
	void (*disconnected)(void *ctx, int error);
};

/* ops and ctx must outlive the bus. -errno when PID 1 cannot be reached at all. */
int unit_bus_new(sd_event *event, const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret);
void unit_bus_free(struct unit_bus *b);

/* Asks for all loaded, active services, scopes and slices whose names match one of the globs. */
int unit_bus_list(struct unit_bus *b, const char *const *patterns, size_t count);

/*
 * Sets the properties in mask, runtime only, in one SetUnitProperties call. Coalesced: one call in
 * flight per unit; what comes meanwhile replaces what waits (masks are joined), and goes out when
 * the answer is in, not sooner than 1 s after the last call unless urgent. Deadline 30 s
 * (-ETIMEDOUT).
 */
int unit_set(struct unit_bus *b, const char *unit, const struct unit_props *want, uint32_t mask,
	     bool urgent);
/* True while a call for this unit is in flight or waiting. */
bool unit_set_pending(const struct unit_bus *b, const char *unit);

/* Asks for the stored properties of one unit. */
int unit_get(struct unit_bus *b, const char *unit);
