// SPDX-License-Identifier: Apache-2.0
#include "agent/base/escape.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ESCAPE_BYTES 40u

const char *escape_value(const char *value, char buf[static ESCAPE_SIZE])
{
	size_t n = 0;

	for (size_t i = 0; i < ESCAPE_BYTES && value[i] != '\0'; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c == '"' || c == '\\')
			buf[n++] = '\\';
		if (c >= 0x20 && c < 0x7f)
			buf[n++] = (char)c;
		else
			n += (size_t)sprintf(buf + n, "\\x%02x", c);
	}
	strcpy(buf + n, strnlen(value, ESCAPE_BYTES + 1) > ESCAPE_BYTES ? "..." : "");
	return buf;
}

size_t escape_utf8_length(const char *p, size_t left)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t n = u[0] < 0x80   ? 1
		   : u[0] < 0xc2 ? 0
		   : u[0] < 0xe0 ? 2
		   : u[0] < 0xf0 ? 3
		   : u[0] < 0xf5 ? 4
				 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return n;
}

size_t escape_fit(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n <= max)
		return n;
	n = max;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

void escape_copy(const char *s, char *buf, size_t size)
{
	size_t n = escape_fit(s, size - 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? ' ' : s[i];
	buf[n] = '\0';
}

const char *time_text(usec_t real_usec, int decimals, char ret[static TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(real_usec / USEC_PER_SEC);
	char fraction[8];
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(ret, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(fraction, sizeof fraction, ".%06u", (unsigned)(real_usec % USEC_PER_SEC));
	snprintf(ret + n, TIME_TEXT_SIZE - n, "%.*sZ", decimals > 0 ? 1 + decimals : 0, fraction);
	return ret;
}
