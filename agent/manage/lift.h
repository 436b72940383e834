/* SPDX-License-Identifier: Apache-2.0 */
/* A memory.high that a trial or the brake lowered: set back at the start and at the end. */
#pragma once

struct daemon;

/* Sets back each memory.high that a record names. */
void lift_all(struct daemon *d);
/* At the start: there are no records, but the runtime folder may have those that were lost. */
void lift_lost(struct daemon *d);
/* Copies the records there when they were saved since. A failure is reported, and the copy is tried
 * again. */
void lift_keep(struct daemon *d);
