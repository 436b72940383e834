// SPDX-License-Identifier: Apache-2.0
/*
 * writers FOLDER: the processes that write to files of FOLDER's file system, until it is killed:
 *   writers 371 vscaled modify /sys/fs/cgroup/kubepods.slice/.../cpu.max
 *   writers 1 systemd close ...
 * modify: it was written to; close: it was open for writing and is closed. Events lost in a burst
 * are printed as: writers overflow.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

/* Of a process that is gone by now: "?". */
static void name_of(int pid, char *name, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(name, (int)size, f) == NULL)
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

static void show(const struct fanotify_event_metadata *e)
{
	char link[64], path[PATH_MAX], name[64];
	ssize_t n;

	if (e->mask & FAN_Q_OVERFLOW) {
		puts("writers overflow");
		return;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", e->fd);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	close(e->fd);
	name_of(e->pid, name, sizeof name);
	printf("writers %d %s %s %s\n", e->pid, name, e->mask & FAN_MODIFY ? "modify" : "close",
	       path);
}

int main(int argc, char **argv)
{
	char buffer[16384] __attribute__((aligned(8)));
	int in = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_UNLIMITED_QUEUE, O_RDONLY);
	ssize_t n;

	if (argc != 2) {
		fputs("usage: writers FOLDER\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (in < 0 || fanotify_mark(in, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
				    FAN_MODIFY | FAN_CLOSE_WRITE, AT_FDCWD, argv[1]) < 0) {
		perror(argv[1]);
		return 1;
	}
	puts("writers ready");
	while ((n = read(in, buffer, sizeof buffer)) > 0)
		for (struct fanotify_event_metadata *e = (void *)buffer; FAN_EVENT_OK(e, n);
		     e = FAN_EVENT_NEXT(e, n))
			show(e);
	return 1;
}
