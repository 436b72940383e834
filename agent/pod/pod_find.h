/* SPDX-License-Identifier: Apache-2.0 */
/* From pod and container to cgroup, and back. */
#pragma once

#include <stdbool.h>

struct cg_watch_event;
struct pod;
struct pods;

/* Searches for the cgroups of the pod now. */
void pod_scan(struct pod *p);
/* With every sample: leaves alone what runs and has not been found for long. */
void pod_check_found(struct pod *p);
/* Watches the folders in which pods appear. */
void pods_watch_parents(struct pods *pods);
void pods_unwatch(struct pods *pods);
/* An event of a folder, or of a new container's limits. False: the cookie is no pod's. */
bool pods_watch_event(struct pods *pods, const struct cg_watch_event *e);
void pod_unwatch(struct pod *p);
