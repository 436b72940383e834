/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves state files beside the event loop. On a busy disk fsync(2) takes seconds, and a container
 * that grows cannot wait for them: a thread writes, one file after another, and the loop learns the
 * result from a file descriptor. Without the thread a save ends before saver_put() returns.
 */
#pragma once

#include "agent/state/state_file.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum save_what {
	SAVE_ORIGINALS, /* first: a first write waits for it */
	SAVE_HISTORY,
	SAVE_ROLLOUTS,
	SAVE_RECORDING,
	SAVE_COUNT,
};

#define SAVE_FILES_MAX 2

/* One text, and the files that are to have it as their body. */
struct save {
	const struct state_kind *files[SAVE_FILES_MAX]; /* the second may be NULL */
	/* In place of files: what to do with the body. */
	int (*append)(int dir, const char *body, size_t len);
	char *body;
	size_t len;
};

enum save_state {
	SAVE_NONE,
	SAVE_WAITING, /* for the thread */
	SAVE_WRITING,
	SAVE_ENDED, /* its result was not taken yet */
};

/* Of the loop, but for what the mutex guards. */
struct saver {
	pthread_t thread;
	bool running; /* there is a thread */
	int event_fd; /* readable when a save of files has ended; -1: there is no thread */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	/* Guarded by the mutex: */
	bool stop;
	struct save_slot {
		enum save_state state;
		struct save save;
		int dir;
		int result;
	} slots[SAVE_COUNT];
};

void saver_init(struct saver *s);
/* Starts the thread; the rights of the process are final by then. -errno: there is none. */
int saver_start(struct saver *s);
/* Waits until all is written, and ends the thread. */
void saver_stop(struct saver *s);
void saver_free(struct saver *s);
/* What the thread has not begun ends with -ECANCELED. */
void saver_discard(struct saver *s);
/* A save of this was given and its result was not taken. */
bool saver_busy(struct saver *s, enum save_what what);
/* Takes save->body, also when it fails. The folder may be closed after it. -EBUSY; -errno. */
int saver_put(struct saver *s, enum save_what what, int dir, const struct save *save);
/* True: a save has ended with this result, 0 or -errno of state_file_save(). */
bool saver_take(struct saver *s, enum save_what what, int *ret);
