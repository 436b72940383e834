/* SPDX-License-Identifier: Apache-2.0 */
/* Passes answers to the library; private to http_server.c. */
#pragma once

#include "agent/http/http.h"
#include <microhttpd.h>

/* When a connection last made progress, in turns of the server. */
struct http_progress {
	uint64_t *last;
	const uint64_t *now;
};

struct http_reply {
	struct http_progress progress; /* noted with each piece of a stream that is fetched */
	const char *allow;             /* for 405: the methods there are */
	const char *hint;              /* for 404; NULL: none */
	bool head;                     /* the length alone is asked for */
};

/* Owns answer->body or answer->stream from here on. */
enum MHD_Result http_reply_send(struct MHD_Connection *c, const struct http_reply *reply,
				struct http_response *answer);
/* Sends one of the server's own refusals. */
enum MHD_Result http_reply_refuse(struct MHD_Connection *c, const struct http_reply *reply,
				  unsigned status);
/* The client announces a body that is larger than the limit: it is refused without being read. */
bool http_announces_too_much(struct MHD_Connection *c);
