// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

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

/* The end of pattern's match, or NULL: *ret_rest is what the star took. */
static bool pattern_matches(const char *pattern, const char *path, const char **ret_rest)
{
	size_t fixed = strcspn(pattern, "*");

	if (pattern[fixed] == '\0') {
		*ret_rest = NULL;
		return strcmp(pattern, path) == 0;
	}
	*ret_rest = path + fixed;
	return strncmp(pattern, path, fixed) == 0 && path[fixed] != '\0';
}

/* The library leaves the body of an answer to HEAD away. */
static bool takes_method(const struct http_route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct http_route *http_route_find(const struct http_config *config, const char *method,
					 const char *path, const char **ret_rest,
					 const char **ret_allow)
{
	for (size_t i = 0; i < config->route_count; i++) {
		const struct http_route *route = &config->routes[i];
		const char *rest;

		if (!pattern_matches(route->pattern, path, &rest))
			continue;
		if (takes_method(route, method)) {
			*ret_rest = rest;
			return route;
		}
		*ret_allow = strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
	}
	return NULL;
}
