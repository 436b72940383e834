/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that use more memory than their spec allows: found at each sample, and reported. */
#pragma once

#include <stdint.h>

struct daemon;
struct managed;

void above_look(struct daemon *d);
/* By how much; 0: it does not. */
uint64_t above_spec(const struct managed *m);
