/* SPDX-License-Identifier: Apache-2.0 */
/* Building short texts without stdio, whose output depends on the locale. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <string.h>

/* A text in a fixed buffer. Once something did not fit, `full` stays set: it ends in the part of
 * that which did. */
struct text {
	char *buf;
	size_t size;
	size_t used;
	int full;
};

static inline struct text text_over(char *buf, size_t size)
{
	if (size > 0)
		buf[0] = '\0';
	return (struct text){.buf = buf, .size = size, .full = size == 0};
}

static inline void text_add(struct text *t, const char *s, size_t length)
{
	if (t->full)
		return;
	if (length >= t->size - t->used) {
		t->full = 1;
		length = t->size - t->used - 1;
	}
	memcpy(t->buf + t->used, s, length);
	t->used += length;
	t->buf[t->used] = '\0';
}

static inline void text_add_string(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

/* One more of a list with commas. */
static inline void text_join(struct text *t, const char *s)
{
	text_add_string(t, t->used > 0 ? ", " : "");
	text_add_string(t, s);
}

/* Decimal, with zeros in front up to `width` digits. */
static inline void text_add_number(struct text *t, uint64_t n, size_t width)
{
	char digits[20];
	size_t i = sizeof digits;

	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0 || (i > 0 && sizeof digits - i < width));
	text_add(t, digits + i, sizeof digits - i);
}

/* First byte after a decimal number; NULL: there is none, or it is too large. Any other byte ends
 * the scan: the text need not end in a NUL. */
static inline const char *text_number(const char *s, uint64_t *ret)
{
	const char *p = s;
	uint64_t n = 0;

	for (unsigned digit; (digit = (unsigned char)*p - (unsigned)'0') < 10; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
			return NULL;
	*ret = n;
	return p != s ? p : NULL;
}

/* FNV-1a of several texts, one after the other: begins with TEXT_HASH_FIRST; a separator follows
 * each text. */
#define TEXT_HASH_FIRST 14695981039346656037ULL
static inline uint64_t text_hash(uint64_t hash, const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
	return (hash ^ '/') * 1099511628211ULL;
}

#define TEXT_CONTAINER_ID_DIGITS 64

/* "cri-containerd-ID.scope", "docker-ID.scope" and the like, ID 64 hex digits. */
static inline bool text_is_container_scope(const char *name)
{
	const char *dot = strrchr(name, '.'), *dash = strrchr(name, '-');

	return dot != NULL && dash != NULL && dash != name && strcmp(dot, ".scope") == 0 &&
	       dot - dash == TEXT_CONTAINER_ID_DIGITS + 1 &&
	       strspn(dash + 1, "0123456789abcdef") == TEXT_CONTAINER_ID_DIGITS;
}
