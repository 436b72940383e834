// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_conn.h"
#include "policy/base/base.h"
#include "systemd/drop.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void drop_bus(sd_bus **bus)
{
	sd_bus_unref(*bus);
}

/* Non-blocking: a full backlog is -EAGAIN, and the caller's back-off is the wait. */
static int connect_unix(const char *path, int *ret)
{
	OWN(drop_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof sa.sun_path)
		return -ENAMETOOLONG;
	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0)
		return -errno;
	*ret = fd;
	fd = -1;
	return 0;
}

/* The process that listens in PID 1's place must run as root or as this user. */
static int check_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : -EPERM;
}

static int unit_conn_start(const char *path, bool direct, sd_bus **ret)
{
	OWN(drop_bus) sd_bus *bus = NULL;
	OWN(drop_fd) int fd = -1;
	int r;

	r = connect_unix(path, &fd);
	if (r < 0)
		return r;
	if (direct) {
		r = check_peer(fd);
		if (r < 0)
			return r;
	}
	r = sd_bus_new(&bus);
	if (r < 0)
		return r;
	r = sd_bus_set_fd(bus, fd, fd);
	if (r < 0)
		return r;
	fd = -1; /* the bus closes it from here on */
	r = sd_bus_set_bus_client(bus, !direct);
	if (r < 0)
		return r;
	r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = STEAL(bus);
	return 0;
}

int unit_conn_open(const struct unit_address *at, sd_bus **ret, bool *ret_direct)
{
	const struct {
		const char *path;
		bool direct;
	} ways[] = {
		{at && at->private_socket ? at->private_socket : "/run/systemd/private", true},
		{at && at->system_socket ? at->system_socket : "/run/dbus/system_bus_socket",
		 false},
	};
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int r = unit_conn_start(ways[i].path, ways[i].direct, ret);

		if (r >= 0) {
			*ret_direct = ways[i].direct;
			return 0;
		}
		/* The error of a socket that exists is more useful than that of a missing one. */
		error = error == -ENOENT ? r : error;
	}
	return error;
}
