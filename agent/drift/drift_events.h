/* SPDX-License-Identifier: Apache-2.0 */
/* External writes, reloads of PID 1, and systemd's answers, as they come in; who wrote a limit
 * other than the held one, and what is done about it. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct managed;
struct unit_props;
struct unit_table;

int drift_start(struct unit_table *t);
void drift_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
		    usec_t lag);
void drift_got(void *ctx, const char *unit, int error, const struct unit_props *stored);
void drift_reloading(void *ctx, bool active);
/* What systemd stores, by the newest list. */
void drift_stored(struct managed *m, const struct unit_props *stored);
/* Classifies the writes of every unit whose limit files were written since the last call. */
void drift_check(struct unit_table *t);
