// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/base64.h"
#include "policy/base/base.h"
#include <errno.h>
#include <resolv.h>
#include <string.h>

int base64_text(const char *in, char **ret)
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
	size_t len = strlen(in);
	OWN(drop_free) char *out = malloc(len + 1);
	int n;

	if (out == NULL)
		return -ENOMEM;
	/* The library skips all blanks. */
	n = strspn(in, characters) == len ? b64_pton(in, (unsigned char *)out, len) : -1;
	if (n <= 0 || memchr(out, '\0', (size_t)n) != NULL)
		return -EBADMSG;
	out[n] = '\0';
	*ret = STEAL(out);
	return 0;
}
