// SPDX-License-Identifier: Apache-2.0
/* The lock against a second agent, when its files and directories are removed. */
#include "agent/base/lock.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/vscaled-lock-XXXXXX";
static char state[64], runtime[64], state_lock[80], runtime_lock[80];
static struct lock_place first_place, second_place;
static char other[LOCK_HOLDER_MAX];

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
}

/* As systemd does when a unit without RuntimeDirectoryPreserve= fails. */
static void remove_runtime(void)
{
	CHECK_EQ(unlink(runtime_lock), 0);
	CHECK_EQ(rmdir(runtime), 0);
}

/* An old version, which locks in the runtime directory alone; the descriptor, or -errno. */
static int old_version_takes(void)
{
	int fd, r;

	mkdir(runtime, 0755);
	fd = open(runtime_lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : fd;
	if (r < 0)
		close(fd);
	return r;
}

static void expect_refused(const char *by)
{
	struct lock second = LOCK_NONE;

	strcpy(other, "unset");
	CHECK_EQ(lock_take(&second_place, &second, other), -EWOULDBLOCK);
	CHECK_STR(other, by);
	CHECK_EQ(second.fd, -1);
	CHECK_EQ(second.runtime_fd, -1);
}

TEST(state_removed)
{
	struct lock first = LOCK_NONE, second = LOCK_NONE;

	/* Unlinked, and not taken by another agent meanwhile. */
	CHECK_EQ(lock_take(&first_place, &first, other), 0);
	CHECK_EQ(unlink(state_lock), 0);
	CHECK_EQ(lock_check(&first_place, &first, other), LOCK_RETAKEN);
	CHECK_EQ(lock_check(&first_place, &first, other), LOCK_HELD);
	expect_refused("the first");
	/* The directory as a whole. */
	CHECK_EQ(unlink(state_lock), 0);
	CHECK_EQ(rmdir(state), 0);
	CHECK_EQ(lock_check(&first_place, &first, other), LOCK_RETAKEN);
	expect_refused("the first");
	/* Replaced by another file. */
	CHECK_EQ(unlink(state_lock), 0);
	put(state_lock, "");
	CHECK_EQ(lock_check(&first_place, &first, other), LOCK_RETAKEN);
	/* Both removed, and taken by the second agent: the first detects that it lost the lock. */
	CHECK_EQ(unlink(state_lock), 0);
	remove_runtime();
	CHECK_EQ(lock_take(&second_place, &second, other), 0);
	CHECK_EQ(lock_check(&first_place, &first, other), -EWOULDBLOCK);
	CHECK_STR(other, "the second");
	lock_drop(&second);
	lock_drop(&first);
}

TEST(old_version)
{
	struct lock first = LOCK_NONE;
	int old;

	/* The old version runs: this one does not start, and leaves nothing locked. */
	old = old_version_takes();
	CHECK(old >= 0);
	CHECK_EQ(ftruncate(old, 0), 0);
	expect_refused("an unknown process");
	close(old);
	/* This version runs: the old one does not start. */
	CHECK_EQ(lock_take(&first_place, &first, other), 0);
	CHECK_EQ(old_version_takes(), -EWOULDBLOCK);
	/* The old version removed the directory and restarted between two checks. */
	remove_runtime();
	old = old_version_takes();
	CHECK(old >= 0);
	CHECK_EQ(lock_check(&first_place, &first, other), -EWOULDBLOCK);
	close(old);
	CHECK_EQ(lock_check(&first_place, &first, other), LOCK_HELD);
	CHECK_EQ(old_version_takes(), -EWOULDBLOCK);
	lock_drop(&first);
}

/* Whatever the file contains, the holder's name is one printable line. */
TEST(holder_text)
{
	char text[400];
	struct lock first = LOCK_NONE;
	int fd;

	CHECK_EQ(lock_take(&first_place, &first, other), 0);
	put(state_lock, "one\x1b[31m line\nand another");
	expect_refused("one");
	put(state_lock, "\n");
	expect_refused("an unknown process");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	put(state_lock, text);
	text[LOCK_HOLDER_MAX - 1] = '\0';
	expect_refused(text);
	lock_drop(&first);
	/* A symbolic link is not followed. */
	unlink(state_lock);
	fd = symlink("/etc/passwd", state_lock);
	CHECK_EQ(fd, 0);
	CHECK_EQ(lock_take(&first_place, &first, other), -ELOOP);
	unlink(state_lock);
}

int main(void)
{
	CHECK(mkdtemp(base) != NULL);
	snprintf(state, sizeof state, "%s/state", base);
	snprintf(runtime, sizeof runtime, "%s/run", base);
	snprintf(state_lock, sizeof state_lock, "%s/lock", state);
	snprintf(runtime_lock, sizeof runtime_lock, "%s/lock", runtime);
	first_place = (struct lock_place){state, runtime, "the first"};
	second_place = (struct lock_place){state, runtime, "the second"};
	check_run();
	unlink(runtime_lock);
	rmdir(state);
	rmdir(runtime);
	rmdir(base);
	return check_result();
}
