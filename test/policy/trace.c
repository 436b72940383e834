// SPDX-License-Identifier: Apache-2.0
#include "test/policy/trace.h"
#include <errno.h>
#include <string.h>

#define WORDS_MAX                  (TRACE_COLUMNS + 2)
#define FIELD(word, member, group) {word, offsetof(struct usage, member), group}

const struct trace_field trace_fields[] = {
	FIELD("used", cpu_usage_usec, USAGE_CPU),
	FIELD("periods", nr_periods, USAGE_THROTTLE),
	FIELD("throttled", nr_throttled, USAGE_THROTTLE),
	FIELD("waited", throttled_usec, USAGE_THROTTLE),
	FIELD("current", mem_current, USAGE_MEM),
	FIELD("peak", mem_peak, USAGE_MEM_PEAK),
	FIELD("anon", stat.anon, USAGE_MEM_STAT),
	FIELD("file", stat.file, USAGE_MEM_STAT),
	FIELD("inactive", stat.inactive_file, USAGE_MEM_STAT),
	FIELD("refault", stat.refaults, USAGE_MEM_STAT),
	FIELD("max", events.max, USAGE_MEM_EVENTS),
	FIELD("oom_kill", events.oom_kill, USAGE_MEM_EVENTS),
	FIELD("stall", psi_mem_usec, USAGE_PSI_MEM),
};

size_t trace_field_count(void)
{
	return ARRAY_SIZE(trace_fields);
}

static int number(const char *s, uint64_t *ret)
{
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return errno != 0 || *end != '\0' ? -EINVAL : 0;
}

static int numbers(char **word, int count, uint64_t **ret, int want)
{
	if (count != want)
		return -EINVAL;
	for (int i = 0; i < want; i++)
		if (number(word[i], ret[i]) < 0)
			return -EINVAL;
	return TRACE_SET_UP;
}

static int columns(struct trace *t, char **word, int count)
{
	if (count < 1 || count > TRACE_COLUMNS)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(trace_fields) && strcmp(trace_fields[k].name, word[i]) != 0)
			k++;
		if (k == ARRAY_SIZE(trace_fields))
			return -EINVAL;
		t->column[i] = (uint32_t)k;
	}
	t->columns = (uint32_t)count;
	return TRACE_SET_UP;
}

static int observation(const struct trace *t, char **word, int count, usec_t *ret_at,
		       struct usage *ret_u)
{
	struct usage u = {0};
	usec_t at;

	if (t->columns == 0 || count != (int)t->columns + 1 || number(word[0], &at) < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < t->columns; i++) {
		const struct trace_field *f = &trace_fields[t->column[i]];
		uint64_t value;

		if (number(word[i + 1], &value) < 0)
			return -EINVAL;
		memcpy((char *)&u + f->offset, &value, sizeof value);
		u.have |= f->have;
	}
	*ret_at = at;
	*ret_u = u;
	return TRACE_OBSERVATION;
}

int trace_parse(struct trace *t, char *line, usec_t *ret_at, struct usage *ret_u)
{
	uint64_t *limits[] = {&t->milli, &t->bytes, &t->cpus};
	uint64_t *known[] = {&t->known_milli, &t->known_bytes, &t->known_hours};
	char *word[WORDS_MAX], *save, *s;
	int n = 0;

	if (line[0] == '#')
		return TRACE_NOTHING;
	for (s = strtok_r(line, " \t\n", &save); s != NULL; s = strtok_r(NULL, " \t\n", &save)) {
		if (n == WORDS_MAX)
			return -EINVAL;
		word[n++] = s;
	}
	if (n == 0)
		return TRACE_NOTHING;
	if (strcmp(word[0], "limits") == 0)
		return numbers(word + 1, n - 1, limits, 3);
	if (strcmp(word[0], "history") == 0)
		return numbers(word + 1, n - 1, known, 3);
	if (strcmp(word[0], "algorithm") == 0)
		return numbers(word + 1, n - 1, (uint64_t *[]){&t->algorithm}, 1);
	if (strcmp(word[0], "columns") == 0)
		return columns(t, word + 1, n - 1);
	return observation(t, word, n, ret_at, ret_u);
}
