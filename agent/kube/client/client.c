// SPDX-License-Identifier: Apache-2.0
/* Two rules on freeing: curl's own callbacks (in_curl) free nothing, so a cancelled call is only
 * marked there and freed right after; while an event handler runs (busy), the client is not freed
 * before it returns. */
#include "agent/kube/client/client.h"
#include "agent/base/process.h"
#include "agent/kube/client/credential.h"
#include "agent/kube/client/curl.h"
#include "agent/kube/client/lines.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

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
	struct kube_request q; /* its texts are owned */
	bool cut;              /* the body of a failure was longer than is kept */
	kube_line_fn *line;
	kube_done_fn *done;
	void *arg;
	uint64_t token_version; /* of the token it was sent with */
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	struct lines lines;
	struct received body;
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
	void (*after)(void *ctx);
	void *count_ctx;
};

/* --- what it reads from files */

#define TOKEN_AGE_USEC USEC_PER_MIN

/* A text is moved here from the configuration. */
static struct credential credential_of(const char *file, char **text)
{
	size_t len = *text != NULL ? strlen(*text) : 0;

	return (struct credential){.path = file, .text = STEAL(*text), .len = len};
}

static int say_unread(const struct credential *c, int error, char *text, size_t size)
{
	snprintf(text, size, "%s: %s", c->path,
		 error == -EBADMSG ? "holds no token" : strerror(-error));
	return error;
}

/* Reads what is due: the token every minute, the rest when it was replaced. -errno with text. */
static int client_follow(struct kube_client *c, usec_t now, char *text, size_t size)
{
	struct credential *const files[] = {&c->ca, &c->cert, &c->key};
	int r;

	if (c->token.path != NULL &&
	    (c->token.text == NULL || now >= c->token.read_at + TOKEN_AGE_USEC)) {
		c->counters.token_reads++;
		r = credential_follow_token(&c->token, now);
		if (r < 0)
			return say_unread(&c->token, r, text, size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		r = credential_follow(files[i]);
		if (r < 0)
			return say_unread(files[i], r, text, size);
	}
	return 0;
}

/* --- the sockets of curl's connections: which of them carry no request and are still open */

#define KEEPALIVE_SEC      30L
#define KEEPALIVE_STEP_SEC 15L
/* A dead peer is noticed after 30 + 3 x 15 s. */
#define KEEPALIVE_COUNT 3

/* curl is about to connect it. */
static int socket_opened(void *arg, curl_socket_t fd, curlsocktype)
{
	struct kube_client *c = arg;
	int count = KEEPALIVE_COUNT;

	/* Errors are ignored: without these options a dead peer is noticed later, and a child
	 * process is never started here. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* A socket beyond the table counts as in use. */
	if (c->socket_count < ARRAY_SIZE(c->sockets))
		c->sockets[c->socket_count++] = (struct client_socket){.fd = fd, .busy = true};
	/* A handshake maps megabytes of code for a moment: first unmap what other work has left. */
	footprint_trim();
	return CURL_SOCKOPT_OK;
}

static int socket_closed(void *arg, curl_socket_t fd)
{
	struct kube_client *c = arg;

	for (size_t i = 0; i < c->socket_count; i++)
		if (c->sockets[i].fd == fd) {
			c->sockets[i] = c->sockets[--c->socket_count];
			break;
		}
	return close(fd);
}

/* The connections of this handle are counted. */
static void sockets_follow(struct kube_client *c, CURL *easy)
{
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_SEC);
	curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_STEP_SEC);
	curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, socket_opened);
	curl.easy_setopt(easy, CURLOPT_SOCKOPTDATA, c);
	curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, socket_closed);
	curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, c);
}

static bool is_open(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 0;
}

size_t kube_client_idle(const struct kube_client *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->socket_count; i++)
		n += !c->sockets[i].busy && is_open(c->sockets[i].fd);
	return n;
}

bool kube_client_requests(const struct kube_client *c)
{
	for (const struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (!call->q.stream)
			return true;
	return false;
}

/* --- one request: its curl handle, what comes in, and the answer that is made of it */

#define CONNECT_MSEC 10000L
#define REQUEST_MSEC 30000L
/* Of what comes in pieces, which may be as large as it likes: pods of a stranger may make a list
 * take longer than a request, but not stand still for as long. */
#define PIECES_MSEC 600000L
/* Of a failure: a Status or a proxy's page. */
#define FAILURE_BODY_MAX (64 * KIB)
/* Per connection and direction. Larger ones gain nothing at our rates. */
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
	return hand_on(arg, ((struct kube_call *)arg)->q.too_long, line, len);
}

/* The Authorization line is among them. */
static void drop_headers(struct curl_slist *headers)
{
	for (struct curl_slist *h = headers; h != NULL; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl.slist_free_all(headers);
}

/* Lets go of the curl handle and of what came in, so that it can begin again. */
static void call_reset(struct kube_call *call)
{
	if (call->easy != NULL && call->state == CALL_RUNNING && call->client->multi != NULL)
		curl.multi_remove_handle(call->client->multi, call->easy);
	curl.easy_cleanup(STEAL(call->easy));
	drop_headers(STEAL(call->headers));
	curl.slist_free_all(STEAL(call->connect_to));
	lines_drop(&call->lines);
	received_drop(&call->body);
	call->cut = false;
	call->stop = 0;
}

static void call_free(struct kube_call *call)
{
	call_reset(call);
	free((char *)call->q.method);
	free((char *)call->q.path);
	free((char *)call->q.body);
	free(call);
}

static int call_new(const struct kube_request *request, struct kube_call **ret)
{
	struct kube_call *call;

	if (!method_ok(request->method) || !path_ok(request->path) ||
	    request->content >= ARRAY_SIZE(content_types))
		return -EINVAL;
	call = calloc(1, sizeof *call);
	if (call == NULL)
		return -ENOMEM;
	call->q = *request;
	call->q.method = strdup(request->method);
	call->q.path = strdup(request->path);
	call->q.body = request->body != NULL ? strdup(request->body) : NULL;
	if (request->body_max == 0)
		call->q.body_max = KUBE_BODY_MAX;
	call->lines.max = KUBE_LINE_MAX;
	call->lines.too_long = request->too_long != NULL ? on_long_line : NULL;
	if (call->q.method == NULL || call->q.path == NULL ||
	    (request->body != NULL && call->q.body == NULL)) {
		call_free(call);
		return -ENOMEM;
	}
	*ret = call;
	return 0;
}

static unsigned call_status(const struct kube_call *call)
{
	long status = 0;

	curl.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	return status > 0 ? (unsigned)status : 0;
}

static bool is_good(unsigned status)
{
	return status / 100 == 2;
}

/* The status of a failure matters more than the end of its body: a longer one is cut. */
static int keep_failure(struct kube_call *call, const char *data, size_t len)
{
	size_t room = FAILURE_BODY_MAX - call->body.len;

	call->cut = len > room;
	return received_add(&call->body, data, MIN(len, room), FAILURE_BODY_MAX);
}

static size_t take_data(char *data, size_t size, size_t count, void *arg)
{
	struct kube_call *call = arg;
	size_t len = size * count;

	if (call->cancelled)
		return CURL_WRITEFUNC_ERROR;
	if (!is_good(call_status(call)))
		call->stop = keep_failure(call, data, len);
	else if (call->q.pieces)
		call->stop = on_line(call, data, len);
	else if (call->q.stream)
		call->stop = lines_feed(&call->lines, data, len, on_line, call);
	else
		call->stop = received_add(&call->body, data, len, call->q.body_max);
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
			   call->q.metadata_only ? accept_metadata : "Accept: application/json");

	if (r == 0)
		r = add_token(call);
	if (r == 0 && call->q.body != NULL)
		r = add_header(call, content_types[call->q.content]);
	/* No waiting for "100 Continue". */
	if (r == 0 && call->q.body != NULL)
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
	if (asprintf(&url, "%s%s", base != NULL ? base : k->server, call->q.path) < 0) {
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
	long limit = call->q.stream ? 0 : REQUEST_MSEC;

	if (call->q.timeout_usec > 0)
		limit = (long)((call->q.timeout_usec + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
	if (call->q.pieces) {
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
	curl.easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_SIZE);
	curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MSEC);
	curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit);
	sockets_follow(c, easy);
	curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, call->problem);
	curl.easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
	curl.easy_setopt(easy, CURLOPT_WRITEDATA, call);
	if (call->q.body != NULL) {
		curl.easy_setopt(easy, CURLOPT_POSTFIELDS, call->q.body);
		curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)strlen(call->q.body));
	}
	curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->q.method);
}

/* Makes the curl handle. -errno with call->problem. */
static int call_prepare(struct kube_call *call)
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
	bool mib = call->q.body_max % MIB == 0;

	snprintf(call->problem, sizeof call->problem, "the body is larger than %llu %s",
		 (unsigned long long)call->q.body_max / (mib ? MIB : KIB), mib ? "MiB" : "KiB");
	return call->problem;
}

static const char *detail_of(struct kube_call *call, CURLcode result)
{
	if (call->stop == -EMSGSIZE)
		return call->q.stream   ? "a line is longer than 2 MiB"
		       : call->q.pieces ? "what is around the items is larger than 256 KiB"
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

/* Seconds; a date is ignored. */
static usec_t retry_after(const struct kube_call *call)
{
	struct curl_header *h;
	unsigned long sec;
	char *end;

	if (curl.easy_header(call->easy, "Retry-After", 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return 0;
	sec = strtoul(h->value, &end, 10);
	if (!isdigit((unsigned char)h->value[0]) || *end != '\0')
		return 0;
	return MIN(sec, RETRY_AFTER_MAX_SEC) * USEC_PER_SEC;
}

/* The answer once curl is through with it. */
static struct kube_answer call_answer(struct kube_call *call, CURLcode result)
{
	struct kube_answer a = {
		.status = call_status(call),
		.error = error_of(call, result),
		.detail = detail_of(call, result),
		.body = "",
		.retry_after_usec = retry_after(call),
	};

	/* Half a good body is none; of a failure all is taken that came. */
	if (call->body.text != NULL && (a.error == 0 || !is_good(a.status))) {
		a.body = call->body.text;
		a.len = call->body.len;
	}
	return a;
}

/* --- curl's sockets and its timer as sources of the event loop */

/* Connections that are kept, with that of the watch: two for requests (cluster.c). */
#define CONNECTIONS_MAX 3L

/* The verb as in kube-apiserver's own metrics. Every GET but /api/v1 and /version is a list. */
static const char *verb_of(const struct kube_call *call)
{
	static const struct {
		const char *method, *verb;
	} verbs[] = {{"POST", "create"}, {"PATCH", "patch"}, {"PUT", "update"}};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(call->q.method, verbs[i].method) == 0)
			return verbs[i].verb;
	if (call->q.stream)
		return "watch";
	return strcmp(call->q.path, "/api/v1") == 0 || strcmp(call->q.path, "/version") == 0
		       ? "get"
		       : "list";
}

static void client_unlink(struct kube_client *c, struct kube_call *call)
{
	struct kube_call **p = &c->calls;

	while (*p != call)
		p = &(*p)->next;
	*p = call->next;
	call->next = NULL;
}

/* Ends a call and frees it. The client may be dead afterwards. */
static void end_call(struct kube_call *call, const struct kube_answer *answer)
{
	struct kube_client *c = call->client;
	void (*after)(void *ctx) = c->after, *ctx = c->count_ctx;

	client_unlink(c, call);
	call->state = CALL_ENDED;
	if (answer->status == 0)
		c->counters.failures++;
	if (c->count != NULL)
		c->count(ctx, verb_of(call), answer->status);
	call->done(call->arg, answer);
	call_free(call);
	if (after != NULL)
		after(ctx);
}

static void fail_call(struct kube_call *call, int error, const char *detail)
{
	end_call(call, &(struct kube_answer){.error = error, .detail = detail, .body = ""});
}

/* A 401 may only mean that our token is older than the file. */
static bool retry_with_new_token(struct kube_call *call)
{
	struct kube_client *c = call->client;
	uint64_t now;

	if (call->retried || c->token.path == NULL || call_status(call) != 401)
		return false;
	if (sd_event_now(c->event, CLOCK_BOOTTIME, &now) < 0)
		return false;
	c->counters.token_reads++;
	if (credential_follow_token(&c->token, now) < 0 || c->token.version == call->token_version)
		return false;
	if (sd_event_source_set_enabled(c->begin, SD_EVENT_ONESHOT) < 0)
		return false;
	call_reset(call);
	call->retried = true;
	call->state = CALL_WAITING;
	return true;
}

static void reap_cancelled(struct kube_client *c)
{
	struct kube_call **p = &c->calls;

	while (*p != NULL) {
		struct kube_call *call = *p;

		if (!call->cancelled) {
			p = &call->next;
			continue;
		}
		*p = call->next;
		call_free(call);
	}
}

static void loop_collect(struct kube_client *c)
{
	CURLMsg *m;
	int left;

	reap_cancelled(c);
	while (!c->dead && c->multi != NULL &&
	       (m = curl.multi_info_read(c->multi, &left)) != NULL) {
		CURLcode result = m->data.result;
		struct kube_call *call = NULL;
		struct kube_answer answer;

		curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call);
		curl.multi_remove_handle(c->multi, m->easy_handle);
		if (result == CURLE_OK && retry_with_new_token(call))
			continue;
		answer = call_answer(call, result);
		end_call(call, &answer);
	}
}

/* curl's state is broken (it could not watch a socket): every call ends, the next has a new one. */
static void give_up(struct kube_client *c, CURLMcode code)
{
	CURLM *broken = STEAL(c->multi);

	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (call->state == CALL_RUNNING)
			curl.multi_remove_handle(broken, call->easy);
	for (struct kube_call *call = c->calls; call != NULL && !c->dead;) {
		if (call->state != CALL_RUNNING) {
			call = call->next;
			continue;
		}
		fail_call(call, -EIO, curl.multi_strerror(code));
		call = c->calls;
	}
	curl.multi_cleanup(broken);
}

static void client_destroy(struct kube_client *c)
{
	assert(!c->in_curl);

	while (c->calls != NULL) {
		struct kube_call *call = c->calls;

		client_unlink(c, call);
		call_free(call);
	}
	if (c->multi != NULL)
		curl.multi_cleanup(c->multi);
	sd_event_source_disable_unref(c->begin);
	sd_event_source_disable_unref(c->timer);
	credential_wipe(c->token.text);
	credential_wipe(c->ca.text);
	credential_wipe(c->cert.text);
	credential_wipe(c->key.text);
	kube_config_free(&c->config);
	free(c->user_agent);
	sd_event_unref(c->event);
	free(c);
	curl.global_cleanup();
}

static void leave(struct kube_client *c)
{
	c->busy = false;
	if (c->dead)
		client_destroy(c);
}

static void act(struct kube_client *c, curl_socket_t fd, int mask)
{
	CURLMcode code;
	int running;

	if (c->multi == NULL)
		return;
	c->busy = true;
	c->in_curl = true;
	code = curl.multi_socket_action(c->multi, fd, mask, &running);
	c->in_curl = false;
	loop_collect(c);
	if (code != CURLM_OK && !c->dead)
		give_up(c, code);
	leave(c);
}

static int on_io(sd_event_source *, int fd, uint32_t revents, void *arg)
{
	int mask = 0;

	if (revents & (EPOLLIN | EPOLLHUP))
		mask |= CURL_CSELECT_IN;
	if (revents & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (revents & EPOLLERR)
		mask |= CURL_CSELECT_ERR;
	act(arg, fd, mask);
	return 0;
}

static int on_timer(sd_event_source *, uint64_t, void *arg)
{
	act(arg, CURL_SOCKET_TIMEOUT, 0);
	return 0;
}

static int socket_changed(CURL *, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct kube_client *c = arg;
	sd_event_source *source = socket_arg;
	uint32_t events = 0;

	for (size_t i = 0; i < c->socket_count; i++)
		if (c->sockets[i].fd == fd)
			c->sockets[i].busy = what != CURL_POLL_REMOVE;
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(source);
		if (c->multi != NULL)
			curl.multi_assign(c->multi, fd, NULL);
		return 0;
	}
	events |= what & CURL_POLL_IN ? EPOLLIN : 0;
	events |= what & CURL_POLL_OUT ? EPOLLOUT : 0;
	if (source != NULL)
		return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
	if (sd_event_add_io(c->event, &source, fd, events, on_io, c) < 0)
		return -1;
	curl.multi_assign(c->multi, fd, source);
	return 0;
}

static int timer_changed(CURLM *, long timeout_msec, void *arg)
{
	struct kube_client *c = arg;
	int r;

	if (timeout_msec < 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	else
		r = sd_event_source_set_time_relative(c->timer,
						      (uint64_t)timeout_msec * USEC_PER_MSEC);
	if (r >= 0 && timeout_msec >= 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
	return r < 0 ? -1 : 0;
}

static int make_multi(struct kube_client *c)
{
	if (c->multi != NULL)
		return 0;
	c->multi = curl.multi_init();
	if (c->multi == NULL)
		return -ENOMEM;
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, timer_changed);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
	return 0;
}

static void begin_call(struct kube_client *c, struct kube_call *call)
{
	CURLMcode code;
	int r = make_multi(c);

	if (r < 0) {
		fail_call(call, r, "out of memory");
		return;
	}
	r = call_prepare(call);
	if (r < 0) {
		fail_call(call, r, call->problem);
		return;
	}
	code = curl.multi_add_handle(c->multi, call->easy);
	if (code != CURLM_OK) {
		fail_call(call, -EIO, curl.multi_strerror(code));
		return;
	}
	call->state = CALL_RUNNING;
}

/* The oldest waiting call, which is the last of the list. */
static struct kube_call *next_waiting(const struct kube_client *c)
{
	struct kube_call *found = NULL;

	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (call->state == CALL_WAITING)
			found = call;
	return found;
}

static int on_begin(sd_event_source *, void *arg)
{
	struct kube_client *c = arg;
	size_t count = 0;

	c->busy = true;
	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		count += call->state == CALL_WAITING;
	/* A call that is started from a done here is begun later, so that this loop ends. */
	for (; count > 0 && !c->dead; count--) {
		struct kube_call *call = next_waiting(c);

		if (call != NULL)
			begin_call(c, call);
	}
	leave(c);
	return 0;
}

static int loop_start(struct kube_client *c)
{
	int r = sd_event_add_defer(c->event, &c->begin, on_begin, c);

	if (r >= 0)
		r = sd_event_source_set_enabled(c->begin, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC, UINT64_MAX,
				      USEC_PER_MSEC, on_timer, c);
	if (r >= 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	return r < 0 ? r : 0;
}

/* --- the client */

int kube_client_new(sd_event *event, const struct kube_config *config, const char *user_agent,
		    struct kube_client **ret)
{
	int r = curl_load();
	struct kube_client *c;

	if (r < 0)
		return r;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return -ENOMEM;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(c);
		return -ENOMEM;
	}
	c->event = sd_event_ref(event);
	c->user_agent = strdup(user_agent);
	r = kube_config_copy(config, &c->config);
	c->token = credential_of(c->config.token_file, &c->config.token);
	c->ca = credential_of(c->config.ca_file, &c->config.ca_data);
	c->cert = credential_of(c->config.cert_file, &c->config.cert_data);
	c->key = credential_of(c->config.key_file, &c->config.key_data);
	if (c->user_agent == NULL)
		r = -ENOMEM;
	if (r == 0)
		r = loop_start(c);
	if (r < 0) {
		client_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}

void kube_client_free(struct kube_client *c)
{
	if (c == NULL)
		return;
	if (!c->busy) {
		client_destroy(c);
		return;
	}
	c->dead = true;
	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		call->cancelled = true;
}

int kube_client_start(struct kube_client *c, const struct kube_request *request, kube_line_fn *line,
		      kube_done_fn *done, void *arg, struct kube_call **ret)
{
	struct kube_call *call;
	int r;

	assert(!c->dead && done != NULL);

	if ((request->stream || request->pieces) != (line != NULL))
		return -EINVAL;
	r = call_new(request, &call);
	if (r < 0)
		return r;
	call->client = c;
	call->line = line;
	call->done = done;
	call->arg = arg;
	r = sd_event_source_set_enabled(c->begin, SD_EVENT_ONESHOT);
	if (r < 0) {
		call_free(call);
		return r;
	}
	call->next = c->calls;
	c->calls = call;
	c->counters.requests++;
	if (ret != NULL)
		*ret = call;
	return 0;
}

bool kube_call_is_open(const struct kube_call *call)
{
	return call->state == CALL_RUNNING && is_good(call_status(call));
}

void kube_call_cancel(struct kube_call *call)
{
	if (call == NULL || call->state == CALL_ENDED)
		return;
	call->cancelled = true;
	if (call->client->in_curl || call->client->dead)
		return;
	client_unlink(call->client, call);
	call_free(call);
}

const struct kube_client_counters *kube_client_counters(const struct kube_client *c)
{
	return &c->counters;
}

const char *kube_client_server(const struct kube_client *c)
{
	return c->config.server;
}

void kube_client_on_end(struct kube_client *c, kube_count_fn *fn, void (*after)(void *ctx),
			void *ctx)
{
	c->count = fn;
	c->after = after;
	c->count_ctx = ctx;
}
