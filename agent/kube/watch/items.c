// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/watch/items.h"
#include "policy/base/base.h"
#include <errno.h>
#include <string.h>

#define FIRST_SIZE (4 * KIB)
/* What is kept between two elements; a large one gives its memory back. */
#define KEPT_SIZE (64 * KIB)
/* Depths: inside the list's object, inside the array. */
#define IN_LIST  1
#define IN_ARRAY 2

static int push_to(struct items_text *t, size_t max, char c)
{
	char *text;

	if (t->len >= max)
		return -EMSGSIZE;
	if (t->len == t->size) {
		text = realloc(t->text, MAX(t->size * 2, FIRST_SIZE));
		if (text == NULL)
			return -ENOMEM;
		t->text = text;
		t->size = MAX(t->size * 2, FIRST_SIZE);
	}
	t->text[t->len++] = c;
	return 0;
}

static void drop_text(struct items_text *t)
{
	free(t->text);
	*t = (struct items_text){NULL, 0, 0};
}

static int give_up(struct items *i, void *arg)
{
	int r = i->too_long(arg, i->item.text, i->item.len);

	drop_text(&i->item);
	i->skipping = true;
	return r;
}

static int push(struct items *i, char c, void *arg)
{
	if (!i->inside)
		return push_to(&i->frame, ITEMS_FRAME_MAX, c);
	if (i->skipping)
		return 0;
	if (i->item.len >= i->max && i->too_long != NULL)
		return give_up(i, arg);
	return push_to(&i->item, i->max, c);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_back(const struct items_text *t, size_t len)
{
	while (len > 0 && is_blank(t->text[len - 1]))
		len--;
	return len;
}

/* At a colon: is "items" before it, as a key that begins there? */
static bool at_items(const struct items_text *t)
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
	i->item.len = 0;
	if (i->item.size > KEPT_SIZE)
		drop_text(&i->item);
	return r < 0 ? r : push_to(&i->frame, ITEMS_FRAME_MAX, '0');
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
		return r < 0 || c != ',' ? r : push_to(&i->frame, ITEMS_FRAME_MAX, c);
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
	free(i->frame.text);
	free(i->item.text);
	*i = (struct items){.max = i->max, .too_long = i->too_long};
}
