/* SPDX-License-Identifier: Apache-2.0 */
/* Which of PID 1's many signals matter here: the globs of the last listing and its result. */
#pragma once

#include "systemd/unit_props.h"

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
