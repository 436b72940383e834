/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP for tests: plain sockets, one request a connection, failures end the program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A port to listen at, below the kernel's range for outgoing connections (32768 and up): no
 * connection of this or another test takes it before the daemon does. */
unsigned crig_free_port(void);
/* 127.0.0.1:port, or the Unix socket at path. */
int crig_connect(unsigned port, const char *path);
/* more: header lines, each with its end; body "": none. */
void crig_send(int fd, const char *method, const char *path, const char *more, const char *body);

struct crig_bytes {
	char *text;
	size_t len, size;
};
/* What is there, without waiting. True: that was all. */
bool crig_receive(int fd, struct crig_bytes *b);
/* The status, 0: it is no answer. The body in *ret, owned. Takes b. */
unsigned crig_answer(struct crig_bytes *b, char **ret);
