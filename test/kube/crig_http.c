// SPDX-License-Identifier: Apache-2.0
/* HTTP for tests: plain sockets, one request a connection. */
#include "test/kube/crig_http.h"
#include "policy/base/base.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

unsigned crig_free_port(void)
{
	static unsigned next;

	if (next == 0)
		next = (unsigned)getpid() * 7;
	for (int i = 0; i < 1000; i++) {
		unsigned port = 10000 + next++ % 20000;
		struct sockaddr_in in = {.sin_family = AF_INET,
					 .sin_port = htons((uint16_t)port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool free = bind(fd, (struct sockaddr *)&in, sizeof in) == 0;

		close(fd);
		if (free)
			return port;
	}
	fprintf(stderr, "no free port\n");
	exit(EXIT_FAILURE);
}

int crig_connect(unsigned port, const char *path)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port)};
	int fd = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	if (path != NULL) {
		snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
		r = connect(fd, (struct sockaddr *)&local, sizeof local);
	} else {
		r = connect(fd, (struct sockaddr *)&in, sizeof in);
	}
	if (r < 0) {
		perror("connect");
		exit(EXIT_FAILURE);
	}
	return fd;
}

void crig_send(int fd, const char *method, const char *path, const char *more, const char *body)
{
	OWN(drop_free) char *text = NULL;
	int n = asprintf(&text,
			 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
			 "Content-Length: %zu\r\n\r\n%s",
			 method, path, more, strlen(body), body);

	for (ssize_t done = 0, r; done < n; done += r) {
		r = send(fd, text + done, (size_t)(n - done), MSG_NOSIGNAL);
		if (r <= 0)
			return;
	}
}

/* In place: chunks become what was in them. */
static void unchunk(char *body)
{
	char *to = body, *from = body;
	size_t n;

	while ((n = strtoul(from, &from, 16)) > 0) {
		from += 2;
		memmove(to, from, n);
		to += n;
		from += n + 2;
	}
	*to = '\0';
}

bool crig_receive(int fd, struct crig_bytes *b)
{
	ssize_t n;

	if (b->size - b->len < 65536) {
		b->size = 2 * b->size + 131072;
		b->text = realloc(b->text, b->size);
		if (b->text == NULL)
			exit(EXIT_FAILURE);
	}
	n = recv(fd, b->text + b->len, b->size - b->len - 1, MSG_DONTWAIT);
	if (n < 0)
		return false;
	b->len += (size_t)n;
	b->text[b->len] = '\0';
	return n == 0;
}

unsigned crig_answer(struct crig_bytes *b, char **ret)
{
	char *body = b->text != NULL ? strstr(b->text, "\r\n\r\n") : NULL;
	unsigned status = 0;

	*ret = NULL;
	if (body == NULL || sscanf(b->text, "HTTP/1.%*u %u", &status) != 1) {
		free(b->text);
		return 0;
	}
	*body = '\0';
	body += 4;
	if (strcasestr(b->text, "Transfer-Encoding: chunked") != NULL)
		unchunk(body);
	memmove(b->text, body, strlen(body) + 1);
	*ret = b->text;
	return status;
}
