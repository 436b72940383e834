// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster/namespace_table.h"
#include "agent/cluster/cluster.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include <stdio.h>
#include <string.h>

#define SILENT_USEC   (5 * USEC_PER_MIN)
#define NOTE_TEXT_MAX 512

#define RETRY_USEC USEC_PER_MIN
/* A role may be on its way until then; afterwards it is asked for this seldom. */
#define DOUBT_USEC  (5 * USEC_PER_MIN)
#define DENIED_USEC (10 * USEC_PER_MIN)

/* clang-format off */
static const struct {
	usec_t fresh_usec;
	enum event_kind event;
	const char *detail;
} kinds[REFRESH_KIND_COUNT] = {
	[REFRESH_AUTOSCALERS] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"HorizontalPodAutoscalers (role vscaled-autoscalers): those that were not read before are not respected"},
	[REFRESH_RANGES] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"LimitRanges (role vscaled-read): those that were not read before are not respected"},
	[REFRESH_NAMESPACES] = {5 * USEC_PER_MIN, EVENT_NAMESPACES_DENIED, NULL},
	/* Changes when the kubelet restarts with another configuration or release; what is outdated
	 * costs one refusal by the kubelet. */
	[REFRESH_NODE] = {USEC_PER_HOUR, EVENT_LIST_DENIED,
		"its Node (nodes: get): no request is raised unless it was read before"},
};
/* clang-format on */

static void report_denied(struct cluster *c, enum refresh_kind kind)
{
	if (c->denied & (1u << kind))
		return;
	c->denied |= 1u << kind;
	event_tell(kinds[kind].event, .detail = kinds[kind].detail);
}

bool refresh_answered(struct cluster *c, enum refresh_kind kind, struct refresh *r,
		      const struct kube_answer *a, bool read)
{
	bool denied = a->error == 0 && (a->status == 403 || a->status == 404), before = r->known;
	usec_t now = c->wake->now;

	if (read) {
		*r = (struct refresh){
			.ask_at = now + kinds[kind].fresh_usec, .read = true, .known = true};
		return true;
	}
	r->ask_at = now + MAX(a->retry_after_usec, RETRY_USEC);
	if (!denied)
		r->denied_since = 0;
	else if (r->denied_since == 0)
		r->denied_since = now;
	if (!denied || now - r->denied_since < DOUBT_USEC)
		return false;
	r->ask_at = now + DENIED_USEC;
	r->known = true;
	report_denied(c, kind);
	return !before;
}

void refresh_cancel(struct cluster *c, struct refresh *r)
{
	if (r->call != NULL)
		c->port.cancel(c->port.ctx, r->call);
	r->call = NULL;
}

struct namespace_entry *namespace_find(const struct namespace_table *t, const char *namespace)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i]->namespace, namespace) == 0)
			return t->items[i];
	return NULL;
}

static struct namespace_entry *add(struct cluster *c, struct namespace_table *t,
				   const char *namespace, size_t size)
{
	struct namespace_entry *e = calloc(1, size);
	void *grown = reallocarray(t->items, t->count + 1, sizeof(struct namespace_entry *));

	if (grown != NULL)
		t->items = grown;
	if (e != NULL)
		e->namespace = strdup(namespace);
	if (e == NULL || grown == NULL || e->namespace == NULL) {
		free(e != NULL ? e->namespace : NULL);
		free(e);
		return NULL;
	}
	e->cluster = c;
	t->items[t->count++] = e;
	return e;
}

struct namespace_entry *namespace_use(struct cluster *c, struct namespace_table *t,
				      const char *namespace, size_t size)
{
	struct namespace_entry *e = namespace_find(t, namespace);

	if (e == NULL)
		e = add(c, t, namespace, size);
	if (e != NULL)
		e->used = true;
	return e;
}

void namespaces_unmark(struct namespace_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->items[i]->used = false;
}

void namespaces_forget_unused(struct namespace_table *t, void (*free_rest)(void *entry))
{
	for (size_t i = t->count; i-- > 0;) {
		struct namespace_entry *e = t->items[i];

		if (e->used)
			continue;
		t->items[i] = t->items[--t->count];
		refresh_cancel(e->cluster, &e->list);
		if (free_rest != NULL)
			free_rest(e);
		free(e->namespace);
		free(e);
	}
}

void namespaces_free(struct namespace_table *t, void (*free_rest)(void *entry))
{
	namespaces_unmark(t);
	namespaces_forget_unused(t, free_rest);
	free(t->items);
	*t = (struct namespace_table){0};
}

struct namespace_entry *namespaces_next(const struct namespace_table *t, usec_t now)
{
	struct namespace_entry *next = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct namespace_entry *e = t->items[i];

		if (e->list.call != NULL)
			return NULL;
		if (e->list.ask_at <= now && (next == NULL || e->list.ask_at < next->list.ask_at))
			next = e;
	}
	return next;
}

/* The next container of the namespace from *i on; NULL: none. */
static struct managed *next_container(const struct namespace_entry *e, size_t *i)
{
	const struct unit_table *units = e->cluster->units;

	while (*i < units->count) {
		struct managed *m = units->items[(*i)++];

		if (m->kind == UNIT_KIND_CONTAINER &&
		    strcmp(m->pod->spec->namespace, e->namespace) == 0)
			return m;
	}
	return NULL;
}

void namespace_set_bounds(const struct namespace_entry *e)
{
	struct managed *m;

	for (size_t i = 0; (m = next_container(e, &i)) != NULL;)
		pod_set_bounds(m);
}

static void describe(const struct namespace_note *note, const struct kube_answer *a,
		     const char *detail, char ret[static NOTE_TEXT_MAX])
{
	if (a->error != 0)
		snprintf(ret, NOTE_TEXT_MAX, "%s (%s)", note->text, a->detail);
	else if (a->status != 200 || detail[0] == '\0')
		snprintf(ret, NOTE_TEXT_MAX, "%s (status %u)", note->text, a->status);
	else
		snprintf(ret, NOTE_TEXT_MAX, "%s (%s)", note->text, detail);
}

void namespace_failed(struct namespace_entry *e, const struct namespace_note *note,
		      const struct kube_answer *a, const char *detail)
{
	const struct wakeup *wake = e->cluster->wake;
	char text[NOTE_TEXT_MAX];
	struct managed *m;

	if (e->failing_since == 0)
		e->failing_since = wake->now;
	if (e->reported || wake->now - e->failing_since < SILENT_USEC)
		return;
	e->reported = true;
	describe(note, a, detail, text);
	for (size_t i = 0; (m = next_container(e, &i)) != NULL;)
		if (note->concerns(m))
			recorder_note(e->cluster->recorder, m->pod->spec, "Warning", note->reason,
				      note->action, text, wake->now, wake->now_real);
}
