// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_conn.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

/* Non-blocking: a full backlog is -EAGAIN, and the caller's back-off is the wait. */
static int connect_unix(const char *path, int *ret)
{
	OWN(unit_drop_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
	OWN(sd_bus_unrefp) sd_bus *bus = NULL;
	OWN(unit_drop_fd) int fd = -1;
	int r = connect_unix(path, &fd);

	if (r >= 0 && direct)
		r = check_peer(fd);
	if (r >= 0)
		r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	if (r < 0)
		return r;
	fd = -1; /* the bus closes it from here on */
	r = sd_bus_set_bus_client(bus, !direct);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		*ret = STEAL(bus);
	return MIN(r, 0);
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

/* --- calls that are waited for */

static usec_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* sd_bus_call() waits up to 90 s for a new connection, whatever its timeout. */
static int wait_ready(sd_bus *bus, usec_t until)
{
	int r;

	while ((r = sd_bus_is_ready(bus)) == 0) {
		usec_t now = now_usec();

		if (now >= until)
			return -ETIMEDOUT;
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, until - now);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return r < 0 ? r : 0;
}

/* The next call on the bus ends in time. */
static int allow_until(sd_bus *bus, usec_t until)
{
	int r = wait_ready(bus, until);
	usec_t now = now_usec();

	if (r < 0)
		return r;
	return now < until ? sd_bus_set_method_call_timeout(bus, until - now) : -ETIMEDOUT;
}

/* A connection for calls about a unit. */
static int open_for(const struct unit_address *at, const char *unit, sd_bus **ret)
{
	bool direct;

	return unit_interface_of(unit) != NULL ? unit_conn_open(at, ret, &direct) : -EINVAL;
}

int unit_set_now(const struct unit_address *at, const char *unit, const struct unit_props *want,
		 uint32_t mask, usec_t timeout_usec)
{
	OWN(sd_bus_close_unrefp) sd_bus *bus = NULL;
	OWN(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	OWN(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	usec_t until = now_usec() + timeout_usec;
	int r = open_for(at, unit, &bus);

	if (r >= 0)
		r = sd_bus_message_new_method_call(bus, &m, UNIT_BUS_NAME, UNIT_BUS_PATH,
						   UNIT_INTERFACE_MANAGER, "SetUnitProperties");
	if (r >= 0)
		r = unit_message_append_set(m, unit, want, mask);
	if (r >= 0)
		r = allow_until(bus, until);
	if (r >= 0)
		r = sd_bus_call(bus, m, 0, &error, NULL);
	return sd_bus_error_is_set(&error) ? unit_error_to_errno(&error) : MIN(r, 0);
}

static int get(sd_bus *bus, const char *unit, const char *interface, const char *property,
	       usec_t until, uint64_t *ret)
{
	OWN(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	OWN(drop_free) char *path = NULL;
	int r = sd_bus_path_encode(UNIT_BUS_PATH_UNIT, unit, &path);

	if (r >= 0)
		r = allow_until(bus, until);
	if (r >= 0)
		r = sd_bus_get_property_trivial(bus, UNIT_BUS_NAME, path, interface, property,
						&error, 't', ret);
	return sd_bus_error_is_set(&error) ? unit_error_to_errno(&error) : MIN(r, 0);
}

int unit_get_now(const struct unit_address *at, const char *unit, usec_t timeout_usec,
		 struct unit_props *ret)
{
	OWN(sd_bus_close_unrefp) sd_bus *bus = NULL;
	usec_t until = now_usec() + timeout_usec;
	struct unit_props props;
	int r = open_for(at, unit, &bus);

	for (size_t i = 0; r >= 0 && i < UNIT_PROP_ROWS; i++)
		r = get(bus, unit, unit_interface_of(unit), unit_prop_rows[i].name, until,
			(uint64_t *)((char *)&props + unit_prop_rows[i].offset));
	if (r < 0)
		return r;
	*ret = props;
	return 0;
}

int unit_age_now(const struct unit_address *at, const char *unit, usec_t timeout_usec, usec_t *ret)
{
	OWN(sd_bus_close_unrefp) sd_bus *bus = NULL;
	usec_t until = now_usec() + timeout_usec, since = 0, now;
	int r = open_for(at, unit, &bus);

	if (r >= 0)
		r = get(bus, unit, UNIT_INTERFACE, "ActiveEnterTimestampMonotonic", until, &since);
	if (r < 0)
		return r;
	now = now_usec();
	*ret = since != 0 && now > since ? now - since : 0;
	return 0;
}
