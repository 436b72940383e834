// SPDX-License-Identifier: Apache-2.0
#include "agent/state/baseline.h"
#include <errno.h>
#include <string.h>

#define VERSION 5

const struct state_kind baseline_state = {"baseline", VERSION, 16 * MIB};

const struct state_kind baseline_copy = {"baseline-copy", VERSION, 16 * MIB};

const struct state_kind baseline_lift = {"baseline-lift", VERSION, 16 * MIB};

#define FIELD(name, type, member, max) {name, type, offsetof(struct baseline, member), max}

/* clang-format off */
static const struct record_field fields[] = {
	FIELD("key",              RECORD_NAME,  key,                          0),
	FIELD("cpu_quota_usec",   RECORD_LIMIT, limits.cpu_quota_usec,        0),
	FIELD("cpu_period_usec",  RECORD_U64,   limits.cpu_period_usec,       1000000),
	FIELD("cpu_burst_usec",   RECORD_U64,   limits.cpu_burst_usec,        UINT64_MAX),
	FIELD("mem_max",          RECORD_LIMIT, limits.mem_max,               0),
	FIELD("mem_high",         RECORD_LIMIT, limits.mem_high,              0),
	FIELD("prop_cpu_quota",   RECORD_LIMIT, props.cpu_quota_per_sec_usec, 0),
	FIELD("prop_cpu_period",  RECORD_LIMIT, props.cpu_quota_period_usec,  0),
	FIELD("prop_mem_max",     RECORD_LIMIT, props.mem_max,                0),
	FIELD("prop_mem_high",    RECORD_LIMIT, props.mem_high,               0),
	FIELD("dropins",          RECORD_U32,   dropins,
	      UNIT_PROP_CPU_QUOTA | UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH),
	FIELD("high",             RECORD_U32,   high,                         BASELINE_HIGH_COUNT - 1),
	FIELD("high_before",      RECORD_LIMIT, high_before,                  0),
	FIELD("invocation",       RECORD_ID,    boot_id,                      0),
	FIELD("inode",            RECORD_U64,   cgroup_inode,                 UINT64_MAX),
	FIELD("saved",            RECORD_U64,   saved_realtime_usec,          UINT64_MAX),
	FIELD("cgroup",           RECORD_TEXT,  cgroup,                       0),
	FIELD("unit",             RECORD_TEXT,  unit,                         0),
	FIELD("shown",            RECORD_TEXT,  shown,                        0),
	FIELD("ratified",         RECORD_U32,   ratified,                     1),
	FIELD("request_cpu",      RECORD_U64,   request[RESOURCE_CPU],        UINT64_MAX),
	FIELD("request_memory",   RECORD_U64,   request[RESOURCE_MEMORY],     UINT64_MAX),
	FIELD("lent_cpu",         RECORD_U64,   boost_base_milli,                   LIMIT_MAX - 1),
	FIELD("sent_cpu",         RECORD_LIMIT, sent[RESOURCE_CPU],           0),
	FIELD("sent_memory",      RECORD_LIMIT, sent[RESOURCE_MEMORY],        0),
	FIELD("over_cpu",         RECORD_LIMIT, sent_over[RESOURCE_CPU],      0),
	FIELD("over_memory",      RECORD_LIMIT, sent_over[RESOURCE_MEMORY],   0),
	FIELD("before_cpu",       RECORD_LIMIT, sent_before[RESOURCE_CPU],    0),
	FIELD("before_memory",    RECORD_LIMIT, sent_before[RESOURCE_MEMORY], 0),
};
/* clang-format on */

static const struct record_layout layout = {fields, ARRAY_SIZE(fields), sizeof(struct baseline)};

static const char *behind(const struct baseline *b, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(b->key, prefix, length) == 0 ? b->key + length : NULL;
}

const char *baseline_unit(const struct baseline *b)
{
	return behind(b, BASELINE_UNIT_PREFIX);
}

const char *baseline_pod(const struct baseline *b)
{
	return behind(b, BASELINE_POD_PREFIX);
}

static void drop_baseline(struct baseline *b)
{
	if (b->holder != NULL)
		*b->holder = NULL;
	record_clear(&layout, b);
}

void baseline_set_free(struct baseline_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		drop_baseline(&s->items[i]);
	free(s->items);
	*s = (struct baseline_set){0};
}

struct baseline *baseline_find(const struct baseline_set *s, const char *key)
{
	return sorted_array_find(s->items, s->count, sizeof *s->items, key);
}

/* They have moved. */
static void tell_holders(struct baseline_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].holder != NULL)
			*s->items[i].holder = &s->items[i];
}

/* Room for one at the place; the item is left empty. */
static int make_room(struct baseline_set *s, size_t at)
{
	struct baseline *items;

	if (s->count >= BASELINE_COUNT_MAX)
		return -ENOSPC;
	items = sorted_array_make_room(s->items, s->count, sizeof *items, at);
	if (items == NULL)
		return -ENOMEM;
	s->items = items;
	items[at] = (struct baseline){0};
	s->count++;
	return 0;
}

/* Copies one text; NULL and "" become NULL. */
static int copy_text(const char *from, char **ret)
{
	*ret = NULL;
	if (from == NULL || from[0] == '\0')
		return 0;
	if (strlen(from) > RECORD_NAME_MAX)
		return -EINVAL;
	*ret = strdup(from);
	return *ret != NULL ? 0 : -ENOMEM;
}

static int copy_record(const struct baseline *b, struct baseline *ret)
{
	const char *const from[] = {b->key, b->cgroup, b->unit, b->shown};
	char **const to[] = {&ret->key, &ret->cgroup, &ret->unit, &ret->shown};
	int r = 0;

	*ret = *b;
	for (size_t i = 0; i < ARRAY_SIZE(to); i++)
		*to[i] = NULL;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(to); i++)
		r = copy_text(from[i], to[i]);
	return r == 0 && ret->key == NULL ? -EINVAL : r;
}

int baseline_put(struct baseline_set *s, const struct baseline *b)
{
	OWN(drop_baseline) struct baseline copy = {0};
	struct baseline *item;
	int r = copy_record(b, &copy);
	size_t at;

	copy.holder = NULL;
	if (r < 0)
		return r;
	item = baseline_find(s, copy.key);
	at = sorted_array_position(s->items, s->count, sizeof *s->items, copy.key);
	r = item == NULL ? make_room(s, at) : 0;
	if (r < 0)
		return r;
	item = &s->items[at];
	copy.holder = item->holder != NULL ? item->holder : b->holder;
	record_clear(&layout, item);
	*item = copy;
	copy = (struct baseline){0};
	tell_holders(s);
	return 0;
}

void baseline_remove(struct baseline_set *s, struct baseline *b)
{
	drop_baseline(b);
	memmove(b, b + 1, (size_t)(s->items + s->count - b - 1) * sizeof *b);
	s->count--;
	tell_holders(s);
}

int baseline_encode(const struct baseline_set *s, char **ret, size_t *ret_len)
{
	return record_encode(&layout, s->items, s->count, ret, ret_len);
}

int baseline_line(void *ctx, const char *line, size_t len)
{
	struct baseline_set *s = ctx;
	struct baseline b;
	int r = record_read(&layout, line, len, &b);

	if (r < 0)
		return r;
	/* Ascending keys: no duplicates, and no search while loading. */
	if (s->count > 0 && strcmp(s->items[s->count - 1].key, b.key) >= 0)
		r = -EBADMSG;
	else
		r = make_room(s, s->count);
	if (r < 0) {
		record_clear(&layout, &b);
		return r == -ENOSPC ? -EBADMSG : r;
	}
	s->items[s->count - 1] = b;
	return 0;
}

int baseline_save(int dir, const struct baseline_set *s)
{
	OWN(drop_free) char *text = NULL;
	size_t len;
	int r = baseline_encode(s, &text, &len);

	if (r == 0)
		r = state_file_save(dir, &baseline_state, text, len);
	if (r == 0)
		r = state_file_save(dir, &baseline_copy, text, len);
	return r;
}

int baseline_load_kind(int dir, const struct state_kind *k, char *aside, struct baseline_set *ret)
{
	int r = state_file_load_lines(dir, k, aside, baseline_line, ret);

	if (r < 0)
		baseline_set_free(ret);
	return r;
}

int baseline_load(int dir, char *aside, struct baseline_set *ret)
{
	char copy_aside[STATE_ASIDE_MAX];
	int r = baseline_load_kind(dir, &baseline_state, aside, ret);

	if (r == 0 || r == -ENOMEM)
		return r;
	return baseline_load_kind(dir, &baseline_copy, copy_aside, ret) == 0 ? 0 : r;
}
