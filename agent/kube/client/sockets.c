// SPDX-License-Identifier: Apache-2.0
/* The sockets of curl's connections: which of them carry no request and are still open. */
#include "agent/base/footprint.h"
#include "agent/kube/client/client_impl.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_SEC      30L
#define KEEPALIVE_STEP_SEC 15L
/* A dead peer is noticed after 30 + 3 x 15 s. */
#define KEEPALIVE_COUNT 3

/* curl is about to connect it. */
static int socket_opened(void *arg, curl_socket_t fd, curlsocktype)
{
	struct kube_client *c = arg;
	int count = KEEPALIVE_COUNT;

	/* Errors are ignored: without these options a dead peer is noticed later, and a child
	 * process is never started here. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* A socket beyond the table counts as in use. */
	if (c->socket_count < ARRAY_SIZE(c->sockets))
		c->sockets[c->socket_count++] = (struct client_socket){.fd = fd, .busy = true};
	/* A handshake maps megabytes of code for a moment: first unmap what other work has left. */
	footprint_trim();
	return CURL_SOCKOPT_OK;
}

static int socket_closed(void *arg, curl_socket_t fd)
{
	struct kube_client *c = arg;

	for (size_t i = 0; i < c->socket_count; i++)
		if (c->sockets[i].fd == fd) {
			c->sockets[i] = c->sockets[--c->socket_count];
			break;
		}
	return close(fd);
}

void sockets_follow(struct kube_client *c, CURL *easy)
{
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_SEC);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_STEP_SEC);
	curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, socket_opened);
	curl.easy_setopt(easy, CURLOPT_SOCKOPTDATA, c);
	curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, socket_closed);
	curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, c);
}

void sockets_mark(struct kube_client *c, curl_socket_t fd, bool busy)
{
	for (size_t i = 0; i < c->socket_count; i++)
		if (c->sockets[i].fd == fd)
			c->sockets[i].busy = busy;
}

static bool is_open(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

size_t kube_client_idle(const struct kube_client *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->socket_count; i++)
		n += !c->sockets[i].busy && is_open(c->sockets[i].fd);
	return n;
}

bool kube_client_requests(const struct kube_client *c)
{
	for (const struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (!call->stream)
			return true;
	return false;
}
