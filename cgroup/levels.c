// SPDX-License-Identifier: Apache-2.0
#include "cgroup/levels.h"
#include "cgroup/group.h"
#include "cgroup/parse.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum level { LEVEL_SCOPE, LEVEL_INNER };

static const enum cg_file limit_files[] = {CG_FILE_CPU_MAX, CG_FILE_MEM_MAX};

/* Which limit files it has, a bit each: those of a controller come once that is enabled. */
static unsigned files_of(const struct cg *c)
{
	unsigned files = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limit_files); i++)
		if (faccessat(c->dir, cg_file_names[limit_files[i]], F_OK, 0) == 0)
			files |= 1u << i;
	return files;
}

bool cg_is_empty(const struct cg *c)
{
	struct cg_state state;
	char text[CG_TEXT_BYTES];
	int len = cg_text_read(c->dir, "cgroup.events", text);

	return len > 0 && cg_parse_state(text, (size_t)len, &state) == 0 && !state.populated;
}

int cg_levels_drop(struct cg *c)
{
	int r = cg_alive(c);

	if (r < 0)
		return r;
	if (cg_is_empty(c))
		return -ENODEV;
	cg_close(STEAL(c->inner));
	c->inner_files = 0;
	c->seen[LEVEL_INNER] = (struct cg_throttle){0};
	return 0;
}

int cg_levels_check(struct cg *c)
{
	OWN(drop_cg) struct cg *found = NULL;
	unsigned files, before = c->inner_files;
	bool same;
	int r;

	if (!c->scope)
		return 0;
	r = cg_open_child(c->dir, CG_LEVEL_NAME, &found);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
		return r;
	files = found != NULL ? files_of(found) : 0;
	c->inner_due = found != NULL && (files == 0 || (files_of(c) & ~files) != 0);
	same = files != 0 && c->inner != NULL && found->id == c->inner->id &&
	       found->dev == c->inner->dev;
	if (c->inner != NULL && !same) {
		r = cg_levels_drop(c);
		if (r < 0)
			return r;
	}
	if (same && files != before)
		memset(c->inner->absent_reads, 0, sizeof c->inner->absent_reads);
	if (files != 0 && !same)
		c->inner = STEAL(found);
	c->inner_files = files;
	same = cg_inner_id(c) == c->scanned_id && files == before;
	c->scanned_id = cg_inner_id(c);
	return !same;
}

bool cg_levels_due(const struct cg *c)
{
	return c->inner_due || cg_inner_id(c) != c->scanned_id;
}

uint64_t cg_inner_id(const struct cg *c)
{
	return c->inner != NULL ? c->inner->id : 0;
}

/* From the last value to this one; what went backwards has not moved. */
static uint64_t levels_step(uint64_t *last, uint64_t now)
{
	uint64_t moved = now > *last ? now - *last : 0;

	*last += moved;
	return moved;
}

static struct cg_throttle since_last(struct cg_throttle *last, const struct usage *u)
{
	if (!(u->have & USAGE_THROTTLE))
		return (struct cg_throttle){0};
	return (struct cg_throttle){
		.nr_periods = levels_step(&last->nr_periods, u->nr_periods),
		.nr_throttled = levels_step(&last->nr_throttled, u->nr_throttled),
		.throttled_usec = levels_step(&last->throttled_usec, u->throttled_usec),
	};
}

static void merge_throttle(struct cg *c, const struct usage *inner, struct usage *u)
{
	struct cg_throttle a = since_last(&c->seen[LEVEL_SCOPE], u);
	struct cg_throttle b = since_last(&c->seen[LEVEL_INNER], inner);

	c->sum.nr_periods += MAX(a.nr_periods, b.nr_periods);
	c->sum.nr_throttled += MAX(a.nr_throttled, b.nr_throttled);
	c->sum.throttled_usec += MAX(a.throttled_usec, b.throttled_usec);
	u->nr_periods = c->sum.nr_periods;
	u->nr_throttled = c->sum.nr_throttled;
	u->throttled_usec = c->sum.throttled_usec;
}

/* Does a leave less CPU than b? */
static bool is_tighter(const struct limits *a, const struct limits *b)
{
	if (a->cpu_quota_usec == LIMIT_MAX || b->cpu_quota_usec == LIMIT_MAX)
		return a->cpu_quota_usec != LIMIT_MAX;
	return (unsigned __int128)a->cpu_quota_usec * b->cpu_period_usec <
	       (unsigned __int128)b->cpu_quota_usec * a->cpu_period_usec;
}

static void merge_cpu(const struct limits *inner, struct limits *l)
{
	/* Of equals the inner level's: the scope's quota is the one that systemd rounds. */
	if (is_tighter(l, inner))
		return;
	l->cpu_quota_usec = inner->cpu_quota_usec;
	l->cpu_period_usec = inner->cpu_period_usec;
	l->cpu_burst_usec = inner->cpu_burst_usec;
}

void cg_levels_merge(struct cg *c, const struct usage *inner, struct usage *u)
{
	if ((u->have | inner->have) & USAGE_THROTTLE)
		merge_throttle(c, inner, u);
	if (inner->have & USAGE_CPU_LIMIT)
		merge_cpu(&inner->limits, &u->limits);
	if (inner->have & USAGE_MEM_LIMIT) {
		u->limits.mem_max = MIN(u->limits.mem_max, inner->limits.mem_max);
		u->limits.mem_high = MIN(u->limits.mem_high, inner->limits.mem_high);
	}
	u->have |= inner->have;
}
