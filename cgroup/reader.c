// SPDX-License-Identifier: Apache-2.0
#include "cgroup/group.h"
#include "cgroup/levels.h"
#include "cgroup/parse.h"
#include <errno.h>

/* A filler parses one file into the snapshot and sets the bits it filled. */

static int fill_cpu_stat(const char *text, size_t len, struct usage *u)
{
	struct cg_cpu_stat stat;
	int r = cg_parse_cpu_stat(text, len, &stat);

	if (r < 0)
		return r;
	u->cpu_usage_usec = stat.usage_usec;
	u->nr_periods = stat.nr_periods;
	u->nr_throttled = stat.nr_throttled;
	u->throttled_usec = stat.throttled_usec;
	u->have |= stat.has_throttle ? USAGE_THROTTLE : 0;
	return 0;
}

static int fill_mem_stat(const char *text, size_t len, struct usage *u)
{
	return cg_parse_mem_stat(text, len, u->mem_current, &u->stat);
}

static int fill_mem_events(const char *text, size_t len, struct usage *u)
{
	return cg_parse_mem_events(text, len, &u->events);
}

static int fill_psi_cpu(const char *text, size_t len, struct usage *u)
{
	return cg_parse_psi(text, len, &u->psi_cpu_usec);
}

static int fill_psi_mem(const char *text, size_t len, struct usage *u)
{
	return cg_parse_psi(text, len, &u->psi_mem_usec);
}

static int fill_cpu_max(const char *text, size_t len, struct usage *u)
{
	struct cg_cpu_max max;
	int r = cg_parse_cpu_max(text, len, &max);

	if (r < 0)
		return r;
	u->limits.cpu_quota_usec = max.quota_usec;
	u->limits.cpu_period_usec = max.period_usec;
	return 0;
}

// clang-format off
#define AT(field) offsetof(struct usage, field)

/* Which bits a file is read for, and which it sets; then the function for the whole file, or that
 * for its only number and where this goes. Files that set no bit are refinements: without
 * cpu.max.burst there is no burst, without memory.high no brake. */
static const struct source {
	uint32_t want, sets;
	int (*fill)(const char *text, size_t len, struct usage *u);
	int (*number)(const char *text, size_t len, uint64_t *ret);
	size_t offset;
} sources[CG_FILE_COUNT] = {
	[CG_FILE_CPU_STAT]    = {USAGE_CPU | USAGE_THROTTLE, USAGE_CPU, fill_cpu_stat, NULL, 0},
	[CG_FILE_MEM_CURRENT] = {USAGE_MEM, USAGE_MEM, NULL, cg_parse_value, AT(mem_current)},
	[CG_FILE_MEM_STAT]    = {USAGE_MEM_STAT, USAGE_MEM_STAT, fill_mem_stat, NULL, 0},
	[CG_FILE_MEM_PEAK]    = {USAGE_MEM_PEAK, USAGE_MEM_PEAK, NULL, cg_parse_value, AT(mem_peak)},
	[CG_FILE_MEM_EVENTS]  = {USAGE_MEM_EVENTS, USAGE_MEM_EVENTS, fill_mem_events, NULL, 0},
	[CG_FILE_PSI_CPU]     = {USAGE_PSI_CPU, USAGE_PSI_CPU, fill_psi_cpu, NULL, 0},
	[CG_FILE_PSI_MEM]     = {USAGE_PSI_MEM, USAGE_PSI_MEM, fill_psi_mem, NULL, 0},
	[CG_FILE_CPU_MAX]     = {USAGE_CPU_LIMIT, USAGE_CPU_LIMIT, fill_cpu_max, NULL, 0},
	[CG_FILE_CPU_BURST]   = {USAGE_CPU_LIMIT, 0, NULL, cg_parse_value, AT(limits.cpu_burst_usec)},
	[CG_FILE_MEM_MAX]     = {USAGE_MEM_LIMIT, USAGE_MEM_LIMIT, NULL, cg_parse_limit, AT(limits.mem_max)},
	[CG_FILE_MEM_HIGH]    = {USAGE_MEM_LIMIT, 0, NULL, cg_parse_limit, AT(limits.mem_high)},
};
// clang-format on

int cg_file_fill(enum cg_file file, const char *text, size_t len, struct usage *u)
{
	const struct source *s = &sources[file];
	int r = s->fill != NULL ? s->fill(text, len, u)
				: s->number(text, len, (uint64_t *)((char *)u + s->offset));

	if (r == 0)
		u->have |= s->sets;
	return r;
}

int cg_read_outer(struct cg *c, uint32_t want, struct usage *ret)
{
	struct usage u = {
		.limits = {LIMIT_MAX, CPU_PERIOD_DEFAULT_USEC, 0, LIMIT_MAX, LIMIT_MAX},
	};
	char text[CG_TEXT_BYTES];

	for (enum cg_file file = 0; file < CG_FILE_COUNT; file++) {
		int r;

		if (!(sources[file].want & want))
			continue;
		r = cg_file_read(c, file, text);
		if (r == -ENOENT)
			continue;
		if (r >= 0)
			r = cg_file_fill(file, text, (size_t)r, &u);
		/* An older kernel: a line that is missing costs no more than what it carries. */
		if (r < 0 && r != -ENODATA)
			return r;
	}
	u.have &= want;
	*ret = u;
	return 0;
}

int cg_read(struct cg *c, uint32_t want, struct usage *ret)
{
	struct usage u, inner;
	int r = cg_read_outer(c, want, &u);

	if (r < 0)
		return r;
	if (c->inner != NULL && (want & CG_LEVEL_USAGE)) {
		r = cg_read_outer(c->inner, want & CG_LEVEL_USAGE, &inner);
		if (r == -ENODEV)
			r = cg_levels_drop(c);
		if (r < 0)
			return r;
		if (c->inner != NULL)
			cg_levels_merge(c, &inner, &u);
	}
	*ret = u;
	return 0;
}

int cg_events_fd(struct cg *c)
{
	char text[CG_TEXT_BYTES];
	int r;

	/* The caller asks for this file: opened even if it was missing at the last read. */
	c->absent_reads[CG_FILE_MEM_EVENTS] = 0;
	r = cg_file_read(c, CG_FILE_MEM_EVENTS, text);
	if (r < 0)
		return r;
	c->events_fd = c->fd[CG_FILE_MEM_EVENTS];
	return c->events_fd;
}

/* --- CPUs, processes, swap */

/* A list of CPUs of one level. */
static int read_list(const struct cg *c, const char *file, uint32_t *ret)
{
	char text[CG_TEXT_BYTES];
	int len = cg_text_read(c->dir, file, text);

	return len < 0 ? len : cg_parse_cpu_list(text, (size_t)len, ret);
}

/* The inner level's list if it names any, else the scope's. */
static int read_levels(const struct cg *c, const char *file, uint32_t *ret)
{
	uint32_t count = 0;
	int r = c->inner != NULL ? read_list(c->inner, file, &count) : 0;

	if (r < 0 && r != -ENOENT)
		return r;
	if (count == 0)
		r = read_list(c, file, &count);
	if (r == 0)
		*ret = count;
	return r;
}

int cg_has_cpus(struct cg *c, bool *ret)
{
	uint32_t count;
	int r = read_levels(c, "cpuset.cpus", &count);

	if (r == 0)
		*ret = count != 0;
	return r;
}

int cg_count_cpus(struct cg *c, uint32_t *ret)
{
	return read_levels(c, "cpuset.cpus.effective", ret);
}

static int read_number(const struct cg *c, const char *file,
		       int (*parse)(const char *text, size_t len, uint64_t *ret), uint64_t *ret)
{
	char text[CG_TEXT_BYTES];
	int len = cg_text_read(c->dir, file, text);

	return len < 0 ? len : parse(text, (size_t)len, ret);
}

int cg_count_threads(struct cg *c, uint32_t *ret)
{
	uint64_t count;
	int r = read_number(c, "pids.current", cg_parse_value, &count);

	if (r == 0)
		*ret = (uint32_t)MIN(count, UINT32_MAX);
	return r;
}

int cg_may_swap(struct cg *c, bool *ret)
{
	uint64_t max;
	int r = read_number(c, "memory.swap.max", cg_parse_limit, &max);

	if (r == 0)
		*ret = max != 0;
	return r;
}
