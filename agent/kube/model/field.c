// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/field.h"
#include "agent/base/escape.h"
#include "agent/kube/model/decode_impl.h"
#include "policy/base/quantity.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* 2^53 is where a double begins to miss integers. */
#define EXACT_MAX 9007199254740991LL

int field_parse(const char *text, size_t len, cJSON **ret, struct kube_decode_error *err)
{
	OWN(drop_free) char *copy = malloc(len + 1);
	struct scan_error fault;
	int r;

	*err = (struct kube_decode_error){.text = ""};
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	r = json_parse_slim(copy, len, owners_cut, ret, &fault);
	return r < 0 && r != -ENOMEM ? field_bad_scan(err, &fault) : r;
}

int field_bad_scan(struct kube_decode_error *err, const struct scan_error *fault)
{
	snprintf(err->text, sizeof err->text, "byte %zu: %s", fault->at, fault->what);
	return err->error = -EBADMSG;
}

/* "spec.containers[1].resources": from the root down. */
static size_t put_path(const struct field *n, char *buf, size_t size)
{
	size_t used = n->up != NULL ? put_path(n->up, buf, size) : 0;

	if (n->up == NULL || used >= size)
		return used;
	if (n->key == NULL)
		used += (size_t)snprintf(buf + used, size - used, "[%zu]", n->index);
	else
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used > 0 ? "." : "",
					 n->key);
	return used;
}

int field_bad(const struct field *n, const char *key, const char *format, ...)
{
	struct field member = {.up = n, .key = key};
	char *buf = n->err->text;
	size_t size = sizeof n->err->text, used;
	va_list args;

	if (field_error(n) < 0)
		return field_error(n);
	n->err->error = -EBADMSG;
	buf[0] = '\0';
	used = put_path(key != NULL ? &member : n, buf, size);
	if (used > 0 && used < size)
		used += (size_t)snprintf(buf + used, size - used, ": ");
	if (used >= size)
		return -EBADMSG;
	va_start(args, format);
	vsnprintf(buf + used, size - used, format, args);
	va_end(args);
	return -EBADMSG;
}

static const cJSON *field_member(const struct field *n, const char *key)
{
	const cJSON *j = cJSON_GetObjectItemCaseSensitive(n->json, key);

	return cJSON_IsNull(j) ? NULL : j;
}

bool field_has(const struct field *n, const char *key)
{
	return field_member(n, key) != NULL;
}

static struct field child(const struct field *n, const char *key, cJSON_bool (*is)(const cJSON *),
			  const char *what)
{
	struct field c = {.json = field_member(n, key), .up = n, .key = key, .err = n->err};

	if (c.json != NULL && !is(c.json)) {
		field_bad(&c, NULL, "%s", what);
		c.json = NULL;
	}
	return c;
}

struct field field_object(const struct field *n, const char *key)
{
	return child(n, key, cJSON_IsObject, "not an object");
}

struct field field_array(const struct field *n, const char *key)
{
	return child(n, key, cJSON_IsArray, "not a list");
}

static bool field_step(const struct field *array, struct field *item)
{
	if (array->json == NULL || field_error(array) < 0)
		return false;
	if (item->up == NULL)
		*item = (struct field){.json = array->json->child, .up = array, .err = array->err};
	else
		*item = (struct field){.json = item->json->next,
				       .up = array,
				       .index = item->index + 1,
				       .err = array->err};
	return item->json != NULL;
}

bool field_next(const struct field *array, struct field *item)
{
	return field_step(array, item) &&
	       (cJSON_IsObject(item->json) || field_bad(item, NULL, "not an object") == 0);
}

bool field_next_text(const struct field *array, struct field *item, const char **ret)
{
	if (!field_step(array, item))
		return false;
	if (!cJSON_IsString(item->json))
		return field_bad(item, NULL, "not a text") == 0;
	*ret = item->json->valuestring;
	return true;
}

const char *field_text(const struct field *n, const char *key)
{
	const cJSON *j = field_member(n, key);

	if (j != NULL && !cJSON_IsString(j))
		field_bad(n, key, "not a text");
	return cJSON_GetStringValue(j);
}

bool field_text_is(const struct field *n, const char *key, const char *text)
{
	const char *s = field_text(n, key);

	return s != NULL && strcmp(s, text) == 0;
}

char *field_copy(const struct field *n, const char *key)
{
	const char *s = field_text(n, key);
	char *copy = s != NULL ? strdup(s) : NULL;

	if (s != NULL && copy == NULL && field_error(n) == 0)
		n->err->error = -ENOMEM;
	return copy;
}

char *field_name(const struct field *n, const char *key, bool (*valid)(const char *s))
{
	const char *s = field_text(n, key);
	char buf[ESCAPE_SIZE];

	if (s == NULL || valid(s))
		return field_copy(n, key);
	field_bad(n, key, "\"%s\" is not valid", escape_value(s, buf));
	return NULL;
}

bool field_bool(const struct field *n, const char *key)
{
	const cJSON *j = field_member(n, key);

	if (j != NULL && !cJSON_IsBool(j))
		field_bad(n, key, "neither true nor false");
	return cJSON_IsTrue(j);
}

static bool whole(double d, int64_t *ret)
{
	if (!(d >= -(double)EXACT_MAX && d <= (double)EXACT_MAX) || (double)(int64_t)d != d)
		return false;
	*ret = (int64_t)d;
	return true;
}

int64_t field_int(const struct field *n, const char *key, int64_t min, int64_t max)
{
	const cJSON *j = field_member(n, key);
	int64_t value;

	if (j == NULL)
		return 0;
	if (!cJSON_IsNumber(j) || !whole(j->valuedouble, &value))
		field_bad(n, key, "not a whole number below 2^53");
	else if (value < min || value > max)
		field_bad(n, key, "%lld is out of range", (long long)value);
	else
		return value;
	return 0;
}

uint64_t field_quantity(const struct field *n, const char *key, enum resource r)
{
	const cJSON *j = field_member(n, key);
	char number[24], buf[ESCAPE_SIZE];
	const char *s = number;
	uint64_t amount = 0;
	int64_t value;
	int result;

	if (j == NULL)
		return 0;
	if (cJSON_IsString(j)) {
		s = j->valuestring;
	} else if (cJSON_IsNumber(j) && whole(j->valuedouble, &value)) {
		snprintf(number, sizeof number, "%lld", (long long)value);
	} else {
		field_bad(n, key, "neither a text nor a whole number below 2^53");
		return 0;
	}
	result = r == RESOURCE_CPU ? quantity_parse_cpu(s, &amount)
				   : quantity_parse_bytes(s, &amount);
	/* As Kubernetes reads it: a value that the server has accepted must not make its object
	 * unreadable. */
	if (result == -ERANGE)
		return INT64_MAX;
	if (result < 0)
		field_bad(n, key, "\"%s\" is not a quantity", escape_value(s, buf));
	return amount;
}

/* Digits and separators must stand where the pattern has them; 0 stands for a digit. */
static bool shaped(const char *s, const char *pattern)
{
	for (; *pattern != '\0'; s++, pattern++)
		if (*pattern == '0' ? *s < '0' || *s > '9' : *s != *pattern)
			return false;
	return true;
}

static int parse_time(const char *s, usec_t *ret)
{
	usec_t unit = USEC_PER_SEC, fraction = 0;
	struct tm tm = {0};
	time_t t;

	/* strptime() also takes fewer digits, and blanks. */
	if (!shaped(s, "0000-00-00T00:00:00"))
		return -EINVAL;
	s = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	if (s == NULL || tm.tm_sec > 60)
		return -EINVAL;
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++) {
			unit /= 10;
			fraction += unit * (usec_t)(*s - '0');
		}
	/* Kubernetes writes UTC; an export that other tools have rewritten may have an offset. */
	if (strlen(s) == strlen("+00:00") && s[3] == ':')
		s = strptime(s, "%z", &tm);
	else if (strcmp(s, "Z") == 0)
		s++;
	t = -tm.tm_gmtoff;
	t += timegm(&tm);
	if (s == NULL || *s != '\0')
		return -EINVAL;
	/* Before 1970 is none: Go's time without a value is of the year 1. */
	*ret = t < 0 ? 0 : (usec_t)t * USEC_PER_SEC + fraction;
	return 0;
}

usec_t field_time(const struct field *n, const char *key)
{
	const char *s = field_text(n, key);
	char buf[ESCAPE_SIZE];
	usec_t at = 0;

	if (s != NULL && parse_time(s, &at) < 0)
		field_bad(n, key, "\"%s\" is no time of RFC 3339", escape_value(s, buf));
	return at;
}
