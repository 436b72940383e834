/* SPDX-License-Identifier: Apache-2.0 */
/* Originals that were lost on this node. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct kube_pod;
struct limits;
struct pod;
struct pods;

/* The records are lost, and the spec holds limits that vscaled sent. */
bool pod_originals_lost(const struct pods *pods, const struct kube_pod *s);
/* Of such a pod: its annotation has originals. */
bool pod_recoverable(const struct kube_pod *s);
/* The records are lost and the spec holds limits that vscaled sent: takes the originals from the
 * pod's annotation, else marks it as not to be written to. */
void pod_recover(struct pod *p);
/* Without a mode: every container that has its originals again is handed back, or is about to be.
 */
bool pod_recovered(const struct pod *p);
/* The same for the pod's own cgroup; false: what stands is the original. */
bool pod_recover_level(const struct pod *p, const struct limits *stands, struct limits *ret);
/* Is a container of it not written to because its originals are unknown? */
bool pod_in_doubt(const struct pod *p);
/* The API server reports a pod; in_table: it is managed, or was. One whose spec holds limits that
 * vscaled sent counts until it has a record or is gone: it may be annotated at any later time. */
void pod_recover_listed(struct pod *p, const struct kube_pod *s, bool in_table);
/* At each review: ends the recovery once every such pod has its originals. */
void pod_recover_end(struct pods *pods);

/* A list that lacks a pod proves nothing: storage may have been set back. Records of a pod without
 * a cgroup go when the API server deletes it, when two whole lists ABSENT_USEC apart lacked it, or
 * when none had it for ABSENT_MAX_USEC. */
#define ABSENT_USEC     (10 * USEC_PER_MIN)
#define ABSENT_MAX_USEC (8 * 24 * USEC_PER_HOUR)
