/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a unit to a cgroup that appeared, or anew, and applies another rule to it. */
#pragma once

struct arrival;
struct managed;
struct policy_rule;

/* Opens its cgroup and begins or goes on. On failure its reason says why. */
void managed_start(struct managed *m, const struct policy_rule *rule, const struct arrival *a);
/* Forgets that it was managed: the next attach begins with the limits that it finds. */
void managed_reattach(struct managed *m);
/* The limits in the cgroup become the held limits. */
void managed_adopt_limits(struct managed *m);
/* Applies rule to one entry. */
void rule_apply(struct managed *m, const struct policy_rule *rule);
