// SPDX-License-Identifier: Apache-2.0
#include "agent/base/listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int parse_port(const char *text, in_port_t *ret)
{
	size_t n = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	if (n == 0 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return -EINVAL;
	if (port == 0 || port > UINT16_MAX)
		return -ERANGE;
	*ret = htons((uint16_t)port);
	return 0;
}

static void set_v4(struct listen_address *a, struct in_addr address, in_port_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = port, .sin_addr = address};

	memcpy(&a->address, &in, sizeof in);
	a->size = sizeof in;
}

static void set_v6(struct listen_address *a, struct in6_addr address, in_port_t port)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = address};

	memcpy(&a->address, &in, sizeof in);
	a->size = sizeof in;
}

int listen_parse(const char *text, struct listen_address *ret)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;
	struct listen_address a = {0};
	char host[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	struct in_addr v4;
	in_port_t port;
	int r;

	if (colon == NULL)
		return -EINVAL;
	r = parse_port(colon + 1, &port);
	if (r < 0)
		return r;
	if (n == 0) {
		a.any = true;
		set_v6(&a, in6addr_any, port);
		*ret = a;
		return 0;
	}
	if (n >= sizeof host)
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_pton(AF_INET, host, &v4) == 1) {
		set_v4(&a, v4, port);
	} else if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &v6) != 1)
			return -EINVAL;
		set_v6(&a, v6, port);
	} else {
		return -EINVAL;
	}
	*ret = a;
	return 0;
}

int listen_probe(const char *path, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, r;

	if (strlen(path) >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
	close(fd);
	return r == -EAGAIN ? 0 : r;
}
