/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP over a Unix socket or TCP on the caller's event loop. Limits on connections (per address
 * too), time and size of a request. A connection above a limit closes an old one
 * (agent/http/http_peers.h). */
#pragma once

#include "agent/http/http.h"
#include <systemd/sd-event.h>

struct http_server;

/* Listens. config and what it points to must outlive the server. A socket file on which no process
 * listens is replaced; -EADDRINUSE if one does, -EEXIST if the path is no socket. */
int http_server_new(sd_event *event, const struct http_config *config, struct http_server **ret);
/* The socket's file is still at its path; always true over TCP. */
bool http_server_reachable(const struct http_server *s);
/* Closes every connection and removes the socket file. Not from inside a handler. */
void http_server_free(struct http_server *s);
