/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of one entry: opened with everything that depends on it, lost, and closed. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct arrival;
struct kube_container;
struct managed;
struct pid1;
struct usage;

/* It was attached to its cgroup; active_enter_usec as in struct arrival. */
void scope_started(struct managed *m, usec_t active_enter_usec);
/* The runtime may still be creating its scope: PID 1 must not be called for it
 * (text_is_container_scope()). True until the API server reports that it runs, or for
 * UNIT_CREATING_USEC; for a minute where the API server is heard and little memory is in use.
 * Meanwhile an external write counts as the runtime's, and a restore through PID 1 waits. */
bool scope_is_creating(const struct managed *m);
/* Does what the API server says of a container belong to the one in its cgroup? */
bool scope_is_of(const struct managed *m, const struct kube_container *c);
/* Does PID 1, which cannot be called, hold the limits of this cgroup of a pod? Its next reload
 * would write its own, which may be below the use. */
bool scope_out_of_reach(const struct pid1 *pid1, const char *path);

/* Opens its cgroup, reads its limits, and adds the watches of its files, its reader slot and the
 * source of its memory.events. -EAGAIN: systemd is still setting it up. -EMFILE: 80 % of
 * the descriptors are open. On failure it stays closed. */
int managed_attach(struct managed *m, const struct arrival *a, struct usage *ret);
/* Its cgroup is there and not ready: the time of the first such try is kept. */
void managed_attach_tried(struct managed *m);
/* Its limits are known: it runs. */
void managed_set_running(struct managed *m);
/* The cgroup is gone; sizes and history stay for its successor. */
void managed_lost(struct managed *m);
/* Until its first sample: keeps its totals, in case that it ends before. */
void managed_read_totals(struct managed *m);
/* Closes it, to be attached anew. */
void managed_detach(struct managed *m);
/* Closes it and everything that depends on it. */
void managed_close(struct managed *m);
/* Looks for the second level of its cgroup (cgroup/levels.h), which may come late. */
void managed_check_levels(struct managed *m);
/* A cgroup may have appeared that it can be attached to. */
void managed_check_again(struct managed *m);
