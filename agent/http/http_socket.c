// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http_socket.h"
#include "agent/base/file.h"
#include "policy/base/base.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel's maximum (net.core.somaxconn). A client that finds the queue full tries again after a
 * second, which is a probe's whole timeout. */
#define BACKLOG 4096
/* A connection without data is accepted after this long, one with a request at once. */
#define DEFER_SEC 1

/* Removes the file of a socket on which no process listens. */
static int remove_stale(const char *path)
{
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	r = listen_probe(path, SOCK_STREAM);
	if (r != -ECONNREFUSED)
		return r == 0 ? -EADDRINUSE : r;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int http_socket_listen(const char *path, gid_t group)
{
	OWN(drop_fd) int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r, listening;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	r = remove_stale(path);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	/* No client can connect before listen(), so there is no moment with a wider mode. */
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
	const int yes = 1, only = !at->any, defer = DEFER_SEC;
	int listening;

	/* A restart need not wait for the connections of the process before. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		return -errno;
	if (address->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) < 0)
		return -errno;
	if (bind(fd, address, at->size) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	/* Optional: a connection is accepted when its request has arrived. */
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof(defer));
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

/* Of a Unix socket the user counts as the address. */
static void address_key(int fd, const struct sockaddr_storage *address,
			struct http_peer_address *ret)
{
	uint8_t bytes[sizeof(*ret)] = {[10] = 0xff, [11] = 0xff};
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	if (address->ss_family == AF_INET6)
		memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(bytes));
	else if (address->ss_family == AF_INET)
		memcpy(bytes + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
		memcpy(bytes + 12, &peer.uid, 4);
	memcpy(ret, bytes, sizeof(bytes));
}

int http_socket_accept(int listening, struct sockaddr_storage *ret, socklen_t *ret_size,
		       struct http_peer_address *ret_from)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);
	int fd = accept4(listening, (struct sockaddr *)&address, &size,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return -errno;
	address_key(fd, &address, ret_from);
	*ret = address;
	*ret_size = MIN(size, (socklen_t)sizeof(address));
	return fd;
}

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
