// SPDX-License-Identifier: Apache-2.0
/* The file of the flight recorder: goes round, goes on, and reads what is whole. */
#include "agent/base/drop.h"
#include "agent/state/ring.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT 7
#define BLOCKS 4
#define BYTES  (BLOCKS * RING_BLOCK_BYTES)
/* So that a block has room for six of them. */
#define RECORD_BYTES 10000

static char folder[] = "/tmp/vscaled-ring-XXXXXX";
static int dir;

struct seen {
	unsigned blocks, gaps, records;
	uint32_t first, last; /* numbers of records */
};

static int see_block(void *user, const void *head, size_t size, bool follows)
{
	struct seen *s = user;

	CHECK_EQ(size, 4);
	CHECK_EQ(memcmp(head, "head", 4), 0);
	s->blocks++;
	s->gaps += !follows;
	return 0;
}

static int see_record(void *user, const uint8_t *record, size_t size)
{
	struct seen *s = user;
	uint32_t number;

	CHECK_EQ(size, RECORD_BYTES);
	memcpy(&number, record, sizeof number);
	if (s->records++ == 0)
		s->first = number;
	s->last = number;
	return 0;
}

/* The whole file; NULL: it is not there. */
static uint8_t *load(const char *name)
{
	OWN(drop_fd) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = malloc(BYTES);

	if (fd >= 0 && read(fd, bytes, BYTES) == (ssize_t)BYTES)
		return bytes;
	free(bytes);
	return NULL;
}

static int visit(const uint8_t *bytes, struct seen *ret)
{
	struct ring_visitor v = {.block = see_block, .record = see_record, .user = ret};

	*ret = (struct seen){0};
	return ring_visit(bytes, BYTES, LAYOUT, &v);
}

static int visit_file(struct seen *ret)
{
	OWN(drop_free) uint8_t *bytes = load("ring");

	return bytes != NULL ? visit(bytes, ret) : -ENOENT;
}

/* Everything is in the file. */
static void settle(const struct ring *r)
{
	for (bool busy = true; busy; usleep(1000)) {
		pthread_mutex_lock(&r->writer->mutex);
		busy = r->writer->first != NULL;
		pthread_mutex_unlock(&r->writer->mutex);
	}
}

static void add(struct ring *r, uint32_t from, uint32_t to)
{
	static uint8_t record[RECORD_BYTES];

	for (uint32_t i = from; i <= to; i++) {
		if (!ring_has_room(r, sizeof record)) {
			settle(r); /* a slow disk is not what is tested */
			CHECK_EQ(ring_begin(r, "head", 4), 0);
		}
		memcpy(record, &i, sizeof i);
		ring_add(r, record, sizeof record);
	}
	CHECK_EQ(ring_flush(r), 0);
}

static void test_round(void)
{
	struct ring r;
	struct seen s;

	CHECK_EQ(ring_open(dir, "ring", BYTES, LAYOUT, &r), 0);
	CHECK(!ring_has_room(&r, 1));
	CHECK_EQ(visit_file(&s), -EBADMSG); /* nothing in it */
	add(&r, 1, 8);
	settle(&r);
	CHECK_EQ(visit_file(&s), 0);
	CHECK_EQ(s.blocks, 2);
	CHECK_EQ(s.records, 8);
	add(&r, 9, 100);
	settle(&r);
	CHECK_EQ(visit_file(&s), 0);
	CHECK_EQ(s.blocks, BLOCKS);
	CHECK_EQ(s.gaps, 1); /* before the oldest */
	CHECK_EQ(s.last, 100);
	CHECK_EQ(s.last - s.first + 1, s.records);
	CHECK(s.records > 6 * (BLOCKS - 1));
	ring_close(&r);
}

/* A new run goes on in a block of its own. */
static void test_goes_on(void)
{
	struct ring r;
	struct seen s;

	CHECK_EQ(ring_open(dir, "ring", BYTES, LAYOUT, &r), 0);
	add(&r, 101, 102);
	ring_close(&r);
	CHECK_EQ(visit_file(&s), 0);
	CHECK_EQ(s.last, 102);
	CHECK_EQ(s.gaps, 1);
}

/* A crash in the middle of a write: the records before it are read. */
static void test_torn(void)
{
	OWN(drop_free) uint8_t *bytes = load("ring");
	struct seen whole, torn;
	size_t newest;

	CHECK_EQ(visit(bytes, &whole), 0);
	/* The newest block is the one with record 102; its last byte of that is changed. */
	for (newest = 0; newest < BYTES; newest += RING_BLOCK_BYTES) {
		uint32_t number;

		memcpy(&number, bytes + newest + 36 + 4, sizeof number);
		if (number == 101)
			break;
	}
	CHECK(newest < BYTES);
	bytes[newest + 36 + 2 * (4 + RECORD_BYTES) - 1] ^= 1;
	CHECK_EQ(visit(bytes, &torn), 0);
	CHECK_EQ(torn.last, 101);
	CHECK_EQ(torn.records, whole.records - 1);
	/* Its head: the block is lost, the others are not. */
	bytes[newest + 16] ^= 1;
	CHECK_EQ(visit(bytes, &torn), 0);
	CHECK_EQ(torn.blocks, whole.blocks - 1);
	CHECK_EQ(torn.last, 100);
}

/* Another build's file is kept under another name; no file is taken for a ring that is none. */
static void test_foreign(void)
{
	struct ring_visitor v = {
		.block = see_block, .record = see_record, .user = &(struct seen){0}};
	OWN(drop_free) uint8_t *bytes = load("ring"), *old = NULL;
	struct ring r;
	struct seen s;

	CHECK_EQ(ring_visit(bytes, BYTES, LAYOUT + 1, &v), -EPROTONOSUPPORT);
	CHECK_EQ(ring_visit(bytes, BYTES - 1, LAYOUT, &v), -EBADMSG);
	CHECK_EQ(ring_visit(bytes, 0, LAYOUT, &v), -EBADMSG);
	CHECK_EQ(ring_open(dir, "ring", BYTES, LAYOUT + 1, &r), 0);
	ring_close(&r);
	old = load("ring.old");
	CHECK(old != NULL);
	CHECK(old != NULL && memcmp(old, bytes, BYTES) == 0);
	CHECK_EQ(visit_file(&s), -EBADMSG);
	/* Of another size: the same. */
	CHECK_EQ(ring_open(dir, "ring", 2 * BYTES, LAYOUT, &r), 0);
	CHECK_EQ(r.blocks, 2 * BLOCKS);
	ring_close(&r);
}

/* A disk that stands still: the caller never waits, and what is lost leaves a gap. */
static void test_slow(void)
{
	struct ring r;
	struct seen s;
	unsigned refused = 0;
	static uint8_t record[RECORD_BYTES];

	CHECK_EQ(unlinkat(dir, "ring", 0), 0);
	CHECK_EQ(ring_open(dir, "ring", BYTES, LAYOUT, &r), 0);
	add(&r, 1, 2);
	settle(&r);
	pthread_mutex_lock(&r.writer->mutex);
	r.writer->waiting_bytes = RING_WRITER_BYTES_MAX; /* as if so much waited */
	pthread_mutex_unlock(&r.writer->mutex);
	for (uint32_t i = 3; i <= 9; i++) {
		if (!ring_has_room(&r, sizeof record))
			refused += ring_begin(&r, "head", 4) == -EBUSY;
		memcpy(record, &i, sizeof i);
		ring_add(&r, record, sizeof record);
		refused += ring_flush(&r) == -EBUSY;
	}
	CHECK_EQ(refused, 8);
	pthread_mutex_lock(&r.writer->mutex);
	r.writer->waiting_bytes = 0;
	pthread_mutex_unlock(&r.writer->mutex);
	ring_close(&r);
	CHECK_EQ(visit_file(&s), 0);
	CHECK_EQ(s.blocks, 2);
	CHECK_EQ(s.gaps, 1); /* not before the first block of a new file */
	CHECK_EQ(s.records, 2 + 3);
	CHECK_EQ(s.last, 9);
}

/* No link is followed, and no folder is taken. */
static void test_no_file(void)
{
	struct ring r;

	CHECK_EQ(symlinkat("/dev/null", dir, "link"), 0);
	CHECK_EQ(ring_open(dir, "link", BYTES, LAYOUT, &r), -ELOOP);
	CHECK_EQ(mkdirat(dir, "folder", 0700), 0);
	CHECK(ring_open(dir, "folder", BYTES, LAYOUT, &r) < 0);
}

int main(void)
{
	char command[64];

	CHECK(mkdtemp(folder) != NULL);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_round();
	test_goes_on();
	test_torn();
	test_foreign();
	test_slow();
	test_no_file();
	close(dir);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
	return check_result();
}
