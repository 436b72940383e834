/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that allows one writer at a time: the daemon, or vscalectl while it restores. It is in
 * the state directory, because systemd removes a RuntimeDirectory= with a lock that another process
 * holds in it. */
#pragma once

#define LOCK_HOLDER_MAX 160

struct lock_place {
	const char *directory;
	const char *holder; /* one line, shown by a process that finds the file locked */
};

enum lock_state {
	LOCK_HELD,
	LOCK_RETAKEN, /* the file had been removed or replaced */
};

/* A descriptor, owned, that holds the lock; a missing directory is made. -EWOULDBLOCK: another
 * process holds it; ret_other then names it, and is left alone otherwise. */
int lock_take(const struct lock_place *at, char ret_other[LOCK_HOLDER_MAX]);

/* Compares the inodes, since a lock on a file that is no longer at its path excludes no other
 * process, and takes the lock again where they differ. A lock_state, or negative: no longer held;
 * -EWOULDBLOCK as above. */
int lock_check(const struct lock_place *at, int *fd, char ret_other[LOCK_HOLDER_MAX]);
