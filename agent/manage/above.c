// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/above.h"
#include "cgroup/reader.h"
#include "cgroup/writer.h"
#include "policy/base/base.h"
#include <stdlib.h>
#include <string.h>

#define RECENT_USEC USEC_PER_SEC

void oom_seen_begin(struct cg *cg, struct oom_seen *s)
{
	*s = (struct oom_seen){0};
	cg_oom_events(cg, &s->own);
	cg_oom_events_all(cg, &s->all);
}

bool oom_seen_look(struct cg *cg, struct oom_seen *s, usec_t now)
{
	uint64_t own, all;

	if (cg == NULL || cg_oom_events(cg, &own) < 0 || cg_oom_events_all(cg, &all) < 0)
		return false;
	if (own > s->own)
		s->own_at = now;
	if (all > s->all)
		s->in_at = now;
	s->own = own;
	s->all = all;
	return true;
}

bool oom_seen_at(usec_t at, usec_t now)
{
	return at != 0 && (at < now ? now - at : at - now) <= RECENT_USEC;
}

void above_drop(struct above_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		free(t->items[i].path);
		cg_close(t->items[i].cg);
	}
	free(t->items);
}

static void open_one(const struct above_table *t, struct above *a)
{
	if (cg_open(t->root, a->path, &a->cg) == 0)
		oom_seen_begin(a->cg, &a->ooms);
}

/* Without memory: what it is in. */
static uint32_t find_or_add(struct above_table *t, const char *path, size_t len, uint32_t in)
{
	uint32_t i = 0, unused = 0; /* the root is in use */
	struct above *grown;
	char *copy;

	for (; i < t->count; i++)
		if (t->items[i].path == NULL)
			unused = i;
		else if (strncmp(t->items[i].path, path, len) == 0 && t->items[i].path[len] == '\0')
			return i;
	grown = unused == 0 ? reallocarray(t->items, i + 1, sizeof *grown) : t->items;
	copy = grown != NULL ? strndup(path, len) : NULL;
	t->items = grown != NULL ? grown : t->items;
	if (copy == NULL)
		return in;
	i = unused != 0 ? unused : t->count++;
	t->items[i] = (struct above){
		.path = copy,
		.above = in,
		.limit = LIMIT_MAX,
		.reads.base = LIMIT_MAX,
	};
	open_one(t, &t->items[i]);
	return i;
}

uint32_t above_find(struct above_table *t, const char *path)
{
	uint32_t id = find_or_add(t, "", 0, 0);

	path += strspn(path, "/");
	for (const char *end = path; (end = strchr(end, '/')) != NULL; end++)
		id = find_or_add(t, path, (size_t)(end - path), id);
	return id;
}

void above_forget(struct above_table *t, const char *path)
{
	path += strspn(path, "/");
	for (uint32_t i = 1; i < t->count; i++)
		if (t->items[i].path != NULL && strcmp(t->items[i].path, path) == 0) {
			free(STEAL(t->items[i].path));
			cg_close(STEAL(t->items[i].cg));
			t->items[i].limit = LIMIT_MAX;
		}
}

struct above *above_read(struct above_table *t, uint32_t id, usec_t now, usec_t max_age)
{
	const uint32_t want = USAGE_MEM | USAGE_MEM_LIMIT;
	struct above *a = &t->items[id];
	struct usage u = {0}, stat = {0};

	a->limit = LIMIT_MAX;
	if (a->cg == NULL && a->path != NULL)
		open_one(t, a);
	if (a->cg == NULL)
		return a;
	if (cg_read_outer(a->cg, want, &u) < 0) {
		cg_close(STEAL(a->cg));
		return a;
	}
	if ((u.have & want) != want || u.limits.mem_max == LIMIT_MAX)
		return a;
	a->limit = u.limits.mem_max;
	a->current = u.mem_current;
	if (now - a->stat_at >= max_age &&
	    cg_read_outer(a->cg, USAGE_MEM | USAGE_MEM_STAT, &stat) == 0 &&
	    (stat.have & USAGE_MEM_STAT)) {
		a->stat_at = now;
		a->cache = sub_sat(stat.mem_current, mem_unreclaimable(&stat.stat));
		a->inactive = stat.stat.inactive_file;
	}
	return a;
}

uint64_t above_room(const struct above *a)
{
	return a->limit == LIMIT_MAX ? LIMIT_MAX : sub_sat(a->limit, sub_sat(a->current, a->cache));
}
