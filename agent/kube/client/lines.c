// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/lines.h"
#include "policy/base/base.h"
#include <errno.h>
#include <string.h>

#define FIRST_SIZE (4 * KIB)
/* What is kept of an empty one; a large object gives its memory back. */
#define KEPT_SIZE (64 * KIB)

int received_add(struct received *b, const char *data, size_t len, size_t max)
{
	size_t size = MAX(b->size, FIRST_SIZE);
	char *text;

	if (len > max - b->len)
		return -EMSGSIZE;
	while (size <= b->len + len)
		size *= 2;
	if (size != b->size) {
		text = realloc(b->text, size);
		if (text == NULL)
			return -ENOMEM;
		b->text = text;
		b->size = size;
	}
	memcpy(b->text + b->len, data, len);
	b->len += len;
	b->text[b->len] = '\0';
	return 0;
}

void received_empty(struct received *b)
{
	b->len = 0;
	if (b->size > KEPT_SIZE)
		received_drop(b);
}

void received_drop(struct received *b)
{
	free(b->text);
	*b = (struct received){0};
}

/* What is kept of the line and what has come of it now are more than may be. */
static int give_up(struct lines *l, const char *data, size_t len, void *arg)
{
	int r;

	if (l->too_long == NULL)
		return -EMSGSIZE;
	r = l->kept.len > 0 ? l->too_long(arg, l->kept.text, l->kept.len)
			    : l->too_long(arg, data, len);
	lines_drop(l);
	l->skipping = true;
	return r;
}

/* A part of a line; whole: to its end. */
static int lines_take(struct lines *l, const char *data, size_t len, bool whole, lines_fn *each,
		      void *arg)
{
	int r = 0;

	if (l->skipping)
		return 0;
	if (len > l->max - l->kept.len)
		return give_up(l, data, len, arg);
	if (whole && l->kept.len == 0)
		return len > 0 ? each(arg, data, len) : 0;
	r = received_add(&l->kept, data, len, l->max);
	if (r < 0 || !whole)
		return r;
	r = each(arg, l->kept.text, l->kept.len);
	received_empty(&l->kept);
	return r;
}

int lines_feed(struct lines *l, const char *data, size_t len, lines_fn *each, void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t part = end != NULL ? (size_t)(end - data) : len;
		int r = lines_take(l, data, part, end != NULL, each, arg);

		if (r < 0)
			return r;
		if (end != NULL)
			l->skipping = false;
		part += end != NULL;
		data += part;
		len -= part;
	}
	return 0;
}

bool lines_is_inside(const struct lines *l)
{
	return l->kept.len > 0 || l->skipping;
}

void lines_drop(struct lines *l)
{
	received_drop(&l->kept);
	l->skipping = false;
}
