/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP to one API server: curl multi on the caller's event loop. Never parses a body. The only
 * retry is one after a 401, with a token that was read again. */
#pragma once

#include "agent/kube/client/config.h"
#include <systemd/sd-event.h>

/* Of a stream, or an item of a list that is handed on in pieces. */
#define KUBE_LINE_MAX (2 * MIB)
/* Of a body that is kept, unless the request says otherwise. */
#define KUBE_BODY_MAX (32 * MIB)

enum kube_content {
	KUBE_JSON,            /* application/json */
	KUBE_MERGE_PATCH,     /* application/merge-patch+json */
	KUBE_STRATEGIC_PATCH, /* application/strategic-merge-patch+json */
};

/* A whole line of a stream with a 2xx status, without its end. Negative ends the stream. */
typedef int kube_line_fn(void *arg, const char *line, size_t len);

struct kube_request {
	const char *method; /* "GET", "PATCH", "POST" */
	const char *path;   /* with its query, percent-encoded: "/api/v1/pods?..." */
	const char *body;   /* NULL: none; copied */
	enum kube_content content;
	bool metadata_only; /* the objects without spec and status: PartialObjectMetadata */
	bool stream;        /* a watch: lines are handed on as they come, no time limit */
	/* Of a stream: the beginning of a line that is longer than KUBE_LINE_MAX; the rest of it is
	 * skipped. NULL: it ends the stream with -EMSGSIZE. */
	kube_line_fn *too_long;
	bool pieces;     /* the body is handed on as it comes, whatever its size, and not kept */
	size_t body_max; /* bytes; 0: KUBE_BODY_MAX */
	usec_t timeout_usec; /* 0: 30 s; a stream: none but for the connection; pieces: for how long
				none may come, in all 10 min */
};

/* Check error first: a 200 whose body broke off has both, and no body. */
struct kube_answer {
	unsigned status;    /* HTTP; 0: there was none, see error */
	int error;          /* 0 or -errno: -ETIMEDOUT, -ECONNREFUSED, -EHOSTUNREACH, -EMSGSIZE (too
			       large), -EPROTO, -ECANCELED, -EKEYREJECTED (TLS) ... */
	const char *detail; /* of the transport, for the log; never NULL */
	const char *body;   /* NUL-terminated; of a stream "", unless the status is no 2xx */
	size_t len;
	usec_t retry_after_usec; /* 0: not said */
};

/* The end of a request; once per request that was started. New requests may be started inside. */
typedef void kube_done_fn(void *arg, const struct kube_answer *answer);
/* The end of every request, before `done`; verb: static text, "list", "watch", "get", "create",
 * "patch". */
typedef void kube_count_fn(void *ctx, const char *verb, unsigned status);
struct kube_client_counters {
	uint64_t requests; /* started */
	uint64_t failures; /* no HTTP answer */
	uint64_t token_reads;
};

struct kube_client;
struct kube_call; /* a request under way; borrowed, gone once done was called */

/* config is copied. user_agent: "vscaled/0.1.0 (linux/amd64)". -ELIBACC: libcurl is not there. */
int kube_client_new(sd_event *event, const struct kube_config *config, const char *user_agent,
		    struct kube_client **ret);
/* Ends every call without calling done. */
void kube_client_free(struct kube_client *c);
/* Calls fn for every request that ends, but not for a cancelled one, and `after` after its `done`.
 */
void kube_client_on_end(struct kube_client *c, kube_count_fn *fn, void (*after)(void *ctx),
			void *ctx);

/* line NULL unless request->stream or pieces. ret may be NULL. -errno: nothing was started. */
int kube_client_start(struct kube_client *c, const struct kube_request *request, kube_line_fn *line,
		      kube_done_fn *done, void *arg, struct kube_call **ret);
/* Of a stream: a 2xx status has come, lines may follow. */
bool kube_call_is_open(const struct kube_call *call);
/* done is not called. */
void kube_call_cancel(struct kube_call *call);

/* Open connections that carry nothing, and that the server has not closed. */
size_t kube_client_idle(const struct kube_client *c);
/* Is a request under way that is not a stream? Its connection may be idle next. */
bool kube_client_requests(const struct kube_client *c);

/* Where requests go: a client, or in tests a script that answers in virtual time. */
struct kube_port {
	void *ctx;
	/* Contracts of kube_client_start() and kube_call_cancel(). */
	int (*start)(void *ctx, const struct kube_request *request, kube_done_fn *done, void *arg,
		     struct kube_call **ret);
	void (*cancel)(void *ctx, struct kube_call *call);
	const usec_t *now; /* boottime */
};

const struct kube_client_counters *kube_client_counters(const struct kube_client *c);
const char *kube_client_server(const struct kube_client *c);
