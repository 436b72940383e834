/* SPDX-License-Identifier: Apache-2.0 */
/* What of a pod is managed, by which rule, and why the rest is not. */
#pragma once

#include <stdbool.h>

struct pod;

/* Decides for each container of the spec; names and rules are made anew. */
void pod_apply_rules(struct pod *p);
/* The level is ours to write to as long as one of its containers is. */
void pod_set_level_rule(struct pod *p);
/* Is a container of it to be written to? */
bool pod_is_sized(const struct pod *p);
