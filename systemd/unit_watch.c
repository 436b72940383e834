// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_watch.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static void free_strings(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

static void free_seen(struct unit_seen *seen, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(seen[i].name);
	free(seen);
}

void unit_watch_clear(struct unit_watch *w)
{
	free_strings(w->patterns);
	free_seen(w->seen, w->seen_count);
	*w = (struct unit_watch){0};
}

int unit_watch_set_patterns(struct unit_watch *w, const char *const *patterns, size_t count)
{
	char **copy = calloc(count + 1, sizeof *copy);

	if (copy == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(patterns[i]);
		if (copy[i] == NULL) {
			free_strings(copy);
			return -ENOMEM;
		}
	}
	free_strings(w->patterns);
	w->patterns = copy;
	return 0;
}

/* The invocation ID; of a unit that was not read again, the remembered one. */
static const char *invocation_of(const struct unit_watch *w, const struct unit_info *u)
{
	for (size_t i = 0; u->known && i < w->seen_count; i++)
		if (strcmp(w->seen[i].name, u->name) == 0)
			return w->seen[i].invocation_id;
	return u->invocation_id;
}

int unit_watch_set_seen(struct unit_watch *w, const struct unit_info *units, size_t count)
{
	struct unit_seen *seen = calloc(count + 1, sizeof *seen);

	if (seen == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		seen[i].name = strdup(units[i].name);
		if (seen[i].name == NULL) {
			free_seen(seen, i);
			return -ENOMEM;
		}
		snprintf(seen[i].active_state, sizeof seen->active_state, "%s",
			 units[i].active_state);
		snprintf(seen[i].invocation_id, sizeof seen->invocation_id, "%s",
			 invocation_of(w, &units[i]));
	}
	free_seen(w->seen, w->seen_count);
	w->seen = seen;
	w->seen_count = count;
	return 0;
}

bool unit_watch_concerns(const struct unit_watch *w, const char *unit)
{
	if (unit_interface_of(unit) == NULL)
		return false;
	for (char **p = w->patterns; p && *p; p++)
		if (fnmatch(*p, unit, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

static const struct unit_seen *unit_watch_find(const struct unit_watch *w, const char *unit)
{
	for (size_t i = 0; i < w->seen_count; i++)
		if (strcmp(w->seen[i].name, unit) == 0)
			return &w->seen[i];
	return NULL;
}

/* Takes ActiveState and InvocationID out of a{sv}; what is not in it stays as it was. */
static int read_changes(sd_bus_message *m, struct unit_seen *ret)
{
	const char *name, *state;
	int r;

	r = sd_bus_message_skip(m, "s");
	if (r >= 0)
		r = sd_bus_message_enter_container(m, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &name);
		if (r < 0)
			return r;
		if (strcmp(name, "ActiveState") == 0) {
			r = sd_bus_message_read(m, "v", "s", &state);
			if (r > 0)
				snprintf(ret->active_state, sizeof ret->active_state, "%s", state);
		} else if (strcmp(name, "InvocationID") == 0) {
			r = unit_message_read_id(m, ret->invocation_id);
			if (r >= 0)
				r = sd_bus_message_exit_container(m);
		} else {
			r = sd_bus_message_skip(m, "v");
		}
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r;
}

bool unit_watch_changed(const struct unit_watch *w, sd_bus_message *m)
{
	OWN(drop_free) char *unit = NULL;
	const struct unit_seen *known;
	struct unit_seen now = {0};

	if (sd_bus_path_decode(sd_bus_message_get_path(m), UNIT_BUS_PATH_UNIT, &unit) <= 0)
		return false;
	if (!unit_watch_concerns(w, unit))
		return false;
	known = unit_watch_find(w, unit);
	if (known)
		now = *known;
	if (read_changes(m, &now) < 0)
		return true; /* cannot be parsed: rather one listing too many */
	if (known == NULL)
		return strcmp(now.active_state, "inactive") != 0 &&
		       strcmp(now.active_state, "failed") != 0 && now.active_state[0] != '\0';
	return strcmp(now.active_state, known->active_state) != 0 ||
	       strcmp(now.invocation_id, known->invocation_id) != 0;
}
