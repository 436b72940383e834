// SPDX-License-Identifier: Apache-2.0
/* Saves in a thread, on a disk that stalls: the temporary file is a FIFO without a reader, so that
 * the thread blocks in open(2). */
#include "agent/base/file.h"
#include "agent/state/saver.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MSEC 10000

static const struct state_kind originals = {"originals-test", 1, 1000};
static const struct state_kind copy = {"copy-test", 1, 1000};
static const struct state_kind history = {"history-test", 1, 1000};

static char folder[64];

static int folder_open(void)
{
	snprintf(folder, sizeof folder, "/tmp/vscaled-saver-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void folder_remove(int dir)
{
	const char *const names[] = {originals.name, copy.name, history.name};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(dir, names[i], 0);
	close(dir);
	CHECK_EQ(rmdir(folder), 0);
}

static int put(struct saver *s, enum save_what what, int dir, const struct state_kind *first,
	       const struct state_kind *second, const char *text)
{
	struct save save = {.files = {first, second}, .body = strdup(text), .len = strlen(text)};

	return saver_put(s, what, dir, &save);
}

static bool holds(int dir, const struct state_kind *k, const char *text)
{
	OWN(state_file_free) struct state_file f = {0};
	char aside[STATE_ASIDE_MAX];

	return state_file_load(dir, k, aside, &f) == 0 && strcmp(f.body, text) == 0;
}

/* Waits for one result. */
static int taken(struct saver *s, enum save_what what)
{
	struct pollfd p = {.fd = s->event_fd, .events = POLLIN};
	uint64_t count;
	int r = 1;

	while (!saver_take(s, what, &r)) {
		if (poll(&p, 1, WAIT_MSEC) != 1)
			return 1;
		CHECK_EQ(read(p.fd, &count, sizeof count), sizeof count);
	}
	return r;
}

static void stall(int dir)
{
	CHECK_EQ(mkfifoat(dir, ".originals-test.new", 0600), 0);
}

/* The write under way fails: a FIFO has no fsync(2). Returns its reader. */
static int go_on(int dir)
{
	int fd = openat(dir, ".originals-test.new", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

TEST(without_a_thread)
{
	struct saver s;
	int dir = folder_open(), r = 1;

	saver_init(&s);
	CHECK_EQ(s.event_fd, -1);
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, &copy, "a\n"), 0);
	CHECK(holds(dir, &originals, "a\n"));
	CHECK(holds(dir, &copy, "a\n"));
	CHECK(saver_busy(&s, SAVE_ORIGINALS));
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, NULL, "b\n"), -EBUSY);
	CHECK(saver_take(&s, SAVE_ORIGINALS, &r));
	CHECK_EQ(r, 0);
	CHECK(!saver_take(&s, SAVE_ORIGINALS, &r));
	CHECK_EQ(put(&s, SAVE_ORIGINALS, -1, &originals, NULL, "b\n"), -EBADF);
	CHECK(!saver_busy(&s, SAVE_ORIGINALS));
	saver_free(&s);
	folder_remove(dir);
}

TEST(beside_the_caller)
{
	struct saver s;
	int dir = folder_open(), other = dup(dir), fd, r;

	saver_init(&s);
	CHECK_EQ(saver_start(&s), 0);
	stall(dir);
	CHECK_EQ(put(&s, SAVE_ORIGINALS, other, &originals, NULL, "a\n"), 0);
	/* The folder is the saver's own. */
	close(other);
	CHECK_EQ(put(&s, SAVE_HISTORY, dir, &history, NULL, "h\n"), 0);
	usleep(50000);
	CHECK(!saver_take(&s, SAVE_ORIGINALS, &r));
	CHECK(saver_busy(&s, SAVE_HISTORY));
	CHECK(!holds(dir, &history, "h\n"));
	fd = go_on(dir);
	CHECK(taken(&s, SAVE_ORIGINALS) < 0);
	close(fd);
	CHECK_EQ(taken(&s, SAVE_HISTORY), 0);
	CHECK(holds(dir, &history, "h\n"));
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, &copy, "b\n"), 0);
	CHECK_EQ(taken(&s, SAVE_ORIGINALS), 0);
	CHECK(holds(dir, &originals, "b\n"));
	CHECK(holds(dir, &copy, "b\n"));
	saver_free(&s);
	folder_remove(dir);
}

TEST(the_end_waits)
{
	struct saver s;
	int dir = folder_open(), r = 1;

	saver_init(&s);
	CHECK_EQ(saver_start(&s), 0);
	CHECK_EQ(put(&s, SAVE_HISTORY, dir, &history, NULL, "h\n"), 0);
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, NULL, "a\n"), 0);
	saver_stop(&s);
	CHECK(holds(dir, &originals, "a\n"));
	CHECK(holds(dir, &history, "h\n"));
	CHECK(saver_take(&s, SAVE_ORIGINALS, &r));
	CHECK_EQ(r, 0);
	/* Then without the thread; what is not taken is freed. */
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, NULL, "b\n"), 0);
	CHECK(holds(dir, &originals, "b\n"));
	saver_free(&s);
	folder_remove(dir);
}

/* The write under way is completed, one that waits is not begun. */
TEST(discard)
{
	struct saver s;
	int dir = folder_open(), fd, r = 1;

	saver_init(&s);
	CHECK_EQ(saver_start(&s), 0);
	stall(dir);
	CHECK_EQ(put(&s, SAVE_ORIGINALS, dir, &originals, NULL, "a\n"), 0);
	usleep(50000);
	CHECK_EQ(put(&s, SAVE_HISTORY, dir, &history, NULL, "h\n"), 0);
	saver_discard(&s);
	CHECK(saver_take(&s, SAVE_HISTORY, &r));
	CHECK_EQ(r, -ECANCELED);
	CHECK(!saver_take(&s, SAVE_ORIGINALS, &r));
	fd = go_on(dir);
	CHECK(taken(&s, SAVE_ORIGINALS) < 0);
	close(fd);
	saver_free(&s);
	CHECK(!holds(dir, &history, "h\n"));
	folder_remove(dir);
}
