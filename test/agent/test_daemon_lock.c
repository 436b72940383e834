// SPDX-License-Identifier: Apache-2.0
/* The daemon when its lock or its control socket is removed. */
#include "agent/loop/loop.h"
#include "daemon_rig.h"
#include "test/check.h"
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rig r;
static const char *lock_path, *socket_path;

static char removed[EVENT_MESSAGE_SIZE];

static void on_event(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind == EVENT_FILE_REMOVED)
		snprintf(removed, sizeof removed, "%s", message);
}

static void begin(void)
{
	static char lock[PATH_MAX], socket[PATH_MAX];

	rig_begin(&r, rig_config("  - match: a.service\n"), 200, 512 * MIB, 0);
	snprintf(lock, sizeof lock, "%s/lock", r.daemon->config.paths.state_dir);
	snprintf(socket, sizeof socket, "%s", r.daemon->config.paths.socket);
	lock_path = lock;
	socket_path = socket;
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 0);
}

TEST(removed)
{
	struct stat before, after;

	begin();
	CHECK_EQ(stat(lock_path, &before), 0);
	CHECK_EQ(unlink(lock_path), 0);
	CHECK_EQ(unlink(socket_path), 0);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 2);
	CHECK_EQ(stat(lock_path, &after), 0);
	CHECK_EQ(stat(socket_path, &after), 0);
	CHECK(http_server_reachable(r.loop->serve.server));
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 2);
	rig_close(&r);
}

/* With its folder, as systemd removes it: both are made again. */
TEST(runtime_directory_removed)
{
	char command[PATH_MAX + 32];

	begin();
	snprintf(command, sizeof command, "rm -rf '%s'", r.daemon->config.paths.runtime_dir);
	CHECK_EQ(system(command), 0);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	CHECK(http_server_reachable(r.loop->serve.server));
	rig_close(&r);
}

static void replace_directory(const char *with)
{
	char command[2 * PATH_MAX + 32];
	const char *dir = r.daemon->config.paths.state_dir;

	snprintf(command, sizeof command, "rm -rf '%s' && %s '%s'", dir, with, dir);
	CHECK_EQ(system(command), 0);
}

/* The lock cannot be taken again: reported once, when the error is another one, and in an hour. */
TEST(unwritable)
{
	begin();
	r.reported = on_event;
	replace_directory("touch");
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	CHECK(strstr(removed, "(Not a directory)") != NULL);
	rig_run(&r, 300, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	replace_directory("ln -sT state");
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 2);
	rig_run(&r, 3600, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 3);
	replace_directory("mkdir");
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 4);
	CHECK_EQ(access(lock_path, F_OK), 0);
	rig_run(&r, 300, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 4);
	rig_close(&r);
}

/* The control socket cannot be made again: the same. */
TEST(socket_unwritable)
{
	char command[PATH_MAX + 32];

	begin();
	snprintf(command, sizeof command, "rm -f '%s' && mkdir '%s'", socket_path, socket_path);
	CHECK_EQ(system(command), 0);
	rig_run(&r, 300, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	CHECK_EQ(rmdir(socket_path), 0);
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 2);
	CHECK(http_server_reachable(r.loop->serve.server));
	rig_close(&r);
}

/* The whole state directory is removed: the state is saved to the new one. */
TEST(directory_removed)
{
	char command[PATH_MAX + 32], path[PATH_MAX + 32];

	begin();
	snprintf(command, sizeof command, "rm -rf '%s'", r.daemon->config.paths.state_dir);
	CHECK_EQ(system(command), 0);
	rig_run(&r, 30, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	snprintf(path, sizeof path, "%s/baseline", r.daemon->config.paths.state_dir);
	CHECK_EQ(access(path, F_OK), 0);
	rig_close(&r);
}

/* Another agent has taken the lock: this one stops, and writes no more state. */
TEST(taken)
{
	struct lock_place other = {.holder = "another agent"};
	char who[LOCK_HOLDER_MAX];
	int lock;

	begin();
	other.directory = r.daemon->config.paths.state_dir;
	CHECK_EQ(lock_take(&other, who), -EWOULDBLOCK);
	CHECK_EQ(unlink(lock_path), 0);
	lock = lock_take(&other, who);
	CHECK(lock >= 0);
	for (int i = 0; i < 15 && r.events[EVENT_FILE_REMOVED] == 0; i++)
		rig_run(&r, 1, NULL);
	CHECK_EQ(r.events[EVENT_FILE_REMOVED], 1);
	CHECK(strstr(r.last_message, "another agent holds it now, this agent stops") != NULL);
	CHECK_EQ(sd_event_loop(r.daemon->wake.event), FOLDERS_LOST);
	close(lock);
	rig_close(&r);
}
