// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_read.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#define WINDOW_UNITS 12 /* times 7 calls: well below 128 */
#define CALLS_MAX    7

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
	struct unit_record record;
};

struct unit_reader {
	unsigned refs; /* the owner's, and one per function that calls out */
	bool closed;
	sd_bus *bus;
	TAILQ_HEAD(, unit_read) reads; /* in order of start */
	unsigned in_flight;
};

static int take_id(sd_bus_message *m, struct unit_record *r)
{
	return unit_message_read_id(m, r->invocation_id);
}

static int take_enter(sd_bus_message *m, struct unit_record *r)
{
	return unit_message_read_u64(m, &r->active_enter_usec);
}

static int take_cgroup(sd_bus_message *m, struct unit_record *r)
{
	return unit_message_read_string(m, &r->cgroup);
}

/* The calls of UNIT_READ_ALL beyond unit_prop_rows; interface NULL = that of the unit's type. */
static const struct {
	const char *interface;
	const char *name;
	int (*take)(sd_bus_message *m, struct unit_record *r);
} identity[CALLS_MAX - UNIT_PROP_ROWS] = {
	{UNIT_INTERFACE, "InvocationID", take_id},
	{UNIT_INTERFACE, "ActiveEnterTimestampMonotonic", take_enter},
	{NULL, "ControlGroup", take_cgroup},
};

void unit_record_clear(struct unit_record *r)
{
	free(r->name);
	free(r->cgroup);
	*r = (struct unit_record){0};
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
	unit_record_clear(&r->record);
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
		r->done(r->ctx, r, error, &r->record);
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
	if (call >= UNIT_PROP_ROWS)
		return identity[call - UNIT_PROP_ROWS].take(m, &r->record);
	return unit_message_read_u64(
		m, (uint64_t *)((char *)&r->record.props + unit_prop_rows[call].offset));
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
		interface = unit_interface_of(r->record.name);
	return sd_bus_call_method_async(r->reader->bus, &r->slots[call], UNIT_BUS_NAME, path,
					"org.freedesktop.DBus.Properties", "Get", on_answer, r,
					"ss", interface, name);
}

static int send_read(struct unit_read *r)
{
	size_t calls = r->what == UNIT_READ_ALL ? CALLS_MAX : UNIT_PROP_ROWS;
	OWN(drop_free) char *path = NULL;
	int error = sd_bus_path_encode(UNIT_BUS_PATH_UNIT, r->record.name, &path);

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
	r->record.name = strdup(unit);
	if (r->record.name == NULL) {
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
