// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/lines.h"
#include "policy/base/base.h"
#include <errno.h>
#include <string.h>

#define FIRST_SIZE (4 * KIB)
/* What is kept between two lines; a large object gives its memory back. */
#define KEPT_SIZE (64 * KIB)

static int keep(struct lines *l, const char *data, size_t len)
{
	size_t size = MAX(l->size, FIRST_SIZE);
	char *text;

	while (size < l->len + len)
		size *= 2;
	if (size != l->size) {
		text = realloc(l->text, size);
		if (text == NULL)
			return -ENOMEM;
		l->text = text;
		l->size = size;
	}
	memcpy(l->text + l->len, data, len);
	l->len += len;
	return 0;
}

/* What is kept of the line and what has come of it now are more than may be. */
static int give_up(struct lines *l, const char *data, size_t len, void *arg)
{
	int r;

	if (l->too_long == NULL)
		return -EMSGSIZE;
	r = l->len > 0 ? l->too_long(arg, l->text, l->len) : l->too_long(arg, data, len);
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
	if (len > l->max - l->len)
		return give_up(l, data, len, arg);
	if (whole && l->len == 0)
		return len > 0 ? each(arg, data, len) : 0;
	r = keep(l, data, len);
	if (r < 0 || !whole)
		return r;
	r = each(arg, l->text, l->len);
	l->len = 0;
	if (l->size > KEPT_SIZE)
		lines_drop(l);
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
	return l->len > 0 || l->skipping;
}

void lines_drop(struct lines *l)
{
	free(l->text);
	l->text = NULL;
	l->len = 0;
	l->size = 0;
	l->skipping = false;
}
