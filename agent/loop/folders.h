/* SPDX-License-Identifier: Apache-2.0 */
/* The state folder and the control socket, which other processes may remove. */
#pragma once

#include "agent/base/lock.h"
#include "policy/base/base.h"
#include <stdbool.h>

struct daemon;
struct serve;

/* An error that was reported; 0: all is well. */
struct reported_error {
	int error;
	usec_t at;
};

struct folders {
	struct lock lock;
	struct reported_error lock_reported, socket_reported;
	bool reopen_due; /* the state folder was replaced */
};

/* The result of the loop when another process took the lock: the state files are not written any
 * more. */
#define FOLDERS_LOST (-EBUSY)
/* -errno after having said why. */
int folders_start(struct folders *f, struct daemon *d);
/* State files are saved beside the loop from now on. */
int folders_save_beside(struct daemon *d);
/* Takes the lock and opens the control socket again when another process removed their files. */
void folders_check(struct folders *f, struct daemon *d, struct serve *s);
