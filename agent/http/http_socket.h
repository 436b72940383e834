/* SPDX-License-Identifier: Apache-2.0 */
/* The listening end of a Unix stream socket, or of TCP. */
#pragma once

#include "agent/base/listen.h"
#include "agent/http/http_peers.h"
#include <sys/socket.h>
#include <sys/types.h>

/* A listening, non-blocking socket at path, mode 0660, owned by the group ((gid_t)-1: unchanged). A
 * file left by a dead process is replaced; -EADDRINUSE if a live one answers, -EEXIST if path is no
 * socket, -ENAMETOOLONG. */
int http_socket_listen(const char *path, gid_t group);

/* A listening, non-blocking TCP socket; IPv4's alone for every address without IPv6. */
int http_tcp_listen(const struct listen_address *at);
/* The next connection, and where it comes from. -EAGAIN: none; -EMFILE: it keeps waiting. */
int http_socket_accept(int listening, struct sockaddr_storage *ret, socklen_t *ret_size,
		       struct http_peer_address *ret_from);

/* True if the peer is root, this process's own user, or in the group. */
bool http_peer_in_group(int fd, const struct ucred *peer, gid_t group);
