// SPDX-License-Identifier: Apache-2.0
/* The client against a server that answers, refuses, lies, drips, cuts and falls silent. */
#include "client_rig.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

static struct script_server server;
static struct rig rig;

static struct rig_result get(const char *path)
{
	return rig_get(&rig, path, false);
}

TEST(answers)
{
	OWN(rig_drop) struct rig_result r = get("/ok");
	unsigned connections = atomic_load(&server.share->connections);

	CHECK_EQ(r.status, 200);
	CHECK_EQ(r.error, 0);
	CHECK_STR(r.body, "{\"ok\":true}");
	CHECK_STR(r.detail, "");
	/* The connection is used again. */
	for (int i = 0; i < 20; i++) {
		OWN(rig_drop) struct rig_result again = get("/ok");

		CHECK_EQ(again.status, 200);
	}
	CHECK_EQ(atomic_load(&server.share->connections), connections);
	CHECK_EQ(kube_client_counters(rig.client)->requests, 21);
	CHECK_EQ(kube_client_counters(rig.client)->failures, 0);
}

TEST(request)
{
	OWN(rig_drop)
	struct rig_result r =
		rig_ask(&rig, &(struct kube_request){.method = "PATCH",
						     .path = "/echo?a=b%3Dc",
						     .body = "{\"x\":1}",
						     .content = KUBE_STRATEGIC_PATCH});

	CHECK(strncmp(r.body, "PATCH /echo?a=b%3Dc HTTP/1.1\r\n", 30) == 0);
	CHECK(strstr(r.body, "\r\nContent-Type: application/strategic-merge-patch+json\r\n"));
	CHECK(strstr(r.body, "\r\nAccept: application/json\r\n"));
	CHECK(strstr(r.body, "\r\nUser-Agent: vscaled/test (linux/any)\r\n"));
	CHECK(strstr(r.body, "\r\n\r\n{\"x\":1}"));
	CHECK(!strstr(r.body, "Expect:") && !strstr(r.body, "Authorization"));
	CHECK(!strstr(r.body, "Accept-Encoding"));
}

TEST(bad_requests)
{
	static const struct kube_request bad[] = {
		{.method = "GET", .path = "no-slash"},
		{.method = "GET", .path = "/with blank"},
		{.method = "GET", .path = "/with\r\nInjected: yes"},
		{.method = "GET /x", .path = "/"},
		{.method = "", .path = "/"},
		{.method = "GET", .path = "/", .stream = true}, /* without a line function */
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(kube_client_start(rig.client, &bad[i], NULL, rig_done, NULL, NULL),
			 -EINVAL);
}

struct expectation {
	const char *path;
	unsigned status;
	int error;
	const char *detail; /* a part of it */
	const char *body;   /* a part of it */
	usec_t retry_after;
};

static void check_expectation(const struct expectation *e, bool stream)
{
	OWN(rig_drop) struct rig_result r = rig_get(&rig, e->path, stream);

	if (r.status != e->status || r.error != e->error || !strstr(r.detail, e->detail) ||
	    !strstr(r.body, e->body) || r.retry_after_usec != e->retry_after)
		fprintf(stderr, "%s: status %u error %d detail \"%s\" body \"%.80s\"\n", e->path,
			r.status, r.error, r.detail, r.body);
	CHECK_EQ(r.status, e->status);
	CHECK_EQ(r.error, e->error);
	CHECK(strstr(r.detail, e->detail) != NULL);
	CHECK(strstr(r.body, e->body) != NULL);
	CHECK_EQ(r.retry_after_usec, e->retry_after);
}

TEST(faults)
{
	static const struct expectation table[] = {
		{"/429", 429, 0, "", "Too many requests", USEC_PER_SEC},
		{"/date", 503, 0, "", "{}", 0},
		{"/body?status=500&body=3", 500, 0, "", "xxx", 0},
		{"/body?status=504&body=0", 504, 0, "", "", 0},
		{"/body?status=410&body=9", 410, 0, "", "x", 0},
		{"/body?status=200&body=34000000", 200, -EMSGSIZE, "larger than 32 MiB", "", 0},
		{"/body?status=500&body=34000000", 500, 0, "cut at 64 KiB", "xxx", 0},
		{"/redirect", 302, 0, "", "", 0},
		{"/garbage", 0, -EPROTO, "HTTP/0.9", "", 0},
		{"/old", 200, 0, "", "{\"old\":1}", 0},
		{"/cut", 200, -ECONNRESET, "", "", 0},
		{"/silent", 0, -ECONNRESET, "", "", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		check_expectation(&table[i], false);
}

TEST(stream_faults)
{
	static const struct expectation table[] = {
		{"/half", 200, -EPROTO, "inside a line", "", 0},
		{"/oldhalf", 200, -EPROTO, "inside a line", "", 0},
		{"/reset", 200, -ECONNRESET, "", "", 0},
		{"/line?line=2097153", 200, -EMSGSIZE, "longer than 2 MiB", "", 0},
		{"/body?status=500&body=3", 500, 0, "", "xxx", 0},
		{"/429", 429, 0, "", "Too many", USEC_PER_SEC},
		{"/redirect", 302, 0, "", "", 0},
		{"/garbage", 0, -EPROTO, "", "", 0},
		{"/silent", 0, -ECONNRESET, "", "", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		check_expectation(&table[i], true);
}

TEST(limits)
{
	OWN(rig_drop) struct rig_result body = get("/body?status=200&body=33554432");
	OWN(rig_drop) struct rig_result failure = get("/body?status=500&body=65536");
	OWN(rig_drop) struct rig_result line = rig_get(&rig, "/line?line=2097152", true);

	CHECK_EQ(body.error, 0);
	CHECK_EQ(body.len, 32 * MIB);
	CHECK_EQ(failure.len, 64 * KIB);
	CHECK_STR(failure.detail, "");
	CHECK_EQ(line.error, 0);
	CHECK_EQ(line.line_bytes, 2 * MIB);
}

TEST(time_outs)
{
	const char *const paths[] = {"/hang", "/drip"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		usec_t before = rig_now();
		OWN(rig_drop)
		struct rig_result r =
			rig_ask(&rig, &(struct kube_request){.method = "GET",
							     .path = paths[i],
							     .timeout_usec = 300 * USEC_PER_MSEC});

		CHECK_EQ(r.error, -ETIMEDOUT);
		CHECK(rig_now() - before < 2 * USEC_PER_SEC);
		CHECK_EQ(r.len, 0);
	}
}

TEST(not_running)
{
	struct script_server gone;
	OWN(rig_close) struct rig other;

	CHECK_EQ(script_server_start(NULL, NULL, NULL, &gone), 0);
	rig_open(&other, "http", gone.port);
	script_server_stop(&gone);
	rig_client(&other);
	OWN(rig_drop) struct rig_result r = rig_get(&other, "/ok", false);

	CHECK_EQ(r.status, 0);
	CHECK_EQ(r.error, -ECONNREFUSED);
	CHECK(r.detail[0] != '\0');
	CHECK_EQ(kube_client_counters(other.client)->failures, 1);
	other.config.server = "http://no-such-host.invalid:1";
	rig_client(&other);
	OWN(rig_drop) struct rig_result name = rig_get(&other, "/ok", false);

	CHECK_EQ(name.error, -EHOSTUNREACH);
}

/* Three lines, cut at every byte. */
TEST(stream_cuts)
{
	for (int at = 0; at <= 27; at++) {
		char path[32];

		snprintf(path, sizeof path, "/stream?at=%d", at);
		OWN(rig_drop) struct rig_result r = rig_get(&rig, path, true);

		CHECK_STR(r.lines, "{\"a\":1}|{\"b\":22}|{\"c\":333}|");
		CHECK_EQ(r.status, 200);
		CHECK_EQ(r.error, 0);
		CHECK_EQ(r.len, 0);
	}
	OWN(rig_drop) struct rig_result bytes = rig_get(&rig, "/bytes", true);
	OWN(rig_drop) struct rig_result half = rig_get(&rig, "/half", true);

	CHECK_STR(bytes.lines, "{\"a\":1}|{\"b\":22}|{\"c\":333}|");
	CHECK_STR(half.lines, "{\"a\":1}|");
}

static int stop_at_third(void *arg, const char *line, size_t len)
{
	struct rig_result *r = arg;

	rig_line(arg, line, len);
	return r->line_count == 3 ? -EBADMSG : 0;
}

TEST(stop_by_line)
{
	struct kube_request q = {.method = "GET", .path = "/forever", .stream = true};
	OWN(rig_drop) struct rig_result r = {0};

	CHECK_EQ(kube_client_start(rig.client, &q, stop_at_third, rig_done, &r, NULL), 0);
	rig_turn(&rig, &r.done, 1, 5 * USEC_PER_SEC);
	CHECK_EQ(r.done, 1);
	CHECK_EQ(r.error, -EBADMSG);
	CHECK_EQ(r.status, 200);
	CHECK_EQ(r.line_count, 3);
}

/* A body that is handed on as it comes has no bound. */
TEST(pieces)
{
	static const struct {
		const char *path;
		unsigned status;
		int error;
		size_t bytes;
		size_t len;
	} rows[] = {
		{"/ok", 200, 0, 11, 0},
		{"/body?status=200&body=50331648", 200, 0, 48 * MIB, 0},
		{"/body?status=500&body=3", 500, 0, 0, 3},
		{"/cut", 200, -ECONNRESET, 10, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_request q = {.method = "GET", .path = rows[i].path, .pieces = true};
		OWN(rig_drop) struct rig_result r = rig_ask(&rig, &q);

		CHECK_EQ(r.status, rows[i].status);
		CHECK_EQ(r.error, rows[i].error);
		CHECK_EQ(r.line_bytes, rows[i].bytes);
		CHECK_EQ(r.len, rows[i].len);
	}
}

/* Nor of time, as long as it goes on. */
TEST(slow_pieces)
{
	struct kube_request q = {.method = "GET",
				 .path = "/slow?parts=12",
				 .pieces = true,
				 .timeout_usec = USEC_PER_SEC};
	OWN(rig_drop) struct rig_result slow = rig_ask(&rig, &q);

	CHECK_EQ(slow.error, 0);
	CHECK_EQ(slow.line_bytes, 12);
	q.path = "/hang";
	OWN(rig_drop) struct rig_result hang = rig_ask(&rig, &q);

	CHECK_EQ(hang.error, -ETIMEDOUT);
}

static void use_token(struct rig *r, const char *folder, char *path, size_t size)
{
	if (r->event != NULL)
		rig_close(r);
	rig_open(r, "http", server.port);
	snprintf(path, size, "%s/token", folder);
	r->config.token_file = path;
	rig_client(r);
}

TEST(token)
{
	char folder[] = "/tmp/vscaled-token-XXXXXX", path[128];
	struct rig r = {0};

	CHECK(mkdtemp(folder) != NULL);
	use_token(&r, folder, path, sizeof path);
	/* No file yet: said, and nothing is sent. */
	unsigned before = atomic_load(&server.share->requests);
	OWN(rig_drop) struct rig_result none = rig_get(&r, "/token", false);
	CHECK_EQ(none.error, -ENOENT);
	CHECK(strstr(none.detail, "/token: No such file") != NULL);
	rig_write(folder, "token", "bad\r\nX-Injected: 1\n");
	OWN(rig_drop) struct rig_result bad = rig_get(&r, "/token", false);
	CHECK_EQ(bad.error, -EBADMSG);
	CHECK_EQ(atomic_load(&server.share->requests), before);
	CHECK(strstr(bad.detail, "Injected") == NULL);

	/* An old token whose file is still old: one try. */
	rig_write(folder, "token", "old\n");
	use_token(&r, folder, path, sizeof path);
	OWN(rig_drop) struct rig_result old = rig_get(&r, "/token", false);
	CHECK_EQ(old.status, 401);
	CHECK_EQ(atomic_load(&server.share->requests) - before, 1);
	/* Replaced: read anew at once and tried once more, a stream too. */
	rig_write(folder, "token", "new\n");
	OWN(rig_drop) struct rig_result fresh = rig_get(&r, "/token", true);
	CHECK_EQ(fresh.status, 200);
	CHECK_EQ(fresh.done, 1);
	CHECK_EQ(atomic_load(&server.share->requests) - before, 3);
	/* Replaced by a bad one: one retry, not two. */
	rig_write(folder, "token", "worse");
	OWN(rig_drop) struct rig_result still = rig_get(&r, "/token", false);
	CHECK_EQ(still.status, 200); /* the good one is used for its minute */
	use_token(&r, folder, path, sizeof path);
	OWN(rig_drop) struct rig_result worse = rig_get(&r, "/token", false);
	CHECK_EQ(worse.status, 401);
	CHECK(kube_client_counters(r.client)->token_reads >= 2);
	/* Gone: what is known goes on. */
	CHECK_EQ(unlink(path), 0);
	OWN(rig_drop) struct rig_result gone = rig_get(&r, "/token", false);
	CHECK_EQ(gone.status, 401);
	rig_close(&r);
	rmdir(folder);
}

int main(void)
{
	size_t files;

	alarm(240);
	if (script_server_start(NULL, NULL, NULL, &server) < 0)
		return check_skip("no server can be started");
	files = rig_open_files();
	rig_open(&rig, "http", server.port);
	rig_client(&rig);
	check_run();
	rig_close(&rig);
	CHECK_EQ(rig_open_files(), files);
	script_server_stop(&server);
	return check_result();
}
