// SPDX-License-Identifier: Apache-2.0
/* Values of the configuration: text to field, field to text, what is allowed, what a reload keeps.
 */
#include "agent/base/listen.h"
#include "agent/config/config_table.h"
#include "cgroup/kubepods.h"
#include "policy/base/duration.h"
#include "policy/base/quantity.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

_Static_assert(sizeof(enum mode) == sizeof(uint32_t), "choices are stored as 32 bits");

#define NONE "none"

struct value_type {
	const char *what;
	size_t width;                                  /* of the field; 0: a string */
	int (*parse)(const char *text, uint64_t *ret); /* NULL: the type has no numbers ... */
	const char *(*format)(uint64_t value, char *buf, size_t size); /* ... of its own */
};

/* "12.5%" in ppm: at most seven digits before the point and four after it. */
static int parse_ppm(const char *text, uint64_t *ret)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	const char *p = text + whole;
	uint64_t ppm = 0, unit = 10000;

	if (*p == '.') {
		part = strspn(++p, "0123456789");
		if (part == 0 || part > 4)
			return -EINVAL;
		p += part;
	}
	if (whole == 0 || whole > 7 || strcmp(p, "%") != 0)
		return -EINVAL;
	for (size_t i = 0; i < whole; i++)
		ppm = ppm * 10 + (uint64_t)(text[i] - '0');
	ppm *= unit;
	for (size_t i = 0; i < part; i++) {
		unit /= 10;
		ppm += (uint64_t)(text[whole + 1 + i] - '0') * unit;
	}
	*ret = ppm;
	return 0;
}

static int parse_permille(const char *text, uint64_t *ret)
{
	uint64_t ppm;
	int r = parse_ppm(text, &ppm);

	if (r < 0)
		return r;
	if (ppm % 1000 != 0)
		return -EINVAL;
	*ret = ppm / 1000;
	return 0;
}

static const char *format_ppm(uint64_t value, char *buf, size_t size)
{
	uint64_t part = value % 10000;
	int digits = 4;

	while (digits > 0 && part % 10 == 0) {
		part /= 10;
		digits--;
	}
	if (digits == 0)
		snprintf(buf, size, "%llu%%", (unsigned long long)value / 10000);
	else
		snprintf(buf, size, "%llu.%0*llu%%", (unsigned long long)value / 10000, digits,
			 (unsigned long long)part);
	return buf;
}

static const char *format_permille(uint64_t value, char *buf, size_t size)
{
	return format_ppm(value * 1000, buf, size);
}

static int parse_count(const char *text, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789");
	uint64_t value = 0;

	if (n == 0 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return -EINVAL;
	if (n > 18)
		return -ERANGE;
	for (size_t i = 0; i < n; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	*ret = value;
	return 0;
}

static const char *format_count(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%llu", (unsigned long long)value);
	return buf;
}

/* A share of the whole is no more than all of it. */
static int parse_amount(const char *text, uint64_t *ret)
{
	uint64_t permille;
	int r;

	if (strchr(text, '%') == NULL)
		return quantity_parse_bytes(text, ret);
	r = parse_permille(text, &permille);
	if (r < 0)
		return r;
	if (permille > 1000)
		return -ERANGE;
	*ret = AMOUNT_SHARE | permille;
	return 0;
}

static const char *format_amount(uint64_t value, char *buf, size_t size)
{
	if (value & AMOUNT_SHARE)
		return format_permille(value & ~AMOUNT_SHARE, buf, size);
	return quantity_format_bytes(value, buf, size);
}

static int parse_bool(const char *text, uint64_t *ret)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return -EINVAL;
	*ret = text[0] == 't';
	return 0;
}

static const char *format_bool(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", value ? "true" : "false");
	return buf;
}

static int parse_choice(const char *const *names, const char *text, uint64_t *ret)
{
	for (uint64_t i = 0; names[i] != NULL; i++) {
		if (strcasecmp(names[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct {
	const char *name;
	uint32_t mask;
} resource_words[] = {
	{"cpu,memory", RESOURCES_BOTH}, {"memory,cpu", RESOURCES_BOTH}, {"both", RESOURCES_BOTH},
	{"cpu", RESOURCES_CPU},         {"memory", RESOURCES_MEMORY},
};

static int parse_resources(const char *text, uint64_t *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(resource_words); i++) {
		if (strcmp(resource_words[i].name, text) == 0) {
			*ret = resource_words[i].mask;
			return 0;
		}
	}
	return -EINVAL;
}

static const char *format_resources(uint64_t value, char *buf, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(resource_words); i++) {
		if (resource_words[i].mask == value) {
			snprintf(buf, size, "%s", resource_words[i].name);
			break;
		}
	}
	return buf;
}

/* clang-format off */
static const struct value_type types[CONFIG_TYPE_COUNT] = {
	[CONFIG_DURATION]  = {"a duration",   8, duration_parse,  duration_format},
	[CONFIG_PERMILLE]  = {"a percentage with at most one decimal", 4, parse_permille, format_permille},
	[CONFIG_PPM]       = {"a percentage", 4, parse_ppm,       format_ppm},
	[CONFIG_COUNT]     = {"a number",     4, parse_count,     format_count},
	[CONFIG_BYTES]     = {"an amount of memory", 8, quantity_parse_bytes, quantity_format_bytes},
	[CONFIG_AMOUNT]    = {"an amount of memory", 8, parse_amount, format_amount},
	[CONFIG_CPU]       = {"an amount of CPU", 8, quantity_parse_cpu, quantity_format_cpu},
	[CONFIG_BOOL]      = {"true or false", 1, parse_bool,     format_bool},
	[CONFIG_CHOICE]    = {NULL,           4, NULL,            NULL},
	[CONFIG_RESOURCES] = {"cpu, memory, or both as cpu,memory", 4, parse_resources, format_resources},
	[CONFIG_FILE]      = {"an absolute path", 0, NULL,        NULL},
	[CONFIG_PREFIX]    = {"an absolute path below the cgroup mount, without the mount and without kubepods,", 0, NULL, NULL},
	[CONFIG_NAME]      = {"a name of letters, digits, . _ and -", 0, NULL, NULL},
	[CONFIG_WORD]      = {"a name without blanks", 0, NULL, NULL},
	[CONFIG_LISTEN]    = {"an address and a port from 1 to 65535, as 127.0.0.1:9753, [::1]:9753 or"
			      " :9753", 0, NULL, NULL},
};
/* clang-format on */

static bool may_be_none(const struct config_key *k)
{
	return k->or_none || (k->fallback != NULL && strcmp(k->fallback, NONE) == 0);
}

/* The parser has checked shares. */
static bool in_range(const struct config_key *k, uint64_t value)
{
	if (k->type == CONFIG_AMOUNT && value & AMOUNT_SHARE)
		return true;
	return value >= k->min && value <= k->max;
}

static bool string_fits(const struct config_key *k, const char *text)
{
	if ((k->type == CONFIG_FILE || k->type == CONFIG_PREFIX) && text[0] != '/')
		return false;
	if (k->type == CONFIG_PREFIX && !kubepods_prefix_fits(text))
		return false;
	for (const char *p = text; *p != '\0'; p++) {
		if (iscntrl((unsigned char)*p))
			return false;
		if (k->type == CONFIG_NAME && !isalnum((unsigned char)*p) &&
		    strchr("._-", *p) == NULL)
			return false;
		if (k->type == CONFIG_WORD && !isgraph((unsigned char)*p))
			return false;
	}
	return true;
}

static int set_string(const struct config_key *k, const char *text, char **field)
{
	size_t len = strlen(text);
	char *copy;
	int r = k->type == CONFIG_LISTEN ? listen_parse(text, &(struct listen_address){0}) : 0;

	if (r < 0)
		return r;
	if (!string_fits(k, text))
		return -EINVAL;
	if (len < k->min || len > k->max)
		return -ERANGE;
	copy = strdup(text);
	if (copy == NULL)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static void store(void *field, size_t width, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	bool truth = value != 0;

	if (width == sizeof value)
		memcpy(field, &value, sizeof value);
	else if (width == sizeof narrow)
		memcpy(field, &narrow, sizeof narrow);
	else
		memcpy(field, &truth, sizeof truth);
}

int config_value_set(const struct config_key *k, const char *text, void *base)
{
	void *field = (char *)base + k->offset;
	uint64_t value;
	int r;

	if (types[k->type].width == 0)
		return set_string(k, text, field);
	if (may_be_none(k) && strcmp(text, NONE) == 0) {
		store(field, types[k->type].width, 0);
		return 0;
	}
	r = k->type == CONFIG_CHOICE ? parse_choice(k->names, text, &value)
				     : types[k->type].parse(text, &value);
	if (r < 0)
		return r;
	if (!in_range(k, value))
		return -ERANGE;
	store(field, types[k->type].width, value);
	return 0;
}

uint64_t config_value_number(const struct config_key *k, const void *base)
{
	const void *field = (const char *)base + k->offset;
	uint64_t value = 0;
	uint32_t narrow;
	bool truth;

	switch (types[k->type].width) {
	case sizeof value:
		memcpy(&value, field, sizeof value);
		return value;
	case sizeof narrow:
		memcpy(&narrow, field, sizeof narrow);
		return narrow;
	case sizeof truth:
		memcpy(&truth, field, sizeof truth);
		return truth;
	default:
		return 0;
	}
}

bool config_value_none(const struct config_key *k, const void *base)
{
	return may_be_none(k) && config_value_number(k, base) == 0;
}

const char *config_value_text(const struct config_key *k, const void *base, char *buf, size_t size)
{
	uint64_t value = config_value_number(k, base);

	if (types[k->type].width == 0) {
		const char *text = *(char *const *)((const char *)base + k->offset);

		snprintf(buf, size, "%s", text != NULL ? text : "");
	} else if (config_value_none(k, base)) {
		snprintf(buf, size, NONE);
	} else if (k->type == CONFIG_CHOICE) {
		snprintf(buf, size, "%s", k->names[value]);
	} else {
		types[k->type].format(value, buf, size);
	}
	return buf;
}

static const char *allowed_names(const struct config_key *k, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; k->names[i] != NULL && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i > 0 ? ", " : "", k->names[i]);
	return buf;
}

const char *config_value_allowed(const struct config_key *k, char *buf, size_t size)
{
	const struct value_type *t = &types[k->type];
	char low[CONFIG_VALUE_TEXT], high[CONFIG_VALUE_TEXT];

	if (k->type == CONFIG_CHOICE)
		return allowed_names(k, buf, size);
	if (k->type == CONFIG_BOOL || k->type == CONFIG_RESOURCES || k->type == CONFIG_LISTEN) {
		snprintf(buf, size, "%s", t->what);
	} else if (t->width == 0) {
		snprintf(buf, size, "%s of at most %llu bytes", t->what,
			 (unsigned long long)k->max);
	} else {
		t->format(k->min, low, sizeof low);
		t->format(k->max, high, sizeof high);
		snprintf(buf, size, "%s from %s to %s%s%s", t->what, low, high,
			 k->type == CONFIG_AMOUNT ? ", or a percentage of the node's" : "",
			 may_be_none(k) ? ", or none" : "");
	}
	return buf;
}

/* Exchanges the row's field of two structs. */
static void config_value_swap(const struct config_key *k, void *base, void *other)
{
	size_t width = types[k->type].width > 0 ? types[k->type].width : sizeof(char *);
	char *a = (char *)base + k->offset, *b = (char *)other + k->offset;
	char keep[sizeof(uint64_t)];

	memcpy(keep, a, width);
	memcpy(a, b, width);
	memcpy(b, keep, width);
}

static bool restart_only_same(const struct config_key *k, const struct config *a,
			      const struct config *b)
{
	char one[PATH_MAX], other[PATH_MAX];

	return strcmp(config_value_text(k, a, one, sizeof one),
		      config_value_text(k, b, other, sizeof other)) == 0;
}

const char *config_keep_restart_only(struct config *fresh, struct config *old, char *buf,
				     size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];

		if (!k->at_start)
			continue;
		if (!restart_only_same(k, fresh, old) && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? ", " : "",
					      k->path);
		config_value_swap(k, fresh, old);
	}
	return buf;
}
