/* SPDX-License-Identifier: Apache-2.0 */
/* What a node lacks for a resize, out of the kubelet's message for a Deferred one:
 * "Node didn't have enough resource: cpu, requested: 1550, used: 1300, capacity: 2000"
 * (k8s.io/kubernetes pkg/scheduler/framework/plugins/noderesources, InsufficientResourceError). */
#pragma once

#include "policy/types/limits.h"

/* *ret_amount > 0: requests of other pods, in millicores or bytes, that have to end first. False:
 * not such a message, or of another resource. */
bool kube_parse_lack(const char *message, enum resource *ret, uint64_t *ret_amount);
