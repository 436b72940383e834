/* SPDX-License-Identifier: Apache-2.0 */
/* What the laws get with a wake-up. */
#pragma once

#include "policy/control/control.h"

struct unit_table;

/* An empty plan in the memory of the table, which one plan at a time may use. */
void plan_begin(struct unit_table *t, struct plan *ret);
struct control_context daemon_context(struct unit_table *t, struct plan *plan);
