// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_read.h"
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#define WINDOW_UNITS 12 /* times 7 calls: well below 128 */

/* The calls of UNIT_READ_ALL beyond unit_prop_rows; interface NULL = that of the unit's type. */
enum { CALL_ID = UNIT_PROP_ROWS, CALL_ENTER, CALL_CGROUP, CALLS_MAX };

static const struct {
	const char *interface;
	const char *name;
} identity[] = {
	[CALL_ID - UNIT_PROP_ROWS] = {UNIT_INTERFACE, "InvocationID"},
	[CALL_ENTER - UNIT_PROP_ROWS] = {UNIT_INTERFACE, "ActiveEnterTimestampMonotonic"},
	[CALL_CGROUP - UNIT_PROP_ROWS] = {NULL, "ControlGroup"},
};

struct unit_read {
	struct unit_reader *reader;
	TAILQ_ENTRY(unit_read) link;
	enum unit_read_what what;
	unit_read_done done; /* NULL: cancelled, only the answers are awaited */
	void *ctx;
	bool sent;
	unsigned open; /* calls without an answer */
	int error;     /* the first of them */
	sd_bus_slot *slots[CALLS_MAX];
	struct unit_info info;
};

struct unit_reader {
	unsigned refs; /* the owner's, and one per function that calls out */
	bool closed;
	sd_bus *bus;
	TAILQ_HEAD(, unit_read) reads; /* in order of start */
	unsigned in_flight;
};

static void unit_info_clear(struct unit_info *u)
{
	free(u->name);
	free(u->cgroup);
	*u = (struct unit_info){0};
}

void unit_infos_free(struct unit_info *units, size_t count)
{
	for (size_t i = 0; i < count; i++)
		unit_info_clear(&units[i]);
	free(units);
}

static void close_slots(struct unit_read *r)
{
	for (size_t i = 0; i < CALLS_MAX; i++)
		r->slots[i] = sd_bus_slot_unref(r->slots[i]);
}

static void unlink_read(struct unit_read *r)
{
	struct unit_reader *rr = r->reader;

	TAILQ_REMOVE(&rr->reads, r, link);
	if (r->sent)
		rr->in_flight--;
	close_slots(r);
}

static void free_read(struct unit_read *r)
{
	unit_info_clear(&r->info);
	free(r);
}

static void unref(struct unit_reader **at)
{
	if (--(*at)->refs == 0)
		free(*at);
}

static void unit_read_finish(struct unit_read *r, int error)
{
	unlink_read(r);
	if (r->done)
		r->done(r->ctx, error, &r->info);
	free_read(r);
}

static int send_read(struct unit_read *r);

static void pump(struct unit_reader *rr)
{
	struct unit_read *r = TAILQ_FIRST(&rr->reads);
	int error;

	while (!rr->closed && r && rr->in_flight < WINDOW_UNITS) {
		if (r->sent) {
			r = TAILQ_NEXT(r, link);
			continue;
		}
		error = send_read(r);
		if (error < 0)
			unit_read_finish(r, error);
		r = TAILQ_FIRST(&rr->reads);
	}
}

static int take_answer(struct unit_read *r, size_t call, sd_bus_message *m)
{
	int error = unit_message_error(m);

	if (error < 0)
		return error;
	switch (call) {
	case CALL_ID:
		return unit_message_read_id(m, r->info.invocation_id);
	case CALL_ENTER:
		return unit_message_read_u64(m, &r->info.active_enter_usec);
	case CALL_CGROUP:
		return unit_message_read_string(m, &r->info.cgroup);
	default:
		return unit_message_read_u64(
			m, (uint64_t *)((char *)&r->info.props + unit_prop_rows[call].offset));
	}
}

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_read *r = userdata;
	OWN(unref) struct unit_reader *rr = r->reader;
	sd_bus_slot *slot = sd_bus_get_current_slot(sd_bus_message_get_bus(m));
	size_t call = 0;
	int error;

	rr->refs++;
	while (call < CALLS_MAX && r->slots[call] != slot)
		call++;
	assert(call < CALLS_MAX && r->open > 0);
	error = take_answer(r, call, m);
	r->open--;
	if (error < 0 && r->error == 0)
		r->error = error;
	if (r->open == 0)
		unit_read_finish(r, r->error);
	pump(rr);
	return 1;
}

static int send_get(struct unit_read *r, size_t call, const char *path)
{
	bool limits = call < UNIT_PROP_ROWS;
	const char *interface = limits ? NULL : identity[call - UNIT_PROP_ROWS].interface;
	const char *name =
		limits ? unit_prop_rows[call].name : identity[call - UNIT_PROP_ROWS].name;

	if (interface == NULL)
		interface = unit_interface_of(r->info.name);
	return sd_bus_call_method_async(r->reader->bus, &r->slots[call], UNIT_BUS_NAME, path,
					"org.freedesktop.DBus.Properties", "Get", on_answer, r,
					"ss", interface, name);
}

static int send_read(struct unit_read *r)
{
	size_t calls = r->what == UNIT_READ_ALL ? CALLS_MAX : UNIT_PROP_ROWS;
	OWN(drop_free) char *path = NULL;
	int error = sd_bus_path_encode(UNIT_BUS_PATH_UNIT, r->info.name, &path);

	for (size_t i = 0; error >= 0 && i < calls; i++)
		error = send_get(r, i, path);
	if (error < 0) {
		close_slots(r);
		return error;
	}
	r->open = (unsigned)calls;
	r->sent = true;
	r->reader->in_flight++;
	return 0;
}

int unit_reader_new(struct unit_reader **ret)
{
	struct unit_reader *rr = calloc(1, sizeof *rr);

	if (rr == NULL)
		return -ENOMEM;
	rr->refs = 1;
	TAILQ_INIT(&rr->reads);
	*ret = rr;
	return 0;
}

void unit_reader_free(struct unit_reader *rr)
{
	if (rr == NULL)
		return;
	unit_reader_set_bus(rr, NULL);
	rr->closed = true;
	unref(&rr);
}

void unit_reader_set_bus(struct unit_reader *rr, sd_bus *bus)
{
	struct unit_read *r;

	while ((r = TAILQ_FIRST(&rr->reads))) {
		unlink_read(r);
		free_read(r);
	}
	rr->bus = bus;
}

int unit_read_start(struct unit_reader *rr, const char *unit, enum unit_read_what what,
		    unit_read_done done, void *ctx, struct unit_read **ret)
{
	struct unit_read *r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	if (rr->bus == NULL)
		return -ENOTCONN;
	r = calloc(1, sizeof *r);
	if (r == NULL)
		return -ENOMEM;
	*r = (struct unit_read){.reader = rr, .what = what, .done = done, .ctx = ctx};
	r->info.name = strdup(unit);
	if (r->info.name == NULL) {
		free(r);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&rr->reads, r, link);
	if (rr->in_flight < WINDOW_UNITS) {
		int error = send_read(r);

		if (error < 0) {
			unlink_read(r);
			free_read(r);
			return error;
		}
	}
	*ret = r;
	return 0;
}

void unit_read_cancel(struct unit_read *r)
{
	if (r == NULL)
		return;
	r->done = NULL;
	if (r->sent)
		return;
	unlink_read(r);
	free_read(r);
}

/* --- a listing */

struct item {
	struct unit_list *list;
	struct unit_read *read;
	struct unit_info info; /* name NULL: it is gone */
};

struct unit_list {
	struct unit_list_request request; /* patterns are not kept */
	struct unit_reader *reader;
	sd_bus_slot *slot;
	struct item *items;
	size_t count;
	size_t open; /* reads without an outcome */
};

static void cancel_reads(struct unit_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		unit_read_cancel(l->items[i].read);
		l->items[i].read = NULL;
	}
}

void unit_list_free(struct unit_list *l)
{
	if (l == NULL)
		return;
	sd_bus_slot_unref(l->slot);
	cancel_reads(l);
	for (size_t i = 0; i < l->count; i++)
		unit_info_clear(&l->items[i].info);
	free(l->items);
	free(l);
}

static void unit_list_finish(struct unit_list *l, int error)
{
	struct unit_list_request request = l->request;
	struct unit_info *units = error == 0 ? calloc(l->count + 1, sizeof *units) : NULL;
	size_t n = 0;

	if (error == 0 && units == NULL)
		error = -ENOMEM;
	for (size_t i = 0; units != NULL && i < l->count; i++) {
		if (l->items[i].info.name == NULL)
			continue;
		units[n++] = l->items[i].info;
		l->items[i].info = (struct unit_info){0};
	}
	/* The callback may free the reader. */
	unit_list_free(l);
	request.done(request.ctx, error, units, n);
}

static void on_read(void *ctx, int error, struct unit_info *info)
{
	struct item *item = ctx;
	struct unit_list *l = item->list;

	item->read = NULL;
	l->open--;
	if (error == 0) {
		strcpy(info->active_state, item->info.active_state);
		unit_info_clear(&item->info);
		item->info = *info;
		*info = (struct unit_info){0};
	} else if (error == -ENOENT || error == -ENXIO || error == -EBADR) {
		/* A unit may go between its row and its properties: it is left out. */
		unit_info_clear(&item->info);
	} else {
		/* The listing is incomplete, and units missing from it would count as gone. */
		unit_list_finish(l, error);
		return;
	}
	if (l->open == 0)
		unit_list_finish(l, 0);
}

static int add_item(struct unit_list *l, const char *name, const char *state)
{
	struct item *grown;

	if (l->count % 64 == 0) {
		grown = reallocarray(l->items, l->count + 64, sizeof *grown);
		if (grown == NULL)
			return -ENOMEM;
		l->items = grown;
	}
	grown = &l->items[l->count++];
	*grown = (struct item){.list = l, .info.name = strdup(name)};
	snprintf(grown->info.active_state, sizeof grown->info.active_state, "%s", state);
	return grown->info.name != NULL ? 0 : -ENOMEM;
}

static int take_rows(struct unit_list *l, sd_bus_message *m)
{
	const char *name, *state;
	int r = unit_message_error(m);

	if (r < 0)
		return r;
	r = sd_bus_message_enter_container(m, 'a', "(ssssssouso)");
	if (r < 0)
		return r;
	while ((r = unit_message_read_row(m, &name, &state)) > 0) {
		if (unit_interface_of(name) == NULL)
			continue;
		r = add_item(l, name, state);
		if (r < 0)
			return r;
	}
	return r;
}

static int start_read(struct unit_list *l, struct item *item)
{
	const char *name = item->info.name;
	int r;

	item->info.known = l->request.known != NULL && l->request.known(l->request.ctx, name);
	if (item->info.known)
		return 0;
	r = unit_read_start(l->reader, name, UNIT_READ_ALL, on_read, item, &item->read);
	if (r >= 0)
		l->open++;
	return r;
}

static int on_rows(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_list *l = userdata;
	int r = take_rows(l, m);

	for (size_t i = 0; r >= 0 && i < l->count; i++)
		r = start_read(l, &l->items[i]);
	if (r < 0 || l->open == 0)
		unit_list_finish(l, r);
	return 1;
}

int unit_list_start(sd_bus *bus, struct unit_reader *rr, const struct unit_list_request *request,
		    struct unit_list **ret)
{
	struct unit_list *l = calloc(1, sizeof *l);
	sd_bus_message *m = NULL;
	int r;

	if (l == NULL)
		return -ENOMEM;
	l->request = *request;
	l->request.patterns = NULL;
	l->reader = rr;
	r = sd_bus_message_new_method_call(bus, &m, UNIT_BUS_NAME, UNIT_BUS_PATH,
					   UNIT_INTERFACE_MANAGER, "ListUnitsByPatterns");
	if (r >= 0)
		r = unit_message_append_list(m, request->patterns, request->count);
	if (r >= 0)
		r = sd_bus_call_async(bus, &l->slot, m, on_rows, l, 0);
	sd_bus_message_unref(m);
	if (r < 0) {
		unit_list_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* --- signals that matter */

static void free_strings(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

void unit_watch_clear(struct unit_watch *w)
{
	free_strings(w->patterns);
	unit_infos_free(w->seen, w->seen_count);
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

static const struct unit_info *unit_watch_find(const struct unit_watch *w, const char *unit)
{
	for (size_t i = 0; i < w->seen_count; i++)
		if (strcmp(w->seen[i].name, unit) == 0)
			return &w->seen[i];
	return NULL;
}

void unit_watch_take_seen(struct unit_watch *w, struct unit_info *units, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct unit_info *last =
			units[i].known ? unit_watch_find(w, units[i].name) : NULL;

		if (last != NULL)
			strcpy(units[i].invocation_id, last->invocation_id);
	}
	unit_infos_free(w->seen, w->seen_count);
	w->seen = units;
	w->seen_count = count;
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

/* Takes ActiveState and InvocationID out of a{sv}; what is not in it stays as it was. */
static int read_changes(sd_bus_message *m, struct unit_info *ret)
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
	const struct unit_info *known;
	struct unit_info now = {0};

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
