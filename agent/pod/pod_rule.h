/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers of a pod are managed, by which rule, and why the others are not. */
#pragma once

#include <stdbool.h>

struct pod;

/* Decides for each container of the spec; names and rules are computed again. */
void pod_apply_rules(struct pod *p);
/* The level may be written to as long as one of its containers may. */
void pod_set_level_rule(struct pod *p);
/* Is a container of it to be written to? */
bool pod_is_sized(const struct pod *p);
