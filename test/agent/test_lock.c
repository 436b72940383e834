// SPDX-License-Identifier: Apache-2.0
/* The lock against a second agent, when its files and directories are removed. */
#include "agent/base/lock.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

static char base[] = "/tmp/vscaled-lock-XXXXXX";
static char state[64], state_lock[80];
static struct lock_place first_place, second_place;
static char other[LOCK_HOLDER_MAX];

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
}

static void expect_refused(const char *by)
{
	strcpy(other, "unset");
	CHECK_EQ(lock_take(&second_place, other), -EWOULDBLOCK);
	CHECK_STR(other, by);
}

TEST(state_removed)
{
	int first = lock_take(&first_place, other), second;

	/* Unlinked, and not taken by another agent meanwhile. */
	CHECK(first >= 0);
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
	/* Removed, and taken by the second agent: the first detects that it lost the lock. */
	CHECK_EQ(unlink(state_lock), 0);
	second = lock_take(&second_place, other);
	CHECK(second >= 0);
	CHECK_EQ(lock_check(&first_place, &first, other), -EWOULDBLOCK);
	CHECK_STR(other, "the second");
	close(second);
	close(first);
}

/* Whatever the file contains, the holder's name is one printable line. */
TEST(holder_text)
{
	char text[400];
	int first = lock_take(&first_place, other);

	CHECK(first >= 0);
	put(state_lock, "one\x1b[31m line\nand another");
	expect_refused("one");
	put(state_lock, "\n");
	expect_refused("an unknown process");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	put(state_lock, text);
	text[LOCK_HOLDER_MAX - 1] = '\0';
	expect_refused(text);
	close(first);
	/* A symbolic link is not followed. */
	unlink(state_lock);
	CHECK_EQ(symlink("/etc/passwd", state_lock), 0);
	CHECK_EQ(lock_take(&first_place, other), -ELOOP);
	unlink(state_lock);
}

int main(void)
{
	CHECK(mkdtemp(base) != NULL);
	snprintf(state, sizeof state, "%s/state", base);
	snprintf(state_lock, sizeof state_lock, "%s/lock", state);
	first_place = (struct lock_place){state, "the first"};
	second_place = (struct lock_place){state, "the second"};
	check_run();
	rmdir(state);
	rmdir(base);
	return check_result();
}
