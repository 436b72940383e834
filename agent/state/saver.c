// SPDX-License-Identifier: Apache-2.0
#include "agent/state/saver.h"
#include "agent/base/process.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

void saver_init(struct saver *s)
{
	*s = (struct saver){.event_fd = -1};
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->changed, NULL);
}

static int write_files(const struct save_slot *slot)
{
	int r = 0;

	if (slot->save.append != NULL)
		return slot->save.append(slot->dir, slot->save.body, slot->save.len);
	for (size_t i = 0; r == 0 && i < SAVE_FILES_MAX && slot->save.files[i] != NULL; i++)
		r = state_file_save(slot->dir, slot->save.files[i], slot->save.body,
				    slot->save.len);
	return r;
}

static struct save_slot *next_waiting(struct saver *s)
{
	for (size_t i = 0; i < SAVE_COUNT; i++)
		if (s->slots[i].state == SAVE_WAITING)
			return &s->slots[i];
	return NULL;
}

static void *work(void *arg)
{
	struct saver *s = arg;
	struct save_slot *slot;
	int r;

	pthread_mutex_lock(&s->mutex);
	for (;;) {
		slot = next_waiting(s);
		if (slot == NULL && s->stop)
			break;
		if (slot == NULL) {
			pthread_cond_wait(&s->changed, &s->mutex);
			continue;
		}
		slot->state = SAVE_WRITING;
		pthread_mutex_unlock(&s->mutex);
		r = write_files(slot);
		pthread_mutex_lock(&s->mutex);
		slot->result = r;
		slot->state = SAVE_ENDED;
		/* The loop looks at a recording when it has more to append. */
		if (slot->save.append == NULL)
			eventfd_write(s->event_fd, 1);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

int saver_start(struct saver *s)
{
	int r;

	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->event_fd < 0 ? -errno : thread_start(&s->thread, work, s);
	s->running = r == 0;
	return r;
}

void saver_stop(struct saver *s)
{
	if (!s->running)
		return;
	pthread_mutex_lock(&s->mutex);
	s->stop = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	pthread_join(s->thread, NULL);
	s->running = s->stop = false;
}

static void slot_clear(struct save_slot *slot)
{
	if (slot->state == SAVE_NONE)
		return;
	close(slot->dir);
	free(slot->save.body);
	*slot = (struct save_slot){0};
}

void saver_free(struct saver *s)
{
	saver_stop(s);
	for (size_t i = 0; i < SAVE_COUNT; i++)
		slot_clear(&s->slots[i]);
	if (s->event_fd >= 0)
		close(s->event_fd);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->mutex);
}

void saver_discard(struct saver *s)
{
	pthread_mutex_lock(&s->mutex);
	for (size_t i = 0; i < SAVE_COUNT; i++) {
		if (s->slots[i].state != SAVE_WAITING)
			continue;
		s->slots[i].result = -ECANCELED;
		s->slots[i].state = SAVE_ENDED;
	}
	pthread_mutex_unlock(&s->mutex);
}

static enum save_state state_of(struct saver *s, enum save_what what)
{
	enum save_state state;

	pthread_mutex_lock(&s->mutex);
	state = s->slots[what].state;
	pthread_mutex_unlock(&s->mutex);
	return state;
}

bool saver_busy(struct saver *s, enum save_what what)
{
	return state_of(s, what) != SAVE_NONE;
}

int saver_put(struct saver *s, enum save_what what, int dir, const struct save *save)
{
	struct save_slot *slot = &s->slots[what];
	int copy = -1, r = saver_busy(s, what) ? -EBUSY : 0;

	if (r == 0)
		copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (r == 0 && copy < 0)
		r = -errno;
	if (r < 0) {
		free(save->body);
		return r;
	}
	/* The thread leaves a free slot alone. */
	slot->dir = copy;
	slot->save = *save;
	if (!s->running) {
		slot->result = write_files(slot);
		slot->state = SAVE_ENDED;
		return 0;
	}
	pthread_mutex_lock(&s->mutex);
	slot->state = SAVE_WAITING;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	return 0;
}

bool saver_take(struct saver *s, enum save_what what, int *ret)
{
	if (state_of(s, what) != SAVE_ENDED)
		return false;
	*ret = s->slots[what].result;
	slot_clear(&s->slots[what]);
	return true;
}
