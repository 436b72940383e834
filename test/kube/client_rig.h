/* SPDX-License-Identifier: Apache-2.0 */
/* A client, a loop to turn, and what its calls ended with. */
#pragma once

#include "agent/kube/client/client.h"
#include "script_server.h"
#include <systemd/sd-event.h>

struct rig_result {
	int done; /* times */
	unsigned status;
	int error;
	char detail[512];
	char *body; /* the first bytes of it; NULL: none yet */
	size_t len;
	usec_t retry_after_usec;
	char lines[512]; /* of a stream, "|" behind each */
	size_t line_count;
	size_t line_bytes;
};

struct rig {
	sd_event *event;
	struct kube_client *client;
	struct kube_config config; /* its strings are the test's */
	char server[128];
};

usec_t rig_now(void);
/* An event loop; the client for scheme://127.0.0.1:port comes with rig_client. */
void rig_open(struct rig *r, const char *scheme, unsigned port);
void rig_client(struct rig *r);
void rig_close(struct rig *r);
/* Turns the loop until *value has reached want or the time is over. */
void rig_turn(struct rig *r, const int *value, int want, usec_t span);
int rig_line(void *arg, const char *line, size_t len);
void rig_done(void *arg, const struct kube_answer *answer);
/* One GET to its end. */
struct rig_result rig_get(struct rig *r, const char *path, bool stream);
struct rig_result rig_ask(struct rig *r, const struct kube_request *request);
void rig_drop(struct rig_result *r);
size_t rig_open_files(void);
/* name in folder := text, replaced as the kubelet does, by a rename. */
void rig_write(const char *folder, const char *name, const char *text);
