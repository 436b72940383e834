// SPDX-License-Identifier: Apache-2.0
/*
 * memload ANON_MB HOT_MB FILE [SURGE]...   SURGE = AT_SEC:MB:RATE_MB_PER_SEC:HOLD_SEC
 * memload -s RATE_MB_PER_SEC ANON_MB FILE
 *
 * A server at work: it reads FILE once (page cache that it does not need), and from then on touches
 * all its memory and the first HOT_MB of FILE every two seconds. A surge takes MB more at the rate
 * (0: at once), keeps it and gives it back. -s: it reads the whole of FILE over and over at that
 * rate instead. Prints once a second how often it was held up for more than 100 ms since it began
 * to work, and each time at once, with the seconds since boot and how much of it, and of the work
 * before it (20 ms), it waited for a CPU:
 *   memload t=12 mb=40 stalls=1 max_stall_ms=103
 *   memload stall at=64.21 ms=103 cpu_wait_ms=99
 */
#include "gauge.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB         (1024L * 1024)
#define TICK_NSEC  (20 * NSEC_PER_MSEC)
#define PASS_TICKS 100
#define STEP_BYTES (64L * 1024)
#define ROOM       (1024L * MB)
#define SURGES_MAX 8

struct surge {
	long at_sec, bytes, rate, hold_sec;
};

static struct surge surges[SURGES_MAX];
static int surge_count, fd;
static long anon_bytes, hot_bytes, stream_rate, extra_bytes;
static char *room, *extra;
static struct gauge gauge;
static int sched_fd;
static int64_t waited_nsec; /* for a CPU, until this tick */
static bool working;

static int64_t cpu_wait_nsec(void)
{
	char text[128];
	ssize_t n = pread(sched_fd, text, sizeof text - 1, 0);
	long long ran, waited;

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

static void say_stall(int64_t gap)
{
	if (!working || gap <= STALL_MSEC * NSEC_PER_MSEC)
		return;
	printf("memload stall at=%.2f ms=%lld cpu_wait_ms=%lld\n",
	       (double)clock_nsec(CLOCK_BOOTTIME) / NSEC_PER_SEC, (long long)(gap / NSEC_PER_MSEC),
	       (long long)((cpu_wait_nsec() - waited_nsec) / NSEC_PER_MSEC));
}

static void look(void)
{
	int64_t now = now_nsec(), gap = gauge.last_nsec == 0 ? 0 : now - gauge.last_nsec;

	gauge_look(&gauge, now);
	say_stall(gap);
}

static void touch(char *from, long begin, long end)
{
	for (long at = begin; at < end; at += 4096) {
		from[at]++;
		if (at % STEP_BYTES == 0)
			look();
	}
}

static void read_part(long begin, long end)
{
	static char buffer[STEP_BYTES];

	for (long at = begin; at < end; at += STEP_BYTES) {
		if (pread(fd, buffer, sizeof buffer, at) < 0)
			perror("memload: read");
		look();
	}
}

/* What the surges want at this time. */
static long wanted(int64_t nsec)
{
	for (int i = 0; i < surge_count; i++) {
		const struct surge *s = &surges[i];
		int64_t in = nsec - s->at_sec * NSEC_PER_SEC;
		int64_t grows = s->rate > 0 ? s->bytes * NSEC_PER_SEC / s->rate : 0;

		if (in < 0 || in >= grows + s->hold_sec * NSEC_PER_SEC)
			continue;
		return in < grows ? (long)(s->rate * in / NSEC_PER_SEC) : s->bytes;
	}
	return 0;
}

static void surge(int64_t nsec)
{
	long want = wanted(nsec) / 4096 * 4096;

	if (want > extra_bytes)
		touch(extra, extra_bytes, want);
	else if (want < extra_bytes)
		madvise(extra + want, (size_t)(extra_bytes - want), MADV_DONTNEED);
	extra_bytes = want;
}

static void stream(long tick, long size)
{
	static long done;
	long due = stream_rate * tick * TICK_NSEC / NSEC_PER_SEC / STEP_BYTES * STEP_BYTES;

	for (; done < due; done += STEP_BYTES)
		read_part(done % size, done % size + STEP_BYTES);
}

static void work(long size)
{
	const int64_t start = now_nsec();

	gauge = (struct gauge){0};
	working = true;
	for (long tick = 1;; tick++) {
		long part = (tick - 1) % PASS_TICKS;
		int64_t next = start + tick * TICK_NSEC;

		waited_nsec = cpu_wait_nsec();
		touch(room, anon_bytes / PASS_TICKS * part, anon_bytes / PASS_TICKS * (part + 1));
		if (stream_rate > 0)
			stream(tick, size);
		else
			read_part(hot_bytes / PASS_TICKS * part,
				  hot_bytes / PASS_TICKS * (part + 1));
		surge(now_nsec() - start);
		if (tick % 50 == 0)
			printf("memload t=%ld mb=%ld stalls=%lld max_stall_ms=%lld\n", tick / 50,
			       (anon_bytes + extra_bytes) / MB, (long long)gauge.stalls,
			       (long long)(gauge.max_nsec / NSEC_PER_MSEC));
		if (now_nsec() < next) {
			gauge_sleep(&gauge, next);
			say_stall(gauge.last_nsec - next);
		}
	}
}

static char *anonymous(void)
{
	char *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("memload: mmap");
		exit(1);
	}
	madvise(p, ROOM, MADV_NOHUGEPAGE);
	return p;
}

static int surge_parse(const char *text, struct surge *ret)
{
	struct surge s;

	if (surge_count >= SURGES_MAX ||
	    sscanf(text, "%ld:%ld:%ld:%ld", &s.at_sec, &s.bytes, &s.rate, &s.hold_sec) != 4)
		return -1;
	s.bytes *= MB;
	s.rate *= MB;
	*ret = s;
	return 0;
}

static int options_read(int argc, char **argv)
{
	int c, left;

	while ((c = getopt(argc, argv, "s:")) == 's')
		stream_rate = atol(optarg) * MB;
	left = argc - optind;
	if (c != -1 || (stream_rate > 0 ? left != 2 : left < 3))
		return -1;
	argv += optind;
	anon_bytes = atol(*argv++) * MB;
	if (stream_rate == 0)
		hot_bytes = atol(*argv++) * MB;
	fd = open(*argv, O_RDONLY | O_CLOEXEC);
	sched_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sched_fd < 0) {
		perror(fd < 0 ? *argv : "memload: schedstat");
		return -1;
	}
	while (*++argv != NULL) {
		if (surge_parse(*argv, &surges[surge_count]) < 0)
			return -1;
		surge_count++;
	}
	return anon_bytes > 0 && anon_bytes <= ROOM ? 0 : -1;
}

int main(int argc, char **argv)
{
	long size;

	if (options_read(argc, argv) < 0) {
		fputs("usage: memload ANON_MB HOT_MB FILE [AT_SEC:MB:RATE:HOLD_SEC]...\n"
		      "       memload -s RATE_MB_PER_SEC ANON_MB FILE\n",
		      stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	room = anonymous();
	extra = anonymous();
	size = lseek(fd, 0, SEEK_END) / STEP_BYTES * STEP_BYTES;
	touch(room, 0, anon_bytes);
	read_part(0, size);
	puts("memload ready");
	work(size);
	return 0;
}
