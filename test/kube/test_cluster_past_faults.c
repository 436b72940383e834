// SPDX-License-Identifier: Apache-2.0
/* A Prometheus server that is slow, sends more than was requested, or wrong data: reported once,
 * little of the answer is kept, and the pod is sized all the same. */
#include "test/kube/test_cluster.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum lie { SILENT, HUGE, PAGE, CLOSED, IMPOSSIBLE, PICKY };

/* Socket buffers take some megabytes. */
#define TAKEN_MAX (12 * MIB)

/* Shared with the server's process. */
struct served {
	atomic_uint requests, of_log; /* all, those for the container log */
	atomic_size_t bytes, longest; /* of this answer, of any */
};

struct liar {
	pid_t pid;
	char url[64];
	struct served *served;
};

static bool put(int fd, const char *text, size_t size, struct served *served)
{
	while (size > 0) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		text += n;
		size -= (size_t)n;
		served->bytes += (size_t)n;
		served->longest = MAX(served->longest, served->bytes);
	}
	return true;
}

static void put_huge(int fd, struct served *served)
{
	static char piece[64 * KIB];
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{";

	memset(piece, ' ', sizeof piece);
	if (!put(fd, head, sizeof head - 1, served))
		return;
	for (size_t n = 0; n < 512 * MIB && put(fd, piece, sizeof piece, served); n += sizeof piece)
		;
}

static void put_answer(int fd, const char *body, struct served *served)
{
	char text[1024];
	int size = snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
			    strlen(body), body);

	put(fd, text, (size_t)size, served);
}

static void answer(int fd, enum lie lie, struct served *served)
{
	char request[8192] = "";

	if (recv(fd, request, sizeof request - 1, 0) <= 0)
		return;
	served->requests++;
	served->bytes = 0;
	switch (lie) {
	case SILENT:
		pause();
		break;
	case HUGE:
		put_huge(fd, served);
		break;
	case PAGE:
		put_answer(fd, "<html>Log in</html>", served);
		break;
	case CLOSED:
		break;
	case PICKY:
		if (strstr(request, "log") == NULL)
			break;
		served->of_log++;
		put_answer(fd,
			   "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":"
			   "[]}}",
			   served);
		break;
	case IMPOSSIBLE:
		put_answer(fd,
			   "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":"
			   "[{\"metric\":{},\"values\":[[1800000000,\"1e17\"]]}]}}",
			   served);
		break;
	}
}

static struct liar liar_start(enum lie lie)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof at;
	struct liar l = {.served = mmap(NULL, sizeof *l.served, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

	CHECK(l.served != MAP_FAILED && fd >= 0);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	snprintf(l.url, sizeof l.url, "http://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
	l.pid = fork();
	if (l.pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (l.pid == 0) {
		int peer = accept(fd, NULL, NULL);

		answer(peer, lie, l.served);
		close(peer);
	}
	close(fd);
	return l;
}

static void liar_stop(struct liar *l)
{
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	munmap(l->served, sizeof *l->served);
}

static void open_pod(const struct liar *l, const char *annotations)
{
	char extra[512];

	snprintf(extra, sizeof extra, "prometheus: {url: '%s'}\n", l->url);
	crig_open(&c, NULL, extra);
	crig_kubelet(&c, crig_pod(&c, DRIVER_CGROUPFS, "web-7f9c-new11", annotations), NULL);
	cJSON_Delete(crig_ask(
		&c, "PATCH", "/api/v1/namespaces/default/pods/web-7f9c-new11",
		"{\"metadata\":{\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"7f9c\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
		"\"web-7f9c\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\",\"controller\":true}"
		"]}}"));
	crig_start(&c);
}

/* Sized by what it uses, and nothing was learned from the server. */
static void check_sized(void)
{
	CHECK_EQ(c.rig.events[EVENT_PAST_ADDED], 0);
	CHECK(rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) > 200);
}

static void test_lie(enum lie lie, const char *told)
{
	struct liar l = liar_start(lie);

	open_pod(&l, AUTO);
	CHECK(UNTIL(300, burn_699, c.rig.events[EVENT_PAST_FAILED] > 0));
	rig_run(&c.rig, 100, burn_699);
	CHECK_EQ(c.rig.events[EVENT_PAST_FAILED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_PAST_FAILED, told), 1);
	CHECK(l.served->longest < TAKEN_MAX);
	check_sized();
	crig_close(&c);
	liar_stop(&l);
}

/* The request is under way for as long as it may be; the loop goes on. */
TEST(silent)
{
	struct liar l = liar_start(SILENT);

	open_pod(&l, AUTO);
	for (unsigned i = 0; i < 600 && l.served->requests == 0; i++)
		rig_run(&c.rig, 1, burn_699);
	CHECK_EQ(l.served->requests, 1);
	CHECK(crig_until(&c, 300, burn_699, is_resized));
	check_sized();
	CHECK_EQ(c.rig.events[EVENT_PAST_FAILED], 0);
	crig_close(&c);
	liar_stop(&l);
}

/* The query for one container fails whenever it is made: it goes behind the others. */
TEST(order)
{
	struct liar l = liar_start(PICKY);

	open_pod(&l, "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/max-cpu\":\"700m\"}");
	for (unsigned i = 0; i < 600 && l.served->of_log < 2; i++)
		rig_run(&c.rig, 1, burn_699);
	/* CPU and memory. */
	CHECK_EQ(l.served->of_log, 2);
	CHECK(l.served->requests > 2);
	crig_close(&c);
	liar_stop(&l);
}

TEST(with_parameters)
{
	test_lie(HUGE, "larger than 512 KiB");
	test_lie(PAGE, "no JSON");
	test_lie(CLOSED, "");
	test_lie(IMPOSSIBLE, "too large");
}
