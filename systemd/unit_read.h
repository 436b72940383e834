/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the properties of units, several units at a time but never more than a window: a
 * dbus-daemon allows a connection 128 calls without an answer.
 * Single Get calls and not GetAll: seven properties are needed, and GetAll of the two interfaces of
 * a service makes PID 1 read a dozen cgroup files and send 400 (23 ms against 3 ms in the emulated
 * lab). The price is that the seven are not one instant. */
#pragma once

#include "systemd/unit_props.h"

enum unit_read_what {
	UNIT_READ_PROPS, /* the limits alone */
	UNIT_READ_ALL,   /* and the unit's identity */
};

struct unit_reader;
struct unit_read;

/* Called once, never from inside unit_read_start. error 0, or -errno and info says nothing but the
 * name. The read is gone afterwards; the reader may be freed inside. active_state is not read. What
 * the callback takes from info it must replace by NULL. */
typedef void (*unit_read_done)(void *ctx, int error, struct unit_info *info);

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
 * freed inside. units is owned by the callee: unit_infos_free(); with an error there are none. */
typedef void (*unit_list_done)(void *ctx, int error, struct unit_info *units, size_t count);
void unit_infos_free(struct unit_info *units, size_t count);

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

struct unit_watch {
	char **patterns; /* ends with NULL */
	struct unit_info *seen;
	size_t seen_count;
};

void unit_watch_clear(struct unit_watch *w);
/* Copies; the old ones stay on failure. */
int unit_watch_set_patterns(struct unit_watch *w, const char *const *patterns, size_t count);
/* Takes the units over. Of one that was not read again the remembered invocation stays. */
void unit_watch_take_seen(struct unit_watch *w, struct unit_info *units, size_t count);

/* Does a unit of this name belong to the listing? */
bool unit_watch_concerns(const struct unit_watch *w, const char *unit);

/* Does a PropertiesChanged of a unit hold something that the last listing does not? Property writes
 * of vscaled cause this signal too, with nothing new in it. */
bool unit_watch_changed(const struct unit_watch *w, sd_bus_message *m);
