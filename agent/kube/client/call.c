// SPDX-License-Identifier: Apache-2.0
/* One request: its curl handle, what comes in, and the answer that is made of it. */
#include "agent/kube/client/client_impl.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CONNECT_MSEC 10000L
#define REQUEST_MSEC 30000L
/* Of what comes in pieces, which may be as large as it likes: pods of a stranger may make a list
 * take longer than a request, but not stand still for as long. */
#define PIECES_MSEC 600000L
/* Of a failure: a Status or a proxy's page. */
#define FAILURE_BODY_MAX (64 * KIB)
#define FIRST_BODY_SIZE  (4 * KIB)
/* Per connection. Larger ones gain nothing at our rates. */
#define BUFFER_SIZE         16384L
#define RETRY_AFTER_MAX_SEC 3600UL

static const char *const content_types[] = {
	[KUBE_JSON] = "Content-Type: application/json",
	[KUBE_MERGE_PATCH] = "Content-Type: application/merge-patch+json",
	[KUBE_STRATEGIC_PATCH] = "Content-Type: application/strategic-merge-patch+json",
};

static const struct {
	CURLcode code;
	int error;
} errors[] = {
	{CURLE_OK, 0},
	{CURLE_OUT_OF_MEMORY, -ENOMEM},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_SSL_CONNECT_ERROR, -EKEYREJECTED},
	{CURLE_PEER_FAILED_VERIFICATION, -EKEYREJECTED},
	{CURLE_SSL_CERTPROBLEM, -EKEYREJECTED},
	{CURLE_SSL_CACERT_BADFILE, -EKEYREJECTED},
	{CURLE_SSL_CIPHER, -EKEYREJECTED},
	{CURLE_SSL_ISSUER_ERROR, -EKEYREJECTED},
	{CURLE_URL_MALFORMAT, -EINVAL},
};

static bool method_ok(const char *method)
{
	return method[0] != '\0' && method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static bool path_ok(const char *path)
{
	for (const char *p = path; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || *p == '#')
			return false;
	return path[0] == '/';
}

static int hand_on(struct kube_call *call, kube_line_fn *fn, const char *line, size_t len)
{
	int r = fn(call->arg, line, len);

	return call->cancelled ? -ECANCELED : r;
}

static int on_line(void *arg, const char *line, size_t len)
{
	return hand_on(arg, ((struct kube_call *)arg)->line, line, len);
}

static int on_long_line(void *arg, const char *line, size_t len)
{
	return hand_on(arg, ((struct kube_call *)arg)->too_long, line, len);
}

int call_new(const struct kube_request *request, struct kube_call **ret)
{
	struct kube_call *call;

	if (!method_ok(request->method) || !path_ok(request->path) ||
	    request->content >= ARRAY_SIZE(content_types))
		return -EINVAL;
	call = calloc(1, sizeof *call);
	if (call == NULL)
		return -ENOMEM;
	call->method = strdup(request->method);
	call->path = strdup(request->path);
	call->request = request->body != NULL ? strdup(request->body) : NULL;
	call->content = request->content;
	call->metadata_only = request->metadata_only;
	call->stream = request->stream;
	call->pieces = request->pieces;
	call->body_max = request->body_max != 0 ? request->body_max : KUBE_BODY_MAX;
	call->timeout_usec = request->timeout_usec;
	call->lines.max = KUBE_LINE_MAX;
	call->too_long = request->too_long;
	call->lines.too_long = request->too_long != NULL ? on_long_line : NULL;
	if (call->method == NULL || call->path == NULL ||
	    (request->body != NULL && call->request == NULL)) {
		call_free(call);
		return -ENOMEM;
	}
	*ret = call;
	return 0;
}

/* The Authorization line is among them. */
static void drop_headers(struct curl_slist *headers)
{
	for (struct curl_slist *h = headers; h != NULL; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl.slist_free_all(headers);
}

void call_reset(struct kube_call *call)
{
	if (call->easy != NULL && call->state == CALL_RUNNING && call->client->multi != NULL)
		curl.multi_remove_handle(call->client->multi, call->easy);
	curl.easy_cleanup(STEAL(call->easy));
	drop_headers(STEAL(call->headers));
	curl.slist_free_all(STEAL(call->connect_to));
	lines_drop(&call->lines);
	free(STEAL(call->body));
	call->len = 0;
	call->size = 0;
	call->cut = false;
	call->stop = 0;
}

void call_free(struct kube_call *call)
{
	call_reset(call);
	free(call->method);
	free(call->path);
	free(call->request);
	free(call);
}

unsigned call_status(const struct kube_call *call)
{
	long status = 0;

	curl.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	return status > 0 ? (unsigned)status : 0;
}

static bool is_good(unsigned status)
{
	return status / 100 == 2;
}

static int keep_body(struct kube_call *call, const char *data, size_t len, size_t max)
{
	size_t size = MAX(call->size, FIRST_BODY_SIZE);
	char *body;

	if (len > max - call->len)
		return -EMSGSIZE;
	while (size <= call->len + len)
		size *= 2;
	if (size != call->size) {
		body = realloc(call->body, size);
		if (body == NULL)
			return -ENOMEM;
		call->body = body;
		call->size = size;
	}
	memcpy(call->body + call->len, data, len);
	call->len += len;
	call->body[call->len] = '\0';
	return 0;
}

/* The status of a failure matters more than the end of its body: a longer one is cut. */
static int keep_failure(struct kube_call *call, const char *data, size_t len)
{
	size_t room = FAILURE_BODY_MAX - call->len;

	call->cut = len > room;
	return keep_body(call, data, MIN(len, room), FAILURE_BODY_MAX);
}

static size_t take_data(char *data, size_t size, size_t count, void *arg)
{
	struct kube_call *call = arg;
	size_t len = size * count;

	if (call->cancelled)
		return CURL_WRITEFUNC_ERROR;
	if (!is_good(call_status(call)))
		call->stop = keep_failure(call, data, len);
	else if (call->pieces)
		call->stop = on_line(call, data, len);
	else if (call->stream)
		call->stop = lines_feed(&call->lines, data, len, on_line, call);
	else
		call->stop = keep_body(call, data, len, call->body_max);
	return call->stop < 0 || call->cut ? CURL_WRITEFUNC_ERROR : len;
}

static int add_header(struct kube_call *call, const char *line)
{
	struct curl_slist *more = curl.slist_append(call->headers, line);

	if (more == NULL)
		return -ENOMEM;
	call->headers = more;
	return 0;
}

static int add_token(struct kube_call *call)
{
	const struct credential *token = &call->client->token;
	char *line;
	int r;

	call->token_version = token->version;
	if (token->text == NULL)
		return 0;
	if (asprintf(&line, "Authorization: Bearer %s", token->text) < 0)
		return -ENOMEM;
	r = add_header(call, line);
	credential_wipe(line);
	return r;
}

/* The API server answers with what it understands first; a form it does not know would be 406. */
static const char accept_metadata[] =
	"Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

static int set_headers(struct kube_call *call)
{
	int r = add_header(call,
			   call->metadata_only ? accept_metadata : "Accept: application/json");

	if (r == 0)
		r = add_token(call);
	if (r == 0 && call->request != NULL)
		r = add_header(call, content_types[call->content]);
	/* No waiting for "100 Continue". */
	if (r == 0 && call->request != NULL)
		r = add_header(call, "Expect:");
	if (r == 0)
		curl.easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	return r;
}

static void set_blob(CURL *easy, CURLoption option, const struct credential *c)
{
	struct curl_blob blob = {.data = c->text, .len = c->len, .flags = CURL_BLOB_COPY};

	if (c->text != NULL)
		curl.easy_setopt(easy, option, &blob);
}

static void set_tls(struct kube_call *call)
{
	const struct kube_client *c = call->client;
	CURL *easy = call->easy;

	curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, c->config.insecure ? 0L : 1L);
	curl.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, c->config.insecure ? 0L : 2L);
	/* Sessions and parsed trust stores would outlive a replaced CA, and take room. */
	curl.easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl.easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	if (c->ca.text != NULL) {
		/* This CA and none of the system's. */
		curl.easy_setopt(easy, CURLOPT_CAINFO, NULL);
		curl.easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	set_blob(easy, CURLOPT_CAINFO_BLOB, &c->ca);
	set_blob(easy, CURLOPT_SSLCERT_BLOB, &c->cert);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, &c->key);
}

static void drop_url(CURLU **u)
{
	curl.url_cleanup(*u);
}

static void drop_curl_text(char **text)
{
	curl.free(*text);
}

/* The URL has the name that the certificate must have, and the connection goes to the server's
 * address. Only the Host header has the server's own name. */
static int set_other_name(struct kube_call *call, const char *server, const char *name, char **ret)
{
	OWN(drop_url) CURLU *u = curl.url();
	OWN(drop_curl_text) char *host = NULL, *port = NULL, *url = NULL;
	char line[512];
	int r;

	if (u == NULL)
		return -ENOMEM;
	if (curl.url_set(u, CURLUPART_URL, server, 0) != CURLUE_OK ||
	    curl.url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl.url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
	    curl.url_set(u, CURLUPART_HOST, name, 0) != CURLUE_OK ||
	    curl.url_get(u, CURLUPART_URL, &url, 0) != CURLUE_OK)
		return -EINVAL;
	if ((size_t)snprintf(line, sizeof line, "Host: %s:%s", host, port) >= sizeof line)
		return -ENAMETOOLONG;
	r = add_header(call, line);
	if (r < 0)
		return r;
	snprintf(line, sizeof line, "::%s:%s", host, port);
	call->connect_to = curl.slist_append(NULL, line);
	if (call->connect_to == NULL)
		return -ENOMEM;
	curl.easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to);
	if (url[strlen(url) - 1] == '/')
		url[strlen(url) - 1] = '\0';
	*ret = strdup(url);
	return *ret != NULL ? 0 : -ENOMEM;
}

static int set_url(struct kube_call *call)
{
	const struct kube_config *k = &call->client->config;
	OWN(drop_free) char *base = NULL, *url = NULL;
	int r;

	if (k->tls_server_name != NULL && strncmp(k->server, "https:", 6) == 0) {
		r = set_other_name(call, k->server, k->tls_server_name, &base);
		if (r < 0)
			return r;
	}
	if (asprintf(&url, "%s%s", base != NULL ? base : k->server, call->path) < 0) {
		url = NULL;
		return -ENOMEM;
	}
	curl.easy_setopt(call->easy, CURLOPT_URL, url);
	return 0;
}

static void set_transport(struct kube_call *call)
{
	struct kube_client *c = call->client;
	CURL *easy = call->easy;
	long limit = call->stream ? 0 : REQUEST_MSEC;

	if (call->timeout_usec > 0)
		limit = (long)((call->timeout_usec + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
	if (call->pieces) {
		curl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (limit + 999) / 1000);
		limit = PIECES_MSEC;
	}
	curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl.easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	/* "" keeps the environment's proxies out. */
	curl.easy_setopt(easy, CURLOPT_PROXY, c->config.proxy_url ? c->config.proxy_url : "");
	curl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl.easy_setopt(easy, CURLOPT_USERAGENT, c->user_agent);
	curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_SIZE);
	curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MSEC);
	curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit);
	sockets_follow(c, easy);
	curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, call->problem);
	curl.easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
	curl.easy_setopt(easy, CURLOPT_WRITEDATA, call);
	if (call->request != NULL) {
		curl.easy_setopt(easy, CURLOPT_POSTFIELDS, call->request);
		curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)strlen(call->request));
	}
	curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

int call_prepare(struct kube_call *call)
{
	struct kube_client *c = call->client;
	uint64_t now;
	int r = sd_event_now(c->event, CLOCK_BOOTTIME, &now);

	call->problem[0] = '\0';
	if (r >= 0)
		r = client_follow(c, now, call->problem, sizeof call->problem);
	if (r < 0)
		return r;
	call->easy = curl.easy_init();
	r = call->easy != NULL ? set_url(call) : -ENOMEM;
	if (r == 0)
		r = set_headers(call);
	if (r < 0) {
		snprintf(call->problem, sizeof call->problem, "cannot be sent: %s", strerror(-r));
		return r;
	}
	set_tls(call);
	set_transport(call);
	return 0;
}

static int error_of(const struct kube_call *call, CURLcode result)
{
	long system_error = 0;

	if (call->stop < 0)
		return call->stop;
	if (call->cut)
		return 0;
	if (result == CURLE_OK)
		return lines_is_inside(&call->lines) ? -EPROTO : 0;
	curl.easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &system_error);
	if (result == CURLE_COULDNT_CONNECT && system_error > 0)
		return -(int)system_error;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == result)
			return errors[i].error;
	return -EPROTO;
}

static const char *body_too_large(struct kube_call *call)
{
	bool mib = call->body_max % MIB == 0;

	snprintf(call->problem, sizeof call->problem, "the body is larger than %llu %s",
		 (unsigned long long)call->body_max / (mib ? MIB : KIB), mib ? "MiB" : "KiB");
	return call->problem;
}

static const char *detail_of(struct kube_call *call, CURLcode result)
{
	if (call->stop == -EMSGSIZE)
		return call->stream   ? "a line is longer than 2 MiB"
		       : call->pieces ? "what is around the items is larger than 256 KiB"
				      : body_too_large(call);
	if (call->stop < 0)
		return strerror(-call->stop);
	if (call->cut)
		return "the body is cut at 64 KiB";
	if (result == CURLE_OK)
		return lines_is_inside(&call->lines) ? "the stream ended inside a line" : "";
	for (char *p = call->problem; *p != '\0'; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return call->problem[0] != '\0' ? call->problem : curl.easy_strerror(result);
}

static const char *header(const struct kube_call *call, const char *name)
{
	struct curl_header *h;

	return curl.easy_header(call->easy, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? h->value
											: "";
}

static bool is_json(const struct kube_call *call)
{
	static const char name[] = "application/json";
	const char *type = header(call, "Content-Type");

	return strncasecmp(type, name, sizeof name - 1) == 0 &&
	       strchr("; \t", type[sizeof name - 1]) != NULL;
}

/* Seconds; a date is ignored. */
static usec_t retry_after(const struct kube_call *call)
{
	const char *text = header(call, "Retry-After");
	char *end;
	unsigned long sec = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0')
		return 0;
	return MIN(sec, RETRY_AFTER_MAX_SEC) * USEC_PER_SEC;
}

struct kube_answer call_answer(struct kube_call *call, CURLcode result)
{
	struct kube_answer a = {
		.status = call_status(call),
		.error = error_of(call, result),
		.detail = detail_of(call, result),
		.body = "",
		.json = is_json(call),
		.retry_after_usec = retry_after(call),
	};

	/* Half a good body is none; of a failure all is taken that came. */
	if (call->body != NULL && (a.error == 0 || !is_good(a.status))) {
		a.body = call->body;
		a.len = call->len;
	}
	return a;
}
