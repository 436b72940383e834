/* SPDX-License-Identifier: Apache-2.0 */
/* The listening end of a Unix stream socket. */
#pragma once

#include <sys/types.h>

/*
 * A listening, non-blocking socket at path, mode 0660, owned by the group ((gid_t)-1: unchanged).
 * A file left by a dead process is replaced; -EADDRINUSE if a live one answers, -EEXIST if path is
 * no socket, -ENAMETOOLONG.
 */
int http_socket_listen(const char *path, gid_t group);
