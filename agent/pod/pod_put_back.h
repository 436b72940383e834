/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that systemd holds while it cannot be called: what an earlier agent wrote is put back.
 * Private to pod_find.c. */
#pragma once

#include <stdbool.h>

struct managed;
struct pod;
struct pod_children;

extern const char pod_unreachable_why[];

/* A limit that may not be written, see scope_out_of_reach(). */
bool pod_out_of_reach(const struct managed *m, const char *path);
/* An agent that could call PID 1 has sized this run of it: its files get the originals, once. */
void pod_put_back(struct managed *m, const char *path);
/* The same of the pod's own cgroup, with all of its containers that can be put back. */
void pod_put_back_level(struct pod *p, const struct pod_children *all);
