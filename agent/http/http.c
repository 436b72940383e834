// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http.h"
#include "agent/http/http_peers.h"
#include "agent/http/http_socket.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <malloc.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* *ret_rest is what the star took; NULL: there is none. */
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

/* The route for a path, and what its "*" matched. NULL: there is none; *ret_allow then names the
 * methods that the path does take, or is left as it was. */
static const struct http_route *find_route(const struct http_config *config, const char *method,
					   const char *path, const char **ret_rest,
					   const char **ret_allow)
{
	for (size_t i = 0; i < config->route_count; i++) {
		const struct http_route *route = &config->routes[i];
		const char *rest;
		bool gets;

		if (!pattern_matches(route->pattern, path, &rest))
			continue;
		gets = strcmp(route->method, "GET") == 0;
		/* The library leaves the body of an answer to HEAD away. */
		if (strcmp(route->method, method) == 0 || (gets && strcmp(method, "HEAD") == 0)) {
			*ret_rest = rest;
			return route;
		}
		*ret_allow = gets ? "GET, HEAD" : route->method;
	}
	return NULL;
}

/* Room for the request line, the headers and the answer's headers of one connection. */
#define CONNECTION_BYTES (32 * KIB)

/* Pieces of a stream in one turn, which take a millisecond or two. */
#define PIECES_MAX 8

/* Connections accepted in one turn. Fewer than an address may have, so that the request of a
 * connection is read before the connection can be closed for later ones. */
#define ACCEPTS_MAX (HTTP_PER_ADDRESS_MAX / 2)
/* The time until the next attempt, if no descriptor is left and there is no connection to close. */
#define PAUSE_USEC (100 * USEC_PER_MSEC)

struct http_server {
	struct http_config config;
	sd_event *event;
	sd_event_source *io;
	sd_event_source *listening;
	int listen_fd;
	sd_event_source *timer;
	struct MHD_Daemon *daemon;
	struct stat file; /* of a Unix socket */
	uint64_t turns;
	usec_t resume_usec; /* no connection is taken in before; 0: nothing is in the way */
	struct http_peer peers[HTTP_PEERS_MAX];
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

/* --- answers are passed to the library */

/* The memory of an answer of this size or more is returned to the system once it is sent: the
 * allocator would keep it for the next one. */
#define LARGE_BODY (128 * KIB)

/* The library's buffer for a piece of a stream. */
#define STREAM_BYTES (16 * KIB)

struct refusal {
	unsigned status;
	const char *error;
	const char *hint;
};

static const struct refusal refusals[] = {
	{MHD_HTTP_BAD_REQUEST, "the path is not valid", "escape other characters as %XX"},
	{MHD_HTTP_FORBIDDEN, "not allowed", "ask as root or as a member of the socket's group"},
	{MHD_HTTP_NOT_FOUND, "no such path", NULL},
	{MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed for this path", "see the header Allow"},
	{MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large", "at most 64 KiB"},
	{MHD_HTTP_INTERNAL_SERVER_ERROR, "the request failed inside the daemon", NULL},
};

struct sent_stream {
	struct http_stream stream;
	/* When its connection last made progress, in turns of the server: with each piece. */
	uint64_t *active;
	const uint64_t *turns;
};

static void free_large(void *body)
{
	free(body);
	malloc_trim(0);
}

static ssize_t stream_read(void *ctx, uint64_t, char *to, size_t size)
{
	struct sent_stream *sent = ctx;
	ssize_t n = sent->stream.read(sent->stream.ctx, to, size);

	*sent->active = *sent->turns;
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

static void stream_free(void *ctx)
{
	struct sent_stream *sent = ctx;

	sent->stream.free(sent->stream.ctx);
	free(sent);
}

/* Reads it to its end: the library sends the last chunk of a body even where there is none. */
static uint64_t stream_length(const struct http_stream *stream)
{
	char piece[STREAM_BYTES];
	uint64_t length = 0;
	ssize_t n;

	while ((n = stream->read(stream->ctx, piece, sizeof piece)) > 0)
		length += (uint64_t)n;
	return length;
}

/* NULL: the table has no entry for it; then the connection is closed at its first request. */
static struct http_peer *peer_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static struct MHD_Response *respond_stream(const struct http_server *s, struct MHD_Connection *c,
					   const struct http_stream *stream, bool head)
{
	struct sent_stream *sent = malloc(sizeof *sent);
	uint64_t length = head ? stream_length(stream) : MHD_SIZE_UNKNOWN;
	struct MHD_Response *response = NULL;

	if (sent) {
		*sent = (struct sent_stream){*stream, &peer_of(c)->active, &s->turns};
		response = MHD_create_response_from_callback(length, STREAM_BYTES, stream_read,
							     sent, stream_free);
	}
	if (!response) {
		stream->free(stream->ctx);
		free(sent);
	}
	return response;
}

static struct MHD_Response *respond_body(struct http_response *answer)
{
	size_t size = answer->body_size ? answer->body_size : strlen(answer->body);
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback(
		size, answer->body, size < LARGE_BODY ? free : free_large);

	if (!response)
		free(answer->body);
	return response;
}

/* Owns body or stream of the response from here on. */
static enum MHD_Result send_response(const struct http_server *s, struct MHD_Connection *c,
				     const struct exchange *x, struct http_response *answer)
{
	const char *type = answer->content_type ? answer->content_type : "application/json";
	struct MHD_Response *response = answer->body
						? respond_body(answer)
						: respond_stream(s, c, &answer->stream, x->head);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (x->allow && answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, x->allow);
	r = MHD_queue_response(c, answer->status, response);
	MHD_destroy_response(response);
	return r;
}

/* One of the server's own refusals. */
static enum MHD_Result refuse(const struct http_server *s, struct MHD_Connection *c,
			      const struct exchange *x, unsigned status)
{
	struct http_response answer;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const char *hint =
			status == MHD_HTTP_NOT_FOUND ? s->config.not_found_hint : refusals[i].hint;

		if (refusals[i].status != status)
			continue;
		if (http_fail(&answer, status, refusals[i].error, hint) < 0)
			return MHD_NO;
		return send_response(s, c, x, &answer);
	}
	return MHD_NO;
}

/* The client announces a body that is larger than the limit: it is refused without being read. */
static bool http_announces_too_much(struct MHD_Connection *c)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length && strtoull(length, NULL, 10) > HTTP_BODY_MAX;
}

/* --- connections */

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

/* The library closes the connection in its next turn. */
static void shut(struct http_peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	p->closing = true;
}

/* The library's own time, and the earliest deadline of a connection. */
static void arm_timer(struct http_server *s)
{
	usec_t now = server_now(s);
	usec_t wait = http_peers_wait(s->peers, timeout_usec(s), now);
	MHD_UNSIGNED_LONG_LONG wait_msec;

	if (MHD_get_timeout(s->daemon, &wait_msec) == MHD_YES)
		wait = MIN(wait, wait_msec * USEC_PER_MSEC);
	if (s->resume_usec != 0)
		wait = MIN(wait, s->resume_usec > now ? s->resume_usec - now : 0);
	if (wait == UINT64_MAX) {
		sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(s->timer, now + wait);
	sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static void turn(struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG wait_msec;
	int pieces = PIECES_MAX;
	bool ready;

	s->turns++;
	/* While there is work that waits for no client. */
	do {
		MHD_run(s->daemon);
	} while (MHD_get_timeout(s->daemon, &wait_msec) == MHD_YES && wait_msec == 0 &&
		 --pieces > 0);
	/* Connections that cannot be taken in now must not wake the loop. */
	ready = s->resume_usec == 0 && http_peers_free(s->peers) != NULL;
	sd_event_source_set_enabled(s->listening, ready ? SD_EVENT_ON : SD_EVENT_OFF);
	arm_timer(s);
}

static int on_io(sd_event_source *, int, uint32_t, void *ctx)
{
	turn(ctx);
	return 0;
}

/* Takes one connection in; false: there is none, or not now. */
static bool take_connection(struct http_server *s)
{
	struct http_peer *place = http_peers_free(s->peers), *victim = NULL;
	struct http_peer_address from;
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd;

	if (!place)
		return false;
	fd = http_socket_accept(s->listen_fd, &address, &size, &from);
	/* No descriptor is left: closes the connection idle for longest, or tries again later. */
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS) {
		victim = http_peers_oldest(s->peers);
		if (!victim)
			s->resume_usec = server_now(s) + PAUSE_USEC;
	} else if (fd >= 0) {
		http_peers_forget(s->peers, fd); /* its number is used again */
		victim = http_peers_victim(s->peers, &from);
	}
	if (victim)
		shut(victim);
	if (fd < 0)
		return fd == -ECONNABORTED;
	*place = (struct http_peer){
		.connection = HTTP_PEER_COMING,
		.fd = fd,
		.address = from,
		.since_usec = server_now(s),
		.active = s->turns,
	};
	/* Closes fd where it fails. */
	if (MHD_add_connection(s->daemon, fd, (struct sockaddr *)&address, size) != MHD_YES)
		http_peers_forget(s->peers, fd);
	return true;
}

static int on_listening(sd_event_source *, int, uint32_t, void *ctx)
{
	struct http_server *s = ctx;

	for (int i = 0; i < ACCEPTS_MAX && take_connection(s); i++)
		;
	turn(s);
	return 0;
}

static int on_timer(sd_event_source *, uint64_t, void *ctx)
{
	struct http_server *s = ctx;
	usec_t now = server_now(s);

	/* Ends the requests that have taken too long; the library only knows idle ones. */
	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		if (s->peers[i].connection &&
		    now >= http_peer_deadline(&s->peers[i], timeout_usec(s)))
			shut(&s->peers[i]);
	if (s->resume_usec != 0 && now >= s->resume_usec)
		s->resume_usec = 0;
	turn(s);
	return 0;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = ctx;
	struct http_peer *p = *socket_ctx;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (p)
			*p = (struct http_peer){0};
		return;
	}
	p = http_peers_coming(
		s->peers,
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
	if (p)
		p->connection = c;
	*socket_ctx = p;
}

/* --- requests */

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode)
{
	struct http_peer *p = peer_of(c);
	struct exchange *x = *state;

	if (p) {
		p->since_usec = server_now(ctx);
		p->head_usec = 0;
	}
	if (x)
		free(x->body);
	free(x);
	*state = NULL;
}

/* The credentials of the client; all zero over TCP. */
static bool know_peer(const struct http_server *s, struct MHD_Connection *c, struct exchange *x)
{
	const struct http_peer *p = peer_of(c);
	socklen_t size = sizeof(x->peer);

	return s->config.listen ||
	       (p && getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &x->peer, &size) == 0);
}

/* Decides by the head of a request alone whether it will be served. */
static void http_examine(struct http_server *s, struct MHD_Connection *c, const char *url,
			 const char *method, struct exchange *x)
{
	if (!know_peer(s, c, x))
		x->refusal = MHD_HTTP_INTERNAL_SERVER_ERROR;
	else if (s->config.admit && !s->config.admit(s->config.ctx, peer_of(c)->fd, &x->peer))
		x->refusal = MHD_HTTP_FORBIDDEN;
	else if (http_path_decode(url, sizeof(x->path), x->path) < 0)
		x->refusal = MHD_HTTP_BAD_REQUEST;
	else
		x->route = find_route(&s->config, method, x->path, &x->rest, &x->allow);
	if (x->refusal == 0)
		x->refusal = x->allow ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
}

static enum MHD_Result note_arg(void *ctx, enum MHD_ValueKind, const char *name, const char *value)
{
	struct http_request *request = ctx;

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
	};

	if (!x->route)
		return refuse(s, c, x, x->refusal);
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, note_arg, &request);
	if (x->route->handle(s->config.ctx, &request, &response) < 0 ||
	    (!response.body && !response.stream.read)) {
		free(response.body);
		return refuse(s, c, x, MHD_HTTP_INTERNAL_SERVER_ERROR);
	}
	return send_response(s, c, x, &response);
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

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *, const char *data, size_t *size,
				  void **state)
{
	struct http_server *s = ctx;
	struct exchange *x = *state;
	struct http_peer *p = peer_of(c);

	if (!x) {
		x = p ? calloc(1, sizeof(*x)) : NULL;
		if (!x)
			return MHD_NO;
		*state = x;
		p->head_usec = server_now(s);
		p->active = s->turns;
		x->head = strcmp(method, "HEAD") == 0;
		http_examine(s, c, url, method, x);
		return http_announces_too_much(c) ? refuse(s, c, x, MHD_HTTP_CONTENT_TOO_LARGE)
						  : MHD_YES;
	}
	if (*size > 0) {
		take_body(x, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return answer(s, c, x);
}

/* --- the server */

/* Escapes stay as they are: http_path_decode() does it strictly. */
static size_t leave_escaped(void *, struct MHD_Connection *, char *text)
{
	return strlen(text);
}

/* Connections are accepted here: the library would keep old ones and refuse new ones. */
static int start_daemon(struct http_server *s)
{
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_CONNECTION_LIMIT, HTTP_PEERS_MAX, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)s->config.timeout_sec, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, s},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_escaped, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
				     on_request, s, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	return s->daemon ? 0 : -ENOMEM;
}

static int http_attach(struct http_server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -ENOTSUP;
	r = sd_event_add_io(s->event, &s->io, info->epoll_fd, EPOLLIN, on_io, s);
	if (r >= 0)
		r = sd_event_add_io(s->event, &s->listening, s->listen_fd, EPOLLIN, on_listening,
				    s);
	if (r < 0)
		return r;
	/* Exact: between two pieces of a stream it is the timer that goes on, after all else. */
	r = sd_event_add_time(s->event, &s->timer, CLOCK_MONOTONIC, UINT64_MAX, 1, on_timer, s);
	if (r < 0)
		return r;
	arm_timer(s);
	return 0;
}

int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->listen_fd = -1;
	if (s->config.timeout_sec == 0)
		s->config.timeout_sec = HTTP_TIMEOUT_SEC;
	s->event = sd_event_ref(event);
	s->listen_fd = config->listen ? http_tcp_listen(config->listen)
				      : http_socket_listen(config->socket_path, config->group);
	if (s->listen_fd < 0) {
		r = s->listen_fd;
		http_server_free(s);
		return r;
	}
	if (!config->listen && lstat(config->socket_path, &s->file) < 0)
		s->file = (struct stat){0};
	r = start_daemon(s);
	if (r == 0)
		r = http_attach(s);
	if (r < 0) {
		http_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

bool http_server_reachable(const struct http_server *s)
{
	struct stat now;

	return s->config.listen || (lstat(s->config.socket_path, &now) == 0 &&
				    now.st_ino == s->file.st_ino && now.st_dev == s->file.st_dev);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->listening);
	sd_event_source_disable_unref(s->timer);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	/* Another process may have put its own socket at the path since. */
	if (!s->config.listen && s->file.st_ino != 0 && http_server_reachable(s))
		unlink(s->config.socket_path);
	sd_event_unref(s->event);
	free(s);
}
