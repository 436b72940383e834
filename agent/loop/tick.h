/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of all units. */
#pragma once

#include <stdbool.h>

struct unit_table;

/* Takes a sample of everything; review: with the review, which is due. */
void tick(struct unit_table *t, bool review);
