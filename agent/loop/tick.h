/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of all units. */
#pragma once

#include <stdbool.h>

struct daemon;

/* A sample of everything, and on its clock the review: true. */
bool tick(struct daemon *d);
