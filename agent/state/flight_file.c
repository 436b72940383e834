// SPDX-License-Identifier: Apache-2.0
#include "agent/state/flight_file.h"
#include "agent/state/ring.h"
#include <errno.h>
#include <string.h>

struct container {
	uint32_t number;
	char name[FLIGHT_NAME_MAX];
	uint64_t block; /* in which the base holds */
	struct flight_base base;
	bool live; /* its control is known */
	struct control control;
};

struct reading {
	struct flight_block block;
	uint64_t blocks; /* begun */
	struct container **items;
	size_t count;
	flight_event_fn *call;
	void *user;
};

static void forget_state(struct container *c)
{
	if (c->live)
		control_drop(&c->control);
	c->live = false;
}

static void forget_all(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++) {
		forget_state(r->items[i]);
		free(r->items[i]);
	}
	free(r->items);
	r->items = NULL;
	r->count = 0;
}

static struct container *find(const struct reading *r, uint32_t number)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i]->number == number)
			return r->items[i];
	return NULL;
}

static struct container *add(struct reading *r, uint32_t number)
{
	struct container **items = reallocarray(r->items, r->count + 1, sizeof *items), *c;

	if (items == NULL)
		return NULL;
	r->items = items;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return NULL;
	c->number = number;
	return r->items[r->count++] = c;
}

static int on_name(struct reading *r, uint32_t number, struct flight_reader *from)
{
	struct container *c = find(r, number);

	if (c == NULL)
		c = add(r, number);
	if (c == NULL)
		return -ENOMEM;
	c->block = r->blocks;
	c->base = (struct flight_base){0};
	return flight_get_name(from, c->name);
}

static int on_state(struct container *c, struct flight_reader *from)
{
	int e;

	forget_state(c);
	e = flight_get_state(from, &c->control);
	c->live = e == 0;
	c->base = (struct flight_base){0};
	return e;
}

static int on_call(struct reading *r, struct container *c, enum flight_kind kind,
		   struct flight_reader *from)
{
	struct flight_call call;
	struct replay_result result;
	struct flight_event event = {
		.container = c->name, .kind = kind, .call = &call, .node = &r->block.node};
	struct flight_base none = {0};
	int e = flight_get_call(from, kind, kind == FLIGHT_SAMPLE ? &none : &c->base, &call);

	if (e == 0 && c->live && kind != FLIGHT_SAMPLE) {
		e = replay_call(&c->control, &r->block.node, kind, &call, &result);
		event.replay = &result;
	}
	return e == 0 ? r->call(r->user, &event) : e;
}

static int on_record(void *user, const uint8_t *record, size_t size)
{
	struct flight_reader from = {.data = record, .size = size};
	struct reading *r = user;
	struct container *c;
	enum flight_kind kind;
	uint32_t number;
	int e = flight_get_head(&from, &kind, &number);

	if (e < 0)
		return e;
	if (kind == FLIGHT_NAME)
		return on_name(r, number, &from);
	c = find(r, number);
	if (c == NULL || c->block != r->blocks)
		return -EBADMSG; /* each block names its containers */
	switch (kind) {
	case FLIGHT_STATE:
		return on_state(c, &from);
	case FLIGHT_PATCH:
		return c->live ? flight_get_patch(&from, &c->control) : 0;
	case FLIGHT_END:
		forget_state(c);
		return 0;
	default:
		return on_call(r, c, kind, &from);
	}
}

static int on_block(void *user, const void *head, size_t size, bool follows)
{
	struct reading *r = user;
	uint64_t run = r->block.run;

	if (size != sizeof r->block)
		return -EBADMSG;
	memcpy(&r->block, head, size);
	r->blocks++;
	if (!follows || r->block.run != run)
		forget_all(r);
	return 0;
}

int flight_read(const uint8_t *bytes, size_t size, flight_event_fn *call, void *user)
{
	struct reading r = {.call = call, .user = user};
	struct ring_visitor v = {.block = on_block, .record = on_record, .user = &r};
	int e = ring_visit(bytes, size, flight_layout(), &v);

	forget_all(&r);
	return e;
}
