/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of fixed size that keeps the newest records: blocks of RING_BLOCK_BYTES, written one after
 * the other and over the oldest.
 *
 *	block	"VSCRING1", layout, CRC-32C of the next three, sequence, size of head, head, records
 *	record	length, low half of the CRC-32C of (sequence, bytes), bytes; both of 16 bits
 *
 * layout and head are the caller's: what its records mean, and what holds for a whole block. A
 * record whose checksum is wrong ends its block: it was torn, or is of the block's former life. The
 * file is allocated when it is opened, so that a full disk shows then. Integers as the machine
 * has them.
 */
#pragma once

#include "policy/base/base.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define RING_BLOCK_BYTES (64 * KIB)
#define RING_HEAD_MAX    1024
#define RING_BLOCKS_MIN  4
/* Of one record. */
#define RING_RECORD_MAX (16 * KIB)

/* More that waits to be written is refused. */
#define RING_WRITER_BYTES_MAX (512 * KIB)

/* Writes parts of the file on a thread of its own. */
struct ring_writer {
	int fd; /* borrowed */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct ring_part *first, **end; /* that wait, in their order */
	size_t waiting_bytes;
	int error; /* of the last part that was written; 0: none */
	bool stop;
};

struct ring {
	int fd;
	size_t blocks;
	uint32_t layout;
	uint64_t sequence;          /* of the open block; 0: none yet */
	size_t at;                  /* end of the last record */
	size_t written;             /* of the block: given to the writer */
	uint8_t *block;             /* owned: the open one */
	struct ring_writer *writer; /* owned */
};

/* Goes on behind the newest record of a file with the same size and layout. Another file is renamed
 * to NAME.old. -errno: nothing is open. */
int ring_open(int dir, const char *name, size_t bytes, uint32_t layout, struct ring *ret);
/* Waits until everything is written. */
void ring_close(struct ring *r);
/* Has the open block's new records written, without waiting. -EBUSY: too much waits already; they
 * are tried again. Another error is that of an earlier write. */
int ring_flush(struct ring *r);
/* Begins the next block; the one before is given to the writer. size <= RING_HEAD_MAX. Errors as
 * those of ring_flush(); the block has begun all the same, and does not follow one that lacks
 * records. */
int ring_begin(struct ring *r, const void *head, size_t size);
/* Is there room for a record of so many bytes in the open block? */
bool ring_has_room(const struct ring *r, size_t size);
/* It has room. */
void ring_add(struct ring *r, const void *record, size_t size);

struct ring_visitor {
	/* follows: the block before it was read, too. < 0 ends it. */
	int (*block)(void *user, const void *head, size_t size, bool follows);
	int (*record)(void *user, const uint8_t *record, size_t size);
	void *user;
};

/* All whole records of a file's bytes, the oldest block first. -EBADMSG: it is no ring;
 * -EPROTONOSUPPORT: of another layout. The visitor's own errors. */
int ring_visit(const uint8_t *bytes, size_t size, uint32_t layout, const struct ring_visitor *v);
