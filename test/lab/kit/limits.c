// SPDX-License-Identifier: Apache-2.0
/*
 * limits SECONDS FOLDER FILE...: every write to these files of a cgroup, with the time since boot
 * in microseconds, the value afterwards and memory.current:
 *   limits 81234567 memory.max 268435456 use=91234304
 * A value that is overwritten before it could be read is seen as the next one.
 */
#include "gauge.h"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FILES_MAX 8

static struct {
	const char *name;
	int fd, watch;
} files[FILES_MAX];
static int file_count, use_fd;

/* The first line of a file that is kept open. */
static const char *text_of(int fd, char *buffer, size_t size)
{
	ssize_t n = pread(fd, buffer, size - 1, 0);

	buffer[n > 0 ? n : 0] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
	return buffer;
}

static int64_t since_boot_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void show(int watch)
{
	char value[64], use[64];

	for (int i = 0; i < file_count; i++)
		if (files[i].watch == watch)
			printf("limits %lld %s %s use=%s\n", (long long)since_boot_usec(),
			       files[i].name, text_of(files[i].fd, value, sizeof value),
			       text_of(use_fd, use, sizeof use));
}

static void drain(int in)
{
	char buffer[4096] __attribute__((aligned(8)));
	ssize_t n = read(in, buffer, sizeof buffer);

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const struct inotify_event *)(buffer + at);

		show(e->wd);
		at += (ssize_t)(sizeof *e + e->len);
	}
}

static int file_open(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		perror(path);
	return fd;
}

static int watch_all(int in, const char *folder, char **names, int count)
{
	char path[PATH_MAX];

	use_fd = file_open(folder, "memory.current");
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		files[i].name = names[i];
		files[i].fd = file_open(folder, names[i]);
		files[i].watch = inotify_add_watch(in, path, IN_MODIFY);
		if (files[i].fd < 0 || files[i].watch < 0)
			return -1;
		file_count = i + 1;
		show(files[i].watch);
	}
	return use_fd;
}

int main(int argc, char **argv)
{
	int in = inotify_init1(IN_CLOEXEC);
	int64_t end;

	if (argc < 4 || argc - 3 > FILES_MAX) {
		fputs("usage: limits SECONDS FOLDER FILE...\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (in < 0 || watch_all(in, argv[2], argv + 3, argc - 3) < 0)
		return 1;
	end = now_nsec() + strtol(argv[1], NULL, 10) * NSEC_PER_SEC;
	while (now_nsec() < end) {
		struct pollfd p = {.fd = in, .events = POLLIN};

		if (poll(&p, 1, (int)((end - now_nsec()) / NSEC_PER_MSEC) + 1) > 0)
			drain(in);
	}
	return 0;
}
