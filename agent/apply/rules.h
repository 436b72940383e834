/* SPDX-License-Identifier: Apache-2.0 */
/* Applies another rule to what is managed already. */
#pragma once

struct managed;
struct policy_rule;

/* Applies rule to one entry. */
void rule_apply(struct managed *m, const struct policy_rule *rule);
