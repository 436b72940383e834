// SPDX-License-Identifier: Apache-2.0
/*
 * grow [-HLs] [-n COUNT] [-c FILE] [-f FIFO] PHASE...   PHASE =
 * SIZE_MB[@RATE_MB_PER_SEC][+HOLD_SEC|+w]
 *
 * Brings its memory to SIZE_MB, growing at the rate (default: at once), then holds it; a smaller
 * size is given back at once. +w holds it until SIGUSR1 comes. -c reads FILE over and over beside
 * it: page cache, which fills any limit by itself. -f waits after the last phase until a line of
 * further phases comes from FIFO. A wait causes no wake-ups. -H: huge pages where the kernel
 * has them. -L: prints its cgroup's limits, too, as burn. -s: the memory is shared (shmem), not
 * anonymous. -n: so many processes have an equal part each; what is printed is the first one's,
 * times COUNT. Example: 64 MB, up to 300 at 50 MB/s, 10 s there, back to 64 for good: grow 64
 * 300@50+10 64+100000 Prints once a second, and at every phase: grow t=3 mb=150 stalls=0
 * max_stall_ms=4 cache_mb=0 grow reached=9.2 mb=300 stalls=0 max_stall_ms=4 cache_mb=0 took_ms=4720
 * mb_per_sec=49
 */
#include "gauge.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MB         (1024L * 1024)
#define ROOM       (64L * 1024 * MB) /* address space only */
#define TICK_NSEC  (10 * NSEC_PER_MSEC)
#define STEP_BYTES (256L * 1024) /* a look at the clock between steps: a stall shows as one */

struct phase {
	long size, rate; /* bytes, bytes per second; rate 0 = at once */
	int hold_sec;
	bool until_reported;
};

static struct {
	bool huge, limits, shared;
	long count; /* of processes */
	char *cache_file, *fifo;
} options = {.count = 1};
static pid_t others[63];
static char *room;
static long size_bytes;
static struct gauge gauge;
static _Atomic long cache_bytes;
static int64_t start_nsec, printed_nsec;
static volatile sig_atomic_t stopped, signalled;

static void on_signal(int)
{
	stopped = 1;
}

static void on_reported(int)
{
	signalled = 1;
}

/* took, grown: of the phase that ended with it; 0: none did. */
static void print(const char *what, int64_t took_nsec, long grown_bytes)
{
	char text[64] = "", limits[64] = "";

	if (took_nsec > 0)
		snprintf(text, sizeof text, " took_ms=%lld mb_per_sec=%ld",
			 (long long)(took_nsec / NSEC_PER_MSEC),
			 options.count * (long)((double)grown_bytes * NSEC_PER_SEC /
						(double)took_nsec / MB));
	if (options.limits)
		gauge_limits(limits, sizeof limits);
	printf("grow %s=%.1f mb=%ld stalls=%lld max_stall_ms=%lld cache_mb=%ld%s%s\n", what,
	       (double)(now_nsec() - start_nsec) / NSEC_PER_SEC, options.count * size_bytes / MB,
	       (long long)gauge.stalls, (long long)(gauge.max_nsec / NSEC_PER_MSEC),
	       cache_bytes / MB, text, limits);
	printed_nsec = now_nsec();
}

static void print_each_second(void)
{
	if (now_nsec() - printed_nsec >= NSEC_PER_SEC)
		print("t", 0, 0);
}

static void touch_to(long size)
{
	const long page = sysconf(_SC_PAGESIZE);

	while (size_bytes < size && !stopped) {
		long end = size_bytes + STEP_BYTES < size ? size_bytes + STEP_BYTES : size;

		for (long at = size_bytes; at < end; at += page)
			room[at] = 1;
		size_bytes = end;
		gauge_look(&gauge, now_nsec());
	}
}

static void grow_at_rate(const struct phase *p)
{
	const long base = size_bytes;
	const int64_t start = now_nsec();

	for (int64_t tick = start + TICK_NSEC; size_bytes < p->size && !stopped;
	     tick += TICK_NSEC) {
		long due = base + (long)((double)p->rate * (double)(tick - start) / NSEC_PER_SEC);

		touch_to(due < p->size ? due : p->size);
		print_each_second();
		if (now_nsec() < tick)
			gauge_sleep(&gauge, tick);
	}
}

/* Nothing runs meanwhile: a container that waits is idle. */
static void wait_for_word(void)
{
	sigset_t ours, before;

	sigemptyset(&ours);
	sigaddset(&ours, SIGUSR1);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, &before);
	signalled = 0;
	while (!signalled && !stopped)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (long i = 0; i < options.count - 1 && others[i] != 0; i++)
		kill(others[i], SIGUSR1);
	gauge.last_nsec = 0;
}

static void hold(const struct phase *p)
{
	const int64_t end = now_nsec() + p->hold_sec * NSEC_PER_SEC;

	if (p->until_reported)
		wait_for_word();
	while (!p->until_reported && now_nsec() < end && !stopped) {
		gauge_sleep(&gauge, now_nsec() + TICK_NSEC);
		print_each_second();
	}
}

static void phase_run(const struct phase *p)
{
	const int64_t start = now_nsec();
	const long base = size_bytes;

	if (p->size < size_bytes) {
		madvise(room + p->size, (size_t)(size_bytes - p->size),
			options.shared ? MADV_REMOVE : MADV_DONTNEED);
		size_bytes = p->size;
	} else if (p->rate == 0) {
		touch_to(p->size);
	} else {
		grow_at_rate(p);
	}
	print("reached", now_nsec() - start, size_bytes - base);
	hold(p);
}

static void *cache_read(void *arg)
{
	static char buffer[128 * 1024];
	int fd = open(arg, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0) {
		perror(arg);
		exit(1);
	}
	for (;;) {
		n = read(fd, buffer, sizeof buffer);
		if (n > 0)
			cache_bytes += n;
		else if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
			break;
	}
	perror(arg);
	exit(1);
}

static int phase_parse(const char *text, struct phase *ret)
{
	struct phase p = {0};
	char *end;

	p.size = strtol(text, &end, 10) * MB / options.count;
	if (*end == '@')
		p.rate = strtol(end + 1, &end, 10) * MB / options.count;
	p.until_reported = strcmp(end, "+w") == 0;
	if (p.until_reported)
		end += 2;
	else if (*end == '+')
		p.hold_sec = (int)strtol(end + 1, &end, 10);
	if (*end != '\0' || p.size < 0 || p.size > ROOM || p.rate < 0)
		return -1;
	*ret = p;
	return 0;
}

static int usage(void)
{
	fputs("usage: grow [-HLs] [-n COUNT] [-c FILE] [-f FIFO] "
	      "SIZE_MB[@RATE_MB_PER_SEC][+HOLD_SEC|+w]...\n",
	      stderr);
	return 2;
}

/* Phases in one line from there; nothing runs until it comes. Stalls are those since then. */
static int phases_from(const char *fifo)
{
	char line[256], *at = line;
	FILE *in = fopen(fifo, "re");
	struct phase p;

	if (in == NULL || fgets(line, sizeof line, in) == NULL) {
		perror(fifo);
		return -1;
	}
	fclose(in);
	gauge = (struct gauge){0};
	line[strcspn(line, "\n")] = '\0';
	for (char *word; (word = strsep(&at, " ")) != NULL && !stopped;) {
		if (phase_parse(word, &p) < 0)
			return usage();
		phase_run(&p);
	}
	return 0;
}

/* The others end with the first, and print nothing. */
static void start_others(void)
{
	for (long i = 0; i < options.count - 1; i++) {
		others[i] = fork();
		if (others[i] != 0)
			continue;
		memset(others, 0, sizeof others);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (freopen("/dev/null", "w", stdout) == NULL)
			exit(1);
		return;
	}
}

static int begin(void)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGUSR1, on_reported);
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
		    (options.shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (room == MAP_FAILED) {
		perror("grow: mmap");
		return -1;
	}
	if (!options.huge)
		madvise(room, ROOM, MADV_NOHUGEPAGE);
	if (options.cache_file != NULL)
		return -pthread_create(&thread, NULL, cache_read, options.cache_file);
	return 0;
}

static int options_read(int argc, char **argv)
{
	struct phase p;
	int c;

	while ((c = getopt(argc, argv, "HLsn:c:f:")) != -1) {
		if (c == 'H')
			options.huge = true;
		else if (c == 'L')
			options.limits = true;
		else if (c == 's')
			options.shared = true;
		else if (c == 'n')
			options.count = atol(optarg);
		else if (c == 'c')
			options.cache_file = optarg;
		else if (c == 'f')
			options.fifo = optarg;
		else
			return -1;
	}
	if (options.count < 1 || options.count > 1 + (long)(sizeof others / sizeof *others))
		return -1;
	for (int i = optind; i < argc; i++) {
		if (phase_parse(argv[i], &p) < 0)
			return -1;
	}
	return optind < argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct phase p;

	if (options_read(argc, argv) < 0)
		return usage();
	if (begin() < 0)
		return 1;
	start_others();
	start_nsec = printed_nsec = now_nsec();
	for (int i = optind; i < argc && !stopped; i++) {
		phase_parse(argv[i], &p);
		phase_run(&p);
	}
	if (options.fifo != NULL && !stopped && phases_from(options.fifo) != 0)
		return 1;
	print("total", 0, 0);
	return 0;
}
