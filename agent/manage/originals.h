/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the original limits of one entry; their records are in persist.h. */
#pragma once

#include "agent/manage/parts.h"

struct baseline;
struct managed;

/* The first time in this run. record: of an earlier run, or NULL; touched: that wrote to it. */
void originals_begin(struct managed *m, const struct baseline *record, bool touched);
/* It is not managed any more, or was attached to a cgroup that is another one's. */
void originals_forget(struct managed *m);
/* vscaled has written to it, or another process will write what it sent. */
void originals_touch(struct managed *m);
/* They stand in the cgroup again. */
void originals_restored(struct managed *m);
void originals_set_trust(struct managed *m, enum originals_trust trust);
