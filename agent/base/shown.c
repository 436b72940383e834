// SPDX-License-Identifier: Apache-2.0
#include "agent/base/shown.h"
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES 40u

const char *shown(const char *value, char buf[static SHOWN_SIZE])
{
	size_t n = 0;

	for (size_t i = 0; i < SHOWN_BYTES && value[i] != '\0'; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c == '"' || c == '\\')
			buf[n++] = '\\';
		if (c >= 0x20 && c < 0x7f)
			buf[n++] = (char)c;
		else
			n += (size_t)sprintf(buf + n, "\\x%02x", c);
	}
	strcpy(buf + n, strnlen(value, SHOWN_BYTES + 1) > SHOWN_BYTES ? "..." : "");
	return buf;
}

size_t shown_cut(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n <= max)
		return n;
	n = max;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

void shown_copy(const char *s, char *buf, size_t size)
{
	size_t n = shown_cut(s, size - 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? ' ' : s[i];
	buf[n] = '\0';
}
