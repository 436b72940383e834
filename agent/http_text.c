// SPDX-License-Identifier: Apache-2.0
#include "agent/http.h"
#include <cjson/cJSON.h>
#include <errno.h>

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int http_path_decode(const char *in, size_t size, char *ret)
{
	size_t n = 0;

	for (; *in; in++) {
		int c = (unsigned char)*in;

		if (c == '%') {
			int high = hex_value(in[1]);
			int low = high < 0 ? -1 : hex_value(in[2]);

			if (low < 0)
				return -EBADMSG;
			c = high * 16 + low;
			in += 2;
		}
		if (c < 0x20 || c == 0x7f)
			return -EBADMSG;
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return 0;
}

int http_fail(struct http_response *ret, unsigned status, const char *error, const char *hint)
{
	cJSON *object = cJSON_CreateObject();
	char *body = NULL;

	if (object && cJSON_AddStringToObject(object, "error", error) &&
	    (!hint || cJSON_AddStringToObject(object, "hint", hint)))
		body = cJSON_PrintUnformatted(object);
	cJSON_Delete(object);
	if (!body)
		return -ENOMEM;
	*ret = (struct http_response){.status = status, .body = body};
	return 0;
}
