/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation `rollout` (policy/report/rollout.h), and what is counted of every container. */
#pragma once

struct container_rule;
struct pod;
struct pod_rollout;
struct pods;

/* Puts it into effect: a container that is not sized by it gets mode Off. */
void pod_rollout_apply(const struct pod *p, struct container_rule *rule);
/* Those that an earlier run has stopped: once the records are loaded, and before the first pod. */
void pods_rollouts_load(struct pods *pods);
/* Counts what came since the last call, and stops what hurts. */
void pods_rollouts_tick(struct pods *pods);
/* The rollout of a pod; NULL: it has none, or none of its pods was counted yet. */
const struct pod_rollout *pod_rollout_of(const struct pod *p, const struct container_rule *rule);
void pods_rollouts_free(struct pods *pods);
