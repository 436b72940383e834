/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what a wake-up changed: kills, denied memory, ceilings. */
#pragma once

struct managed;
struct unit_table;

/* Reports kills and ceilings in the journal. */
void report_states(struct unit_table *t);
void report_states_of(struct managed *m);
