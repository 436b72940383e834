// SPDX-License-Identifier: Apache-2.0
/* What single requests get, by the first word of their path. */
#include "script_server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON "Content-Type: application/json\r\n"
#define STREAM                                                                                     \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#define MSEC 1000

static const char three_lines[] = "{\"a\":1}\n{\"b\":22}\n{\"c\":333}\n";

static void ok(struct script_conn *c)
{
	script_answer(c, "200 OK", JSON, "{\"ok\":true}");
}

/* Answers with the request. */
static void echo(struct script_conn *c)
{
	char text[sizeof c->head + sizeof c->body];

	snprintf(text, sizeof text, "%s%s", c->head, c->body);
	script_answer(c, "200 OK", "Content-Type: text/plain\r\n", text);
}

/* 401 unless the token is "new". */
static void token(struct script_conn *c)
{
	if (strstr(c->head, "Authorization: Bearer new\r\n") != NULL)
		ok(c);
	else
		script_answer(c, "401 Unauthorized", JSON, "{\"code\":401}");
}

static void hang(struct script_conn *)
{
	for (;;)
		pause();
}

static void drip(struct script_conn *c)
{
	script_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
	for (;;) {
		script_text(c, "x");
		usleep(10 * MSEC);
	}
}

/* body=N bytes as status=N */
static void body(struct script_conn *c)
{
	size_t left = (size_t)script_number(c, "body=");
	static char block[65536];
	char head[256];

	memset(block, 'x', sizeof block);
	snprintf(head, sizeof head,
		 "HTTP/1.1 %ld Some\r\nContent-Type: text/html\r\nContent-Length: %zu\r\n\r\n",
		 script_number(c, "status="), left);
	script_text(c, head);
	while (left > 0) {
		size_t part = left < sizeof block ? left : sizeof block;

		script_send(c, block, part);
		left -= part;
	}
}

static void too_many(struct script_conn *c)
{
	script_answer(c, "429 Too Many Requests",
		      "Content-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n",
		      "Too many requests, please try again later.\n");
}

static void with_date(struct script_conn *c)
{
	script_answer(c, "503 Service Unavailable",
		      JSON "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\n", "{}");
}

static void redirect(struct script_conn *c)
{
	script_answer(c, "302 Found", "Location: /ok\r\n", "");
}

static void garbage(struct script_conn *c)
{
	script_text(c, "SSH-2.0-\001\033[31mnot http\r\n\r\n");
	_exit(0);
}

static void old(struct script_conn *c)
{
	script_text(c, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"old\":1}\n");
	if (c->ssl != NULL)
		SSL_shutdown(c->ssl);
	_exit(0);
}

static void cut(struct script_conn *c)
{
	script_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
	_exit(0);
}

static void silent(struct script_conn *)
{
	_exit(0);
}

/* Three lines in two pieces, the second from byte at=N on. */
static void stream(struct script_conn *c)
{
	size_t at = (size_t)script_number(c, "at=");

	script_text(c, STREAM);
	if (at > 0)
		script_chunk(c, three_lines, at);
	usleep(MSEC);
	if (at < strlen(three_lines))
		script_chunk(c, three_lines + at, strlen(three_lines) - at);
	script_text(c, "0\r\n\r\n");
}

static void stream_bytes(struct script_conn *c)
{
	script_text(c, STREAM);
	for (const char *p = three_lines; *p != '\0'; p++) {
		script_chunk(c, p, 1);
		usleep(MSEC);
	}
	script_text(c, "0\r\n\r\n");
}

static void half(struct script_conn *c)
{
	script_text(c, STREAM);
	script_chunk(c, three_lines, 12);
	script_text(c, "0\r\n\r\n");
}

static void half_old(struct script_conn *c)
{
	script_text(c, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\n{\"b");
	if (c->ssl != NULL)
		SSL_shutdown(c->ssl);
	_exit(0);
}

static void half_reset(struct script_conn *c)
{
	script_text(c, STREAM);
	script_chunk(c, three_lines, 12);
	usleep(20 * MSEC);
	script_reset(c);
}

/* One line of line=N bytes without its end. */
static void line(struct script_conn *c)
{
	size_t len = (size_t)script_number(c, "line=");
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	text[len] = '\n';
	script_text(c, STREAM);
	script_chunk(c, text, len + 1);
	script_text(c, "0\r\n\r\n");
	free(text);
}

static void for_ever(struct script_conn *c)
{
	script_text(c, STREAM);
	for (;;) {
		script_chunk(c, "{}\n", 3);
		usleep(5 * MSEC);
	}
}

/* parts=N of a byte, 300 ms apart. */
static void slow(struct script_conn *c)
{
	script_text(c, STREAM);
	for (long n = (long)script_number(c, "parts="); n > 0; n--) {
		usleep(300 * MSEC);
		script_chunk(c, "x", 1);
	}
	script_text(c, "0\r\n\r\n");
}

bool script_faults(struct script_conn *c)
{
	static const struct {
		const char *path;
		void (*play)(struct script_conn *c);
	} scripts[] = {
		{"/ok", ok},           {"/echo", echo},        {"/token", token},
		{"/hang", hang},       {"/drip", drip},        {"/body", body},
		{"/429", too_many},    {"/date", with_date},   {"/redirect", redirect},
		{"/garbage", garbage}, {"/old", old},          {"/cut", cut},
		{"/silent", silent},   {"/stream", stream},    {"/bytes", stream_bytes},
		{"/half", half},       {"/oldhalf", half_old}, {"/reset", half_reset},
		{"/line", line},       {"/forever", for_ever}, {"/slow", slow},
	};
	const char *path = strchr(c->head, '/');

	for (size_t i = 0; path != NULL && i < sizeof scripts / sizeof scripts[0]; i++) {
		size_t len = strlen(scripts[i].path);

		if (strncmp(path, scripts[i].path, len) == 0 && strchr("? ", path[len]) != NULL) {
			scripts[i].play(c);
			return true;
		}
	}
	return false;
}
