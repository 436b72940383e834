/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP over a Unix socket or TCP on the caller's event loop. Limits on connections (per address
 * too), time and size of a request. A connection above a limit closes an old one
 * (agent/http/http_peers.h). */
#pragma once

#include "agent/base/listen.h"
#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#define HTTP_CONNECTIONS_MAX  64
#define HTTP_PER_ADDRESS_MAX  16
#define HTTP_HEAD_TIMEOUT_SEC 5
#define HTTP_TIMEOUT_SEC      10
#define HTTP_BODY_MAX         (64 * KIB) /* a Pod with its managedFields is some 20 KiB */
#define HTTP_PATH_MAX         512
#define HTTP_ARGS_MAX         16

/* "?name=value", as sent, without decoding; those beyond HTTP_ARGS_MAX are ignored. */
struct http_arg {
	const char *name;
	const char *value; /* NULL: there was no "=" */
};

struct http_request {
	const char *path; /* decoded */
	const char *rest; /* what the "*" of the route's pattern matched, never empty; or NULL */
	const char *body; /* "" when there is none; ends with NUL, but may hold others before */
	size_t body_size;
	struct ucred peer; /* all zero over TCP */
	struct http_arg args[HTTP_ARGS_MAX];
	size_t arg_count;
};

/* An answer that is produced in pieces and never held in memory as a whole. */
struct http_stream {
	/* 0: the end; negative: the answer is cut off, which the client notices. */
	ssize_t (*read)(void *ctx, char *to, size_t size);
	void (*free)(void *ctx);
	void *ctx;
};

/* Filled by a handler; the server frees body or stream. */
struct http_response {
	unsigned status;
	const char *content_type; /* NULL: application/json */
	char *body;
	size_t body_size;          /* 0: up to its NUL */
	struct http_stream stream; /* where body is NULL */
};

/* A negative return value is answered with 500. */
typedef int http_handler(void *ctx, const struct http_request *request, struct http_response *ret);

struct http_route {
	const char *method;  /* GET answers HEAD too */
	const char *pattern; /* a path; a "*" at its end matches one or more characters */
	http_handler *handle;
};

struct http_config {
	const struct listen_address *listen; /* TCP; NULL: a Unix socket, by the next two */
	const char *socket_path;
	gid_t group;                /* of the socket; (gid_t)-1 leaves it alone */
	const char *not_found_hint; /* what to do after a 404; may be NULL */
	const struct http_route *routes;
	size_t route_count;
	void *ctx; /* for the handlers and admit */
	/* NULL: the socket's mode decides. fd is the connection. */
	bool (*admit)(void *ctx, int fd, const struct ucred *peer);
	unsigned timeout_sec; /* 0: HTTP_TIMEOUT_SEC */
};

/* Gives {"error": ..., "hint": ...}; hint may be NULL. -ENOMEM. */
int http_fail(struct http_response *ret, unsigned status, const char *error, const char *hint);

/* Decodes %XX of a path into ret, which has room for size bytes. -EBADMSG for a wrong escape, a NUL
 * or a control character, -ENAMETOOLONG. */
int http_path_decode(const char *in, size_t size, char *ret);

struct http_server;

/* Listens. config and what it points to must outlive the server. A socket file on which no process
 * listens is replaced; -EADDRINUSE if one does, -EEXIST if the path is no socket. */
int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret);
/* The socket's file is still at its path; always true over TCP. */
bool http_server_reachable(const struct http_server *s);
/* Closes every connection and removes the socket file. Not from inside a handler. */
void http_server_free(struct http_server *s);
