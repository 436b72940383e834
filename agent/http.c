// SPDX-License-Identifier: Apache-2.0
#include "agent/http.h"
#include "agent/http_reply.h"
#include "agent/http_socket.h"
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room for the request line, the headers and the answer's headers of one connection. */
#define CONNECTION_BYTES (32 * KIB)

/* Of a stream at one turn: below a millisecond or two, then it is others' turn. */
#define PIECES_MAX 8

struct peer {
	struct MHD_Connection *connection; /* NULL: free */
	int fd;
	usec_t since_usec; /* the start of the request now under way */
};

struct http_server {
	struct http_config config;
	sd_event *event;
	sd_event_source *io;
	sd_event_source *timer;
	struct MHD_Daemon *daemon;
	struct stat file; /* of a Unix socket */
	unsigned port;
	bool place_freed; /* a connection was closed in this turn */
	struct peer peers[HTTP_CONNECTIONS_MAX];
};

/* One request while its body comes in. */
struct exchange {
	const struct http_route *route; /* NULL: the answer is refusal below */
	unsigned refusal;
	const char *allow; /* for 405 */
	bool head;
	const char *rest;
	struct ucred peer;
	char path[HTTP_PATH_MAX];
	char *body;
	size_t body_size;
};

bool http_peer_in_group(int fd, const struct ucred *peer, gid_t group)
{
	gid_t groups[64];
	socklen_t size = sizeof(groups);

	if (peer->uid == 0 || peer->uid == geteuid() || peer->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static usec_t server_now(const struct http_server *s)
{
	usec_t now = 0;

	sd_event_now(s->event, CLOCK_MONOTONIC, &now);
	return now;
}

static usec_t timeout_usec(const struct http_server *s)
{
	return s->config.timeout_sec * USEC_PER_SEC;
}

/* Ends the requests that have taken too long as a whole; the library only knows idle ones. */
static void close_overdue(struct http_server *s)
{
	usec_t now = server_now(s);

	for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct peer *p = &s->peers[i];

		if (p->connection && now - p->since_usec >= timeout_usec(s))
			shutdown(p->fd, SHUT_RDWR);
	}
}

/* The library's own wish, and the earliest time at which a request is overdue. */
static void arm_timer(struct http_server *s)
{
	usec_t now = server_now(s);
	usec_t wait = UINT64_MAX;
	MHD_UNSIGNED_LONG_LONG wait_msec;

	if (MHD_get_timeout(s->daemon, &wait_msec) == MHD_YES)
		wait = wait_msec * USEC_PER_MSEC;
	for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		usec_t age = now - s->peers[i].since_usec;

		if (!s->peers[i].connection)
			continue;
		/* A connection that was shut down is collected soon after. */
		wait = MIN(wait,
			   age < timeout_usec(s) ? timeout_usec(s) - age : 100 * USEC_PER_MSEC);
	}
	if (wait == UINT64_MAX) {
		sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(s->timer, now + wait);
	sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

/* There is something to do without waiting for anybody. */
static bool has_more(const struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG wait_msec;

	return MHD_get_timeout(s->daemon, &wait_msec) == MHD_YES && wait_msec == 0;
}

/*
 * With all places taken the library stops listening; when one is free again, it takes that up at
 * its next turn only, which nothing would bring about.
 */
static void turn(struct http_server *s)
{
	int pieces = PIECES_MAX;

	do {
		s->place_freed = false;
		MHD_run(s->daemon);
	} while (s->place_freed || (has_more(s) && --pieces > 0));
	arm_timer(s);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *ctx)
{
	(void)source;
	(void)fd;
	(void)revents;
	turn(ctx);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *ctx)
{
	(void)source;
	(void)usec;
	close_overdue(ctx);
	turn(ctx);
	return 0;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = ctx;
	struct peer *p = *socket_ctx;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (p)
			*p = (struct peer){0};
		s->place_freed = true;
		return;
	}
	for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		const union MHD_ConnectionInfo *info;

		p = &s->peers[i];
		if (p->connection)
			continue;
		info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		*p = (struct peer){c, info->connect_fd, server_now(s)};
		*socket_ctx = p;
		return;
	}
}

static struct peer *peer_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct peer *p = peer_of(c);
	struct exchange *x = *state;

	(void)code;
	if (p)
		p->since_usec = server_now(ctx);
	if (x)
		free(x->body);
	free(x);
	*state = NULL;
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

static void find_route(const struct http_config *config, const char *method, struct exchange *x)
{
	x->refusal = MHD_HTTP_NOT_FOUND;
	for (size_t i = 0; i < config->route_count; i++) {
		const struct http_route *route = &config->routes[i];
		const char *rest;

		if (!pattern_matches(route->pattern, x->path, &rest))
			continue;
		if (takes_method(route, method)) {
			x->route = route;
			x->rest = rest;
			return;
		}
		x->refusal = MHD_HTTP_METHOD_NOT_ALLOWED;
		x->allow = strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
	}
}

/* Who speaks; nobody in particular over TCP. */
static bool know_peer(const struct http_server *s, struct MHD_Connection *c, struct exchange *x)
{
	const struct peer *p = peer_of(c);
	socklen_t size = sizeof(x->peer);

	return s->config.listen ||
	       (p && getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &x->peer, &size) == 0);
}

/* Tells from the head of a request alone whether it will be served. */
static void examine(struct http_server *s, struct MHD_Connection *c, const char *url,
		    const char *method, struct exchange *x)
{
	if (!know_peer(s, c, x))
		x->refusal = MHD_HTTP_INTERNAL_SERVER_ERROR;
	else if (s->config.admit && !s->config.admit(s->config.ctx, peer_of(c)->fd, &x->peer))
		x->refusal = MHD_HTTP_FORBIDDEN;
	else if (http_path_decode(url, sizeof(x->path), x->path) < 0)
		x->refusal = MHD_HTTP_BAD_REQUEST;
	else
		find_route(&s->config, method, x);
}

static enum MHD_Result refuse(const struct http_server *s, struct MHD_Connection *c,
			      const struct exchange *x, unsigned status)
{
	struct http_reply reply = {.allow = x->allow, .hint = s->config.not_found_hint};

	return http_reply_refuse(c, &reply, status);
}

static enum MHD_Result note_arg(void *ctx, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	struct http_request *request = ctx;

	(void)kind;
	if (request->arg_count == HTTP_ARGS_MAX)
		return MHD_NO;
	request->args[request->arg_count++] = (struct http_arg){name, value};
	return MHD_YES;
}

static enum MHD_Result answer(const struct http_server *s, struct MHD_Connection *c,
			      const struct exchange *x)
{
	struct http_response response = {0};
	struct http_request request = {
		.path = x->path,
		.rest = x->rest,
		.body = x->body ? x->body : "",
		.body_size = x->body_size,
		.peer = x->peer,
		.accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
	};

	if (!x->route)
		return refuse(s, c, x, x->refusal);
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, note_arg, &request);
	if (x->route->handle(s->config.ctx, &request, &response) < 0 ||
	    (!response.body && !response.stream.read)) {
		free(response.body);
		return refuse(s, c, x, MHD_HTTP_INTERNAL_SERVER_ERROR);
	}
	return http_reply_send(c, &(struct http_reply){.head = x->head}, &response);
}

/* Keeps a piece of the body; what is refused anyway or too much is read and dropped. */
static void take_body(struct exchange *x, const char *data, size_t size)
{
	char *body;

	if (!x->route)
		return;
	if (size > HTTP_BODY_MAX - x->body_size) {
		x->route = NULL;
		x->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
		return;
	}
	body = realloc(x->body, x->body_size + size + 1);
	if (!body) {
		x->route = NULL;
		x->refusal = MHD_HTTP_INTERNAL_SERVER_ERROR;
		return;
	}
	memcpy(body + x->body_size, data, size);
	x->body = body;
	x->body_size += size;
	body[x->body_size] = '\0';
}

/* True if the client announces more than is taken: it is answered without reading that. */
static bool announces_too_much(struct MHD_Connection *c)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length && strtoull(length, NULL, 10) > HTTP_BODY_MAX;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct http_server *s = ctx;
	struct exchange *x = *state;

	(void)version;
	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return MHD_NO;
		*state = x;
		x->head = strcmp(method, "HEAD") == 0;
		examine(s, c, url, method, x);
		return announces_too_much(c) ? refuse(s, c, x, MHD_HTTP_CONTENT_TOO_LARGE)
					     : MHD_YES;
	}
	if (*size > 0) {
		take_body(x, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return answer(s, c, x);
}

/* Escapes stay as they are: http_path_decode() does it strictly. */
static size_t leave_escaped(void *ctx, struct MHD_Connection *c, char *text)
{
	(void)ctx;
	(void)c;
	return strlen(text);
}

static int start_daemon(struct http_server *s, int listen_fd)
{
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)s->config.timeout_sec, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, s},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_escaped, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY,
				     options, MHD_OPTION_END);
	return s->daemon ? 0 : -ENOMEM;
}

static int attach(struct http_server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -ENOTSUP;
	r = sd_event_add_io(s->event, &s->io, info->epoll_fd, EPOLLIN, on_io, s);
	if (r < 0)
		return r;
	/* Exact: between two pieces of a stream it is the timer that goes on, after all else. */
	r = sd_event_add_time(s->event, &s->timer, CLOCK_MONOTONIC, UINT64_MAX, 1, on_timer, s);
	if (r < 0)
		return r;
	/* What the library does before the loop's first turn, such as adding the listening socket.
	 */
	turn(s);
	return 0;
}

int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int fd, r;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	if (s->config.timeout_sec == 0)
		s->config.timeout_sec = HTTP_TIMEOUT_SEC;
	s->event = sd_event_ref(event);
	fd = config->listen ? http_tcp_listen(config->listen)
			    : http_socket_listen(config->socket_path, config->group);
	if (fd < 0) {
		http_server_free(s);
		return fd;
	}
	if (config->listen)
		s->port = http_tcp_port(fd);
	else if (lstat(config->socket_path, &s->file) < 0)
		s->file = (struct stat){0};
	/* From here on the library owns fd, also when it fails. */
	r = start_daemon(s, fd);
	if (r == 0)
		r = attach(s);
	if (r < 0) {
		http_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

unsigned http_server_port(const struct http_server *s)
{
	return s->port;
}

/* Another process may have put its own socket at the path since. */
static void remove_own_file(const struct http_server *s)
{
	struct stat now;

	if (s->file.st_ino != 0 && lstat(s->config.socket_path, &now) == 0 &&
	    now.st_ino == s->file.st_ino && now.st_dev == s->file.st_dev)
		unlink(s->config.socket_path);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->timer);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	remove_own_file(s);
	sd_event_unref(s->event);
	free(s);
}
