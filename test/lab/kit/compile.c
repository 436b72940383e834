// SPDX-License-Identifier: Apache-2.0
/*
 * compile FOLDER SECONDS: what a build does to memory. Two processes at a time, ten a second at
 * most, each reads some of 192 sources of 256 KiB, takes 8 to 16 MB of its own, writes an object of
 * 512 KiB. After 64 of them all objects are read and one file of 32 MB is written. Prints the jobs
 * so far once a second, and at the end:
 *   compile jobs=412 links=6
 */
#include "gauge.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB          1024L
#define SOURCES      192
#define SOURCE_BYTES (256 * KIB)
#define OBJECTS      64
#define OBJECT_BYTES (512 * KIB)
#define INCLUDES     12
#define WORK_MIN     (8 * KIB * KIB)
#define JOB_NSEC     (100 * NSEC_PER_MSEC)

static char buffer[64 * KIB];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_numbered(const char *kind, int number, int flags)
{
	char name[32];
	int fd;

	snprintf(name, sizeof name, "%s-%d", kind, number);
	fd = open(name, flags | O_CLOEXEC, 0644);
	if (fd < 0)
		die(name);
	return fd;
}

static void write_file(const char *kind, int number, long bytes)
{
	int fd = open_numbered(kind, number, O_WRONLY | O_CREAT | O_TRUNC);

	for (long done = 0; done < bytes; done += (long)sizeof buffer)
		if (write(fd, buffer, sizeof buffer) != (ssize_t)sizeof buffer)
			die("write");
	close(fd);
}

static void read_file(const char *kind, int number)
{
	int fd = open_numbered(kind, number, O_RDONLY);

	while (read(fd, buffer, sizeof buffer) > 0)
		;
	close(fd);
}

static void job(int number)
{
	unsigned seed = (unsigned)number;
	size_t size = (size_t)(WORK_MIN + rand_r(&seed) % WORK_MIN);
	char *heap;

	for (int i = 0; i < INCLUDES; i++)
		read_file("source", rand_r(&seed) % SOURCES);
	heap = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		die("mmap");
	memset(heap, number, size);
	write_file("object", number % OBJECTS, OBJECT_BYTES);
	_exit(0);
}

/* One process ends, another begins. */
static void spawn(int number)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0)
		job(number);
}

static bool reap(void)
{
	int status;

	return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void link_all(void)
{
	for (int i = 0; i < OBJECTS; i++)
		read_file("object", i);
	write_file("linked", 0, OBJECTS * OBJECT_BYTES);
}

int main(int argc, char **argv)
{
	struct gauge own = {0};
	int64_t end, printed_at, next;
	int jobs = 0, links = 0;

	if (argc != 3 || chdir(argv[1]) < 0) {
		fputs("usage: compile FOLDER SECONDS\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	memset(buffer, 'c', sizeof buffer);
	for (int i = 0; i < SOURCES; i++)
		write_file("source", i, SOURCE_BYTES);
	next = printed_at = now_nsec();
	end = printed_at + atoi(argv[2]) * NSEC_PER_SEC;
	spawn(0);
	while (now_nsec() < end) {
		spawn(++jobs);
		if (!reap()) {
			puts("compile: a job died");
			return 1;
		}
		if (now_nsec() >= printed_at + NSEC_PER_SEC) {
			printed_at = now_nsec();
			printf("compile t=%lld jobs=%d\n", (long long)(printed_at / NSEC_PER_SEC),
			       jobs);
		}
		if (jobs % OBJECTS == 0 && jobs > OBJECTS) {
			link_all();
			links++;
		}
		next += JOB_NSEC;
		if (now_nsec() < next)
			gauge_sleep(&own, next);
		else
			next = now_nsec();
	}
	reap();
	printf("compile jobs=%d links=%d\n", jobs, links);
	return 0;
}
