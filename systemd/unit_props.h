/* SPDX-License-Identifier: Apache-2.0 */
/* The resource properties of units as value types, and the D-Bus messages that carry them. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

#define UNIT_BUS_NAME          "org.freedesktop.systemd1"
#define UNIT_BUS_PATH          "/org/freedesktop/systemd1"
#define UNIT_BUS_PATH_UNIT     "/org/freedesktop/systemd1/unit"
#define UNIT_INTERFACE         "org.freedesktop.systemd1.Unit"
#define UNIT_INTERFACE_MANAGER "org.freedesktop.systemd1.Manager"

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
#define UNIT_PROP_ALL (UNIT_PROP_CPU_QUOTA | UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH)

/* One loaded service, scope or slice. In callbacks it is borrowed. */
struct unit_info {
	char *name;
	char *cgroup; /* ControlGroup, "/system.slice/x.service"; "" when it has none */
	char active_state[16];
	char invocation_id[33];   /* "" when not running */
	usec_t active_enter_usec; /* ActiveEnterTimestampMonotonic, 0 = never */
	struct unit_props props;  /* as systemd holds them */
	bool known;               /* not asked about: there are name and active_state alone */
};

/* One row per D-Bus property that belongs to struct unit_props. */
struct unit_prop_row {
	uint32_t bit;       /* enum unit_prop_mask */
	const char *name;   /* on the bus, type "t" */
	const char *dropin; /* file that SetUnitProperties writes for it in <unit>.d */
	size_t offset;      /* in struct unit_props */
};
#define UNIT_PROP_ROWS 4
extern const struct unit_prop_row unit_prop_rows[UNIT_PROP_ROWS];

/* "org.freedesktop.systemd1.Service" and so on; NULL when the name is not a valid service, scope
 * or slice name. */
const char *unit_interface_of(const char *unit);

/* While a runtime creates a container, no property of its scope may be set: systemd attaches the
 * device program anew, and the runtime fails ("can't attach program"). A runtime is taken to be
 * done this long after the scope appeared. A whole start by containerd and runc 1.1.5 took p50
 * 3.7 s and at most 6.3 s in an emulated machine some 20 times slower than real ones; on a busy
 * host up to 15.6 s there, which the API server's report covers (manage/attach.c). */
#define UNIT_CREATING_USEC (10 * USEC_PER_SEC)

/* Copies those values of `from` that mask names. */
void unit_props_merge(struct unit_props *into, const struct unit_props *from, uint32_t mask);
bool unit_props_equal(const struct unit_props *a, const struct unit_props *b, uint32_t mask);

/* Appends the body of SetUnitProperties(unit, runtime=true, properties). */
int unit_message_append_set(sd_bus_message *m, const char *unit, const struct unit_props *props,
			    uint32_t mask);
/* Appends the body of ListUnitsByPatterns for every state in which a unit has processes. */
int unit_message_append_list(sd_bus_message *m, const char *const *patterns, size_t count);
/* One row of its answer, strings borrowed from the message: 1 = a row, 0 = the end. */
int unit_message_read_row(sd_bus_message *m, const char **ret_name, const char **ret_state);
/* -errno of an error that is set. */
int unit_error_to_errno(const sd_bus_error *e);
/* What ends a call: 0 for an answer, else -errno of the error in it. */
int unit_message_error(sd_bus_message *m);
/* The answer to Properties.Get of a "t", of a "s" (owned copy), and of InvocationID. */
int unit_message_read_u64(sd_bus_message *m, uint64_t *ret);
int unit_message_read_string(sd_bus_message *m, char **ret);
int unit_message_read_id(sd_bus_message *m, char ret[33]);
