/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a unit to a cgroup that appeared, or anew. */
#pragma once

struct arrival;
struct managed;
struct policy_rule;

/* Opens its cgroup and begins or goes on. state_reason says why not. */
void managed_start(struct managed *m, const struct policy_rule *rule, const struct arrival *a);
/* Forgets that it was ever ours: the next look begins with what it finds. */
void managed_reattach(struct managed *m);
/* What stands in the cgroup is what we hold from now on. */
void managed_hold_what_stands(struct managed *m);
