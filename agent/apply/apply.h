/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan: writes its steps to cgroups, raises first. */
#pragma once

#include "policy/types/limits.h"
#include "policy/types/reason.h"
#include "systemd/unit_props.h"
#include <stdbool.h>
#include <stddef.h>

struct arrival;
struct managed;
struct plan;
struct pod;
struct unit_table;

/* No further pass will read the unit: releases the brake, which nothing would release later. */
void unit_brake_off(struct managed *m);
/* Carries out a plan: writes, outcomes, journal; then sends what properties are due. */
void plan_apply(struct unit_table *t, struct plan *p);
/* Writes the raises from step `from` on at once and removes them. True: there were some. */
bool plan_raise(struct unit_table *t, struct plan *p, size_t from);
/* Raises the level of a pod so that the original of its container can be restored. */
void pod_make_room(struct managed *m);

/* Memory that is granted and not used goes back to the node. */
/* After the pass over all: unused grants that others need. */
void take_back_unused(struct unit_table *t, struct plan *plan);
/* A limit above the held one, as far as use allows, before it is classified. */
void take_back_unclassified(struct managed *m);

/* A writer of memory.max that is blocked in the kernel. */

/* Releases a PID 1 stuck in a write of memory.max. At every wake-up by memory.events. */
void stuck_check(struct managed *m);
/* A new cgroup has new counters. */
void stuck_forget(struct managed *m);

/* --- pod_level.c: the pod's own limits, which follow those of its containers */
/* Adds the raises of pod levels that precede the plan's, and of levels that are too low. */
void pod_levels_raise(struct unit_table *t, struct plan *plan);
/* After the containers were written: adds the steps that lower its level to their sum. */
void pod_level_lower(struct pod *p, struct plan *plan);
/* The next plan checks every pod. */
void pod_levels_review(struct unit_table *t);
/* Its files were written by the kubelet, or by systemd after a call by vscaled. */
void pod_level_check(struct managed *level);
/* vscaled never writes a limit of spec.resources, of a pod or of a container that has its pod's: it
 * is its owner's, whatever it is now, and not to be put back. */
void pod_level_follow(struct managed *m, const struct limits *now);
struct unit_props pod_level_props(const struct managed *level, uint32_t *ret_mask);
/* Does systemd store less for it than for its containers? */
bool pod_level_short(const struct managed *level);
/* While reserved, the level has room for the original of a container. */
void pod_level_reserve(struct managed *m, bool reserve);
/* The owner changed a container's original from `from` to `to`. */
void pod_level_adopt(struct pod *p, enum resource r, uint64_t from, uint64_t to);

/* --- properties.c: what systemd stores, and the memory limit that it is to store */
/* The memory limit that is sent to systemd. */
uint64_t memory_property(const struct managed *m);
/* Does systemd have to be sent a higher memory limit at once? Not of a pod level. */
bool memory_property_due(const struct managed *m);
/* Checks again whether another drop-in would override the property that systemd is sent. */
void property_read_dropins(struct managed *m);
/* They are to be sent at the end of this wake-up; urgent: before calls that wait. */
void property_request(struct managed *m, bool urgent);
/* The outcome of a call. A failure is reported once; the next wake-up tries with the values of that
 * time, unless the unit does not exist (-ENOENT). */
void property_set_failed(struct managed *m, int error, usec_t lag);
void property_set_done(struct managed *m, const struct unit_props *stored);
/* systemd reports what it stores. */
void property_stored(struct managed *m, const struct unit_props *stored);
/* What it stores was taken from the files; asked: its answer follows. */
void property_guessed(struct managed *m, bool asked);
/* What it stores counts as sent by vscaled. */
void property_take_over(struct managed *m, uint32_t mask);
/* Nothing that it stores was sent by vscaled, and no call is due any more. */
void property_cancel(struct managed *m);
/* PID 1 reloaded: its next answer is compared with what was sent. */
void property_reloaded(struct managed *m);
/* Compares, and sends again what the reload took from it. */
void property_check_stored(struct managed *m);
/* No comparison is needed: it has just stored a call. */
void property_checked(struct managed *m);
/* Sends systemd what it is to store. */
void properties_send(struct unit_table *t);
/* Have some not been sent to PID 1 yet? */
bool properties_pending(const struct unit_table *t);
/* Sends those that may have changed since the last sample. */
void properties_check(struct unit_table *t);

/* --- start.c: it is attached to a cgroup, gets another rule, and is released */
/* Opens its cgroup and begins or goes on, by managed_rule(). On failure its reason says why. */
void managed_start(struct managed *m, const struct arrival *a);
/* Forgets that it was managed: the next attach begins with the limits that it finds. */
void managed_reattach(struct managed *m);
/* The limits in the cgroup become the held limits. */
void managed_adopt_limits(struct managed *m);
/* Its rule, managed_rule(), is another one, or may be. */
void rule_apply(struct managed *m);

/* Startup boost: more CPU until a container is ready. */

/* The API server has reported a change of it. */
void boost_changed(struct managed *m);
/* In every wake-up of the timer: begins and ends boosts. */
void boost_update(struct unit_table *t, struct plan *plan);
/* The unit is paused: ends the boost now. */
void boost_end(struct managed *m);
/* The limit from before the boost is restored, or an external writer's value stands. */
void boost_forget(struct managed *m);

/* Releases a unit: suspends the laws and requests that its originals are restored. */

/* Puts pause, restore and release into effect for the laws. */
void unit_update_blocked(struct managed *m);
/* Hands a unit back. Tried again until it succeeds. */
void lifecycle_release(struct managed *m, enum state_reason why);
/* vscaled stops: up to what the pod's spec holds; memory of units to the original. */
void release_stopping(struct unit_table *t);
