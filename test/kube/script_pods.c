// SPDX-License-Identifier: Apache-2.0
/* Lists and watches of pods, in the ways an API server can go wrong. */
#include "script_server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON "Content-Type: application/json\r\n"
#define STREAM                                                                                     \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#define MSEC 1000

static void event(struct script_conn *c, const char *type, const char *name, const char *version)
{
	char text[1024];
	int n = snprintf(text, sizeof text,
			 "{\"type\":\"%s\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
			 "\"metadata\":{\"name\":\"%s\",\"namespace\":\"lab\",\"uid\":\"uid-%s\","
			 "\"resourceVersion\":\"%s\"},\"spec\":{\"nodeName\":\"n\",\"containers\":"
			 "[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Running\"}}}\n",
			 type, name, name, version);

	script_chunk(c, text, (size_t)n);
}

static void reported(struct script_conn *c, const char *object)
{
	char text[1024];
	int n = snprintf(text, sizeof text, "{\"type\":\"ERROR\",\"object\":%s}\n", object);

	script_text(c, STREAM);
	script_chunk(c, text, (size_t)n);
	script_text(c, "0\r\n\r\n");
}

static void list_good(struct script_conn *c)
{
	script_answer(c, "200 OK", JSON, c->share->list);
}

static void status_403(struct script_conn *c)
{
	script_answer(c, "403 Forbidden", JSON,
		      "{\"kind\":\"Status\",\"message\":\"pods is forbidden\","
		      "\"reason\":\"Forbidden\",\"code\":403}");
}

static void status_401(struct script_conn *c)
{
	script_answer(c, "401 Unauthorized", JSON, "{\"kind\":\"Status\",\"code\":401}");
}

static void status_410(struct script_conn *c)
{
	script_answer(c, "410 Gone", JSON,
		      "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
}

static void status_429(struct script_conn *c)
{
	script_answer(c, "429 Too Many Requests", "Content-Type: text/plain\r\nRetry-After: 1\r\n",
		      "Too many requests, please try again later.\n");
}

static void status_500(struct script_conn *c)
{
	script_answer(c, "500 Internal Server Error", JSON, "{\"kind\":\"Status\",\"code\":500}");
}

static void status_504(struct script_conn *c)
{
	script_answer(c, "504 Gateway Timeout", JSON "Retry-After: 1\r\n",
		      "{\"kind\":\"Status\",\"message\":\"Too large resource version\","
		      "\"code\":504}");
}

static void no_list(struct script_conn *c)
{
	script_answer(c, "200 OK", "Content-Type: text/html\r\n", "<html>login</html>");
}

static void vanish(struct script_conn *)
{
	_exit(0);
}

/* b and c are added, b changes, c is deleted; then no event until the mode changes. */
static void stream_good(struct script_conn *c)
{
	static const char bookmark[] =
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
		"{\"resourceVersion\":\"b/1 4\"},\"spec\":{\"containers\":null}}}\n";

	script_text(c, STREAM);
	event(c, "ADDED", "b", "11");
	event(c, "ADDED", "c", "12");
	script_chunk(c, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n", 41);
	script_chunk(c, "{\"type\":\"FUTURE\",\"object\":{}}\n", 30);
	event(c, "MODIFIED", "b", "13");
	event(c, "DELETED", "c", "14");
	script_chunk(c, bookmark, strlen(bookmark));
	while (atomic_load(&c->share->watch_mode) == SCRIPT_GOOD)
		usleep(5 * MSEC);
	script_text(c, "0\r\n\r\n");
}

/* One event and a normal end. */
static void stream_ends(struct script_conn *c)
{
	script_text(c, STREAM);
	event(c, "ADDED", "b", "21");
	script_text(c, "0\r\n\r\n");
}

static void stream_empty(struct script_conn *c)
{
	script_text(c, STREAM "0\r\n\r\n");
}

static void stream_expired(struct script_conn *c)
{
	reported(c, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,"
		    "\"message\":\"too old resource version: 331 (345)\"}");
}

static void stream_internal(struct script_conn *c)
{
	reported(c, "{\"kind\":\"Status\",\"reason\":\"InternalError\",\"code\":500}");
}

static void stream_half(struct script_conn *c)
{
	script_text(c, STREAM);
	script_chunk(c, "{\"type\":\"ADD", 12);
	usleep(5 * MSEC);
	script_reset(c);
}

static void stream_garbage(struct script_conn *c)
{
	script_text(c, STREAM);
	script_chunk(c, "{]\nnull\n\n[]\n", 12);
	script_text(c, "0\r\n\r\n");
}

static void stream_long(struct script_conn *c)
{
	size_t len = 3 << 20;
	char *text = malloc(len);

	memset(text, ' ', len);
	script_text(c, STREAM);
	script_chunk(c, text, len);
	free(text);
	script_text(c, "0\r\n\r\n");
}

#define LARGE_BYTES (3u << 20)
#define LARGE_COUNT 20

/* An object of 3 MiB, as an API server writes a value full of '<': six bytes each. */
static void large(struct script_conn *c, const char *before, const char *name, const char *version,
		  const char *after)
{
	static char text[LARGE_BYTES + 1024];
	int n = snprintf(
		text, sizeof text,
		"%s{\"metadata\":{\"name\":\"%s\",\"namespace\":\"lab\",\"uid\":\"uid-%s\","
		"\"resourceVersion\":\"%s\"},\"spec\":{\"nodeName\":\"n\",\"containers\":"
		"[{\"name\":\"c\",\"env\":[{\"name\":\"E\",\"value\":\"",
		before, name, name, version);

	for (; n < (int)LARGE_BYTES; n += 6)
		memcpy(text + n, "\\u003c", 6);
	n += snprintf(text + n, sizeof text - (size_t)n, "\"}]}]}}%s", after);
	script_chunk(c, text, (size_t)n);
}

/* 60 MiB: a good pod, 20 large ones, one that cannot be decoded, another good one. */
static void list_large(struct script_conn *c)
{
	static const char begin[] =
		"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
		"\"10\"},\"items\":[";
	static const char good[] =
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"lab\",\"uid\":\"uid-%s\","
		"\"resourceVersion\":\"9\"},\"spec\":{\"containers\":[{\"name\":\"c\"%s}]}}%s";
	char text[512], name[16];

	script_text(c, STREAM);
	script_chunk(c, begin, strlen(begin));
	snprintf(text, sizeof text, good, "a", "a", "", ",");
	script_chunk(c, text, strlen(text));
	for (int i = 0; i < LARGE_COUNT; i++) {
		snprintf(name, sizeof name, "l%d", i);
		large(c, "", name, "9", ",");
	}
	snprintf(text, sizeof text, good, "odd", "odd", ",\"args\":7", ",");
	script_chunk(c, text, strlen(text));
	snprintf(text, sizeof text, good, "z", "z", "", "]}");
	script_chunk(c, text, strlen(text));
	script_text(c, "0\r\n\r\n");
}

/* b is changed and deleted by events too large to read, c deleted by one that is no valid Pod; d is
 * added, then changed by an event too large to read. */
static void stream_large(struct script_conn *c)
{
	static const char odd[] =
		"{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
		"\"name\":\"c\",\"namespace\":\"lab\",\"uid\":\"uid-c\","
		"\"resourceVersion\":\"15\"},\"spec\":{\"containers\":7}}}\n";

	script_text(c, STREAM);
	event(c, "ADDED", "b", "11");
	event(c, "ADDED", "c", "12");
	for (int i = 0; i < 3; i++)
		large(c, "{\"type\":\"MODIFIED\",\"object\":", "b", "13", "}\n");
	large(c, "{\"type\":\"DELETED\",\"object\":", "b", "14", "}\n");
	script_chunk(c, odd, strlen(odd));
	event(c, "ADDED", "d", "16");
	large(c, "{\"type\":\"MODIFIED\",\"object\":", "d", "v17", "}\n");
	while (atomic_load(&c->share->watch_mode) == SCRIPT_LARGE)
		usleep(5 * MSEC);
	script_text(c, "0\r\n\r\n");
}

static void silent(struct script_conn *c)
{
	script_text(c, STREAM);
	for (;;)
		pause();
}

static void (*const lists[])(struct script_conn *c) = {
	[SCRIPT_GOOD] = list_good,      [SCRIPT_401] = status_401,   [SCRIPT_403] = status_403,
	[SCRIPT_410] = status_410,      [SCRIPT_429] = status_429,   [SCRIPT_500] = status_500,
	[SCRIPT_504] = status_504,      [SCRIPT_VANISH] = vanish,    [SCRIPT_GARBAGE] = no_list,
	[SCRIPT_ENDS] = list_good,      [SCRIPT_EMPTY] = no_list,    [SCRIPT_EXPIRED] = status_410,
	[SCRIPT_INTERNAL] = status_500, [SCRIPT_HALF] = vanish,      [SCRIPT_LONG] = no_list,
	[SCRIPT_SILENT] = silent,       [SCRIPT_LARGE] = list_large,
};

static void (*const streams[])(struct script_conn *c) = {
	[SCRIPT_GOOD] = stream_good,         [SCRIPT_401] = status_401,
	[SCRIPT_403] = status_403,           [SCRIPT_410] = status_410,
	[SCRIPT_429] = status_429,           [SCRIPT_500] = status_500,
	[SCRIPT_504] = status_504,           [SCRIPT_VANISH] = vanish,
	[SCRIPT_GARBAGE] = stream_garbage,   [SCRIPT_ENDS] = stream_ends,
	[SCRIPT_EMPTY] = stream_empty,       [SCRIPT_EXPIRED] = stream_expired,
	[SCRIPT_INTERNAL] = stream_internal, [SCRIPT_HALF] = stream_half,
	[SCRIPT_LONG] = stream_long,         [SCRIPT_SILENT] = silent,
	[SCRIPT_LARGE] = stream_large,
};

bool script_pods(struct script_conn *c)
{
	bool watch = strstr(c->head, "&watch=1") != NULL;

	if (strncmp(c->head, "GET /api/v1/pods?", 17) != 0)
		return false;
	atomic_fetch_add(watch ? &c->share->watches : &c->share->lists, 1);
	if (watch)
		streams[atomic_load(&c->share->watch_mode)](c);
	else
		lists[atomic_load(&c->share->list_mode)](c);
	return true;
}
