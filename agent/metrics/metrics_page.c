// SPDX-License-Identifier: Apache-2.0
/* The page of a scrape, family after family, thing after thing. */
#include "agent/metrics/metrics_text.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>

/* This much is written before it is handed on. */
#define PIECE_BYTES (16 * KIB)
/* From this number of things on, the heap is returned to the system after the scrape. */
#define MANY_THINGS 100

struct metrics_page {
	struct metrics_input in;
	struct counters counters;
	char *names;
	struct metrics_writer w;
	size_t sent;  /* of the writer's bytes */
	size_t row;   /* of the table: the family at work, or the end */
	size_t thing; /* the next one of it */
	bool begun;   /* its head is written */
	bool ended;
};

#define NAMES 4

/* The strings that are only borrowed. */
static void names_of(struct metrics_thing *t, const char **ret[NAMES])
{
	ret[0] = &t->namespace;
	ret[1] = &t->pod;
	ret[2] = &t->container;
	ret[3] = &t->unit;
}

static size_t names_size(struct metrics_thing *t)
{
	const char **names[NAMES];
	size_t size = 0;

	names_of(t, names);
	for (size_t i = 0; i < NAMES; i++)
		size += *names[i] != NULL ? strlen(*names[i]) + 1 : 0;
	return size;
}

/* Where the next one's begin. */
static char *take_names(struct metrics_thing *t, char *to)
{
	const char **names[NAMES];

	names_of(t, names);
	for (size_t i = 0; i < NAMES; i++) {
		if (*names[i] == NULL)
			continue;
		*names[i] = memcpy(to, *names[i], strlen(*names[i]) + 1);
		to += strlen(to) + 1;
	}
	return to;
}

static int copy_names(struct metrics_page *p)
{
	size_t size = 0;
	char *to;

	for (size_t i = 0; i < p->in.thing_count; i++)
		size += names_size(&p->in.things[i]);
	p->names = to = malloc(size + 1);
	if (to == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < p->in.thing_count; i++)
		to = take_names(&p->in.things[i], to);
	return 0;
}

int metrics_page_new(struct metrics_input *in, enum metrics_format format,
		     struct metrics_page **ret)
{
	struct metrics_page *p = calloc(1, sizeof *p);

	if (p == NULL || in->no_memory) {
		free(p);
		return -ENOMEM;
	}
	p->in = *in;
	if (copy_names(p) < 0) {
		free(p);
		return -ENOMEM;
	}
	in->things = NULL;
	metrics_input_drop(in);
	p->counters = *p->in.counters;
	p->in.counters = &p->counters;
	p->w.format = format;
	*ret = p;
	return 0;
}

void metrics_page_free(void *page)
{
	struct metrics_page *p = page;
	bool many;

	if (p == NULL)
		return;
	many = p->in.thing_count >= MANY_THINGS;
	metrics_input_drop(&p->in);
	free(p->names);
	free(p->w.data);
	free(p);
	if (many)
		malloc_trim(0);
}

/* A family's head, all of a small family, or one thing of a large one. */
static void write_next(struct metrics_page *p)
{
	const struct metric *m = &metrics_table[p->row];

	if (p->row == metrics_table_size) {
		metrics_end(&p->w);
		p->ended = true;
		return;
	}
	if (m->kubernetes && !p->in.kubernetes) {
		p->row++;
		return;
	}
	if (!p->begun)
		metrics_family(&p->w, m);
	p->begun = true;
	if (m->each != NULL && p->thing < p->in.thing_count) {
		m->each(&p->w, m, &p->in.things[p->thing++]);
		return;
	}
	if (m->emit != NULL)
		m->emit(&p->w, m, &p->in);
	p->begun = false;
	p->thing = 0;
	p->row++;
}

ssize_t metrics_page_read(void *page, char *to, size_t size)
{
	struct metrics_page *p = page;

	if (p->sent == p->w.size) {
		p->sent = p->w.size = 0;
		while (p->w.size < PIECE_BYTES && !p->ended && !p->w.failed)
			write_next(p);
	}
	if (p->w.failed)
		return -ENOMEM;
	size = MIN(size, p->w.size - p->sent);
	memcpy(to, p->w.data + p->sent, size);
	p->sent += size;
	return (ssize_t)size;
}
