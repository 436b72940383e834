/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's own limits, which follow those of its containers. */
#pragma once

#include "policy/types/limits.h"
#include "systemd/unit_props.h"

struct managed;
struct plan;
struct pod;
struct unit_table;

/* Adds the raises of pod levels that precede the plan's, and of levels that are too low. */
void pod_levels_raise(struct unit_table *t, struct plan *plan);
/* After the containers were written: adds the steps that lower its level to their sum. */
void pod_level_lower(struct pod *p, struct plan *plan);
/* The next plan checks every pod. */
void pod_levels_review(struct unit_table *t);
/* Its files were written by the kubelet, or by systemd after a call by vscaled. */
void pod_level_check(struct managed *level);
struct unit_props pod_level_props(const struct managed *level, uint32_t *ret_mask);
/* Does systemd store less for it than for its containers? */
bool pod_level_short(const struct managed *level);
/* While reserved, the level has room for the original of a container. */
void pod_level_reserve(struct managed *m, bool reserve);
/* The owner changed a container's original from `from` to `to`. */
void pod_level_adopt(struct pod *p, enum resource r, uint64_t from, uint64_t to);
