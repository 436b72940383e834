/* SPDX-License-Identifier: Apache-2.0 */
/* The state folder and the control socket, which other processes may remove. */
#pragma once

struct daemon;

/* The result of the loop when another process took the lock: the state files are not written any
 * more. */
#define FOLDERS_LOST (-EBUSY)
int folders_start(struct daemon *d);
/* Takes the lock and opens the control socket again when another process removed their files. */
void folders_check(struct daemon *d);
