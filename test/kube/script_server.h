/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server that misbehaves as reported: one process, and one more per connection, so that
 * every fault can be written down as plain blocking code. What it does stands in the path of a
 * request.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SCRIPT_TEXT_MAX (4 * 1024 * 1024)

/* What a list or a watch of pods gets. */
enum script_mode {
	SCRIPT_GOOD, /* a watch: some events, then silence */
	SCRIPT_401,
	SCRIPT_403,
	SCRIPT_410,
	SCRIPT_429,
	SCRIPT_500,
	SCRIPT_504,
	SCRIPT_VANISH, /* the connection is closed */
	SCRIPT_GARBAGE,
	SCRIPT_ENDS,  /* a watch: one event, then its end */
	SCRIPT_EMPTY, /* its end at once */
	SCRIPT_EXPIRED,
	SCRIPT_INTERNAL,
	SCRIPT_HALF,
	SCRIPT_LONG,
	SCRIPT_SILENT,
	SCRIPT_LARGE, /* many objects of 3 MiB, and some that cannot be decoded */
	SCRIPT_MODE_COUNT,
};

/* Seen by the test and by every process of the server. */
struct script_share {
	atomic_uint connections;
	atomic_uint requests;
	atomic_uint lists;
	atomic_uint watches;
	atomic_int list_mode; /* enum script_mode */
	atomic_int watch_mode;
	char head[8192]; /* of the last request */
	char list[SCRIPT_TEXT_MAX];
};

struct script_server {
	pid_t pid;
	unsigned port;
	struct script_share *share;
};

struct script_conn {
	int fd;
	SSL *ssl; /* NULL: plain */
	struct script_share *share;
	char head[8192];
	char body[8192];
};

/* cert NULL: plain HTTP; client_ca NULL: no client certificate is asked for. Files are read anew
 * for each connection. */
int script_server_start(const char *cert, const char *key, const char *client_ca,
			struct script_server *ret);
void script_server_stop(struct script_server *s);

/* --- for the scripts */
void script_send(struct script_conn *c, const char *data, size_t len);
void script_text(struct script_conn *c, const char *text);
void script_chunk(struct script_conn *c, const char *data, size_t len);
/* status line, type, length, body */
void script_answer(struct script_conn *c, const char *status, const char *more, const char *body);
/* The number behind NAME= in the request line. */
long script_number(const struct script_conn *c, const char *name);
/* Ends the connection by a reset. */
void script_reset(struct script_conn *c) __attribute__((__noreturn__));
/* False: not one of theirs. */
bool script_faults(struct script_conn *c);
bool script_pods(struct script_conn *c);
