// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/lines.h"
#include "policy/base.h"
#include <errno.h>
#include <string.h>

#define FIRST_SIZE (4 * KIB)
/* What is kept between two lines; a large object gives its memory back. */
#define KEPT_SIZE (64 * KIB)

static int keep(struct lines *l, const char *data, size_t len)
{
	size_t size = MAX(l->size, FIRST_SIZE);
	char *text;

	if (len > l->max - l->len)
		return -EMSGSIZE;
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

static int hand_on(struct lines *l, const char *data, size_t len, lines_fn *each, void *arg)
{
	int r;

	if (l->len == 0 && len > l->max)
		return -EMSGSIZE;
	if (l->len == 0)
		return len > 0 ? each(arg, data, len) : 0;
	r = keep(l, data, len);
	if (r < 0)
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
		int r = end != NULL ? hand_on(l, data, part, each, arg) : keep(l, data, part);

		if (r < 0)
			return r;
		part += end != NULL;
		data += part;
		len -= part;
	}
	return 0;
}

void lines_drop(struct lines *l)
{
	free(l->text);
	l->text = NULL;
	l->len = 0;
	l->size = 0;
}
