/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers of a pod are managed, by which rule, and why the others are not. */
#pragma once

#include "agent/annotation/annotation.h"
#include "policy/types/reason.h"
#include <stdbool.h>

struct host;
struct pod;
struct pods;
struct kube_pod;

/* What sets the values of a pod, which need not be in the table. */
struct annotation_input pod_annotations(const struct pods *pods, const struct kube_pod *spec);
/* Decides for each container of the spec; names and rules are computed again. */
void pod_apply_rules(struct pod *p);
/* The reason of the state that container i would be in if it were on this node; *error says more of
 * a mistake. */
enum state_reason pod_described(const struct pods *pods, const struct kube_pod *s, size_t i,
				struct annotation_error *error);
/* Why nothing of the pod is managed; STATE_SIZING: something may be. */
enum state_reason pod_excluded(const struct host *host, const struct kube_pod *s, bool opted_in);
/* The level may be written to as long as one of its containers may. */
void pod_set_level_rule(struct pod *p);
/* Is a container of it to be written to? */
bool pod_is_sized(const struct pod *p);
