/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a unit to a cgroup that appeared, or anew, applies another rule to it, and releases it.
 */
#pragma once

#include "policy/types/reason.h"

struct arrival;
struct managed;
struct plan;
struct unit_table;

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
