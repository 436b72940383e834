/* SPDX-License-Identifier: Apache-2.0 */
/* What the spec of a pod holds: a value that vscaled sent, or one of an external writer. */
#pragma once

#include "policy/types/limits.h"
#include <stdbool.h>

struct kube_container;
struct managed;
struct pod;

/* systemd holds whole percents of a CPU and pages: a value and its rounded form are the same. */
bool limit_same(enum resource r, uint64_t a, uint64_t b);
/* Does the file have the same for both? A quota is 1 ms at least: 5m is written as 10m with a
 * period of 100 ms, and as 200m with one of 5 ms. */
bool limit_same_file(enum resource r, uint64_t a, uint64_t b, uint64_t period_usec);
/* What the file has for a limit of the spec that is less: the spec's is the original. */
void limits_as_spec(struct limits *l, uint64_t spec_milli);
/* Did vscaled send this value of its spec? By managedFields; where they do not say, by the record.
 */
bool spec_sent_by_us(const struct managed *m, enum resource r, uint64_t value);
/* A limit in the spec is neither the original on record nor one that vscaled sent. */
bool spec_is_owners(const struct managed *m, const struct kube_container *c);
/* The kubelet has an external resize of this container to carry out: what it has read of the spec
 * by now is what the runtime will write, whatever has been sent since. */
bool spec_resize_under_way(const struct managed *m, const struct kube_container *c);

/* Request, LimitRange, heap and the like, for the laws of one container. */
void pod_set_bounds(struct managed *m);
void pod_bound_all(const struct pod *p);
