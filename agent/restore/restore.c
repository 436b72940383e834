// SPDX-License-Identifier: Apache-2.0
#include "agent/restore/restore.h"
#include "agent/restore/restore_one.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct target_list {
	struct restore_target *items;
	size_t count;
};

static void drop_targets(struct target_list *l)
{
	free(l->items);
}

const char *restore_unit_name(const struct baseline *b)
{
	size_t length = strlen(BASELINE_UNIT_PREFIX);

	return strncmp(b->key, BASELINE_UNIT_PREFIX, length) == 0 ? b->key + length : NULL;
}

const char *restore_shown_name(const struct baseline *b)
{
	const char *unit = restore_unit_name(b);

	if (unit == NULL && b->shown != NULL)
		return b->shown;
	return unit != NULL ? unit : b->key;
}

/* The name itself, or that of the pod it belongs to. */
static bool is_named(const struct baseline *b, const char *name)
{
	const char *shown = restore_shown_name(b);
	size_t length = strlen(name);

	if (strcmp(shown, name) == 0)
		return true;
	return restore_unit_name(b) == NULL && strchr(name, '/') != NULL &&
	       strncmp(shown, name, length) == 0 && shown[length] == '/';
}

/* NULL: all are. */
static bool is_wanted(const struct restore *r, const struct baseline *b, const char *name)
{
	if (name != NULL && r->exact)
		return strcmp(restore_shown_name(b), name) == 0;
	return name == NULL || is_named(b, name);
}

static bool is_pod_key(const char *key)
{
	return strncmp(key, BASELINE_POD_PREFIX, strlen(BASELINE_POD_PREFIX)) == 0;
}

/* "pod:UID", not "pod:UID/CONTAINER". */
static bool is_whole_pod(const char *key)
{
	return is_pod_key(key) && strchr(key, '/') == NULL;
}

/* The pod of one that is named: "pod:UID" before "pod:UID/CONTAINER". */
static bool is_parent_of_named(const struct baseline_set *set, const struct baseline *b,
			       const char *name)
{
	size_t length = strlen(b->key);

	if (!is_whole_pod(b->key))
		return false;
	for (size_t i = 0; i < set->count; i++) {
		const struct baseline *child = &set->items[i];

		if (strncmp(child->key, b->key, length) == 0 && child->key[length] == '/' &&
		    is_named(child, name))
			return true;
	}
	return false;
}

static int by_depth(const void *a, const void *b)
{
	const struct restore_target *x = a, *y = b;

	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* The records of that name, or all, and the pods above them, with parents before their children. */
static int targets_of(const struct restore *r, const struct baseline_set *set, const char *name,
		      struct target_list *ret)
{
	struct target_list l = {.items = calloc(set->count + 1, sizeof(*l.items))};

	if (!l.items)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		const struct baseline *b = &set->items[i];
		bool wanted = is_wanted(r, b, name);

		if (!wanted && !is_parent_of_named(set, b, name))
			continue;
		restore_locate(r, b, &l.items[l.count]);
		l.items[l.count].grow_only = !wanted;
		if (wanted && r->pending != NULL)
			l.items[l.count].pending =
				r->pending(r->pending_ctx, l.items[l.count].name);
		l.count++;
	}
	qsort(l.items, l.count, sizeof(*l.items), by_depth);
	*ret = l;
	return 0;
}

/* Finished records go only after the last use of all: they move when one is removed. */
static int remove_finished(struct baseline_set *set, const struct target_list *l,
			   const bool *finished)
{
	char **keys = calloc(l->count + 1, sizeof(*keys));
	int r = keys ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < l->count; i++) {
		keys[i] = finished[i] ? strdup(l->items[i].baseline->key) : NULL;
		r = finished[i] && !keys[i] ? -ENOMEM : 0;
	}
	for (size_t i = 0; keys && i < l->count; i++) {
		if (r == 0 && keys[i])
			baseline_remove(set, keys[i]);
		free(keys[i]);
	}
	free(keys);
	return r;
}

/* Restores one record; true: the record is no longer needed. */
static bool restore_target(const struct restore *r, const struct restore_target *t,
			   restore_each_fn *each, void *arg)
{
	struct restore_result result = {.unit = t->name, .outcome = RESTORE_PENDING};

	if (t->missing == RESTORE_POD_GONE)
		return true;
	if (t->pending != NULL)
		snprintf(result.detail, sizeof(result.detail), "%s", t->pending);
	else
		restore_unit(r, t, &result);
	each(arg, &result);
	return result.outcome == RESTORE_GONE || (result.outcome == RESTORE_RESTORED &&
						  !(r->keep_pods && is_pod_key(t->baseline->key)));
}

int restore_set(const struct restore *r, struct baseline_set *set, const char *name,
		restore_each_fn *each, void *arg)
{
	OWN(drop_targets) struct target_list targets = {0};
	OWN(drop_free) bool *finished = NULL;
	int e = targets_of(r, set, name, &targets);

	if (e < 0)
		return e;
	if (name && targets.count == 0)
		return -ENOENT;
	finished = calloc(targets.count + 1, sizeof(*finished));
	if (!finished)
		return -ENOMEM;
	for (size_t i = 0; i < targets.count; i++)
		if (targets.items[i].pending == NULL ||
		    is_whole_pod(targets.items[i].baseline->key))
			restore_grow(r, &targets.items[i]);
	for (size_t i = targets.count; i-- > 0;) {
		if (!targets.items[i].grow_only)
			finished[i] = restore_target(r, &targets.items[i], each, arg);
	}
	return remove_finished(set, &targets, finished);
}

int restore_lift(const struct restore *r, struct baseline_set *set)
{
	int lifted = 0, error = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct baseline *b = &set->items[i];
		struct restore_target t;
		int e;

		if (b->high != BASELINE_HIGH_LOWERED)
			continue;
		restore_locate(r, b, &t);
		e = restore_lift_unit(r, &t);
		if (e < 0) {
			error = error ? error : e;
			continue;
		}
		b->high = BASELINE_HIGH_KEPT;
		lifted += e;
	}
	return error < 0 ? error : lifted;
}
