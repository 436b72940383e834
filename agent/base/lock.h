/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that allows one writer at a time: the daemon, or vscalectl while it restores. It is in
 * the state directory, because systemd removes a RuntimeDirectory= with a lock that another process
 * holds in it. Versions before 0.1.0 lock a file in the runtime directory only, so that is locked
 * as well. */
#pragma once

#define LOCK_HOLDER_MAX 160

struct lock_place {
	const char *state_directory;
	const char *runtime_directory;
	const char *holder; /* one line, shown by a process that finds the file locked */
};

struct lock {
	int fd;         /* in the state directory; -1: not held */
	int runtime_fd; /* -1: the same file, or it could not be taken again */
};
#define LOCK_NONE {-1, -1}

enum lock_state {
	LOCK_HELD,
	LOCK_RETAKEN, /* the file had been removed or replaced */
};

/* Takes both, making directories that are missing. -EWOULDBLOCK: another process holds one;
 * ret_other then names it, and is left alone otherwise. */
int lock_take(const struct lock_place *at, struct lock *ret, char ret_other[LOCK_HOLDER_MAX]);

/* Compares the inodes, since a lock on a file that is no longer at its path excludes no other
 * process, and takes the lock again where they differ. A lock_state, or negative: no longer held;
 * -EWOULDBLOCK as above. */
int lock_check(const struct lock_place *at, struct lock *l, char ret_other[LOCK_HOLDER_MAX]);

void lock_drop(struct lock *l);
