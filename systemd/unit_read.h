/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the properties of units, several units at a time but never more than a window: a
 * dbus-daemon allows a connection 128 calls without an answer.
 * Single Get calls and not GetAll: seven properties are needed, and GetAll of the two interfaces of
 * a service makes PID 1 read a dozen cgroup files and send 400 (23 ms against 3 ms in the emulated
 * lab). The price is that the seven are not one instant. */
#pragma once

#include "systemd/unit_props.h"

/* One unit as read. All strings are owned by it. */
struct unit_record {
	char *name;
	char *cgroup;
	char invocation_id[33];
	usec_t active_enter_usec;
	struct unit_props props;
};

enum unit_read_what {
	UNIT_READ_PROPS, /* the limits alone */
	UNIT_READ_ALL,   /* and the unit's identity */
};

struct unit_reader;
struct unit_read;

/* Called once, never from inside unit_read_start. error 0, or -errno and the record says nothing
 * but the name. The read is gone afterwards; the reader may be freed inside. What the callback
 * takes from the record it must replace by NULL. */
typedef void (*unit_read_done)(void *ctx, int error, struct unit_record *record);

int unit_reader_new(struct unit_reader **ret);
/* Drops all reads without a callback. */
void unit_reader_free(struct unit_reader *rr);
/* The connection to use from now on, with its timeout; NULL: none. Drops all reads of the last one
 * without a callback.
 */
void unit_reader_set_bus(struct unit_reader *rr, sd_bus *bus);

int unit_read_start(struct unit_reader *rr, const char *unit, enum unit_read_what what,
		    unit_read_done done, void *ctx, struct unit_read **ret);
/* done will not be called. The answers on their way still count for the window. */
void unit_read_cancel(struct unit_read *r);

/* --- one listing of units: their names by pattern, then the properties of each */
struct unit_list;

/* Called once, never from inside unit_list_start. The listing is gone afterwards, its owner may be
 * freed inside. error 0: units is valid and sorted by the bus; borrowed. */
typedef void (*unit_list_done)(void *ctx, int error, const struct unit_info *units, size_t count);

struct unit_list_request {
	const char *const *patterns;
	size_t count;
	unit_list_done done;
	bool (*known)(void *ctx, const char *name); /* not read; NULL: all are */
	void *ctx;
};

int unit_list_start(sd_bus *bus, struct unit_reader *rr, const struct unit_list_request *request,
		    struct unit_list **ret);
/* Ends it without calling done. NULL is fine. */
void unit_list_free(struct unit_list *l);

/* Which of PID 1's many signals matter here: the globs of the last listing and its result. */

struct unit_seen {
	char *name;
	char active_state[16];
	char invocation_id[33];
};

struct unit_watch {
	char **patterns; /* ends with NULL */
	struct unit_seen *seen;
	size_t seen_count;
};

void unit_watch_clear(struct unit_watch *w);
/* Copies; the old ones stay on failure. */
int unit_watch_set_patterns(struct unit_watch *w, const char *const *patterns, size_t count);
int unit_watch_set_seen(struct unit_watch *w, const struct unit_info *units, size_t count);

/* Does a unit of this name belong to the listing? */
bool unit_watch_concerns(const struct unit_watch *w, const char *unit);

/* Does a PropertiesChanged of a unit hold something that the last listing does not? Property writes
 * of vscaled cause this signal too, with nothing new in it. */
bool unit_watch_changed(const struct unit_watch *w, sd_bus_message *m);
