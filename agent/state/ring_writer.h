/* SPDX-License-Identifier: Apache-2.0 */
/* Writes parts of a file on a thread of its own: a disk may stand still for seconds. */
#pragma once

#include "policy/base/base.h"
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* More that waits is refused. */
#define RING_WRITER_BYTES_MAX (512 * KIB)

struct ring_part;

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

/* *w is not moved afterwards. -errno: there is no thread. */
int ring_writer_start(struct ring_writer *w, int fd);
/* Once all that waits is written. */
void ring_writer_stop(struct ring_writer *w);
/* Copies the bytes. -EBUSY: too many wait; -ENOMEM. */
int ring_writer_put(struct ring_writer *w, const void *bytes, size_t size, off_t at);
/* 0, or the error of the newest part that was tried. */
int ring_writer_error(struct ring_writer *w);
