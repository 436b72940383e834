// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_queue.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

struct entry {
	struct entry *next;
	struct unit_props want;
	uint32_t mask; /* what waits; 0: nothing */
	bool urgent;
	bool in_flight;
	bool called;  /* sent_usec is valid */
	usec_t since; /* of the first waiting call */
	usec_t sent_usec;
	char unit[];
};

struct unit_queue {
	struct unit_queue_config config;
	struct entry *entries; /* newest last, so that equals leave in order */
	unsigned in_flight;
};

int unit_queue_new(const struct unit_queue_config *config, struct unit_queue **ret)
{
	struct unit_queue *q = calloc(1, sizeof *q);

	if (q == NULL)
		return -ENOMEM;
	assert(config->window > 0);
	q->config = *config;
	*ret = q;
	return 0;
}

void unit_queue_free(struct unit_queue *q)
{
	struct entry *e;

	if (q == NULL)
		return;
	while ((e = q->entries)) {
		q->entries = e->next;
		free(e);
	}
	free(q);
}

static struct entry *unit_queue_find(const struct unit_queue *q, const char *unit)
{
	for (struct entry *e = q->entries; e; e = e->next)
		if (strcmp(e->unit, unit) == 0)
			return e;
	return NULL;
}

/* The earliest moment for what waits; only the window may hold it longer. */
static usec_t eligible_at(const struct unit_queue *q, const struct entry *e)
{
	if (e->urgent || !e->called)
		return e->since;
	return MAX(e->since, e->sent_usec + q->config.interval_usec);
}

static void unit_queue_collect(struct unit_queue *q, usec_t now)
{
	for (struct entry **at = &q->entries; *at;) {
		struct entry *e = *at;

		/* After its call an entry is kept only to delay the next call of its unit. */
		if (e->mask != 0 || e->in_flight ||
		    (e->called && now < e->sent_usec + q->config.interval_usec)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free(e);
	}
}

static struct entry *unit_queue_add(struct unit_queue *q, const char *unit)
{
	size_t size = strlen(unit) + 1;
	struct entry *e = calloc(1, sizeof *e + size);
	struct entry **at = &q->entries;

	if (e == NULL)
		return NULL;
	memcpy(e->unit, unit, size);
	while (*at)
		at = &(*at)->next;
	*at = e;
	return e;
}

int unit_queue_put(struct unit_queue *q, const struct unit_call *want, bool urgent, usec_t now)
{
	struct entry *e;

	if (want->mask == 0 || (want->mask & ~(uint32_t)UNIT_PROP_ALL))
		return -EINVAL;
	e = unit_queue_find(q, want->unit);
	if (e == NULL) {
		unit_queue_collect(q, now);
		e = unit_queue_add(q, want->unit);
	}
	if (e == NULL)
		return -ENOMEM;
	if (e->mask == 0)
		e->since = now;
	unit_props_merge(&e->want, &want->props, want->mask);
	e->mask |= want->mask;
	e->urgent |= urgent;
	return 0;
}

static bool goes_before(const struct entry *a, const struct entry *b)
{
	if (b == NULL || a->urgent != b->urgent)
		return b == NULL || a->urgent;
	return a->since < b->since;
}

bool unit_queue_take(struct unit_queue *q, usec_t now, struct unit_call *ret)
{
	struct entry *best = NULL;

	if (q->in_flight >= q->config.window)
		return false;
	for (struct entry *e = q->entries; e; e = e->next) {
		if (e->mask == 0 || e->in_flight || now < eligible_at(q, e))
			continue;
		if (goes_before(e, best))
			best = e;
	}
	if (best == NULL)
		return false;
	*ret = (struct unit_call){.unit = best->unit, .props = best->want, .mask = best->mask};
	best->mask = 0;
	best->urgent = false;
	best->in_flight = best->called = true;
	best->sent_usec = now;
	q->in_flight++;
	return true;
}

static void land(struct unit_queue *q, struct entry *e)
{
	assert(e->in_flight && q->in_flight > 0);
	e->in_flight = false;
	q->in_flight--;
}

usec_t unit_queue_done(struct unit_queue *q, const char *unit, usec_t now)
{
	struct entry *e = unit_queue_find(q, unit);

	if (e == NULL || !e->in_flight)
		return 0;
	assert(now >= e->sent_usec);
	land(q, e);
	return now - e->sent_usec;
}

const char *unit_queue_expire(struct unit_queue *q, usec_t now)
{
	for (struct entry *e = q->entries; e; e = e->next) {
		if (!e->in_flight || now < e->sent_usec + q->config.deadline_usec)
			continue;
		land(q, e);
		return e->unit;
	}
	return NULL;
}

char *unit_queue_drop(struct unit_queue *q)
{
	for (struct entry *e = q->entries; e; e = e->next) {
		if (e->mask == 0 && !e->in_flight)
			continue;
		if (e->in_flight)
			land(q, e);
		e->mask = 0;
		e->urgent = false;
		return strdup(e->unit);
	}
	return NULL;
}

void unit_queue_forget(struct unit_queue *q, const char *unit)
{
	struct entry *e = unit_queue_find(q, unit);

	if (e == NULL)
		return;
	e->mask = 0;
	e->urgent = false;
}

bool unit_queue_pending(const struct unit_queue *q, const char *unit)
{
	const struct entry *e = unit_queue_find(q, unit);

	return e && (e->in_flight || e->mask != 0);
}

usec_t unit_queue_next(const struct unit_queue *q)
{
	bool room = q->in_flight < q->config.window;
	usec_t next = UINT64_MAX;

	for (const struct entry *e = q->entries; e; e = e->next) {
		if (e->in_flight)
			next = MIN(next, e->sent_usec + q->config.deadline_usec);
		else if (e->mask != 0 && room)
			next = MIN(next, eligible_at(q, e));
	}
	return next;
}
