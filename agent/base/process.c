// SPDX-License-Identifier: Apache-2.0
#include "agent/base/process.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Fields of /proc/PID/stat by their numbers in proc(5). */
enum { STAT_UTIME = 14, STAT_STIME = 15, STAT_START = 22, STAT_VSIZE = 23, STAT_RSS = 24 };

static usec_t ticks_usec(uint64_t ticks)
{
	return ticks * (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A field's number, or false. Some in between are negative: those are skipped as they are. */
static bool process_number(const char *text, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 19 || strchr(" \n", text[n]) == NULL)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

int process_parse_stat(const char *text, struct process_facts *ret, uint64_t *ret_start_ticks)
{
	/* The name may hold blanks and parentheses; it ends at the last one. */
	const char *p = strrchr(text, ')');
	uint64_t value[STAT_RSS + 1] = {0};

	for (int field = 3; field <= STAT_RSS; field++) {
		p = p != NULL ? strchr(p, ' ') : NULL;
		if (p == NULL)
			return -EBADMSG;
		p++;
		if ((field == STAT_UTIME || field == STAT_STIME || field >= STAT_START) &&
		    !process_number(p, &value[field]))
			return -EBADMSG;
	}
	ret->cpu_usec = ticks_usec(value[STAT_UTIME] + value[STAT_STIME]);
	ret->virtual_bytes = value[STAT_VSIZE];
	ret->resident_bytes = value[STAT_RSS] * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_start_ticks = value[STAT_START];
	return 0;
}

int process_parse_boot(const char *text, uint64_t *ret_sec)
{
	const char *line = strncmp(text, "btime ", 6) == 0 ? text : strstr(text, "\nbtime ");

	if (line == NULL)
		return -EBADMSG;
	return process_number(strchr(line, ' ') + 1, ret_sec) ? 0 : -EBADMSG;
}

static bool read_text(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (f == NULL)
		return false;
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	fclose(f);
	return n > 0;
}

/* btime is the same until the next boot, and far down in a long file: found once. */
static uint64_t boot_sec(void)
{
	static uint64_t sec;
	char line[256];
	FILE *f;

	if (sec > 0)
		return sec;
	f = fopen("/proc/stat", "re");
	if (f == NULL)
		return 0;
	while (sec == 0 && fgets(line, sizeof line, f) != NULL)
		process_parse_boot(line, &sec);
	fclose(f);
	return sec;
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (dir == NULL)
		return 0;
	for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
		n += e->d_name[0] != '.';
	closedir(dir);
	/* Without the descriptor that reads the folder. */
	return n - 1;
}

static usec_t timeval_usec(const struct timeval *t)
{
	return (usec_t)t->tv_sec * USEC_PER_SEC + (usec_t)t->tv_usec;
}

void process_read(struct process_facts *ret)
{
	struct process_facts facts = {0};
	struct rusage used;
	struct rlimit limit;
	uint64_t start;
	char text[1024];

	if (read_text("/proc/self/stat", text, sizeof text) &&
	    process_parse_stat(text, &facts, &start) == 0 && boot_sec() > 0)
		facts.started_real = boot_sec() * USEC_PER_SEC + ticks_usec(start);
	facts.fds = count_fds();
	/* Finer than the ticks of stat. */
	if (getrusage(RUSAGE_SELF, &used) == 0)
		facts.cpu_usec = timeval_usec(&used.ru_utime) + timeval_usec(&used.ru_stime);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		facts.fds_max = limit.rlim_cur;
	*ret = facts;
}

/* --- footprint */

/* The allocator's own threshold at the start. */
#define LARGE_BYTES (128 * 1024)

struct mapping {
	unsigned long start, end;
	int trimmable;
};

/* "start-end r-xp offset dev inode /path": code and constants of a file. */
static int read_mapping(const char *line, struct mapping *ret)
{
	char mode[8], path[8] = "";
	struct mapping m;

	/* Field names may begin with letters that are hexadecimal digits. */
	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &m.start, &m.end, mode, path) < 3)
		return 0;
	m.trimmable = path[0] == '/' && (strcmp(mode, "r-xp") == 0 || strcmp(mode, "r--p") == 0);
	*ret = m;
	return 1;
}

void footprint_start(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

void footprint_trim(void)
{
	struct mapping m = {0};
	unsigned long own;
	char line[512];
	FILE *maps = fopen("/proc/self/smaps", "re");

	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		if (read_mapping(line, &m))
			continue;
		/* A page that the dynamic linker wrote before it became read-only is in no file. */
		if (m.trimmable && sscanf(line, "Anonymous: %lu", &own) == 1 && own == 0)
			madvise((void *)m.start, m.end - m.start, MADV_DONTNEED);
	}
	if (maps != NULL)
		fclose(maps);
	malloc_trim(0);
}

/* --- threads */

#define STACK_BYTES ((size_t)64 << 10)

int thread_start(pthread_t *ret, void *(*work)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, MAX(STACK_BYTES, (size_t)PTHREAD_STACK_MIN));
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

const char *const vscaled_revision = VSCALED_REVISION;
