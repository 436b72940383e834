// SPDX-License-Identifier: Apache-2.0
#include "agent/state/ring_writer.h"
#include "agent/base/thread.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int ring_writer_start(struct ring_writer *w, int fd)
{
	*w = (struct ring_writer){.fd = fd, .end = &w->first};
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->changed, NULL);
	return thread_start(&w->thread, work, w);
}

void ring_writer_stop(struct ring_writer *w)
{
	pthread_mutex_lock(&w->mutex);
	w->stop = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->mutex);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->mutex);
}

int ring_writer_put(struct ring_writer *w, const void *bytes, size_t size, off_t at)
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

int ring_writer_error(struct ring_writer *w)
{
	int r;

	pthread_mutex_lock(&w->mutex);
	r = w->error;
	pthread_mutex_unlock(&w->mutex);
	return r;
}
