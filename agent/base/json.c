// SPDX-License-Identifier: Apache-2.0
#include "agent/base/json.h"
#include "agent/base/escape.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* --- the scanner */

#define OWNERS "fieldsV1"
/* cJSON reads this many bytes of a number. */
#define NUMBER_MAX 63

struct scan {
	const char *start;
	const char *p;
	const char *end;
	const char *what; /* of the first fault */
	char *writable;   /* the same text; NULL: it is only read */
	scan_cut_fn *cut;
	size_t values;
};

static bool fault(struct scan *s, const char *what)
{
	if (s->what == NULL)
		s->what = what;
	return false;
}

static void scan_blanks(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool scan_consume(struct scan *s, char c)
{
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* One or more. */
static bool digits(struct scan *s)
{
	const char *begin = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > begin;
}

/* Four hexadecimal digits. */
static bool unit(struct scan *s, unsigned *ret)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++, s->p++) {
		if (s->p == s->end || !isxdigit((unsigned char)*s->p))
			return fault(s, "an escape without four hexadecimal digits");
		value = value * 16 + (unsigned)(isdigit((unsigned char)*s->p)
							? *s->p - '0'
							: (*s->p | 0x20) - 'a' + 10);
	}
	*ret = value;
	return true;
}

/* Behind \u: no NUL, and surrogates in pairs. */
static bool unicode(struct scan *s)
{
	unsigned first, second;

	if (!unit(s, &first))
		return false;
	if (first == 0)
		return fault(s, "a NUL in a string");
	if (first < 0xd800 || first > 0xdfff)
		return true;
	if (first > 0xdbff || !scan_consume(s, '\\') || !scan_consume(s, 'u') ||
	    !unit(s, &second) || second < 0xdc00 || second > 0xdfff)
		return fault(s, "half a surrogate pair");
	return true;
}

/* Behind the backslash. */
static bool escape(struct scan *s)
{
	if (s->p == s->end || strchr("\"\\/bfnrtu", *s->p) == NULL || *s->p == '\0')
		return fault(s, "an unknown escape");
	return *s->p++ != 'u' || unicode(s);
}

static bool scan_string(struct scan *s)
{
	if (!scan_consume(s, '"'))
		return fault(s, "a string was expected");
	while (s->p < s->end) {
		unsigned char c = (unsigned char)*s->p;
		size_t n = 1;

		if (c == '"') {
			s->p++;
			return true;
		}
		if (c < 0x20)
			return fault(s, "a control character in a string");
		if (c >= 0x80)
			n = escape_utf8_length(s->p, (size_t)(s->end - s->p));
		if (n == 0)
			return fault(s, "a string that is not UTF-8");
		s->p += n;
		if (c == '\\' && !escape(s))
			return false;
	}
	return fault(s, "a string without an end");
}

static bool number_text(struct scan *s)
{
	scan_consume(s, '-');
	if (!scan_consume(s, '0') && !digits(s))
		return fault(s, "a value was expected");
	if (scan_consume(s, '.') && !digits(s))
		return fault(s, "a number without digits behind its point");
	if (scan_consume(s, 'e') || scan_consume(s, 'E')) {
		if (!scan_consume(s, '-'))
			scan_consume(s, '+');
		if (!digits(s))
			return fault(s, "a number without digits in its exponent");
	}
	return true;
}

/* A longer one would be cut by the parser. */
static bool scan_digits(struct scan *s)
{
	const char *begin = s->p;

	return number_text(s) &&
	       (s->p - begin <= NUMBER_MAX || fault(s, "a number of too many digits"));
}

static bool scan_literal(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return fault(s, "a value was expected");
	s->p += n;
	return true;
}

static bool value(struct scan *s, unsigned depth);

/* "key": value. Of managedFields' fieldsV1 remains what is needed, and that alone counts. */
static bool scan_member(struct scan *s, unsigned depth)
{
	const char *key, *begin;
	size_t values, len;

	scan_blanks(s);
	key = s->p + 1;
	if (!scan_string(s))
		return false;
	len = (size_t)(s->p - key) - 1;
	scan_blanks(s);
	if (!scan_consume(s, ':'))
		return fault(s, "a colon was expected");
	scan_blanks(s);
	begin = s->p;
	values = s->values;
	if (!value(s, depth))
		return false;
	if (s->writable != NULL && len == strlen(OWNERS) && memcmp(key, OWNERS, len) == 0 &&
	    *begin == '{')
		s->values = values + 1 +
			    s->cut(s->writable + (begin - s->start), (size_t)(s->p - begin));
	return true;
}

/* The inside of an object or an array, and its end. */
static bool container(struct scan *s, unsigned depth, char end,
		      bool (*part)(struct scan *s, unsigned depth))
{
	s->p++;
	if (depth >= SCAN_DEPTH_MAX)
		return fault(s, "too deep nesting");
	scan_blanks(s);
	if (scan_consume(s, end))
		return true;
	do {
		if (!part(s, depth + 1))
			return false;
		scan_blanks(s);
	} while (scan_consume(s, ','));
	return scan_consume(s, end) || fault(s, "a comma or the end of a list was expected");
}

static bool value(struct scan *s, unsigned depth)
{
	s->values++;
	scan_blanks(s);
	switch (s->p < s->end ? *s->p : '\0') {
	case '{':
		return container(s, depth, '}', scan_member);
	case '[':
		return container(s, depth, ']', value);
	case '"':
		return scan_string(s);
	case 't':
		return scan_literal(s, "true");
	case 'f':
		return scan_literal(s, "false");
	case 'n':
		return scan_literal(s, "null");
	case '\xff':
	case '\xfe':
		return fault(s, "UTF-16, where UTF-8 was expected");
	default:
		return scan_digits(s);
	}
}

static int run(struct scan *s, struct span *ret, struct scan_error *err)
{
	const char *begin, *end = NULL;

	/* A mark of the byte order, as editors and shells of Windows write it (RFC 8259, 8.1). */
	if (s->end - s->p >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0)
		s->p += 3;
	scan_blanks(s);
	begin = s->p;
	if (value(s, 0)) {
		end = s->p;
		scan_blanks(s);
		if (s->p < s->end)
			fault(s, "something behind the end");
	}
	*err = (struct scan_error){s->what, (size_t)(s->p - s->start)};
	if (s->what != NULL)
		return -EBADMSG;
	*ret = (struct span){begin, (size_t)(end - begin)};
	return 0;
}

int scan_document(const char *text, size_t len, struct span *ret, struct scan_error *err)
{
	struct scan s = {.start = text, .p = text, .end = text + len};

	return run(&s, ret, err);
}

/* The scanner at a place of a container, which may have no end. */
static struct scan scan_at(const struct span *whole, const char *at)
{
	return (struct scan){.start = whole->s, .p = at, .end = whole->s + whole->len};
}

bool scan_key(const struct span *whole, const char **at, struct span *ret_key)
{
	struct scan s = scan_at(whole, *at != NULL ? *at : whole->s);

	scan_blanks(&s);
	if (*at == NULL && !scan_consume(&s, '{') && !scan_consume(&s, '['))
		return false;
	scan_blanks(&s);
	scan_consume(&s, ',');
	scan_blanks(&s);
	*ret_key = (struct span){s.p, 0};
	if (s.p == s.end || *s.p == '}' || *s.p == ']')
		return false;
	if (whole->s[0] == '{') {
		if (!scan_string(&s))
			return false;
		*ret_key = (struct span){ret_key->s + 1, (size_t)(s.p - ret_key->s) - 2};
		scan_blanks(&s);
		scan_consume(&s, ':');
		scan_blanks(&s);
	}
	*at = s.p;
	return true;
}

bool scan_value(const struct span *whole, const char **at, struct span *ret_value)
{
	struct scan s = scan_at(whole, *at);

	if (!value(&s, 0))
		return false;
	*ret_value = (struct span){*at, (size_t)(s.p - *at)};
	*at = s.p;
	return true;
}

bool scan_next(const struct span *whole, const char **at, struct span *ret_key,
	       struct span *ret_value)
{
	return scan_key(whole, at, ret_key) && scan_value(whole, at, ret_value);
}

bool span_is(const struct span *s, const char *text)
{
	return s->len == strlen(text) && memcmp(s->s, text, s->len) == 0;
}

/* --- trees */

/* What the scanner has taken can be parsed. */
static int build(const char *text, size_t len, cJSON **ret)
{
	*ret = cJSON_ParseWithLengthOpts(text, len, NULL, false);
	return *ret != NULL ? 0 : -ENOMEM;
}

int json_parse(const char *text, size_t len, cJSON **ret, struct scan_error *err)
{
	struct span whole;
	int r = scan_document(text, len, &whole, err);

	return r < 0 ? r : build(whole.s, whole.len, ret);
}

int json_parse_slim(char *text, size_t len, scan_cut_fn *cut, cJSON **ret, struct scan_error *err)
{
	struct scan s = {.start = text, .p = text, .end = text + len, .writable = text, .cut = cut};
	struct span all;
	int r = run(&s, &all, err);

	if (r < 0)
		return r;
	if (s.values <= SCAN_VALUES_MAX)
		return build(text, len, ret);
	*err = (struct scan_error){"too many values", len};
	return -E2BIG;
}

void view_put(struct view_json *o, const char *key, cJSON *item)
{
	bool put = key != NULL ? cJSON_AddItemToObject(o->json, key, item)
			       : cJSON_AddItemToArray(o->json, item);

	if (put)
		return;
	cJSON_Delete(item);
	o->failed = true;
}

cJSON *view_end(struct view_json *o)
{
	if (o->failed)
		cJSON_Delete(STEAL(o->json));
	return o->json;
}

cJSON *view_text(const char *text)
{
	return text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull();
}
