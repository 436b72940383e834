/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of all units. */
#pragma once

#include <stdbool.h>

struct daemon;

/* Takes a sample of everything; review: with the review, which is due. */
void tick(struct daemon *d, bool review);
