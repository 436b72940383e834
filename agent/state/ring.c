// SPDX-License-Identifier: Apache-2.0
#include "agent/state/ring.h"
#include "agent/base/crc32c.h"
#include "agent/base/thread.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- writes parts of the file on a thread of its own: a disk may stand still for seconds ---- */

struct ring_part {
	struct ring_part *next;
	off_t at;
	size_t size;
	uint8_t bytes[];
};

static int write_all(int fd, const uint8_t *bytes, size_t size, off_t at)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
		at += n;
	}
	return 0;
}

static void *work(void *arg)
{
	struct ring_writer *w = arg;
	struct ring_part *part;
	int r;

	pthread_mutex_lock(&w->mutex);
	while (w->first != NULL || !w->stop) {
		part = w->first;
		if (part == NULL) {
			pthread_cond_wait(&w->changed, &w->mutex);
			continue;
		}
		pthread_mutex_unlock(&w->mutex);
		r = write_all(w->fd, part->bytes, part->size, part->at);
		pthread_mutex_lock(&w->mutex);
		w->error = r;
		w->waiting_bytes -= part->size;
		w->first = part->next;
		if (w->first == NULL)
			w->end = &w->first;
		free(part);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

/* *w is not moved afterwards. -errno: there is no thread. */
static int ring_writer_start(struct ring_writer *w, int fd)
{
	*w = (struct ring_writer){.fd = fd, .end = &w->first};
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->changed, NULL);
	return thread_start(&w->thread, work, w);
}

/* Once all that waits is written. */
static void ring_writer_stop(struct ring_writer *w)
{
	pthread_mutex_lock(&w->mutex);
	w->stop = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->mutex);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->mutex);
}

/* Copies the bytes. -EBUSY: too many wait; -ENOMEM. */
static int ring_writer_put(struct ring_writer *w, const void *bytes, size_t size, off_t at)
{
	struct ring_part *part;
	int r = 0;

	part = malloc(sizeof *part + size);
	if (part == NULL)
		return -ENOMEM;
	*part = (struct ring_part){.at = at, .size = size};
	memcpy(part->bytes, bytes, size);
	pthread_mutex_lock(&w->mutex);
	if (w->waiting_bytes + size > RING_WRITER_BYTES_MAX) {
		r = -EBUSY;
	} else {
		w->waiting_bytes += size;
		*w->end = part;
		w->end = &part->next;
		pthread_cond_signal(&w->changed);
	}
	pthread_mutex_unlock(&w->mutex);
	if (r < 0)
		free(part);
	return r;
}

/* 0, or the error of the newest part that was tried. */
static int ring_writer_error(struct ring_writer *w)
{
	int r;

	pthread_mutex_lock(&w->mutex);
	r = w->error;
	pthread_mutex_unlock(&w->mutex);
	return r;
}

#define MAGIC "VSCRING1"

struct block_head {
	char magic[8];
	uint32_t layout;
	uint32_t check; /* of what follows, and of the caller's head */
	uint64_t sequence;
	uint64_t head_bytes;
};

struct record_head {
	uint16_t length;
	uint16_t check;
};

/* ---- one block ---- */

static uint32_t check_of_head(const struct block_head *h, const void *head)
{
	uint32_t sum = crc32c(0, &h->sequence, sizeof h->sequence + sizeof h->head_bytes);

	return crc32c(sum, head, h->head_bytes);
}

static uint16_t check_of_record(uint64_t sequence, const void *record, size_t size)
{
	return (uint16_t)crc32c(crc32c(0, &sequence, sizeof sequence), record, size);
}

/* The block begins in a valid way. */
static bool read_head(const uint8_t *block, struct block_head *ret)
{
	memcpy(ret, block, sizeof *ret);
	return memcmp(ret->magic, MAGIC, sizeof ret->magic) == 0 &&
	       ret->head_bytes <= RING_HEAD_MAX && ret->sequence != 0 &&
	       ret->check == check_of_head(ret, block + sizeof *ret);
}

/* The record at *at, which is moved on; NULL: there is none. */
static const uint8_t *next_record(const uint8_t *block, uint64_t sequence, size_t *at, size_t *ret)
{
	struct record_head h;
	const uint8_t *record;

	if (*at + sizeof h > RING_BLOCK_BYTES)
		return NULL;
	memcpy(&h, block + *at, sizeof h);
	record = block + *at + sizeof h;
	if (h.length == 0 || h.length > RING_BLOCK_BYTES - *at - sizeof h ||
	    h.check != check_of_record(sequence, record, h.length))
		return NULL;
	*at += sizeof h + h.length;
	*ret = h.length;
	return record;
}

/* ---- writing ---- */

int ring_flush(struct ring *r)
{
	off_t block = (off_t)(r->sequence % r->blocks * RING_BLOCK_BYTES);
	int e;

	if (r->sequence == 0 || r->written == r->at)
		return ring_writer_error(r->writer);
	e = ring_writer_put(r->writer, r->block + r->written, r->at - r->written,
			    block + (off_t)r->written);
	if (e == 0)
		r->written = r->at;
	return e < 0 ? e : ring_writer_error(r->writer);
}

int ring_begin(struct ring *r, const void *head, size_t size)
{
	struct block_head h = {
		.layout = r->layout,
		.head_bytes = size,
	};
	int e = ring_flush(r);

	assert(size <= RING_HEAD_MAX);
	memcpy(h.magic, MAGIC, sizeof h.magic);
	/* A gap shows what the block lacks. */
	h.sequence = r->sequence + (r->written == r->at ? 1 : 2);
	h.check = check_of_head(&h, head);
	memcpy(r->block, &h, sizeof h);
	memcpy(r->block + sizeof h, head, size);
	r->sequence = h.sequence;
	r->at = sizeof h + size;
	r->written = 0;
	return e;
}

bool ring_has_room(const struct ring *r, size_t size)
{
	return r->sequence != 0 && sizeof(struct record_head) + size <= RING_BLOCK_BYTES - r->at;
}

void ring_add(struct ring *r, const void *record, size_t size)
{
	struct record_head h = {
		.length = (uint16_t)size,
		.check = check_of_record(r->sequence, record, size),
	};

	assert(size <= RING_RECORD_MAX && ring_has_room(r, size));
	memcpy(r->block + r->at, &h, sizeof h);
	memcpy(r->block + r->at + sizeof h, record, size);
	r->at += sizeof h + size;
}

/* ---- opening ---- */

/* The newest block's sequence; 0: no block is valid. -EPROTONOSUPPORT: another layout. */
static int find_newest(int fd, size_t blocks, uint32_t layout, uint64_t *ret)
{
	uint8_t begin[sizeof(struct block_head) + RING_HEAD_MAX];
	struct block_head h;

	*ret = 0;
	for (size_t i = 0; i < blocks; i++) {
		if (pread(fd, begin, sizeof begin, (off_t)(i * RING_BLOCK_BYTES)) !=
		    (ssize_t)sizeof begin)
			return -EIO;
		if (!read_head(begin, &h))
			continue;
		if (h.layout != layout)
			return -EPROTONOSUPPORT;
		*ret = MAX(*ret, h.sequence);
	}
	return 0;
}

static int open_same(int dir, const char *name, size_t bytes, struct ring *r)
{
	struct stat st;
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW), e;

	if (fd < 0)
		return -errno;
	e = fstat(fd, &st) < 0 ? -errno : 0;
	if (e == 0 && (!S_ISREG(st.st_mode) || st.st_size != (off_t)bytes))
		e = -EPROTONOSUPPORT;
	if (e == 0)
		e = find_newest(fd, r->blocks, r->layout, &r->sequence);
	if (e < 0)
		close(fd);
	return e < 0 ? e : fd;
}

static int create(int dir, const char *name, size_t bytes)
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, 0600), e;

	if (fd < 0)
		return -errno;
	e = -posix_fallocate(fd, 0, (off_t)bytes);
	if (e < 0) {
		close(fd);
		unlinkat(dir, name, 0);
		return e;
	}
	return fd;
}

int ring_open(int dir, const char *name, size_t bytes, uint32_t layout, struct ring *ret)
{
	struct ring r = {.layout = layout, .blocks = bytes / RING_BLOCK_BYTES};
	char old[NAME_MAX + 1];
	int e;

	assert(r.blocks >= RING_BLOCKS_MIN);
	bytes = r.blocks * RING_BLOCK_BYTES;
	r.fd = open_same(dir, name, bytes, &r);
	if (r.fd == -EPROTONOSUPPORT) {
		snprintf(old, sizeof old, "%s.old", name);
		r.fd = renameat(dir, name, dir, old) < 0 ? -errno : -ENOENT;
		r.sequence = 0;
	}
	if (r.fd == -ENOENT)
		r.fd = create(dir, name, bytes);
	if (r.fd < 0)
		return r.fd;
	r.block = malloc(RING_BLOCK_BYTES);
	r.writer = malloc(sizeof *r.writer);
	e = r.block == NULL || r.writer == NULL ? -ENOMEM : ring_writer_start(r.writer, r.fd);
	if (e < 0) {
		free(r.writer);
		free(r.block);
		close(r.fd);
		return e;
	}
	/* Nothing is added to the block of a former run. */
	r.at = r.written = RING_BLOCK_BYTES;
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->block == NULL)
		return;
	ring_flush(r);
	ring_writer_stop(r->writer);
	free(r->writer);
	close(r->fd);
	free(r->block);
	*r = (struct ring){.fd = -1};
}

/* ---- reading ---- */

static int visit_block(const uint8_t *block, const struct block_head *h, bool follows,
		       const struct ring_visitor *v)
{
	size_t at = sizeof *h + h->head_bytes, size;
	int r = v->block(v->user, block + sizeof *h, h->head_bytes, follows);
	const uint8_t *record;

	while (r >= 0 && (record = next_record(block, h->sequence, &at, &size)) != NULL)
		r = v->record(v->user, record, size);
	return r < 0 ? r : 0;
}

/* The valid blocks' sequences: the least that is above `above`; 0: none. */
static const uint8_t *next_block(const uint8_t *bytes, size_t blocks, uint64_t above,
				 struct block_head *ret)
{
	const uint8_t *found = NULL;

	for (size_t i = 0; i < blocks; i++) {
		const uint8_t *block = bytes + i * RING_BLOCK_BYTES;
		struct block_head h;

		if (!read_head(block, &h) || h.sequence <= above ||
		    (found != NULL && h.sequence > ret->sequence))
			continue;
		found = block;
		*ret = h;
	}
	return found;
}

int ring_visit(const uint8_t *bytes, size_t size, uint32_t layout, const struct ring_visitor *v)
{
	size_t blocks = size / RING_BLOCK_BYTES;
	uint64_t before = 0;
	struct block_head h;
	const uint8_t *block;
	int r = 0;

	block = next_block(bytes, blocks, 0, &h);
	if (block == NULL || size % RING_BLOCK_BYTES != 0)
		return -EBADMSG;
	for (; r == 0 && block != NULL; block = next_block(bytes, blocks, before, &h)) {
		if (h.layout != layout)
			return -EPROTONOSUPPORT;
		r = visit_block(block, &h, h.sequence == before + 1, v);
		before = h.sequence;
	}
	return r;
}
