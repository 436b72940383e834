// SPDX-License-Identifier: Apache-2.0
#include "agent/http_socket.h"
#include "policy/base.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

static void drop_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int address_of(const char *path, struct sockaddr_un *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	*ret = address;
	return 0;
}

/* Removes the file of a socket on which nobody listens. */
static int remove_stale(const char *path, const struct sockaddr_un *address)
{
	OWN(drop_fd) int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return -errno;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int http_socket_listen(const char *path, gid_t group)
{
	OWN(drop_fd) int fd = -1;
	struct sockaddr_un address;
	int r = address_of(path, &address);
	int listening;

	if (r == 0)
		r = remove_stale(path, &address);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	/* Nobody can connect before listen(), so there is no moment with a wider mode. */
	if ((group != (gid_t)-1 && lchown(path, (uid_t)-1, group) < 0) || chmod(path, 0660) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		r = -errno;
		unlink(path);
		return r;
	}
	listening = fd;
	fd = -1;
	return listening;
}

static int listen_at(const struct listen_address *at)
{
	const struct sockaddr *address = (const struct sockaddr *)&at->address;
	OWN(drop_fd)
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1, only = !at->any;
	int listening;

	/* A restart need not wait for the connections of the process before. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		return -errno;
	if (address->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) < 0)
		return -errno;
	if (bind(fd, address, at->size) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	listening = fd;
	fd = -1;
	return listening;
}

/* The same port on every address of IPv4. */
static struct listen_address any_v4(const struct listen_address *at)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at->address;
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = v6->sin6_port};
	struct listen_address ret = {.size = sizeof(v4)};

	memcpy(&ret.address, &v4, sizeof(v4));
	return ret;
}

int http_tcp_listen(const struct listen_address *at)
{
	int fd = listen_at(at);

	if (at->any && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)) {
		struct listen_address v4 = any_v4(at);

		return listen_at(&v4);
	}
	return fd;
}

unsigned http_tcp_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 0;
	if (address.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&address)->sin_port);
	if (address.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
	return 0;
}
