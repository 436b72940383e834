// SPDX-License-Identifier: Apache-2.0
/* Metrics and probes over real TCP. */
#include "agent/metrics/metrics_server.h"
#include "metrics_fixture.h"
#include "test/agent/tcp_port.h"
#include "test/check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

static sd_event *event;
static struct metrics_server *server;
static struct metrics_fixture fixture;
static size_t containers = 2;
static int page_error;
static struct probe_input facts;
static unsigned port;
static char *answer_text;
static size_t answer_capacity = 8 * MIB;

static int page(void *ctx, struct http_stream *ret)
{
	return page_error < 0 ? page_error : metrics_fixture_answer(ctx, containers, ret);
}

static int probe(void *ctx, const struct http_request *request, struct http_response *ret)
{
	CHECK(ctx == &fixture);
	return probe_answer(&facts, request, ret);
}

static int report(void *ctx, const char *path, char **ret)
{
	CHECK(ctx == &fixture);
	*ret = strdup(strcmp(path, "/v1/units") == 0 ? "{\"units\":[]}\n" : "{\"version\":1}\n");
	return page_error;
}

static const struct metrics_ops ops = {page, probe, report};

static struct listen_address at(const char *address)
{
	struct listen_address a;
	char text[64];

	/* Port 0, which no configuration may say: any that is free. */
	snprintf(text, sizeof text, "%s:1", address);
	CHECK_EQ(listen_parse(text, &a), 0);
	if (a.address.ss_family == AF_INET)
		((struct sockaddr_in *)&a.address)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&a.address)->sin6_port = 0;
	return a;
}

static int client_open(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

/* One request, and all of the answer until the server closes; the status. */
static int ask_with(const char *method, const char *path, const char *headers)
{
	char text[1024];
	int fd = client_open(), status = 0;
	size_t n = 0;
	int size = snprintf(text, sizeof text,
			    "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method,
			    path, headers);

	CHECK_EQ(send(fd, text, (size_t)size, MSG_NOSIGNAL), size);
	for (int tries = 0; tries < 5000; tries++) {
		ssize_t got;

		sd_event_run(event, USEC_PER_MSEC);
		got = recv(fd, answer_text + n, answer_capacity - 1 - n, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	answer_text[n] = '\0';
	close(fd);
	sscanf(answer_text, "HTTP/1.1 %d", &status);
	return status;
}

static int ask(const char *method, const char *path)
{
	return ask_with(method, path, "");
}

static const char *body(void)
{
	const char *end = strstr(answer_text, "\r\n\r\n");

	return end != NULL ? end + 4 : "";
}

static bool answered(const char *text)
{
	return strstr(answer_text, text) != NULL;
}

TEST(metrics)
{
	CHECK_EQ(ask("GET", "/v1/report"), 200);
	CHECK(answered("Content-Type: application/json\r\n") && answered("{\"version\":1}\n"));
	CHECK_EQ(ask("GET", "/v1/units"), 200);
	CHECK(answered("Content-Type: application/json\r\n") && answered("{\"units\":[]}\n"));
	CHECK_EQ(ask("GET", "/metrics"), 200);
	CHECK(answered("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	CHECK(answered("\nvscaled_build_info{version=\"" VSCALED_VERSION "\""));
	CHECK(answered("\nprocess_resident_memory_bytes ") && !answered("# EOF"));
	CHECK(!answered("process_resident_memory_bytes 0\n"));
	CHECK_EQ(ask_with("GET", "/metrics",
			  "Accept: application/openmetrics-text;version=1.0.0\r\n"),
		 200);
	CHECK(answered("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	CHECK_EQ(ask("HEAD", "/metrics"), 200);
	CHECK_STR(body(), "");
	CHECK(answered("Content-Length: "));
	page_error = -EIO;
	CHECK_EQ(ask("GET", "/metrics"), 500);
	page_error = 0;
}

TEST(routes)
{
	CHECK_EQ(ask("GET", "/"), 404);
	CHECK(answered("there are /metrics, /v1/report, /v1/units, /livez, /readyz and /healthz"));
	CHECK_EQ(ask("GET", "/metrics/"), 404);
	/* Nothing of the control API is here. */
	CHECK_EQ(ask("GET", "/v1/status"), 404);
	CHECK_EQ(ask_with("POST", "/v1/pause", "Content-Length: 0\r\n"), 404);
	CHECK_EQ(ask_with("POST", "/metrics", "Content-Length: 0\r\n"), 405);
	CHECK(answered("Allow: GET, HEAD\r\n"));
	CHECK_EQ(ask("DELETE", "/livez"), 405);
	CHECK_EQ(ask("GET", "/%00"), 400);
}

static const struct probe_input healthy = {
	.now = 1000 * USEC_PER_SEC,
	.started = USEC_PER_SEC,
	.last_tick = 999 * USEC_PER_SEC,
	.interval_usec = USEC_PER_SEC,
	.kubernetes = true,
	.pods_listed = true,
	.standalone = true,
	.units_listed = true,
	.cgroup_writable = true,
	.config_valid = true,
};

/* Failures, and the answer of each probe. */
static void expect(const struct probe_input *in, int live, int ready, const char *what)
{
	facts = *in;
	CHECK_EQ(ask("GET", "/livez"), live);
	if (live == 200)
		CHECK_STR(body(), "ok");
	CHECK_EQ(ask("GET", "/healthz"), live);
	CHECK_EQ(ask("GET", "/readyz"), ready);
	if (ready == 200)
		CHECK_STR(body(), "ok");
	else
		CHECK(answered(what));
}

TEST(probes)
{
	struct probe_input in = healthy;

	expect(&in, 200, 200, NULL);
	/* The API server away from the very start: alive, and not ready. */
	in.pods_listed = false;
	expect(&in, 200, 503, "[-]pods failed: ");
	in.kubernetes = false;
	expect(&in, 200, 200, NULL);
	in = healthy;
	in.node_wrong = true;
	expect(&in, 200, 503, "[-]node failed: ");
	in = healthy;
	in.units_listed = false;
	expect(&in, 200, 503, "[-]units failed: ");
	in = healthy;
	in.systemd_lost = true;
	expect(&in, 200, 503, "[-]systemd failed: ");
	in = healthy;
	in.config_valid = false;
	expect(&in, 200, 503, "[-]config failed: ");
	in = healthy;
	in.cgroup_writable = false;
	expect(&in, 200, 503, "[-]cgroup failed: ");
	in.dry_run = true;
	expect(&in, 200, 200, NULL);
}

TEST(loop)
{
	struct probe_input in = healthy;

	in.now = in.last_tick + PROBE_LIVE_MIN_USEC;
	expect(&in, 200, 200, NULL);
	in.now++;
	expect(&in, 503, 503, "[-]loop failed: ");
	in.grace_usec = USEC_PER_SEC;
	expect(&in, 200, 200, NULL);
	in = healthy;
	in.interval_usec = USEC_PER_MIN;
	in.now = in.last_tick + 3 * USEC_PER_MIN;
	expect(&in, 200, 200, NULL);
	in.now++;
	expect(&in, 503, 503, "[-]loop failed: ");
	/* Before the first tick it counts from the start. */
	in.last_tick = 0;
	in.started = in.now - USEC_PER_SEC;
	expect(&in, 200, 200, NULL);
}

TEST(arguments)
{
	facts = healthy;
	CHECK_EQ(ask("GET", "/livez?verbose"), 200);
	CHECK_STR(body(), "[+]loop ok\nlivez check passed\n");
	CHECK_EQ(ask("GET", "/readyz?verbose=true"), 200);
	CHECK_STR(body(), "[+]loop ok\n[+]config ok\n[+]cgroup ok\n[+]pods ok\n[+]node "
			  "ok\n[+]pod-cgroups ok\n"
			  "[+]units ok\n[+]systemd ok\n[+]kernel ok\nreadyz check passed\n");
	facts.pods_listed = false;
	facts.config_valid = false;
	CHECK_EQ(ask("GET", "/readyz?exclude=pods"), 503);
	CHECK_EQ(ask("GET", "/readyz?exclude=pods&exclude=config"), 200);
	CHECK_STR(body(), "ok");
	CHECK_EQ(ask("GET", "/readyz?exclude=pods&verbose&exclude=config"), 200);
	CHECK(answered("[+]pods excluded: ok\n"));
	CHECK_EQ(ask("GET", "/readyz?exclude=nothing"), 503);
	/* More parameters than are read. */
	CHECK_EQ(ask("GET", "/readyz?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&exclude=pods&exclude=config"),
		 503);
}

/* The highest resident size since the last call. */
static uint64_t peak_bytes(void)
{
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/self/status", "re"), *reset = fopen("/proc/self/clear_refs", "we");
	char line[256];

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		sscanf(line, "VmHWM: %llu", &kib);
	CHECK(f != NULL && kib > 0 && reset != NULL && fputs("5", reset) >= 0);
	fclose(f);
	fclose(reset);
	return kib * KIB;
}

/* In place: the body without the sizes of its pieces; false: it does not end as it should. */
static bool join_chunks(char *to)
{
	unsigned long size;
	char *from = to;

	while ((size = strtoul(from, &from, 16)) > 0 && strncmp(from, "\r\n", 2) == 0) {
		if (strlen(from + 2) < size)
			return false;
		memmove(to, from + 2, size);
		to += size;
		from += 2 + size + 2;
	}
	*to = '\0';
	return strcmp(from, "\r\n\r\n") == 0;
}

/* A chunked answer is the whole page, in order. */
TEST(pieces)
{
	OWN(drop_free) char *want = NULL;
	const char *got = NULL;
	size_t same = 0;

	containers = 300;
	CHECK_EQ(ask("GET", "/metrics"), 200);
	CHECK(answered("Transfer-Encoding: chunked\r\n"));
	got = body();
	CHECK(join_chunks((char *)got));
	want = metrics_fixture_render(metrics_fixture_page(&fixture, containers), MIB);
	CHECK(want != NULL);
	/* Our own figures move. */
	while (want != NULL && want[same] != '\0' && want[same] == got[same])
		same++;
	CHECK(want != NULL && same > 800 * KIB);
	CHECK(want != NULL && want + same > strstr(want, "# HELP process_"));
	containers = 2;
}

/* A client that disconnects in the middle of the page does not affect the server. */
TEST(cut)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

	containers = 1000;
	for (int i = 0; i < 3; i++) {
		int fd = client_open();

		CHECK_EQ(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
		for (int k = 0; k < 30; k++)
			sd_event_run(event, USEC_PER_MSEC);
		CHECK(recv(fd, answer_text, 1000, MSG_DONTWAIT) == 1000);
		close(fd);
	}
	containers = 2;
	CHECK_EQ(ask("GET", "/metrics"), 200);
}

/* A page of 3 MB is never in memory as a whole, and its memory is freed. */
TEST(memory)
{
	struct process_facts before, after;
	uint64_t peak;

	containers = 1000;
	CHECK_EQ(ask("GET", "/livez"), 200);
	malloc_trim(0);
	process_read(&before);
	peak_bytes();
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(ask("GET", "/metrics"), 200);
		CHECK(strlen(body()) > 2 * MIB);
	}
	process_read(&after);
	peak = peak_bytes();
	fprintf(stderr, "RSS before %llu KiB, peak %llu KiB, after %llu KiB\n",
		(unsigned long long)before.resident_bytes / KIB, (unsigned long long)peak / KIB,
		(unsigned long long)after.resident_bytes / KIB);
#ifndef __SANITIZE_ADDRESS__ /* it keeps what was freed */
	CHECK(after.resident_bytes < before.resident_bytes + MIB);
	CHECK(peak < before.resident_bytes + MIB);
#endif
	containers = 2;
}

/* Clients that connected and closed without a request free their slots. */
TEST(idle)
{
	int idle[HTTP_PER_ADDRESS_MAX];

	facts = healthy;
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		idle[i] = client_open();
		sd_event_run(event, 2 * USEC_PER_MSEC);
	}
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		close(idle[i]);
	for (int i = 0; i < 20; i++)
		sd_event_run(event, USEC_PER_MSEC);
	CHECK_EQ(ask("GET", "/livez"), 200);
}

TEST(addresses)
{
	struct listen_address a = at("127.0.0.1"), any = at("");
	struct metrics_server *second = NULL;

	((struct sockaddr_in *)&a.address)->sin_port = htons((uint16_t)port);
	CHECK_EQ(metrics_server_new(event, &a, &ops, &fixture, &second), -EADDRINUSE);
	/* An address that this host does not have. */
	a = at("192.0.2.1");
	CHECK_EQ(metrics_server_new(event, &a, &ops, &fixture, &second), -EADDRNOTAVAIL);
	metrics_server_free(server);
	/* Without an address IPv4 is served too. */
	CHECK_EQ(metrics_server_new(event, &any, &ops, &fixture, &server), 0);
	port = tcp_port();
	CHECK_EQ(ask("GET", "/livez"), 200);
}

int main(void)
{
	struct listen_address a = at("127.0.0.1");

	answer_text = calloc(1, answer_capacity);
	/* Touched at the start: what becomes resident later is the server's. */
	memset(answer_text, 1, answer_capacity);
	CHECK(sd_event_new(&event) >= 0);
	metrics_fixture_init(&fixture, 1000);
	CHECK_EQ(metrics_server_new(event, &a, &ops, &fixture, &server), 0);
	port = tcp_port();
	CHECK(port > 0);
	facts = healthy;
	check_run();
	metrics_server_free(server);
	metrics_fixture_free(&fixture);
	sd_event_unref(event);
	free(answer_text);
	return check_result();
}
