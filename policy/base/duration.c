// SPDX-License-Identifier: Apache-2.0
#include "policy/base/duration.h"
#include "policy/base/text.h"
#include <errno.h>

struct unit {
	const char *name;
	usec_t usec;
};

/* Falling; the first name of a size is the one written. */
static const struct unit units[] = {
	{"d", USEC_PER_DAY}, {"h", USEC_PER_HOUR},  {"m", USEC_PER_MIN}, {"min", USEC_PER_MIN},
	{"s", USEC_PER_SEC}, {"ms", USEC_PER_MSEC}, {"us", 1},
};

static int scan_number(const char **s, usec_t *ret)
{
	const char *p = *s;
	usec_t n = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (usec_t)(*p - '0'), &n))
			return -ERANGE;
	*s = p;
	*ret = n;
	return 0;
}

static int scan_unit(const char **s, usec_t *ret)
{
	size_t length = strcspn(*s, "0123456789");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == length && memcmp(units[i].name, *s, length) == 0) {
			*s += length;
			*ret = units[i].usec;
			return 0;
		}
	}
	return -EINVAL;
}

int duration_parse(const char *s, usec_t *ret)
{
	usec_t sum = 0, number, unit, last = UINT64_MAX;
	int r;

	do {
		r = scan_number(&s, &number);
		if (r < 0)
			return r;
		r = scan_unit(&s, &unit);
		if (r < 0)
			return r;
		if (unit >= last)
			return -EINVAL;
		last = unit;
		if (__builtin_mul_overflow(number, unit, &number) ||
		    __builtin_add_overflow(sum, number, &sum))
			return -ERANGE;
	} while (*s != '\0');
	*ret = sum;
	return 0;
}

const char *duration_format(usec_t span, char *buf, size_t size)
{
	struct text t = text_over(buf, size);

	if (span == 0)
		text_add_string(&t, "0s");
	for (size_t i = 0; span > 0 && i < ARRAY_SIZE(units); i++) {
		usec_t count = units[i].usec > 0 ? span / units[i].usec : 0;

		if (count == 0)
			continue;
		text_add_number(&t, count, 0);
		text_add_string(&t, units[i].name);
		span -= count * units[i].usec;
	}
	if (t.full && size > 0)
		buf[0] = '\0';
	return buf;
}
