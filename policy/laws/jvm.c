// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/jvm.h"
#include "policy/types/bounds.h"
#include <string.h>

/*
 * Metaspace, code cache, thread stacks, direct buffers and the collector's own data come on top of
 * the heap. Guides for Java in containers give the heap 70 to 80 % of the memory limit and leave
 * the rest to them (CoreMedia's deployment manual, "Heap sizing"; 75 % is the value most of them
 * print). So the heap is taken as 75 %: the floor is 4/3 of it.
 */
#define HEAP_SHARE_PERMILLE 750u

/* -XX:MaxRAMPercentage is a double from 0 to 100 (HotSpot, gc_globals.hpp). */
#define PERCENT_MAX 100u

static const struct {
	char suffix;
	uint64_t unit;
} units[] = {
	{'k', KIB}, {'K', KIB}, {'m', MIB},        {'M', MIB},
	{'g', GIB}, {'G', GIB}, {'t', 1024 * GIB}, {'T', 1024 * GIB},
};

/* Digits at s; returns how many, 0 also when they are too large. */
static size_t digits(const char *s, size_t len, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < len && s[i] >= '0' && s[i] <= '9'; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(s[i] - '0'), &n))
			return 0;
	*ret = n;
	return i;
}

static void take_size(struct jvm_heap *h, const char *s, size_t len)
{
	uint64_t n, unit = 1;
	size_t used = digits(s, len, &n);

	if (used == 0)
		return;
	if (used + 1 == len) {
		unit = 0;
		for (size_t i = 0; i < ARRAY_SIZE(units); i++)
			if (units[i].suffix == s[used])
				unit = units[i].unit;
	} else if (used != len) {
		return;
	}
	if (unit == 0 || n == 0 || __builtin_mul_overflow(n, unit, &n) || n == LIMIT_MAX)
		return;
	h->bytes = n;
}

/* "75", "66.6": rounded up to a permille. */
static void take_percentage(struct jvm_heap *h, const char *s, size_t len)
{
	uint64_t whole, part = 0;
	size_t used = digits(s, len, &whole), places;

	if (used == 0 || whole > PERCENT_MAX)
		return;
	whole *= 10;
	if (used < len && s[used] == '.') {
		s += used + 1;
		len -= used + 1;
		places = digits(s, len, &part);
		if (places != len || places == 0)
			return;
		whole += (uint64_t)(s[0] - '0');
		for (size_t i = 1; i < places; i++)
			if (s[i] != '0') {
				whole++;
				break;
			}
	} else if (used != len) {
		return;
	}
	if (whole > 0 && whole <= 10 * PERCENT_MAX)
		h->permille = (uint32_t)whole;
}

static const struct {
	const char *start;
	void (*take)(struct jvm_heap *h, const char *s, size_t len);
} options[] = {
	{"-Xmx", take_size},
	{"-XX:MaxHeapSize=", take_size},
	{"-XX:MaxRAMPercentage=", take_percentage},
};

static void take_word(struct jvm_heap *h, const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t n = strlen(options[i].start);

		if (len > n && memcmp(s, options[i].start, n) == 0)
			options[i].take(h, s + n, len - n);
	}
}

void jvm_options(struct jvm_heap *h, const char *text)
{
	static const char between[] = " \t\r\n\v\f\"'";

	for (;;) {
		size_t len;

		text += strspn(text, between);
		len = strcspn(text, between);
		if (len == 0)
			return;
		take_word(h, text, len);
		text += len;
	}
}

uint64_t jvm_floor(const struct jvm_heap *h, uint64_t limit_bytes)
{
	uint64_t heap = h->bytes;

	if (heap == 0 && limit_bytes != LIMIT_MAX)
		heap = mul_div(limit_bytes, h->permille, 1000);
	if (heap == 0)
		return 0;
	return mul_div(heap, 1000, HEAP_SHARE_PERMILLE);
}
