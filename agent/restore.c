// SPDX-License-Identifier: Apache-2.0
#include "agent/restore.h"
#include "agent/restore_one.h"
#include <errno.h>
#include <string.h>

#define KEY_PREFIX "unit:"

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
	size_t length = strlen(KEY_PREFIX);

	return strncmp(b->key, KEY_PREFIX, length) == 0 ? b->key + length : NULL;
}

static void locate(const struct restore *r, struct restore_target *t)
{
	if (cgroup_find(r->root, t->unit, t->baseline->cgroup_inode, t->path) < 0)
		t->path[0] = '\0';
	for (const char *c = t->path; *c; c++)
		t->depth += *c == '/';
}

static int by_depth(const void *a, const void *b)
{
	const struct restore_target *x = a, *y = b;

	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* The records of that name, or all, with parents before their children. */
static int targets_of(const struct restore *r, const struct baseline_set *set, const char *name,
		      struct target_list *ret)
{
	struct target_list l = {.items = calloc(set->count + 1, sizeof(*l.items))};

	if (!l.items)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		const char *unit = restore_unit_name(&set->items[i]);
		struct restore_target *t = &l.items[l.count];

		if (!unit || (name && strcmp(unit, name) != 0))
			continue;
		t->baseline = &set->items[i];
		t->unit = unit;
		locate(r, t);
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
		restore_grow(r, &targets.items[i]);
	for (size_t i = targets.count; i-- > 0;) {
		struct restore_result result;

		restore_unit(r, &targets.items[i], &result);
		finished[i] = result.outcome == RESTORE_RESTORED || result.outcome == RESTORE_GONE;
		each(arg, &result);
	}
	return remove_finished(set, &targets, finished);
}

int restore_lift(const struct restore *r, struct baseline_set *set)
{
	int lifted = 0, error = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct baseline *b = &set->items[i];
		struct restore_target t = {.baseline = b, .unit = restore_unit_name(b)};
		int e;

		if (!t.unit || b->high != BASELINE_HIGH_LOWERED)
			continue;
		locate(r, &t);
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
