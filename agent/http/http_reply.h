/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as the library takes them; private to http.c. */
#pragma once

#include "agent/http/http.h"
#include <microhttpd.h>

/* When a connection last moved on, in turns of the server. */
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
/* One of the refusals that the server itself knows. */
enum MHD_Result http_reply_refuse(struct MHD_Connection *c, const struct http_reply *reply,
				  unsigned status);
/* The client announces a body of more than is taken: it is refused without being read. */
bool http_announces_too_much(struct MHD_Connection *c);
