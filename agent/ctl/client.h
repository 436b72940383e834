/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the daemon over its control socket. */
#pragma once

#include "agent/ctl/ctl.h"

/* 0: a process listens at the socket. -ENOENT, -ECONNREFUSED: no daemon runs. */
int client_probe(const char *socket_path);
bool client_no_daemon(int error);

/* Sends a request (body NULL: GET) and reads the answer. CTL_OK: *ret is owned by the caller;
 * otherwise the error has been printed, except for CTL_NOT_MANAGED with missing_ok. */
int client_call(const struct ctl *c, const char *path, const cJSON *body, cJSON **ret);
/* The same for path + the escaped name. */
int client_call_name(const struct ctl *c, const char *path, const char *name, cJSON **ret);
