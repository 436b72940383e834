// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http_reply.h"
#include <malloc.h>
#include <string.h>

/* The memory of an answer of this size or more is returned to the system once it is sent: the
 * allocator would keep it for the next one. */
#define LARGE_BODY (128 * KIB)

/* The library's buffer for a piece of a stream. */
#define STREAM_BYTES (16 * KIB)

struct refusal {
	unsigned status;
	const char *error;
	const char *hint;
};

static const struct refusal refusals[] = {
	{MHD_HTTP_BAD_REQUEST, "the path is not valid", "escape other characters as %XX"},
	{MHD_HTTP_FORBIDDEN, "not allowed", "ask as root or as a member of the socket's group"},
	{MHD_HTTP_NOT_FOUND, "no such path", NULL},
	{MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed for this path", "see the header Allow"},
	{MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large", "at most 64 KiB"},
	{MHD_HTTP_INTERNAL_SERVER_ERROR, "the request failed inside the daemon", NULL},
};

struct sent_stream {
	struct http_stream stream;
	struct http_progress progress;
};

static void free_large(void *body)
{
	free(body);
	malloc_trim(0);
}

static ssize_t stream_read(void *ctx, uint64_t, char *to, size_t size)
{
	struct sent_stream *sent = ctx;
	ssize_t n = sent->stream.read(sent->stream.ctx, to, size);

	*sent->progress.last = *sent->progress.now;
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

static void stream_free(void *ctx)
{
	struct sent_stream *sent = ctx;

	sent->stream.free(sent->stream.ctx);
	free(sent);
}

/* Reads it to its end: the library sends the last chunk of a body even where there is none. */
static uint64_t stream_length(const struct http_stream *stream)
{
	char piece[STREAM_BYTES];
	uint64_t length = 0;
	ssize_t n;

	while ((n = stream->read(stream->ctx, piece, sizeof piece)) > 0)
		length += (uint64_t)n;
	return length;
}

static struct MHD_Response *respond_stream(const struct http_stream *stream,
					   const struct http_reply *reply)
{
	struct sent_stream *sent = malloc(sizeof *sent);
	uint64_t length = reply->head ? stream_length(stream) : MHD_SIZE_UNKNOWN;
	struct MHD_Response *response = NULL;

	if (sent) {
		*sent = (struct sent_stream){*stream, reply->progress};
		response = MHD_create_response_from_callback(length, STREAM_BYTES, stream_read,
							     sent, stream_free);
	}
	if (!response) {
		stream->free(stream->ctx);
		free(sent);
	}
	return response;
}

static struct MHD_Response *respond_body(struct http_response *answer)
{
	size_t size = answer->body_size ? answer->body_size : strlen(answer->body);
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback(
		size, answer->body, size < LARGE_BODY ? free : free_large);

	if (!response)
		free(answer->body);
	return response;
}

enum MHD_Result http_reply_send(struct MHD_Connection *c, const struct http_reply *reply,
				struct http_response *answer)
{
	const char *type = answer->content_type ? answer->content_type : "application/json";
	struct MHD_Response *response =
		answer->body ? respond_body(answer) : respond_stream(&answer->stream, reply);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (reply->allow && answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
	r = MHD_queue_response(c, answer->status, response);
	MHD_destroy_response(response);
	return r;
}

enum MHD_Result http_reply_refuse(struct MHD_Connection *c, const struct http_reply *reply,
				  unsigned status)
{
	struct http_response answer;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const char *hint = status == MHD_HTTP_NOT_FOUND ? reply->hint : refusals[i].hint;

		if (refusals[i].status != status)
			continue;
		if (http_fail(&answer, status, refusals[i].error, hint) < 0)
			return MHD_NO;
		return http_reply_send(c, reply, &answer);
	}
	return MHD_NO;
}

bool http_announces_too_much(struct MHD_Connection *c)
{
	const char *length =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length && strtoull(length, NULL, 10) > HTTP_BODY_MAX;
}
