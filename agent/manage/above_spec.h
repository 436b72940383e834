/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that use more memory than their spec allows: found at each sample, and reported. */
#pragma once

#include <stdint.h>

struct managed;
struct unit_table;

void above_spec_check(struct unit_table *t);
/* The brake has ended while the runtime might still write a limit below use. */
void above_spec_not_held(struct managed *m);
/* By how many bytes use is above the spec; 0: it is not. */
uint64_t above_spec(const struct managed *m);
