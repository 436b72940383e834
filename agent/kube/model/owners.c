// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/pod.h"
#include <stdio.h>
#include <string.h>

/* A name is a DNS label: nothing in it is escaped. */
#define NAME_MAX_CHARS 63
/* More containers than a report has room for: the rest has no known owner. */
#define ROWS_MAX 64
#define ITEM     "k:{\\\"name\\\":\\\"" /* as written: a JSON text inside a key */
#define ITEM_END "\\\"}"

struct row {
	char name[NAME_MAX_CHARS + 1];
	unsigned leaves;
};

static struct span member_of(const struct span *object, const char *key)
{
	const char *at = NULL;
	struct span k, v;

	while (object->len > 0 && scan_next(object, &at, &k, &v))
		if (span_is(&k, key) && v.s[0] == '{')
			return v;
	return (struct span){object->s, 0};
}

static bool take_name(const struct span *key, char *ret)
{
	size_t around = strlen(ITEM) + strlen(ITEM_END);
	size_t len = key->len > around ? key->len - around : 0;
	const char *name = key->s + strlen(ITEM);

	if (len == 0 || len > NAME_MAX_CHARS || memcmp(key->s, ITEM, strlen(ITEM)) != 0 ||
	    memcmp(name + len, ITEM_END, strlen(ITEM_END)) != 0 || memchr(name, '\\', len) != NULL)
		return false;
	memcpy(ret, name, len);
	ret[len] = '\0';
	return true;
}

/* Of f:limits or f:requests; a map that is owned without a value in it says nothing. */
static unsigned leaves_of(const struct span *list, unsigned cpu, unsigned memory)
{
	unsigned leaves = 0;

	leaves |= member_of(list, "f:cpu").len > 0 ? cpu : 0;
	leaves |= member_of(list, "f:memory").len > 0 ? memory : 0;
	return leaves;
}

static size_t take_rows(const struct span *list, struct row *row, size_t count)
{
	const char *at = NULL;
	struct span key, value;

	while (list->len > 0 && count < ROWS_MAX && scan_next(list, &at, &key, &value)) {
		struct span resources, limits, requests;
		unsigned leaves;

		if (value.s[0] != '{')
			continue;
		resources = member_of(&value, "f:resources");
		limits = member_of(&resources, "f:limits");
		requests = member_of(&resources, "f:requests");
		leaves = leaves_of(&limits, KUBE_LEAF_LIMIT(RESOURCE_CPU),
				   KUBE_LEAF_LIMIT(RESOURCE_MEMORY)) |
			 leaves_of(&requests, KUBE_LEAF_REQUEST(RESOURCE_CPU),
				   KUBE_LEAF_REQUEST(RESOURCE_MEMORY));
		if (leaves == 0 || !take_name(&key, row[count].name))
			continue;
		row[count++].leaves = leaves;
	}
	return count;
}

size_t owners_cut(char *text, size_t len)
{
	const struct span whole = {text, len};
	struct span spec = member_of(&whole, "f:spec"), list;
	struct row row[ROWS_MAX];
	char *out = text;
	size_t count;

	list = member_of(&spec, "f:containers");
	count = take_rows(&list, row, 0);
	list = member_of(&spec, "f:initContainers");
	count = take_rows(&list, row, count);
	memset(text, ' ', len);
	*out++ = '{';
	for (size_t i = 0; i < count; i++) {
		char item[NAME_MAX_CHARS + 16];
		int n = snprintf(item, sizeof item, "%s\"%s\":%u", i > 0 ? "," : "", row[i].name,
				 row[i].leaves);

		memcpy(out, item, (size_t)n);
		out += n;
	}
	*out = '}';
	return count;
}
