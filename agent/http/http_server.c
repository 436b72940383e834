// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http_server.h"
#include "agent/http/http_peers.h"
#include "agent/http/http_reply.h"
#include "agent/http/http_socket.h"
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Ends the requests that have taken too long; the library only knows idle ones. */
static void close_overdue(struct http_server *s)
{
	usec_t now = server_now(s);

	for (size_t i = 0; i < HTTP_PEERS_MAX; i++) {
		struct http_peer *p = &s->peers[i];

		if (p->connection && now >= http_peer_deadline(p, timeout_usec(s)))
			shut(p);
	}
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

/* Connections that cannot be taken in now must not wake the loop. */
static void set_listening(struct http_server *s)
{
	bool ready = s->resume_usec == 0 && http_peers_free(s->peers) != NULL;

	sd_event_source_set_enabled(s->listening, ready ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* Is there work that waits for no client? */
static bool has_more(const struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG wait_msec;

	return MHD_get_timeout(s->daemon, &wait_msec) == MHD_YES && wait_msec == 0;
}

static void turn(struct http_server *s)
{
	int pieces = PIECES_MAX;

	s->turns++;
	do {
		MHD_run(s->daemon);
	} while (has_more(s) && --pieces > 0);
	set_listening(s);
	arm_timer(s);
}

static int on_io(sd_event_source *, int, uint32_t, void *ctx)
{
	turn(ctx);
	return 0;
}

/* No descriptor is left: closes the connection idle for longest, or tries again later. */
static void out_of_files(struct http_server *s)
{
	struct http_peer *oldest = http_peers_oldest(s->peers);

	if (oldest) {
		shut(oldest);
		return;
	}
	s->resume_usec = server_now(s) + PAUSE_USEC;
}

/* Takes one connection in; false: there is none, or not now. */
static bool take_connection(struct http_server *s)
{
	struct http_peer *place = http_peers_free(s->peers), *victim;
	struct http_peer_address from;
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd;

	if (!place)
		return false;
	fd = http_socket_accept(s->listen_fd, &address, &size, &from);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS)
		out_of_files(s);
	if (fd < 0)
		return fd == -ECONNABORTED;
	http_peers_forget(s->peers, fd); /* its number is used again */
	victim = http_peers_victim(s->peers, &from);
	if (victim)
		shut(victim);
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

	close_overdue(s);
	if (s->resume_usec != 0 && server_now(s) >= s->resume_usec)
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

/* NULL: the table has no entry for it; then the connection is closed at its first request. */
static struct http_peer *peer_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

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
		x->route = http_route_find(&s->config, method, x->path, &x->rest, &x->allow);
	if (x->refusal == 0)
		x->refusal = x->allow ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
}

static enum MHD_Result refuse(const struct http_server *s, struct MHD_Connection *c,
			      const struct exchange *x, unsigned status)
{
	struct http_reply reply = {.allow = x->allow, .hint = s->config.not_found_hint};

	return http_reply_refuse(c, &reply, status);
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
	return http_reply_send(c,
			       &(struct http_reply){
				       .progress = {&peer_of(c)->active, &s->turns},
				       .head = x->head,
			       },
			       &response);
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

/* Another process may have put its own socket at the path since. */
static void remove_own_file(const struct http_server *s)
{
	if (!s->config.listen && s->file.st_ino != 0 && http_server_reachable(s))
		unlink(s->config.socket_path);
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
	remove_own_file(s);
	sd_event_unref(s->event);
	free(s);
}
