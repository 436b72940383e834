// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/peek.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <ctype.h>
#include <string.h>

struct cursor {
	const char *p;
	const char *end;
};

static void peek_blanks(struct cursor *c)
{
	while (c->p < c->end && strchr(" \t\r\n", *c->p) != NULL && *c->p != '\0')
		c->p++;
}

static bool peek_take(struct cursor *c, char what)
{
	peek_blanks(c);
	if (c->p == c->end || *c->p != what)
		return false;
	c->p++;
	return true;
}

/* Reads a string without its quotes; one with an escape, or longer than size, reads as "". False:
 * it has no end here. */
static bool peek_string(struct cursor *c, char *ret, size_t size)
{
	const char *begin;
	bool plain = true;

	if (!peek_take(c, '"'))
		return false;
	for (begin = c->p; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p != '\\')
			continue;
		plain = false;
		if (++c->p == c->end)
			return false;
	}
	if (c->p == c->end)
		return false;
	ret[0] = '\0';
	if (plain && (size_t)(c->p - begin) < size) {
		memcpy(ret, begin, (size_t)(c->p - begin));
		ret[c->p - begin] = '\0';
	}
	c->p++;
	return true;
}

/* A number, true, false or null. False: it has no end here, or there is none. */
static bool peek_literal(struct cursor *c)
{
	const char *begin = c->p;

	while (c->p < c->end && (isalnum((unsigned char)*c->p) || strchr("+-.", *c->p) != NULL) &&
	       *c->p != '\0')
		c->p++;
	return c->p > begin && c->p < c->end;
}

/* Skips the next value, nested or not. False: it has no end here. */
static bool peek_skip(struct cursor *c)
{
	char nothing[1];
	size_t depth = 0;

	do {
		peek_blanks(c);
		if (c->p == c->end)
			return false;
		if (*c->p == '"') {
			if (!peek_string(c, nothing, sizeof nothing))
				return false;
			continue;
		}
		depth += *c->p == '{' || *c->p == '[';
		if (*c->p == '}' || *c->p == ']') {
			if (depth == 0)
				return false;
			depth--;
		}
		if (depth == 0 && *c->p != '}' && *c->p != ']')
			return peek_literal(c);
		c->p++;
	} while (depth > 0);
	return true;
}

/* The next key of an object that was entered, up to its value. */
static bool next_key(struct cursor *c, char *ret, size_t size)
{
	(void)peek_take(c, ',');
	return peek_string(c, ret, size) && peek_take(c, ':');
}

static void read_meta(struct cursor *c, struct kube_peek *ret)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
	} rows[] = {
		{"uid", ret->uid, sizeof ret->uid},
		{"namespace", ret->namespace, sizeof ret->namespace},
		{"name", ret->name, sizeof ret->name},
		{"resourceVersion", ret->resource_version, sizeof ret->resource_version},
	};
	char key[32];

	if (!peek_take(c, '{'))
		return;
	while (next_key(c, key, sizeof key)) {
		size_t i = 0;

		while (i < ARRAY_SIZE(rows) && strcmp(rows[i].key, key) != 0)
			i++;
		/* Of two the first counts. */
		if (i < ARRAY_SIZE(rows) && rows[i].text[0] == '\0') {
			if (!peek_string(c, rows[i].text, rows[i].size))
				return;
		} else if (!peek_skip(c)) {
			return;
		}
	}
}

static void read_object(struct cursor *c, struct kube_peek *ret)
{
	char key[32];

	if (!peek_take(c, '{'))
		return;
	while (next_key(c, key, sizeof key)) {
		if (strcmp(key, "metadata") == 0) {
			read_meta(c, ret);
			return;
		}
		if (!peek_skip(c))
			return;
	}
}

static bool is_version(const char *s)
{
	for (; *s != '\0'; s++)
		if (!isgraph((unsigned char)*s))
			return false;
	return true;
}

static void drop_invalid(struct kube_peek *p)
{
	if (!kube_is_uid(p->uid))
		p->uid[0] = '\0';
	if (!kube_is_label(p->namespace))
		p->namespace[0] = '\0';
	if (!kube_is_subdomain(p->name))
		p->name[0] = '\0';
	if (!is_version(p->resource_version))
		p->resource_version[0] = '\0';
}

void kube_peek_pod(const char *text, size_t len, struct kube_peek *ret)
{
	struct cursor c = {text, text + len};

	*ret = (struct kube_peek){.event = WATCH_UNKNOWN};
	read_object(&c, ret);
	drop_invalid(ret);
}

void kube_peek_watch(const char *text, size_t len, struct kube_peek *ret)
{
	struct cursor c = {text, text + len};
	char key[32], type[32] = "";

	*ret = (struct kube_peek){.event = WATCH_UNKNOWN};
	if (!peek_take(&c, '{'))
		return;
	while (next_key(&c, key, sizeof key)) {
		if (strcmp(key, "type") == 0 && type[0] == '\0') {
			if (!peek_string(&c, type, sizeof type))
				break;
		} else if (strcmp(key, "object") == 0) {
			read_object(&c, ret);
			break;
		} else if (!peek_skip(&c)) {
			break;
		}
	}
	ret->event = decode_event_type(type, strlen(type));
	drop_invalid(ret);
}
