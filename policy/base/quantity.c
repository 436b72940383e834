// SPDX-License-Identifier: Apache-2.0
#include "policy/base/quantity.h"
#include "policy/base/text.h"
#include <errno.h>
#include <stdbool.h>

#define NANO 1000000000
/* The widest fraction kept digit by digit; further digits only decide the rounding up. */
#define FRACTION_DIGITS 18
#define DIGITS_MAX      4096
/* Far beyond what DIGITS_MAX digits can make up for. */
#define EXPONENT_LIMIT 100000

struct suffix {
	const char *text;
	bool binary;
	int power; /* of 10, or of 1024 for the binary ones */
};

static const struct suffix suffixes[] = {
	{"n", false, -9}, {"u", false, -6}, {"m", false, -3}, {"", false, 0},
	{"k", false, 3},  {"M", false, 6},  {"G", false, 9},  {"T", false, 12},
	{"P", false, 15}, {"E", false, 18}, {"Ki", true, 1},  {"Mi", true, 2},
	{"Gi", true, 3},  {"Ti", true, 4},  {"Pi", true, 5},  {"Ei", true, 6},
};

/* The digits of a number without sign, and where its decimal point stands. */
struct digits {
	const char *s; /* may hold one '.' */
	size_t length;
	size_t dot; /* index of the '.', or length */
	size_t count;
	long point; /* digits before the point, the power of ten applied; may be negative */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int scan_digits(const char *s, struct digits *ret)
{
	struct digits d = {.s = s};
	bool dotted = false;

	for (; is_digit(s[d.length]) || (s[d.length] == '.' && !dotted); d.length++) {
		if (s[d.length] == '.') {
			dotted = true;
			d.dot = d.length;
		}
	}
	if (!dotted)
		d.dot = d.length;
	d.count = d.length - dotted;
	d.point = (long)d.dot;
	if (d.count == 0 || d.count > DIGITS_MAX)
		return -EINVAL;
	*ret = d;
	return 0;
}

/* The i-th digit; zeros go on without end on both sides. */
static int digit_at(const struct digits *d, long i)
{
	if (i < 0 || (size_t)i >= d->count)
		return 0;
	return d->s[(size_t)i < d->dot ? i : i + 1] - '0';
}

/* "e3", "E-3": exactly an exponent and nothing behind it. */
static int scan_exponent(const char *s, int *ret)
{
	bool negative = s[1] == '-';
	int n = 0;

	s += negative || s[1] == '+' ? 2 : 1;
	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++)
		n = MIN(n * 10 + (*s - '0'), EXPONENT_LIMIT);
	if (*s != '\0')
		return -EINVAL;
	*ret = negative ? -n : n;
	return 0;
}

static int scan_suffix(const char *s, struct suffix *ret)
{
	int power, r;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (strcmp(suffixes[i].text, s) == 0) {
			*ret = suffixes[i];
			return 0;
		}
	}
	if (*s != 'e' && *s != 'E')
		return -EINVAL;
	r = scan_exponent(s, &power);
	if (r < 0)
		return r;
	*ret = (struct suffix){s, false, power};
	return 0;
}

/* Whole units before the binary suffix applies. */
static int whole_part(const struct digits *d, uint64_t *ret)
{
	uint64_t n = 0;

	for (long i = 0; i < d->point && (n > 0 || (size_t)i < d->count); i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)digit_at(d, i), &n) || n > INT64_MAX)
			return -ERANGE;
	*ret = n;
	return 0;
}

/* The fraction times `unit` in nanos, rounded up. */
static unsigned __int128 fraction_nano(const struct digits *d, uint64_t unit)
{
	const uint64_t ten_18 = 1000000000000000000;
	unsigned __int128 scaled, rest;
	uint64_t fraction = 0;
	bool more = false;

	for (long i = MAX(d->point + FRACTION_DIGITS, 0L); (size_t)i < d->count; i++)
		more |= digit_at(d, i) != 0;
	for (long i = d->point; i < d->point + FRACTION_DIGITS; i++)
		fraction = fraction * 10 + (uint64_t)digit_at(d, i);
	scaled = (unsigned __int128)fraction * unit;
	rest = scaled % ten_18 * NANO;
	return scaled / ten_18 * NANO + rest / ten_18 + (more || rest % ten_18 != 0);
}

static int magnitude(struct digits *d, const struct suffix *suffix, unsigned __int128 *ret)
{
	const unsigned __int128 limit = (unsigned __int128)INT64_MAX * NANO;
	unsigned __int128 nano;
	uint64_t unit = 1, whole;
	int r;

	if (suffix->binary)
		unit <<= 10 * suffix->power;
	else
		d->point += suffix->power;
	r = whole_part(d, &whole);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow((unsigned __int128)whole * unit, NANO, &nano))
		return -ERANGE;
	nano += fraction_nano(d, unit);
	if (nano > limit)
		return -ERANGE;
	*ret = nano;
	return 0;
}

int quantity_parse(const char *s, __int128 *ret_nano)
{
	bool negative = *s == '-';
	unsigned __int128 nano;
	struct suffix suffix;
	struct digits d;
	int r;

	r = scan_digits(s + (*s == '-' || *s == '+'), &d);
	if (r < 0)
		return r;
	r = scan_suffix(d.s + d.length, &suffix);
	if (r < 0)
		return r;
	r = magnitude(&d, &suffix, &nano);
	if (r < 0)
		return r;
	*ret_nano = negative ? -(__int128)nano : (__int128)nano;
	return 0;
}

/* Rounded up to multiples of `nanos`, counted in them. */
static int parse_units(const char *s, uint64_t nanos, uint64_t *ret)
{
	unsigned __int128 n;
	__int128 nano;
	int r = quantity_parse(s, &nano);

	if (r < 0)
		return r;
	if (nano < 0)
		return -EINVAL;
	n = ((unsigned __int128)nano + nanos - 1) / nanos;
	if (n > INT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)n;
	return 0;
}

int quantity_parse_cpu(const char *s, uint64_t *ret_milli)
{
	return parse_units(s, NANO / 1000, ret_milli);
}

int quantity_parse_bytes(const char *s, uint64_t *ret_bytes)
{
	return parse_units(s, NANO, ret_bytes);
}

static const char *binary_suffix(int power)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (suffixes[i].binary && suffixes[i].power == power)
			return suffixes[i].text;
	return "";
}

/* The finished text, or none at all rather than a part of a number. */
static const char *whole_or_nothing(const struct text *t)
{
	if (t->full && t->size > 0)
		t->buf[0] = '\0';
	return t->buf;
}

const char *quantity_format_cpu(uint64_t milli, char *buf, size_t size)
{
	struct text t = text_over(buf, size);

	if (milli == LIMIT_MAX) {
		text_add_string(&t, "max");
	} else if (milli % 1000 == 0) {
		text_add_number(&t, milli / 1000, 0);
	} else {
		text_add_number(&t, milli, 0);
		text_add_string(&t, "m");
	}
	return whole_or_nothing(&t);
}

const char *quantity_format_bytes(uint64_t bytes, char *buf, size_t size)
{
	struct text t = text_over(buf, size);
	int power = 0;

	if (bytes == LIMIT_MAX) {
		text_add_string(&t, "max");
		return whole_or_nothing(&t);
	}
	for (; power < 6 && bytes > 0 && bytes % 1024 == 0; power++)
		bytes /= 1024;
	text_add_number(&t, bytes, 0);
	text_add_string(&t, binary_suffix(power));
	return whole_or_nothing(&t);
}

const char *quantity_format_human(uint64_t bytes, char *buf, size_t size)
{
	struct text t = text_over(buf, size);
	unsigned __int128 scaled;
	uint64_t unit, hundredths, rest;
	int power = 0;

	if (bytes == LIMIT_MAX || bytes < KIB)
		return quantity_format_bytes(bytes, buf, size);
	while (power < 6 && bytes >> (10 * (power + 1)) > 0)
		power++;
	unit = 1ULL << (10 * power);
	scaled = (unsigned __int128)bytes * 100;
	hundredths = (uint64_t)(scaled / unit);
	rest = (uint64_t)(scaled % unit);
	if (rest > unit / 2 || (rest == unit / 2 && hundredths % 2 == 1))
		hundredths++;
	text_add_number(&t, hundredths / 100, 0);
	text_add_string(&t, ".");
	text_add_number(&t, hundredths % 100, 2);
	text_add_string(&t, binary_suffix(power));
	return whole_or_nothing(&t);
}

/* --- spans of time --- */

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
	const char *end = text_number(*s, ret);

	if (end == NULL)
		return is_digit(**s) ? -ERANGE : -EINVAL;
	*s = end;
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
	return whole_or_nothing(&t);
}
