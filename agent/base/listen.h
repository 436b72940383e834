/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: the text "address:port" of one over TCP; is there one at a path? */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

struct listen_address {
	struct sockaddr_storage address; /* AF_INET or AF_INET6 */
	socklen_t size;
	bool any; /* no address was named: every one of the host, of both families */
};

/* "127.0.0.1:9753", "[::1]:9753", ":9753"; numbers only. -EINVAL; -ERANGE: not port 1..65535. */
int listen_parse(const char *text, struct listen_address *ret);

/* Does a process listen at the path of a Unix socket of this type? 0, also with a full queue;
 * -ENOENT, -ECONNREFUSED: none does. */
int listen_probe(const char *path, int type);
