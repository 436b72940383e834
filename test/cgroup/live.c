// SPDX-License-Identifier: Apache-2.0
#include "test/cgroup/live.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD_BYTES (16u << 20)

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "live: %s: %s\n", what, strerror(errno));
	abort();
}

const char *live_path(const struct live *l, const char *name)
{
	static char paths[8][160];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof paths[0], "%s%s%s", l->top, name[0] == '\0' ? "" : "/", name);
	return path;
}

bool live_try(const struct live *l, const char *name, const char *file, const char *text)
{
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s/%s", live_path(l, name), file);
	fd = openat(l->root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

void live_put(const struct live *l, const char *name, const char *file, const char *text)
{
	must(live_try(l, name, file, text), file);
}

void live_make(const struct live *l, const char *name)
{
	must(mkdirat(l->root, live_path(l, name), 0755) == 0, name);
}

void live_remove(const struct live *l, const char *name)
{
	(void)live_try(l, name, "cgroup.kill", "1");
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	for (int i = 0; i < 5000; i++) {
		if (unlinkat(l->root, live_path(l, name), AT_REMOVEDIR) == 0)
			return;
		must(errno == EBUSY, name);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(2000);
	}
	must(false, name);
}

const char *live_open(struct live *l)
{
	static char why[128];

	*l = (struct live){.root = -1};
	must(cg_discover(NULL, false, &l->host) == 0, "cg_discover");
	if (l->host.mount[0] == '\0')
		return "no cgroup2 mount";
	l->root = open(l->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(l->root >= 0, l->host.mount);
	snprintf(l->top, sizeof l->top, "vscaled-test-%d", (int)getpid());
	if (mkdirat(l->root, l->top, 0755) < 0) {
		snprintf(why, sizeof why, "no cgroup can be made: %s", strerror(errno));
		close(l->root);
		return why;
	}
	if (l->host.enabled & CG_CPU)
		live_put(l, "", "cgroup.subtree_control", "+cpu");
	if (l->host.enabled & CG_MEMORY)
		live_put(l, "", "cgroup.subtree_control", "+memory");
	return NULL;
}

void live_close(struct live *l)
{
	int fd = openat(l->root, l->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	must(dir != NULL, l->top);
	while ((d = readdir(dir)) != NULL)
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			live_remove(l, d->d_name);
	closedir(dir);
	live_remove(l, "");
	close(l->root);
}

static void burn(void)
{
	for (volatile unsigned n = 0;; n = n + 1)
		;
}

static void take_memory(void)
{
	for (unsigned round = 1;; round++) {
		size_t bytes = LOAD_BYTES >> (round % 5);
		volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; p != MAP_FAILED && i < bytes; i += 4096)
			p[i] = 1;
		usleep(20000);
		if (p != MAP_FAILED)
			munmap((void *)p, bytes);
	}
}

static void write_files(void)
{
	static const char block[65536];
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

	for (unsigned round = 1;; round++) {
		for (unsigned i = 0; i < 16; i++)
			(void)!write(fd, block, sizeof block);
		usleep(10000);
		if (round % 8 == 0 && ftruncate(fd, 0) == 0)
			(void)lseek(fd, 0, SEEK_SET);
	}
}

static void idle(void)
{
	for (;;)
		pause();
}

pid_t live_start(const struct live *l, const char *name, enum live_load load)
{
	static void (*const loads[])(void) = {
		[LIVE_IDLE] = idle,
		[LIVE_BURN] = burn,
		[LIVE_MEMORY] = take_memory,
		[LIVE_FILES] = write_files,
	};
	int ready[2];
	char byte;
	pid_t pid;

	must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_put(l, name, "cgroup.procs", "0");
		must(write(ready[1], "x", 1) == 1, "pipe");
		loads[load]();
		_exit(1);
	}
	close(ready[1]);
	must(read(ready[0], &byte, 1) == 1, "the load did not start");
	close(ready[0]);
	return pid;
}
