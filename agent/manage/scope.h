/* SPDX-License-Identifier: Apache-2.0 */
/* When PID 1 may be called for a container: not while its runtime creates it. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct kube_container;
struct managed;
struct pid1;

/* It was attached to its cgroup; active_enter_usec as in struct arrival. */
void scope_started(struct managed *m, usec_t active_enter_usec);
/* The runtime may still be creating its scope: PID 1 must not be called for it
 * (unit_is_container()). True until the API server reports that it runs, or for UNIT_CREATING_USEC;
 * for a minute where the API server is heard and little memory is in use. */
bool scope_is_creating(const struct managed *m);
/* Does what the API server says of a container belong to the one in its cgroup? */
bool scope_is_of(const struct managed *m, const struct kube_container *c);
/* Does PID 1, which cannot be called, hold the limits of this cgroup of a pod? Its next reload
 * would write its own, which may be below the use. */
bool scope_out_of_reach(const struct pid1 *pid1, const char *path);
