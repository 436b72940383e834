// SPDX-License-Identifier: Apache-2.0
#include "script_server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct files {
	const char *cert;
	const char *key;
	const char *client_ca;
};

void script_send(struct script_conn *c, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = c->ssl != NULL ? SSL_write(c->ssl, data, (int)len)
					   : send(c->fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			_exit(0);
		data += n;
		len -= (size_t)n;
	}
}

void script_text(struct script_conn *c, const char *text)
{
	script_send(c, text, strlen(text));
}

void script_chunk(struct script_conn *c, const char *data, size_t len)
{
	char size[32];

	snprintf(size, sizeof size, "%zx\r\n", len);
	script_text(c, size);
	script_send(c, data, len);
	script_text(c, "\r\n");
}

void script_answer(struct script_conn *c, const char *status, const char *more, const char *body)
{
	char head[1024];

	snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, more,
		 strlen(body));
	script_text(c, head);
	script_text(c, body);
}

long script_number(const struct script_conn *c, const char *name)
{
	const char *p = strstr(c->head, name);

	return p != NULL ? strtol(p + strlen(name), NULL, 10) : 0;
}

void script_reset(struct script_conn *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(c->fd);
	_exit(0);
}

static void receive(struct script_conn *c, char *data, size_t len)
{
	ssize_t n = c->ssl != NULL ? SSL_read(c->ssl, data, (int)len) : read(c->fd, data, len);

	if (n != (ssize_t)len)
		_exit(0);
}

/* One request: its head byte by byte, and its body. */
static void read_request(struct script_conn *c)
{
	size_t len = 0;
	long body;

	do {
		if (len + 1 >= sizeof c->head)
			_exit(1);
		receive(c, c->head + len++, 1);
		c->head[len] = '\0';
	} while (len < 4 || strcmp(c->head + len - 4, "\r\n\r\n") != 0);
	body = script_number(c, "Content-Length: ");
	c->body[0] = '\0';
	for (long i = 0; i < body && i + 1 < (long)sizeof c->body; i++) {
		receive(c, c->body + i, 1);
		c->body[i + 1] = '\0';
	}
	memcpy(c->share->head, c->head, sizeof c->head);
	atomic_fetch_add(&c->share->requests, 1);
}

static void start_tls(struct script_conn *c, const struct files *f)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (SSL_CTX_use_certificate_file(ctx, f->cert, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, f->key, SSL_FILETYPE_PEM) != 1)
		_exit(1);
	if (f->client_ca != NULL) {
		SSL_CTX_load_verify_locations(ctx, f->client_ca, NULL);
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	}
	c->ssl = SSL_new(ctx);
	SSL_set_fd(c->ssl, c->fd);
	if (SSL_accept(c->ssl) != 1)
		_exit(0);
}

static void serve(int fd, struct script_share *share, const struct files *f)
{
	struct script_conn *c = calloc(1, sizeof *c);
	int on = 1;

	signal(SIGPIPE, SIG_IGN);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c->fd = fd;
	c->share = share;
	atomic_fetch_add(&share->connections, 1);
	if (f->cert != NULL)
		start_tls(c, f);
	for (;;) {
		read_request(c);
		if (!script_faults(c) && !script_pods(c))
			script_answer(c, "404 Not Found", "", "no such script");
	}
}

/* A parent that was killed before we could ask for that is not reported any more. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void listen_for_ever(int fd, struct script_share *share, const struct files *f)
{
	pid_t self = getpid();

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int conn = accept(fd, NULL, NULL);

		if (conn < 0)
			_exit(1);
		if (fork() == 0) {
			end_with(self);
			close(fd);
			serve(conn, share, f);
		}
		close(conn);
	}
}

int script_server_start(const char *cert, const char *key, const char *client_ca,
			struct script_server *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct files f = {cert, key, client_ca};
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t self = getpid();

	ret->share = mmap(NULL, sizeof *ret->share, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ret->share == MAP_FAILED || fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    listen(fd, 64) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return -errno;
	ret->port = ntohs(address.sin_port);
	ret->pid = fork();
	if (ret->pid == 0) {
		end_with(self);
		listen_for_ever(fd, ret->share, &f);
	}
	close(fd);
	return ret->pid < 0 ? -errno : 0;
}

void script_server_stop(struct script_server *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	munmap(s->share, sizeof *s->share);
	*s = (struct script_server){0};
}
