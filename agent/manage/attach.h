/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of one entry: opened with everything that depends on it, lost, and closed. */
#pragma once

struct arrival;
struct managed;
struct usage;

/* Opens its cgroup, reads its limits, and adds the watches of its files, its reader slot and the
 * source of its memory.events. -EAGAIN: systemd is still setting it up. On failure it stays closed.
 */
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
