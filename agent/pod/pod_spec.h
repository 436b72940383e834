/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a pod's spec: a value to be adopted, or vscaled's own resize. */
#pragma once

#include "policy/types/limits.h"

struct kube_pod;
struct managed;
struct pod;

/* The spec went from old (NULL: never seen) to p->spec. */
void pod_spec_changed(struct pod *p, const struct kube_pod *old);
/* The first time that this daemon sees a container: was it resized while vscaled did not run? */
void pod_spec_first(struct managed *m);
/* Adopts what the owner put into the spec and the kubelet did not refuse. */
void pod_spec_settle(struct pod *p);
/* True: the value in the cgroup is the owner's, which the next tick adopts. */
bool pod_owner_value_arrived(struct managed *m, enum resource r, uint64_t value);
/* May the values in the files come from the kubelet or the runtime, after a resize? */
bool pod_echo_pending(const struct managed *m);
/* Is the value what the runtime has on record for this container? */
bool pod_on_record(const struct managed *m, enum resource r, uint64_t value);
