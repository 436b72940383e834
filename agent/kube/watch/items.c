// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/watch/items.h"
#include "policy/base/base.h"
#include <errno.h>
#include <string.h>

/* Depths: inside the list's object, inside the array. */
#define IN_LIST  1
#define IN_ARRAY 2

static int give_up(struct items *i, void *arg)
{
	int r = i->too_long(arg, i->item.text, i->item.len);

	received_drop(&i->item);
	i->skipping = true;
	return r;
}

static int push(struct items *i, char c, void *arg)
{
	if (!i->inside)
		return received_add(&i->frame, &c, 1, ITEMS_FRAME_MAX);
	if (i->skipping)
		return 0;
	if (i->item.len >= i->max && i->too_long != NULL)
		return give_up(i, arg);
	return received_add(&i->item, &c, 1, i->max);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_back(const struct received *t, size_t len)
{
	while (len > 0 && is_blank(t->text[len - 1]))
		len--;
	return len;
}

/* At a colon: is "items" before it, as a key that begins there? */
static bool at_items(const struct received *t)
{
	static const char key[] = "\"items\"";
	size_t len = skip_back(t, t->len), key_len = sizeof key - 1;

	if (len < key_len || memcmp(t->text + len - key_len, key, key_len) != 0)
		return false;
	len = skip_back(t, len - key_len);
	return len > 0 && (t->text[len - 1] == '{' || t->text[len - 1] == ',');
}

static int flush(struct items *i, items_fn *each, void *arg)
{
	int r = 0;

	if (i->item.len == 0 && !i->skipping)
		return 0;
	if (!i->skipping)
		r = each(arg, i->item.text, i->item.len);
	i->skipping = false;
	received_empty(&i->item);
	return r < 0 ? r : received_add(&i->frame, "0", 1, ITEMS_FRAME_MAX);
}

static int open_bracket(struct items *i, char c, void *arg)
{
	bool array = c == '[' && i->awaited;
	int r = push(i, c, arg);

	i->awaited = false;
	i->depth++;
	i->inside |= array;
	return r;
}

static int close_bracket(struct items *i, char c, items_fn *each, void *arg)
{
	int r;

	if (i->depth > 0)
		i->depth--;
	if (i->inside && i->depth < IN_ARRAY) {
		r = flush(i, each, arg);
		i->inside = false;
		return r < 0 ? r : push(i, c, arg);
	}
	r = push(i, c, arg);
	return r == 0 && i->inside && i->depth == IN_ARRAY ? flush(i, each, arg) : r;
}

static int feed_byte(struct items *i, char c, items_fn *each, void *arg)
{
	int r;

	if (i->string) {
		i->string = c != '"' || i->escape;
		i->escape = c == '\\' && !i->escape;
		return push(i, c, arg);
	}
	if (c == '{' || c == '[')
		return open_bracket(i, c, arg);
	if (c == '}' || c == ']')
		return close_bracket(i, c, each, arg);
	if (i->inside && i->depth == IN_ARRAY && (c == ',' || is_blank(c))) {
		r = flush(i, each, arg);
		return r < 0 || c != ',' ? r : received_add(&i->frame, &c, 1, ITEMS_FRAME_MAX);
	}
	i->string = c == '"';
	if (c == ':' && i->depth == IN_LIST && at_items(&i->frame)) {
		i->awaited = !i->seen;
		i->seen = true;
	} else if (!is_blank(c)) {
		i->awaited = false;
	}
	return push(i, c, arg);
}

int items_feed(struct items *i, const char *data, size_t len, items_fn *each, void *arg)
{
	for (size_t k = 0; k < len; k++) {
		int r = feed_byte(i, data[k], each, arg);

		if (r < 0)
			return r;
	}
	return 0;
}

void items_drop(struct items *i)
{
	received_drop(&i->frame);
	received_drop(&i->item);
	*i = (struct items){.max = i->max, .too_long = i->too_long};
}
