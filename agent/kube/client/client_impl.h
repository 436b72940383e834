/* SPDX-License-Identifier: Apache-2.0 */
/* Two rules on freeing: curl's own callbacks (in_curl) free nothing, so a cancelled call is only
 * marked there and freed right after; while an event handler runs (busy), the client is not freed
 * before it returns. */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/client/credential.h"
#include "agent/kube/client/curl.h"
#include "agent/kube/client/lines.h"

enum call_state {
	CALL_WAITING, /* for the loop to begin it */
	CALL_RUNNING, /* curl has it */
	CALL_ENDED,   /* in no list any more, done is being called */
};

struct kube_call {
	struct kube_client *client;
	struct kube_call *next;
	enum call_state state;
	bool cancelled;
	bool retried;
	bool stream;
	bool pieces;
	size_t body_max;
	kube_line_fn *too_long;
	bool cut; /* the body of a failure was longer than is kept */
	char *method;
	char *path;
	char *request;
	enum kube_content content;
	bool metadata_only;
	usec_t timeout_usec;
	kube_line_fn *line;
	kube_done_fn *done;
	void *arg;
	uint64_t token_version; /* of the token it was sent with */
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	struct lines lines;
	char *body;
	size_t len;
	size_t size;
	int stop; /* why we ended it ourselves */
	char problem[CURL_ERROR_SIZE];
};

#define CLIENT_SOCKETS_MAX 16

struct client_socket {
	int fd;
	bool busy; /* a request or a stream is on it, or its handshake is under way */
};

struct kube_client {
	sd_event *event;
	CURLM *multi; /* NULL: to be made with the next call */
	struct kube_config config;
	char *user_agent;
	struct credential token;
	struct credential ca;
	struct credential cert;
	struct credential key;
	sd_event_source *timer;
	sd_event_source *begin; /* of waiting calls */
	struct kube_call *calls;
	struct client_socket sockets[CLIENT_SOCKETS_MAX];
	size_t socket_count;
	bool in_curl;
	bool busy;
	bool dead; /* freed while busy */
	struct kube_client_counters counters;
	kube_count_fn *count;
	void *count_ctx;
};

/* --- client.c */
/* Reads what is due: the token every minute, the rest when it was replaced. -errno with text. */
int client_follow(struct kube_client *c, usec_t now, char *text, size_t size);
void client_unlink(struct kube_client *c, struct kube_call *call);
void client_destroy(struct kube_client *c);

/* --- loop.c */
int loop_start(struct kube_client *c);
void loop_stop(struct kube_client *c);

/* --- sockets.c */
/* The connections of this handle are counted. */
void sockets_follow(struct kube_client *c, CURL *easy);
void sockets_mark(struct kube_client *c, curl_socket_t fd, bool busy);

/* --- call.c */
int call_new(const struct kube_request *request, struct kube_call **ret);
/* Makes the curl handle. -errno with call->problem. */
int call_prepare(struct kube_call *call);
/* Lets go of the curl handle and of what came in, so that it can begin again. */
void call_reset(struct kube_call *call);
void call_free(struct kube_call *call);
unsigned call_status(const struct kube_call *call);
/* The answer once curl is through with it. */
struct kube_answer call_answer(struct kube_call *call, CURLcode result);
