// SPDX-License-Identifier: Apache-2.0
/*
 * Probes and a scrape of the metrics port while thousands of other clients hold connections to it:
 * silent ones, ones that send their head or body a byte a second, ones that never read their
 * answer. All of them connect again as soon as they are closed. Server, crowd and prober are
 * processes of their own; the sockets are real.
 */
#include "agent/metrics/metrics_server.h"
#include "metrics_fixture.h"
#include "test/agent/tcp_port.h"
#include "test/check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTAINERS 250
/* Far below the crowd: the server may not need a descriptor for each of them. The second is even
 * below its own number of places. */
#define SERVER_FILES       256
#define SCANTY_FILES       40
#define TICK_USEC          (100 * USEC_PER_MSEC)
#define PROBE_USEC         USEC_PER_SEC /* the kubelet's default timeout */
#define PROBES             60
#define GATHER_USEC        (30 * USEC_PER_SEC)
#define RSS_MAX_BYTES      (16 * MIB)
#define RECONNECTS_PER_SEC 2000
/* Late by the server's own work, not by what else this host does. */
#define LAG_MAX_USEC (250 * USEC_PER_MSEC)

/* Written by one process, read by another. */
struct shared {
	_Atomic unsigned port;
	_Atomic usec_t lag_max_usec;
	_Atomic unsigned ticks;
	_Atomic unsigned present; /* of the crowd: connected at least once */
	_Atomic unsigned long reconnects;
};

static struct shared *shared;
static struct metrics_fixture fixture;

static void files_set(rlim_t count)
{
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){count, count}), 0);
}

/* ---- the server ---- */

static int answer(void *ctx, struct http_stream *ret)
{
	return metrics_fixture_answer(ctx, CONTAINERS, ret);
}

static int probe(void *, const struct http_request *request, struct http_response *ret)
{
	static const struct probe_input in = {
		.now = USEC_PER_SEC,
		.started = 1,
		.last_tick = USEC_PER_SEC,
		.interval_usec = TICK_USEC,
		.cgroup_writable = true,
		.config_valid = true,
	};

	return probe_answer(&in, request, ret);
}

static const struct metrics_ops ops = {.metrics = answer, .probe = probe};

static usec_t work_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* As the agent's own timer: before everything else in the loop. */
static int on_tick(sd_event_source *s, uint64_t due, void *)
{
	usec_t now = now_usec(), lag = now > due ? now - due : 0;
	usec_t work = work_usec();
	static usec_t work_before;

	lag = MIN(lag, work - work_before);
	work_before = work;
	shared->ticks++;
	if (lag > shared->lag_max_usec)
		shared->lag_max_usec = lag;
	sd_event_source_set_time(s, MAX(due + TICK_USEC, now + TICK_USEC / 2));
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int serve(rlim_t files)
{
	struct metrics_server *server;
	struct listen_address at;
	sd_event_source *tick;
	sd_event *event;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	files_set(files);
	metrics_fixture_init(&fixture, CONTAINERS);
	CHECK_EQ(listen_parse("0.0.0.0:1", &at), 0);
	((struct sockaddr_in *)&at.address)->sin_port = 0;
	CHECK(sd_event_new(&event) >= 0);
	CHECK_EQ(metrics_server_new(event, &at, &ops, &fixture, &server), 0);
	CHECK(sd_event_add_time(event, &tick, CLOCK_MONOTONIC, now_usec() + TICK_USEC, 1, on_tick,
				NULL) >= 0);
	sd_event_source_set_priority(tick, SD_EVENT_PRIORITY_IMPORTANT);
	shared->port = tcp_port();
	return sd_event_loop(event);
}

/* ---- the crowd ---- */

enum habit { SILENT, SLOW_HEAD, SLOW_BODY, DEAF, HABITS };

static const char *const first_words[HABITS] = {
	[SILENT] = "",
	[SLOW_HEAD] = "GET /livez HTTP/1.1\r\nHost: ",
	[SLOW_BODY] = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n",
	[DEAF] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
};

/* One in 64 makes the server render a page that it never reads. */
static enum habit habit_of(unsigned i)
{
	return i % 64 == 0 ? DEAF : (enum habit)(i % DEAF);
}

struct crowd {
	unsigned count;
	unsigned addresses; /* that they come from */
	int epoll;
	int *fds;
	bool *was_there;
	unsigned *closed; /* a ring of those that wait to connect again */
	unsigned long closed_count, reconnected;
};

static struct sockaddr_in server_address(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)shared->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void crowd_connect(struct crowd *c, unsigned i)
{
	/* 127.0.0.1 is the prober's, and of a crowd that has one address. */
	uint32_t host = c->addresses == 1 ? INADDR_LOOPBACK : 0x7f010001 + i % c->addresses;
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
	struct sockaddr_in to = server_address();
	struct epoll_event wanted = {.events = EPOLLOUT | EPOLLRDHUP, .data.u32 = i};
	const int yes = 1, small = 4096;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	CHECK_EQ(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS);
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &wanted);
	c->fds[i] = fd;
}

static void crowd_event(struct crowd *c, const struct epoll_event *e)
{
	unsigned i = e->data.u32;
	const char *words = first_words[habit_of(i)];
	struct epoll_event quiet = {.events = EPOLLRDHUP, .data.u32 = i};

	if (e->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		close(c->fds[i]);
		c->fds[i] = -1;
		c->closed[c->closed_count++ % c->count] = i;
		return;
	}
	shared->present += !c->was_there[i];
	c->was_there[i] = true;
	if (send(c->fds[i], words, strlen(words), MSG_NOSIGNAL) < 0)
		return; /* the next event says that it is closed */
	epoll_ctl(c->epoll, EPOLL_CTL_MOD, c->fds[i], &quiet);
}

static void crowd_return(struct crowd *c, usec_t since)
{
	unsigned long due = (now_usec() - since) * RECONNECTS_PER_SEC / USEC_PER_SEC;

	while (c->reconnected < c->closed_count && shared->reconnects < due) {
		crowd_connect(c, c->closed[c->reconnected++ % c->count]);
		shared->reconnects++;
	}
}

static void crowd_trickle(struct crowd *c)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->fds[i] >= 0 && c->was_there[i] &&
		    (habit_of(i) == SLOW_HEAD || habit_of(i) == SLOW_BODY))
			send(c->fds[i], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void crowd_run(unsigned count, unsigned addresses)
{
	struct crowd c = {.count = count, .addresses = addresses};
	usec_t start = now_usec(), trickled = start;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c.epoll = epoll_create1(EPOLL_CLOEXEC);
	c.closed = calloc(count, sizeof *c.closed);
	c.fds = calloc(count, sizeof *c.fds);
	c.was_there = calloc(count, sizeof *c.was_there);
	for (unsigned i = 0; i < count; i++)
		crowd_connect(&c, i);
	for (;;) {
		struct epoll_event events[256];
		int n = epoll_wait(c.epoll, events, ARRAY_SIZE(events), 10);

		for (int i = 0; i < n; i++)
			crowd_event(&c, &events[i]);
		crowd_return(&c, start);
		if (now_usec() - trickled > USEC_PER_SEC) {
			crowd_trickle(&c);
			trickled = now_usec();
		}
	}
}

/* ---- the prober ---- */

/* A request of its own connection within the time; the size of the answer if it begins with 200 and
 * ends with the given words, else 0. */
static size_t ask(const char *path, const char *last_words, usec_t timeout_usec)
{
	static char answer[4 * MIB];
	struct timeval timeout = {(time_t)(timeout_usec / USEC_PER_SEC),
				  (suseconds_t)(timeout_usec % USEC_PER_SEC)};
	usec_t end = now_usec() + timeout_usec;
	struct sockaddr_in to = server_address();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[256];
	size_t n = 0, tail = strlen(last_words);
	int size = snprintf(text, sizeof text,
			    "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
	    send(fd, text, (size_t)size, MSG_NOSIGNAL) == size)
		while (now_usec() < end && n < sizeof answer) {
			ssize_t got = recv(fd, answer + n, sizeof answer - n, 0);

			if (got <= 0)
				break;
			n += (size_t)got;
		}
	close(fd);
	return n > 12 + tail && now_usec() < end && memcmp(answer, "HTTP/1.1 200", 12) == 0 &&
			       memcmp(answer + n - tail, last_words, tail) == 0
		       ? n
		       : 0;
}

static uint64_t peak_rss(pid_t pid)
{
	unsigned long long kib = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		sscanf(line, "VmHWM: %llu", &kib);
	CHECK(f != NULL && kib > 0);
	fclose(f);
	return kib * KIB;
}

static void await(_Atomic unsigned *what, unsigned count)
{
	usec_t end = now_usec() + GATHER_USEC;

	while (*what < count && now_usec() < end)
		usleep(10000);
	CHECK(*what >= count);
}

static void measure(pid_t server, unsigned count, unsigned addresses)
{
	unsigned asked = 0, answered = 0, scrapes = 0, scraped = 0, lost_run = 0, lost_run_max = 0;
	unsigned ticks = shared->ticks;
	usec_t longest = 0;

	while (asked < PROBES) {
		usec_t start = now_usec();

		lost_run = ask(asked++ % 2 ? "/livez" : "/readyz", "ok", PROBE_USEC) > 0
				   ? 0
				   : lost_run + 1;
		answered += lost_run == 0;
		lost_run_max = MAX(lost_run_max, lost_run);
		longest = MAX(longest, now_usec() - start);
		if (asked % 10 == 1) {
			scrapes++;
			scraped += ask("/metrics", "\r\n0\r\n\r\n", 10 * USEC_PER_SEC) > 500 * KIB;
		}
		usleep(20000);
	}
	fprintf(stderr,
		"%5u clients of %3u addresses: %u of %u probes (longest %llu ms), %u of %u scrapes,"
		" loop late by at most %llu ms, RSS %llu KiB, %lu reconnects\n",
		count, addresses, answered, asked, (unsigned long long)longest / 1000, scraped,
		scrapes, (unsigned long long)shared->lag_max_usec / 1000,
		(unsigned long long)peak_rss(server) / KIB, shared->reconnects);
	/* The kubelet kills after six probes in a row; a busy host alone may cost one. What comes
	 * from the prober's own address may push a probe out before its request is read. */
	CHECK(lost_run_max < 3);
	CHECK(answered >= PROBES - PROBES / (addresses == 1 ? 5u : 10u));
	CHECK(scraped + 1 >= scrapes);
	CHECK(shared->ticks > ticks);
	CHECK(shared->lag_max_usec < LAG_MAX_USEC);
#ifndef __SANITIZE_ADDRESS__ /* its own memory counts */
	CHECK(peak_rss(server) < RSS_MAX_BYTES);
#endif
}

static void run(unsigned count, unsigned addresses, rlim_t server_files)
{
	pid_t server, crowd;
	int status = 0;

	*shared = (struct shared){0};
	server = fork();
	if (server == 0)
		_exit(serve(server_files) < 0);
	await(&shared->port, 1);
	CHECK(ask("/livez", "ok", PROBE_USEC) > 0);
	crowd = fork();
	if (crowd == 0) {
		crowd_run(count, addresses);
		_exit(1);
	}
	await(&shared->present, count);
	measure(server, count, addresses);
	/* Both have lived to the end. */
	CHECK_EQ(waitpid(crowd, &status, WNOHANG), 0);
	CHECK_EQ(waitpid(server, &status, WNOHANG), 0);
	kill(crowd, SIGKILL);
	waitpid(crowd, &status, 0);
	kill(server, SIGKILL);
	waitpid(server, &status, 0);
}

int main(void)
{
	static const unsigned counts[] = {64, 1000, 10000};
	struct rlimit files;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(shared != MAP_FAILED);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 10100)
		return check_skip("fewer than 10,100 files may be open here");
	files_set(files.rlim_max);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		run(counts[i], 1, SERVER_FILES);
		run(counts[i], 100, SERVER_FILES);
	}
	run(1000, 100, SCANTY_FILES);
	return check_result();
}
