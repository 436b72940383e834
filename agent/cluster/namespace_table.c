// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster/namespace_table.h"
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include <stdio.h>
#include <string.h>

#define SILENT_USEC   (5 * USEC_PER_MIN)
#define NOTE_TEXT_MAX 512

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
