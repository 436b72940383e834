/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the control API (docs/control-api.md). It turns requests into calls of the daemon's
 * control_ops, and sends what they return; it decides nothing. */
#pragma once

#include "agent/http/http.h"
#include "agent/view/view.h"
#include <cjson/cJSON.h>

typedef void control_result_fn(void *arg, const struct restore_result *result);

/* What the daemon provides. name NULL: every unit. Negative results and what the client receives:
 * -ENOENT 404 not managed, -EINVAL 400, -EPERM 403, -EAGAIN or -EBUSY 503 try later, else 500. */
struct control_ops {
	/* What these give is owned by the caller; NULL: memory is short. */
	cJSON *(*status)(void *ctx);
	int (*list)(void *ctx, cJSON **ret);                      /* an array, in brief */
	int (*explain)(void *ctx, const char *name, cJSON **ret); /* one of them, in full */
	int (*report)(void *ctx, char **ret);                     /* of all containers */
	/* Both return the number of units concerned. */
	int (*pause)(void *ctx, const char *name);
	int (*resume)(void *ctx, const char *name);
	/* force: also memory values below use + margin. */
	int (*restore)(void *ctx, const char *name, bool force, control_result_fn *each, void *arg);
	cJSON *(*config)(void *ctx);
	/* For the JSON of a pod; the answer is owned. NULL: ret_why, or "" where memory is short.
	 */
	cJSON *(*recommend)(void *ctx, const char *text, size_t len, char *ret_why,
			    size_t why_size);
	/* /livez or /readyz; must not wait for another process. */
	http_handler *probe;
	/* NULL: root, the daemon's own user, and the socket's group. */
	bool (*admit)(void *ctx, int fd, const struct ucred *peer);
};

/* ctx of the routes' handlers. */
struct control_api {
	const struct control_ops *ops;
	void *ctx;
	gid_t group; /* set by control_server_new() */
};

#define CONTROL_ROUTE_COUNT 11
extern const struct http_route control_routes[CONTROL_ROUTE_COUNT];

/* The server of these routes; c and socket_path must outlive it. */
int control_server_new(sd_event *event, struct control_api *c, const char *socket_path, gid_t group,
		       struct http_server **ret);

/* --- the JSON bodies that it takes: text in, struct out, strict */

/* NAMESPACE/POD/CONTAINER: 63, 253 and 63 at most. */
#define CONTROL_NAME_MAX 512

struct control_body {
	char name[CONTROL_NAME_MAX]; /* "": none given */
	bool all;
	bool force;
};

enum control_key {
	CONTROL_KEY_NAME = 1 << 0,
	CONTROL_KEY_ALL = 1 << 1,
	CONTROL_KEY_FORCE = 1 << 2,
};

/* Takes one object with the keys of the mask, each at most once; an empty text is an empty object.
 * -EBADMSG: the text is not such an object; *ret is untouched, and *ret_why says what is wrong. */
int control_body_parse(const char *text, size_t size, unsigned keys, struct control_body *ret,
		       const char **ret_why);
