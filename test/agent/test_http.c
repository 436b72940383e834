// SPDX-License-Identifier: Apache-2.0
/* The control API over a real Unix socket: right answers, and every way to misuse it. */
#include "agent/http/http_socket.h"
#include "fake_control.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/vscaled-http-XXXXXX";
static char socket_path[64];
static sd_event *event;
static struct http_server *server;
static struct fake_control fake;

static int client_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -errno;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Turns the loop for a while. */
static void pump(usec_t span_usec)
{
	usec_t end = now_usec() + span_usec;

	while (now_usec() < end)
		sd_event_run(event, 5 * USEC_PER_MSEC);
}

/* Turns the loop until the peer closes, a whole answer is in, or the time is over; bytes read. */
static size_t client_read(int fd, char *out, size_t size, usec_t span_usec)
{
	usec_t end = now_usec() + span_usec;
	size_t n = 0;

	while (now_usec() < end && n + 1 < size) {
		const char *head, *length;
		ssize_t got;

		sd_event_run(event, USEC_PER_MSEC);
		got = read(fd, out + n, size - 1 - n);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			break;
		n += got > 0 ? (size_t)got : 0;
		out[n] = '\0';
		head = strstr(out, "\r\n\r\n");
		length = strcasestr(out, "content-length: ");
		if (head && length &&
		    n >= (size_t)(head + 4 - out) + strtoul(length + 16, NULL, 10))
			break;
	}
	out[n] = '\0';
	return n;
}

static char answer_text[256 * 1024];

/* Sends all of text while the loop turns, so that no side waits for the other; the status code. */
static int ask_raw(const char *text, size_t size)
{
	int fd = client_open();
	size_t sent = 0;
	int status = 0;

	CHECK(fd >= 0);
	for (int tries = 0; sent < size && tries < 10000; tries++) {
		ssize_t n = send(fd, text + sent, size - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
		sd_event_run(event, USEC_PER_MSEC);
	}
	client_read(fd, answer_text, sizeof(answer_text), 3 * USEC_PER_SEC);
	close(fd);
	sscanf(answer_text, "HTTP/1.1 %d", &status);
	return status;
}

static int ask(const char *method, const char *path, const char *body)
{
	char text[64 * 1024];
	int n = snprintf(text, sizeof(text),
			 "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", method, path,
			 body ? strlen(body) : 0, body ? body : "");

	return ask_raw(text, (size_t)n);
}

static bool answered(const char *text)
{
	return strstr(answer_text, text) != NULL;
}

TEST(answers)
{
	CHECK_EQ(ask("GET", "/v1/status", NULL), 200);
	CHECK(answered("Content-Type: application/json"));
	CHECK(answered("\"managed_count\":3"));
	CHECK_EQ(ask("GET", "/v1/units", NULL), 200);
	CHECK(answered("\"name\":\"web.service\"") && answered("\"name\":\"db.service\""));
	CHECK(!answered("\"p99\""));
	CHECK_EQ(ask("GET", "/v1/units/web.service", NULL), 200);
	CHECK(answered("\"use_p99\":372") && answered("\"hold\":\"interval\""));
	CHECK_EQ(ask("GET", "/v1/units/batch%40nightly.service", NULL), 200);
	CHECK(answered("\"phase\":\"memory.high\""));
	CHECK_EQ(ask("GET", "/v1/config", NULL), 200);
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
	CHECK(answered("text/plain") && answered("\r\n\r\nok\n"));
	CHECK_EQ(ask("GET", "/readyz", NULL), 200);
	fake.not_ready = true;
	CHECK_EQ(ask("GET", "/readyz", NULL), 503);
	CHECK(answered("the first list of units is not done"));
	fake.not_ready = false;
}

TEST(operations)
{
	CHECK_EQ(ask("POST", "/v1/pause", NULL), 200);
	CHECK_STR(fake.last, "pause *");
	CHECK(answered("{\"units\":6}"));
	CHECK_EQ(ask("POST", "/v1/pause", "{\"name\":\"web.service\"}"), 200);
	CHECK_STR(fake.last, "pause web.service");
	CHECK_EQ(ask("POST", "/v1/resume", "{\"all\":true}"), 200);
	CHECK_STR(fake.last, "resume *");
	CHECK_EQ(ask("POST", "/v1/restore", "{\"all\":true,\"force\":true}"), 200);
	CHECK_STR(fake.last, "restore * force");
	CHECK(answered("\"outcome\":\"restored\""));
	CHECK_EQ(ask("POST", "/v1/restore", " {\"name\": \"batch@nightly.service\"}\n"), 200);
	CHECK_STR(fake.last, "restore batch@nightly.service");
	CHECK(answered("\"outcome\":\"left\"") && answered("in use"));
	CHECK_EQ(ask("POST", "/v1/recommendation", "{\"spec\":{}}"), 200);
	CHECK(answered("\r\n\r\n{}"));
	CHECK_EQ(ask("POST", "/v1/recommendation", "{"), 400);
	CHECK(answered("not JSON") && answered("kubectl get pod"));
	CHECK_EQ(ask("POST", "/v1/recommendation", NULL), 400);
}

struct bad_body {
	const char *body;
	const char *why;
};

static const struct bad_body bad_bodies[] = {
	{"{", "valid JSON"},
	{"[]", "not a JSON object"},
	{"null", "not a JSON object"},
	{"{\"all\":true} x", "valid JSON"},
	{"{\"all\":1}", "true or false"},
	{"{\"name\":\"\"}", "not empty"},
	{"{\"name\":7}", "not empty"},
	{"{\"Name\":\"web.service\"}", "does not know"},
	{"{\"all\":true,\"all\":false}", "twice"},
	{"{\"all\":true,\"name\":\"x\"}", "exclude"},
	{"{\"all\":[[[[true]]]]}", "true or false"},
	{"{\"name\":\"web.service\\u0000x\"}", "valid JSON"},
	{"{}", "neither"},
	{"", "neither"},
};

TEST(bad_bodies)
{
	char longer[600];

	strcpy(fake.last, "untouched");
	for (size_t i = 0; i < ARRAY_SIZE(bad_bodies); i++) {
		CHECK_EQ(ask("POST", "/v1/restore", bad_bodies[i].body), 400);
		CHECK(answered(bad_bodies[i].why));
		CHECK(answered("\"hint\""));
	}
	CHECK_EQ(ask("POST", "/v1/pause", "{\"force\":true}"), 400);
	CHECK_EQ(ask("POST", "/v1/pause", "{\"all\":false}"), 400);
	snprintf(longer, sizeof(longer), "{\"name\":\"%0512d\"}", 1);
	CHECK_EQ(ask("POST", "/v1/pause", longer), 400);
	CHECK(answered("too long"));
	CHECK_STR(fake.last, "untouched");
}

TEST(refusals)
{
	CHECK_EQ(ask("GET", "/", NULL), 404);
	CHECK_EQ(ask("GET", "/v1/units/", NULL), 404);
	CHECK_EQ(ask("GET", "/v1/statusx", NULL), 404);
	CHECK_EQ(ask("POST", "/v1/status", "{}"), 405);
	CHECK(answered("Allow: GET"));
	CHECK_EQ(ask("GET", "/v1/restore", NULL), 405);
	CHECK(answered("Allow: POST"));
	CHECK_EQ(ask("DELETE", "/v1/units/web.service", NULL), 405);
	CHECK_EQ(ask("GET", "/v1/units/none.service", NULL), 404);
	CHECK(answered("not managed"));
	CHECK_EQ(ask("GET", "/v1/units/a%00b", NULL), 400);
	CHECK_EQ(ask("GET", "/v1/units/a%zz", NULL), 400);
	fake.refuse_peers = true;
	CHECK_EQ(ask("POST", "/v1/pause", NULL), 403);
	fake.refuse_peers = false;
	CHECK_STR(fake.last, "untouched");
}

TEST(failures)
{
	static const int errors[][2] = {
		{-EAGAIN, 503}, {-EBUSY, 503}, {-EPERM, 403}, {-EINVAL, 400}, {-EIO, 500}};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		fake.error = errors[i][0];
		CHECK_EQ(ask("POST", "/v1/pause", NULL), errors[i][1]);
		CHECK_EQ(ask("GET", "/v1/units", NULL), errors[i][1]);
		CHECK_EQ(ask("GET", "/v1/units/web.service", NULL), errors[i][1]);
	}
	fake.error = 0;
}

TEST(bad_requests)
{
	static const char garbage[] = "\x16\x03\x01\x02garbage\r\n\r\n";
	static const char no_host[] = "GET /livez HTTP/1.1\r\n\r\n";
	static const char bad_length[] =
		"POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n";
	static const char two_lengths[] = "POST /v1/pause HTTP/1.1\r\nHost: x\r\n"
					  "Content-Length: 99999999999999999999\r\n\r\n";

	strcpy(fake.last, "untouched");
	CHECK(ask_raw(garbage, sizeof(garbage) - 1) != 200);
	CHECK_EQ(ask_raw(no_host, sizeof(no_host) - 1), 400);
	CHECK(ask_raw(bad_length, sizeof(bad_length) - 1) / 100 != 2);
	CHECK(ask_raw(two_lengths, sizeof(two_lengths) - 1) / 100 != 2);
	CHECK_STR(fake.last, "untouched");
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
}

TEST(oversize)
{
	static char text[128 * 1024];
	int n;

	/* Announced: refused without being read. */
	n = snprintf(text, sizeof(text),
		     "POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n");
	strcpy(fake.last, "untouched");
	CHECK_EQ(ask_raw(text, (size_t)n), 413);
	/* Not announced: read and dropped. */
	n = snprintf(text, sizeof(text),
		     "POST /v1/pause HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
		     "10001\r\n%065537d\r\n0\r\n\r\n",
		     7);
	CHECK_EQ(ask_raw(text, (size_t)n), 413);
	/* Exactly as much as is taken is read, and found not to be JSON. */
	n = snprintf(text, sizeof(text),
		     "POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n%065536d",
		     7);
	CHECK_EQ(ask_raw(text, (size_t)n), 400);
	/* A path and headers beyond any reason. */
	n = snprintf(text, sizeof(text), "GET /v1/units/%0600d HTTP/1.1\r\nHost: x\r\n\r\n", 7);
	CHECK_EQ(ask_raw(text, (size_t)n), 400);
	n = snprintf(text, sizeof(text), "GET /livez HTTP/1.1\r\nHost: x\r\nA: %065536d\r\n\r\n",
		     7);
	CHECK(ask_raw(text, (size_t)n) / 100 != 2);
	CHECK_STR(fake.last, "untouched");
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
}

/* One byte every 100 ms keeps a connection busy, not alive. */
TEST(slow_client)
{
	static const char text[] = "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: yes-very-much-so\r\n";
	int fd = client_open();
	usec_t start = now_usec();
	size_t i = 0;
	char c;

	CHECK(fd >= 0);
	while (i < sizeof(text) - 1 && send(fd, text + i, 1, MSG_NOSIGNAL) == 1 &&
	       !(recv(fd, &c, 1, MSG_PEEK) == 0)) {
		pump(100 * USEC_PER_MSEC);
		i++;
	}
	CHECK(i > 5 && i < sizeof(text) - 1);
	CHECK(now_usec() - start < 3 * USEC_PER_SEC);
	close(fd);
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
}

static bool is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* With all places of a user taken by clients that say nothing, each new one is served at once, and
 * the oldest is closed for it. */
TEST(many_connections)
{
	int idle[HTTP_PER_ADDRESS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		idle[i] = client_open();
		CHECK(idle[i] >= 0);
		pump(2 * USEC_PER_MSEC);
	}
	CHECK(!is_closed(idle[0]));
	for (size_t i = 0; i < 3; i++) {
		usec_t start = now_usec();

		CHECK_EQ(ask("GET", "/livez", NULL), 200);
		CHECK(now_usec() - start < 500 * USEC_PER_MSEC);
		pump(20 * USEC_PER_MSEC);
	}
	/* Each of the three was closed at its end and left its place to the next. */
	CHECK(is_closed(idle[0]) && !is_closed(idle[1]));
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		close(idle[i]);
	pump(20 * USEC_PER_MSEC);
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
}

/* Two requests on one connection, written at once. */
TEST(pipeline)
{
	static const char two[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
				  "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	int fd = client_open();
	char out[2048];
	size_t n;

	CHECK(send(fd, two, sizeof(two) - 1, MSG_NOSIGNAL) > 0);
	pump(100 * USEC_PER_MSEC);
	n = client_read(fd, out, sizeof(out), USEC_PER_SEC);
	CHECK(n > 0 && strstr(out, "HTTP/1.1 200") && strstr(strstr(out, "ok\n"), "HTTP/1.1 200"));
	close(fd);
}

static bool admit(void *ctx, int fd, const struct ucred *peer)
{
	const struct control_api *c = ctx;

	return c->ops->admit(c->ctx, fd, peer);
}

/* The same server as the daemon's, but with less patience. */
static int serve(void)
{
	const struct http_config config = {
		.socket_path = socket_path,
		.group = (gid_t)-1,
		.routes = control_routes,
		.route_count = CONTROL_ROUTE_COUNT,
		.ctx = &fake.control,
		.admit = admit,
		.timeout_sec = 1,
	};

	return http_server_new(event, &config, &server);
}

TEST(socket_file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct http_server *second = NULL;
	struct stat st;
	int fd;

	CHECK(stat(socket_path, &st) == 0 && (st.st_mode & 07777) == 0660);
	/* A live server is not pushed aside. */
	CHECK_EQ(control_server_new(event, &fake.control, socket_path, (gid_t)-1, &second),
		 -EADDRINUSE);
	http_server_free(server);
	CHECK(stat(socket_path, &st) < 0 && errno == ENOENT);
	/* What a dead one left behind is. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(address.sun_path, socket_path);
	CHECK_EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	CHECK_EQ(control_server_new(event, &fake.control, socket_path, (gid_t)-1, &server), 0);
	CHECK_EQ(ask("GET", "/livez", NULL), 200);
	fake.refuse_peers = true;
	CHECK_EQ(ask("GET", "/livez", NULL), 403);
	http_server_free(server);
	/* A file that is no socket stays. */
	fd = open(socket_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	CHECK_EQ(control_server_new(event, &fake.control, socket_path, (gid_t)-1, &server),
		 -EEXIST);
	unlink(socket_path);
}

TEST(path_decode)
{
	char out[8] = "before";

	CHECK_EQ(http_path_decode("a%2fb", sizeof(out), out), 0);
	CHECK_STR(out, "a/b");
	CHECK_EQ(http_path_decode("1234567", sizeof(out), out), 0);
	CHECK_EQ(http_path_decode("12345678", sizeof(out), out), -ENAMETOOLONG);
	CHECK_EQ(http_path_decode("%", sizeof(out), out), -EBADMSG);
	CHECK_EQ(http_path_decode("%4", sizeof(out), out), -EBADMSG);
	CHECK_EQ(http_path_decode("%0a", sizeof(out), out), -EBADMSG);
}

/* The default check of a peer: a member of the group, root, or the daemon's own user. */
TEST(peers)
{
	struct ucred stranger = {.pid = 1, .uid = 54321, .gid = 54321};
	gid_t groups[64];
	int pair[2], count = getgroups(ARRAY_SIZE(groups), groups);

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK(!http_peer_in_group(pair[0], &stranger, 54322));
	CHECK(!http_peer_in_group(pair[0], &stranger, (gid_t)-1));
	CHECK(http_peer_in_group(pair[0], &stranger, 54321));
	/* The other end is this process: its further groups count. */
	if (count > 0)
		CHECK(http_peer_in_group(pair[0], &stranger, groups[count - 1]));
	stranger.uid = 0;
	CHECK(http_peer_in_group(pair[0], &stranger, 54322));
	stranger.uid = geteuid();
	CHECK(http_peer_in_group(pair[0], &stranger, 54322));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	CHECK(sd_event_new(&event) >= 0);
	fake_control_init(&fake);
	CHECK_EQ(serve(), 0);
	check_run();
	sd_event_unref(event);
	rmdir(dir);
	return check_result();
}
