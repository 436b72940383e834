/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit that the container runtime holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube_container;
struct managed;
struct unit_table;

/* The limits that the API server reports; old: the report before, NULL: none. ended: a resize was
 * in progress then, and none is now. */
void runtime_reported(struct managed *m, const struct kube_container *now,
		      const struct kube_container *old, bool ended);
/* memory.max was found to be this. */
void runtime_wrote(struct managed *m, uint64_t mem_max);
/* At each sample: is a CPU manager at work on this node? */
void runtime_check(struct unit_table *t, bool review);
