// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/base64.h"
#include "policy/base/base.h"
#include <errno.h>
#include <string.h>

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c != '\0' ? strchr(digits, c) : NULL;

	return p != NULL ? (int)(p - digits) : -EBADMSG;
}

/* Four characters to three bytes; pad is the number of '=' among them. */
static int group(const char *in, size_t pad, char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int d = i < 4 - pad ? digit(in[i]) : 0;

		if (d < 0)
			return d;
		bits = bits << 6 | (uint32_t)d;
	}
	for (size_t i = 0; i < 3; i++) {
		char byte = (char)(bits >> (16 - 8 * i));

		/* What a shorter group does not need must be zero, what it needs must not. */
		if ((i < 3 - pad) == (byte == '\0'))
			return -EBADMSG;
		out[i] = byte;
	}
	return 0;
}

int base64_text(const char *in, char **ret)
{
	size_t len = strlen(in), pad = 0;
	OWN(drop_free) char *out = NULL;

	while (pad < 2 && pad < len && in[len - 1 - pad] == '=')
		pad++;
	if (len == 0 || len % 4 != 0)
		return -EBADMSG;
	out = malloc(len / 4 * 3 + 1);
	if (out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < len / 4; i++) {
		int r = group(in + i * 4, i == len / 4 - 1 ? pad : 0, out + i * 3);

		if (r < 0)
			return r;
	}
	out[len / 4 * 3 - pad] = '\0';
	*ret = STEAL(out);
	return 0;
}
