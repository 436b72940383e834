/* SPDX-License-Identifier: Apache-2.0 */
/* One writer at a time: the daemon holds this lock while it runs, vscalectl while it restores. */
#pragma once

/*
 * Locks DIRECTORY/lock, making the directory when it is missing. Closing *ret_fd unlocks.
 * -EWOULDBLOCK: somebody else holds it.
 */
int lock_take(const char *directory, int *ret_fd);
