// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cpuset.h"
#include "cgroup/group.h"
#include "cgroup/parse.h"
#include <errno.h>

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
