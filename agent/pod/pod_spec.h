/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a pod's spec: adopted, or our own resize coming back. */
#pragma once

#include "policy/types/limits.h"

struct kube_pod;
struct managed;
struct pod;

/* The spec went from old (NULL: never seen) to p->spec. */
void pod_spec_changed(struct pod *p, const struct kube_pod *old);
/* First sight of a container by this daemon: was it resized while nobody looked? */
void pod_spec_first(struct managed *m);
/* Adopts what the owner put into the spec and the kubelet did not refuse. */
void pod_spec_settle(struct pod *p);
/* The owner's value stands in the cgroup: it is adopted with the next tick. */
bool pod_wish_arrived(struct managed *m, enum resource r, uint64_t value);
/* Is what stands in the files the kubelet's or the runtime's doing, on our or the owner's behalf?
 */
bool pod_echo_pending(const struct managed *m);
/* Is the value what the runtime has on record for this container? */
bool pod_on_record(const struct managed *m, enum resource r, uint64_t value);
