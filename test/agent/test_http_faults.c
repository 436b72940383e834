// SPDX-License-Identifier: Apache-2.0
/* The HTTP server when its table of connections does not agree with the library, or is full. */
#include "agent/http/http_peers.h"
#include "fake_control.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/vscaled-http-XXXXXX";
static char socket_path[64];
static sd_event *event;
static struct http_server *server;
static struct fake_control fake;

/* The faults. */
static bool peers_unknown, shutdown_fails;

struct http_peer *__real_http_peers_coming(struct http_peer peers[HTTP_PEERS_MAX], int fd);
struct http_peer *__wrap_http_peers_coming(struct http_peer peers[HTTP_PEERS_MAX], int fd);
int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);

struct http_peer *__wrap_http_peers_coming(struct http_peer peers[HTTP_PEERS_MAX], int fd)
{
	return peers_unknown ? NULL : __real_http_peers_coming(peers, fd);
}

int __wrap_shutdown(int fd, int how)
{
	if (!shutdown_fails)
		return __real_shutdown(fd, how);
	errno = ENOBUFS;
	return -1;
}

/* Runs the loop for a while; how many times something woke it. */
static unsigned pump(usec_t span_usec)
{
	usec_t end = now_usec() + span_usec;
	unsigned wakes = 0;

	while (now_usec() < end)
		wakes += sd_event_run(event, 5 * USEC_PER_MSEC) > 0;
	return wakes;
}

static int client_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CHECK(fd >= 0);
	strcpy(address.sun_path, socket_path);
	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* The status of the answer; 0: the connection was closed without one; -1: neither, in this time. */
static int ask(usec_t span_usec)
{
	static const char request[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
	usec_t end = now_usec() + span_usec;
	int fd = client_open(), status = -1;
	char answer[512] = "";

	send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
	while (status < 0 && now_usec() < end) {
		ssize_t n;

		pump(5 * USEC_PER_MSEC);
		n = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			status = 0;
		else if (n > 0)
			sscanf(answer, "HTTP/1.1 %d", &status);
	}
	close(fd);
	return status;
}

/* No entry for a connection: it is closed, the server goes on. */
TEST(unknown_peer)
{
	peers_unknown = true;
	CHECK_EQ(ask(USEC_PER_SEC), 0);
	peers_unknown = false;
	CHECK_EQ(ask(USEC_PER_SEC), 200);
}

/* No entry is free: the connections that wait do not keep the loop busy, and are taken as soon as
 * one is free. */
TEST(full_table)
{
	int idle[HTTP_PEERS_MAX + 20];
	unsigned wakes;

	shutdown_fails = true;
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		idle[i] = client_open();
	pump(100 * USEC_PER_MSEC);
	wakes = pump(USEC_PER_SEC);
	fprintf(stderr, "%u wake-ups in a second with a full table\n", wakes);
	CHECK(wakes < 50);
	CHECK_EQ(ask(50 * USEC_PER_MSEC), -1);
	shutdown_fails = false;
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		close(idle[i]);
	CHECK_EQ(ask(USEC_PER_SEC), 200);
}

int main(void)
{
	const struct http_config config = {
		.socket_path = socket_path,
		.group = (gid_t)-1,
		.routes = control_routes,
		.route_count = CONTROL_ROUTE_COUNT,
		.ctx = &fake.control,
	};

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	snprintf(socket_path, sizeof socket_path, "%s/sock", dir);
	CHECK(sd_event_new(&event) >= 0);
	fake_control_init(&fake);
	CHECK_EQ(http_server_new(event, &config, &server), 0);
	CHECK_EQ(ask(USEC_PER_SEC), 200);
	check_run();
	http_server_free(server);
	sd_event_unref(event);
	rmdir(dir);
	return check_result();
}
