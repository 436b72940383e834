/* SPDX-License-Identifier: Apache-2.0 */
/* Sends systemd what it is to store. */
#pragma once

#include <stdbool.h>

struct unit_table;

void properties_send(struct unit_table *t);
/* Have some not been sent to PID 1 yet? */
bool properties_pending(const struct unit_table *t);
/* Sends those that may have changed since the last sample. */
void properties_check(struct unit_table *t);
