// SPDX-License-Identifier: Apache-2.0
/*
 * Every parser of cgroup files over one input. Beside what the sanitizers see: a refusal leaves the
 * output as it was, and an accepted limit means the same when it is written out again.
 */
#include "cgroup/parse.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Room for the output of any parser. */
union output {
	struct cg_cpu_max cpu_max;
	struct cg_cpu_stat cpu_stat;
	struct mem_stat mem_stat;
	struct mem_events mem_events;
	uint64_t mem_ooms;
	uint64_t psi;
	struct cg_state state;
	uint64_t value;
	uint32_t mask;
};

static int parse_mem_stat(const char *text, size_t len, struct mem_stat *ret)
{
	return cg_parse_mem_stat(text, len, 1 << 20, ret);
}

#define EACH_PARSER(X)                                                                             \
	X(cg_parse_cpu_max, cpu_max)                                                               \
	X(cg_parse_cpu_stat, cpu_stat)                                                             \
	X(cg_parse_value, value)                                                                   \
	X(cg_parse_limit, value)                                                                   \
	X(parse_mem_stat, mem_stat)                                                                \
	X(cg_parse_mem_events, mem_events)                                                         \
	X(cg_parse_psi, psi)                                                                       \
	X(cg_parse_state, state)                                                                   \
	X(cg_parse_controllers, mask)                                                              \
	X(cg_parse_cpu_list, mask)                                                                 \
	X(cg_parse_mem_ooms, mem_ooms)

#define DEFINE_RUN(parse, member)                                                                  \
	static int run_##parse(const char *text, size_t len, union output *out)                    \
	{                                                                                          \
		return parse(text, len, &out->member);                                             \
	}
EACH_PARSER(DEFINE_RUN)

#define LIST_RUN(parse, member) run_##parse,
static int (*const runs[])(const char *, size_t, union output *) = {EACH_PARSER(LIST_RUN)};

static void check_cpu_max_again(const struct cg_cpu_max *first)
{
	struct cg_cpu_max second;
	char text[64];
	int len = first->quota_usec == LIMIT_MAX
			  ? snprintf(text, sizeof text, "max %" PRIu64 "\n", first->period_usec)
			  : snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n",
				     first->quota_usec, first->period_usec);

	if (cg_parse_cpu_max(text, (size_t)len, &second) != 0 ||
	    second.quota_usec != first->quota_usec || second.period_usec != first->period_usec)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that one byte too far is seen. */
	OWN(drop_free) char *text = malloc(size ? size : 1);
	struct cg_cpu_max max;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		union output out, before;
		int r;

		memset(&out, 0x5a, sizeof out);
		memset(&before, 0x5a, sizeof before);
		r = runs[i](text, size, &out);
		if (r != 0 &&
		    ((r != -EBADMSG && r != -ENODATA) || memcmp(&out, &before, sizeof out) != 0))
			abort();
	}
	if (cg_parse_cpu_max(text, size, &max) == 0)
		check_cpu_max_again(&max);
	return 0;
}
