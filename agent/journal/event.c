// SPDX-License-Identifier: Apache-2.0
#include "agent/journal/event.h"
#include "policy/base/quantity.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_SIZE 32

/* A record and the memory for its numbers. */
struct draft {
	struct event_record record;
	char from[NUMBER_SIZE], to[NUMBER_SIZE], count[NUMBER_SIZE], span[NUMBER_SIZE],
		own[NUMBER_SIZE], error[NUMBER_SIZE];
	char from_human[QUANTITY_TEXT_SIZE], to_human[QUANTITY_TEXT_SIZE];
	char span_human[NUMBER_SIZE];
	char error_human[128];
};

static bool event_allowed(const struct draft *d, enum event_value v)
{
	return event_table[d->record.kind].fields & (1u << v);
}

static void event_put(struct draft *d, enum event_value v, const char *exact, const char *human)
{
	if (event_allowed(d, v))
		d->record.values[v] = (struct event_pair){exact, human};
}

static void put_text(struct draft *d, enum event_value v, const char *text)
{
	event_put(d, v, text && *text ? text : NULL, NULL);
}

static void put_who(struct draft *d, const struct event_who *w)
{
	put_text(d, VALUE_NAMESPACE, w->namespace);
	put_text(d, VALUE_POD, w->pod);
	put_text(d, VALUE_CONTAINER, w->container);
	put_text(d, VALUE_UNIT, w->unit);
	put_text(d, VALUE_CGROUP, w->cgroup);
}

/* Fields are exact quantities ("500m", "67108864", "max"), messages readable ones ("64.00Mi"). */
static void put_amount(struct draft *d, enum event_value v, enum resource r, uint64_t amount)
{
	char *exact = v == VALUE_FROM ? d->from : d->to;
	char *human = v == VALUE_FROM ? d->from_human : d->to_human;

	if (amount == LIMIT_MAX)
		snprintf(exact, NUMBER_SIZE, "max");
	else
		snprintf(exact, NUMBER_SIZE, "%" PRIu64 "%s", amount, r == RESOURCE_CPU ? "m" : "");
	if (r == RESOURCE_CPU)
		event_put(d, v, exact, quantity_format_cpu(amount, human, QUANTITY_TEXT_SIZE));
	else
		event_put(d, v, exact, quantity_format_human(amount, human, QUANTITY_TEXT_SIZE));
}

static void put_count(struct draft *d, uint64_t count)
{
	snprintf(d->count, sizeof d->count, "%" PRIu64, count);
	event_put(d, VALUE_COUNT_OF, d->count, NULL);
}

static void put_error(struct draft *d, int error)
{
	if (error >= 0)
		return;
	snprintf(d->error, sizeof d->error, "%d", -error);
	event_put(d, VALUE_ERROR, d->error,
		  strerror_r(-error, d->error_human, sizeof d->error_human));
}

/* "430 ms", "12.5 s", "-24.0 h". */
static void put_span(struct draft *d, int64_t span_usec)
{
	static const struct {
		double usec;
		const char *unit;
	} units[] = {{3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};
	double size = span_usec < 0 ? -(double)span_usec : (double)span_usec;
	size_t i = 0;

	if (span_usec == 0)
		return;
	while (i < ARRAY_SIZE(units) - 1 && size < units[i].usec)
		i++;
	snprintf(d->span, sizeof d->span, "%" PRId64, span_usec);
	snprintf(d->span_human, sizeof d->span_human, "%.1f %s", (double)span_usec / units[i].usec,
		 units[i].unit);
	event_put(d, VALUE_SPAN, d->span, d->span_human);
}

static void put_own(struct draft *d, usec_t own_usec)
{
	if (own_usec == 0)
		return;
	snprintf(d->own, sizeof d->own, "%" PRIu64, own_usec);
	event_put(d, VALUE_OWN, d->own, NULL);
}

void event_write(enum event_kind kind, const struct event *e)
{
	struct draft d = {.record = {.kind = kind, .why = e->detail}};
	bool limit = event_allowed(&d, VALUE_RESOURCE);

	put_who(&d, &e->who);
	put_text(&d, VALUE_RESOURCE, resource_names[e->resource]);
	if (limit || e->from != 0)
		put_amount(&d, VALUE_FROM, limit ? e->resource : RESOURCE_MEMORY, e->from);
	put_amount(&d, VALUE_TO, e->resource, e->to);
	if (e->reason != REASON_NONE) {
		put_text(&d, VALUE_REASON, reason_name(e->reason));
		d.record.why = e->detail ? e->detail : reason_text(e->reason);
	}
	put_text(&d, VALUE_DETAIL, e->detail);
	put_text(&d, VALUE_BY, e->by);
	put_text(&d, VALUE_MODE, e->mode);
	put_text(&d, VALUE_FILE, e->file);
	put_text(&d, VALUE_VERSION, e->version);
	put_text(&d, VALUE_HINT, e->hint);
	put_text(&d, VALUE_OUTCOME, e->kept ? "the last good configuration stays" : "not started");
	put_count(&d, e->count);
	put_span(&d, e->span_usec);
	put_own(&d, e->own_usec);
	put_error(&d, e->error);
	event_log_emit(&d.record);
}
