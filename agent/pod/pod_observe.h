/* SPDX-License-Identifier: Apache-2.0 */
/* kubernetes.observe All: which pods without a mode are watched, in mode Off. */
#pragma once

#include <stdbool.h>

struct kube_pod;
struct pod;
struct pods;

/* Is this pod, which is not in the table, to be observed? Up to kubernetes.observedContainers the
 * oldest are: a younger one leaves for it. */
bool pod_observe(struct pods *pods, const struct kube_pod *spec);
/* An observed pod leaves the table: one that had no place may take it. */
void pod_observe_ended(struct pods *pods, const struct pod *p);
