/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's own limits, which follow those of its containers. */
#pragma once

#include "policy/types/limits.h"
#include "systemd/unit_props.h"

struct daemon;
struct managed;
struct plan;
struct pod;
struct usage;

/* Adds what the pods above have to give before the plan's raises, and what is too low anyway. */
void pod_levels_raise(struct daemon *d, struct plan *plan);
/* What stands below is known: takes back what is more than its sum. */
void pod_levels_lower(struct daemon *d);
/* Every pod is looked at by the next plan. */
void pod_levels_review(struct daemon *d);
/* Its files were written by the kubelet, or by systemd for us. */
void pod_level_look(struct managed *level);
struct unit_props pod_level_props(const struct managed *level, uint32_t *ret_mask);
/* Somebody was killed in a container: the laws hear if that was because its pod was full. */
void pod_asked_full(struct managed *m, const struct usage *u);
/* systemd stores less for it than for its containers. */
bool pod_level_short(const struct managed *level);
/* The level grows so that a container can have its original again. */
void pod_make_room(struct managed *m);
/* The owner moved a container's original by this much. */
void pod_level_adopt(struct pod *p, enum resource r, uint64_t from, uint64_t to);
