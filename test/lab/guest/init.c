// SPDX-License-Identifier: Apache-2.0
/*
 * First program of the lab's guest: loads the modules named in /mods/list in order, waits for the
 * disk, makes it the root and becomes systemd. Static and alone in the initrd: no udev, no shell.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK            "/dev/vda"
#define DISK_WAIT_MSEC  10000
#define DISK_POLL_MSEC  2
#define SYSTEMD_PROGRAM "/lib/systemd/systemd"

static void module_load(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof path, "/mods/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

static void modules_load(void)
{
	FILE *list = fopen("/mods/list", "re");
	char line[256];

	if (list == NULL)
		return; /* everything is built in */
	while (fgets(line, sizeof line, list) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		module_load(line);
	}
	fclose(list);
}

static int disk_mount(void)
{
	for (int msec = 0; msec < DISK_WAIT_MSEC; msec += DISK_POLL_MSEC) {
		if (access(DISK, F_OK) == 0)
			break;
		usleep(DISK_POLL_MSEC * 1000);
	}
	return mount(DISK, "/sysroot", "ext4", MS_NOATIME, "");
}

static int root_switch(void)
{
	if (mount("/dev", "/sysroot/dev", NULL, MS_MOVE, NULL) < 0 || chdir("/sysroot") < 0)
		return -1;
	if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0)
		return -1;
	return chdir("/");
}

int main(int, char **argv)
{
	char program[] = SYSTEMD_PROGRAM;

	mkdir("/dev", 0755);
	mkdir("/sysroot", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, "");
	modules_load();
	if (disk_mount() < 0) {
		perror(DISK);
		return 1;
	}
	if (root_switch() < 0) {
		perror("switch root");
		return 1;
	}
	argv[0] = program;
	execv(program, argv);
	perror(program);
	return 1;
}
