// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_list.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct item {
	struct unit_list *list;
	struct unit_read *read;
	char state[16];
	char *known;               /* name of a unit that is not read; NULL: it is */
	struct unit_record record; /* name NULL: not (yet) read */
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
	for (size_t i = 0; i < l->count; i++) {
		free(l->items[i].known);
		unit_record_clear(&l->items[i].record);
	}
	free(l->items);
	free(l);
}

static void unit_list_finish(struct unit_list *l, int error)
{
	OWN(drop_free) struct unit_info *units = calloc(l->count + 1, sizeof *units);
	size_t n = 0;

	/* The callback may free the reader. */
	cancel_reads(l);
	if (units == NULL)
		error = -ENOMEM;
	for (size_t i = 0; error == 0 && i < l->count; i++) {
		const struct unit_record *r = &l->items[i].record;

		if (l->items[i].known != NULL) {
			units[n++] = (struct unit_info){
				.name = l->items[i].known,
				.cgroup = "",
				.active_state = l->items[i].state,
				.invocation_id = "",
				.known = true,
			};
			continue;
		}
		if (r->name == NULL)
			continue;
		units[n++] = (struct unit_info){
			.name = r->name,
			.cgroup = r->cgroup,
			.active_state = l->items[i].state,
			.invocation_id = r->invocation_id,
			.active_enter_usec = r->active_enter_usec,
			.props = r->props,
		};
	}
	l->request.done(l->request.ctx, error, error ? NULL : units, error ? 0 : n);
	unit_list_free(l);
}

/* A unit may go between its row and its properties: it is left out. Any other error makes the
 * listing incomplete, and units missing from it would count as gone. */
static bool is_gone(int error)
{
	return error == -ENOENT || error == -ENXIO || error == -EBADR;
}

static void on_read(void *ctx, struct unit_read *, int error, struct unit_record *record)
{
	struct item *item = ctx;
	struct unit_list *l = item->list;

	item->read = NULL;
	l->open--;
	if (error == 0) {
		item->record = *record;
		*record = (struct unit_record){0};
	} else if (!is_gone(error)) {
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
	l->items[l->count] = (struct item){.list = l};
	snprintf(l->items[l->count].state, sizeof l->items->state, "%s", state);
	l->items[l->count].record.name = strdup(name);
	if (l->items[l->count].record.name == NULL)
		return -ENOMEM;
	l->count++;
	return 0;
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
	OWN(drop_free) char *name = STEAL(item->record.name);
	int r;

	if (l->request.known != NULL && l->request.known(l->request.ctx, name)) {
		item->known = STEAL(name);
		return 0;
	}
	r = unit_read_start(l->reader, name, UNIT_READ_ALL, on_read, item, &item->read);
	if (r >= 0)
		l->open++;
	return r;
}

static int start_reads(struct unit_list *l)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < l->count; i++)
		r = start_read(l, &l->items[i]);
	return r;
}

static int on_rows(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct unit_list *l = userdata;
	int r;

	r = take_rows(l, m);
	if (r >= 0)
		r = start_reads(l);
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
