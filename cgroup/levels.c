// SPDX-License-Identifier: Apache-2.0
#include "cgroup/levels.h"
#include "cgroup/group.h"
#include <errno.h>

enum level { LEVEL_SCOPE, LEVEL_INNER };

int cg_levels_look(struct cg *c)
{
	OWN(drop_cg) struct cg *found = NULL;
	int r;

	if (!c->scope)
		return 0;
	r = cg_open_child(c->dir, CG_LEVEL_NAME, &found);
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return c->inner != NULL ? -ENODEV : 0;
	if (r < 0)
		return r;
	if (c->inner != NULL)
		return found->id == c->inner->id && found->dev == c->inner->dev ? 0 : -ENODEV;
	c->inner = STEAL(found);
	return 1;
}

uint64_t cg_inner_id(const struct cg *c)
{
	return c->inner != NULL ? c->inner->id : 0;
}

/* From the last value to this one; what went backwards has not moved. */
static uint64_t step(uint64_t *last, uint64_t now)
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
		.nr_periods = step(&last->nr_periods, u->nr_periods),
		.nr_throttled = step(&last->nr_throttled, u->nr_throttled),
		.throttled_usec = step(&last->throttled_usec, u->throttled_usec),
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
