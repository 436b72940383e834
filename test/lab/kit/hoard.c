// SPDX-License-Identifier: Apache-2.0
/*
 * hoard [-d FOLDER] KIND=SIZE_MB[@RATE_MB_PER_SEC]...
 *
 * Takes memory of the named kinds, all at the same time, each up to its size at its rate (default
 * 8), then keeps it and sleeps. Files go to FOLDER (default /var/tmp).
 *   anon    private anonymous pages
 *   shmem   a memfd (tmpfs)
 *   locked  anonymous pages, mlocked
 *   file    pages of a file on disk, mlocked
 *   tcp     data that is not read, in TCP sockets on the loopback device: memory.stat's `sock`
 *   unix    the same in Unix sockets: kernel memory
 *   pipe    the same in pipes: kernel memory
 *   table   page tables: kernel memory
 *   cache   a file on disk, read once: page cache
 * Sizes are of the data: sockets take more for it. Prints "hoard ready" when all have their size,
 * and once a second how far each is: "hoard anon=12 tcp=3".
 */
#include "gauge.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MB           (1024L * 1024)
#define STEP         (256L * 1024)
#define RATE         8
#define TICK_NSEC    (10 * NSEC_PER_MSEC)
#define BUFFER_BYTES (8 * MB)
#define PIPE_BYTES   MB
/* One page of page tables maps this much. */
#define TABLE_SPAN (2 * MB)

struct hoard {
	const struct kind *kind;
	long size, rate, done; /* bytes, bytes per second, bytes */
	long missed;           /* bytes */
	char *map;
	int fd, peer; /* -1: none */
};

/* Takes `bytes` more of it: what it got, -1 with errno. */
struct kind {
	const char *name;
	int (*begin)(struct hoard *h);
	long (*take)(struct hoard *h, long bytes);
};

static const char *folder = "/var/tmp";
static char block[STEP];

static char *map_anonymous(size_t bytes, int protection)
{
	char *map =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, bytes, MADV_NOHUGEPAGE);
	return map;
}

static int anon_begin(struct hoard *h)
{
	h->map = map_anonymous((size_t)h->size, PROT_READ | PROT_WRITE);
	return h->map == NULL ? -1 : 0;
}

static long anon_take(struct hoard *h, long bytes)
{
	memset(h->map + h->done, 1, (size_t)bytes);
	return bytes;
}

static long locked_take(struct hoard *h, long bytes)
{
	return mlock(h->map + h->done, (size_t)bytes) < 0 ? -1 : bytes;
}

static int shmem_begin(struct hoard *h)
{
	h->fd = memfd_create("hoard", MFD_CLOEXEC);
	return h->fd < 0 ? -1 : 0;
}

static long write_take(struct hoard *h, long bytes)
{
	return write(h->fd, block, (size_t)bytes);
}

/* A file without blocks: its pages are page cache all the same. */
static int file_begin(struct hoard *h)
{
	char path[256];

	snprintf(path, sizeof path, "%s/hoard-%s-XXXXXX", folder, h->kind->name);
	h->fd = mkostemp(path, O_CLOEXEC);
	if (h->fd < 0 || unlink(path) < 0 || ftruncate(h->fd, h->size) < 0)
		return -1;
	return 0;
}

static int mapped_begin(struct hoard *h)
{
	if (file_begin(h) < 0)
		return -1;
	h->map = mmap(NULL, (size_t)h->size, PROT_READ, MAP_SHARED, h->fd, 0);
	return h->map == MAP_FAILED ? -1 : 0;
}

static long cache_take(struct hoard *h, long bytes)
{
	return read(h->fd, block, (size_t)bytes);
}

static int table_begin(struct hoard *h)
{
	size_t span = (size_t)h->size / (size_t)sysconf(_SC_PAGESIZE) * TABLE_SPAN;

	h->map = map_anonymous(span, PROT_READ);
	return h->map == NULL ? -1 : 0;
}

/* A read maps the zero page, which is not charged. */
static long table_take(struct hoard *h, long bytes)
{
	const long page = sysconf(_SC_PAGESIZE);

	for (long at = h->done / page; at < (h->done + bytes) / page; at++)
		(void)*(volatile char *)(h->map + at * TABLE_SPAN);
	return bytes;
}

static void buffers(int fd)
{
	int bytes = BUFFER_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
}

/* Each opens the next one: fd is written to, the other end is not read. */
static int pipe_next(struct hoard *h)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 || fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		return -1;
	h->fd = ends[1];
	return 0;
}

static int unix_next(struct hoard *h)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	buffers(ends[1]);
	h->fd = ends[1];
	return 0;
}

static int tcp_begin(struct hoard *h)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

	h->peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->peer < 0)
		return -1;
	buffers(h->peer);
	if (bind(h->peer, (struct sockaddr *)&at, sizeof at) < 0)
		return -1;
	return listen(h->peer, 16);
}

static int tcp_next(struct hoard *h)
{
	struct sockaddr_in at;
	socklen_t len = sizeof at;
	int flags, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	buffers(fd);
	if (getsockname(h->peer, (struct sockaddr *)&at, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&at, sizeof at) < 0 || accept(h->peer, NULL, NULL) < 0)
		return -1;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	h->fd = fd;
	return 0;
}

/* What the present one does not take goes to the next one. */
static long queue_take(struct hoard *h, long bytes, int (*next)(struct hoard *))
{
	ssize_t n;

	if (h->fd < 0 && next(h) < 0)
		return -1;
	n = write(h->fd, block, (size_t)bytes);
	if (n >= 0 || errno != EAGAIN)
		return n;
	h->fd = -1; /* it stays open, full */
	return 0;
}

static long pipe_take(struct hoard *h, long bytes)
{
	return queue_take(h, bytes, pipe_next);
}

static long unix_take(struct hoard *h, long bytes)
{
	return queue_take(h, bytes, unix_next);
}

static long tcp_take(struct hoard *h, long bytes)
{
	return queue_take(h, bytes, tcp_next);
}

static int nothing(struct hoard *)
{
	return 0;
}

static const struct kind kinds[] = {
	{"anon", anon_begin, anon_take},     {"shmem", shmem_begin, write_take},
	{"locked", anon_begin, locked_take}, {"file", mapped_begin, locked_take},
	{"tcp", tcp_begin, tcp_take},        {"unix", nothing, unix_take},
	{"pipe", nothing, pipe_take},        {"table", table_begin, table_take},
	{"cache", file_begin, cache_take},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static int parse(const char *text, struct hoard *ret)
{
	const char *value = strchr(text, '=');
	char *end;

	*ret = (struct hoard){.fd = -1, .peer = -1, .rate = RATE * MB};
	for (size_t i = 0; value != NULL && i < KINDS; i++)
		if (strncmp(kinds[i].name, text, (size_t)(value - text)) == 0 &&
		    kinds[i].name[value - text] == '\0')
			ret->kind = &kinds[i];
	if (ret->kind == NULL)
		return -1;
	ret->size = strtol(value + 1, &end, 10) * MB;
	if (*end == '@')
		ret->rate = strtol(end + 1, &end, 10) * MB;
	return *end == '\0' && ret->size > 0 && ret->rate > 0 ? 0 : -1;
}

/* Up to what is due by now; false: it cannot. Time in which it could not run is not made up for:
 * that would be a burst. */
static bool take_due(struct hoard *h, int64_t since_nsec)
{
	long due = (long)((double)h->rate * (double)since_nsec / NSEC_PER_SEC) - h->missed;
	long most = h->rate / 50 > STEP ? h->rate / 50 : STEP; /* twice a tick's */

	if (due - h->done > most) {
		h->missed += due - h->done - most;
		due = h->done + most;
	}
	due = due < h->size ? due : h->size;
	while (due - h->done >= STEP || (due == h->size && h->done < due)) {
		long left = h->size - h->done;
		long n = h->kind->take(h, left < STEP ? left : STEP);

		if (n < 0) {
			perror(h->kind->name);
			return false;
		}
		if (n == 0) /* a full socket: the next one with the next tick */
			break;
		h->done += n;
	}
	return true;
}

static void print(const struct hoard *h, int count)
{
	printf("hoard");
	for (int i = 0; i < count; i++)
		printf(" %s=%ld", h[i].kind->name, h[i].done / MB);
	printf("\n");
}

static bool all_done(const struct hoard *h, int count)
{
	for (int i = 0; i < count; i++)
		if (h[i].done < h[i].size)
			return false;
	return true;
}

static int run(struct hoard *h, int count)
{
	const int64_t start = now_nsec();
	int64_t printed = start;
	struct gauge gauge = {0};

	for (int64_t tick = start; !all_done(h, count); tick += TICK_NSEC) {
		for (int i = 0; i < count; i++)
			if (!take_due(&h[i], now_nsec() - start))
				return 1;
		if (now_nsec() - printed >= NSEC_PER_SEC) {
			printed = now_nsec();
			print(h, count);
		}
		if (now_nsec() < tick)
			gauge_sleep(&gauge, tick);
	}
	print(h, count);
	puts("hoard ready");
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct hoard hoards[KINDS];
	int c, count = 0;

	while ((c = getopt(argc, argv, "d:")) != -1) {
		if (c != 'd')
			return 2;
		folder = optarg;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	memset(block, 1, sizeof block);
	for (int i = optind; i < argc; i++, count++) {
		if (count == (int)KINDS || parse(argv[i], &hoards[count]) < 0) {
			fprintf(stderr, "usage: hoard [-d FOLDER] KIND=SIZE_MB[@RATE]...\n");
			return 2;
		}
		if (hoards[count].kind->begin(&hoards[count]) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	return run(hoards, count);
}
