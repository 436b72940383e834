/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of all units. */
#pragma once

#include <stdbool.h>

struct daemon;

/* Takes a sample of everything. True: it did the review as well, which was due. */
bool tick(struct daemon *d);
