/* SPDX-License-Identifier: Apache-2.0 */
/* What `kubectl get vpacheckpoints,vpa -A -o json` prints: the history that the Vertical Pod
 * Autoscaler keeps in the API server, and the workloads that it belongs to. */
#pragma once

#include "agent/kube/model/decode.h"
#include "policy/history/histogram.h"

/* A text above it is not read. */
#define VPA_EXPORT_BYTES_MAX (64 * MIB)

/* A VerticalPodAutoscalerCheckpoint. Either refused says why it cannot be used, or the rest is
 * complete and within what histograms can hold. */
struct vpa_saved {
	char *namespace; /* owned, as all texts; NULL: not known, of one that is refused */
	char *name;      /* of the object itself; NULL the same */
	char *vpa;
	char *container;
	char *refused; /* "status.cpuHistogram.totalWeight: ..." */
	struct history_checkpoint history;
};

/* A VerticalPodAutoscaler. */
struct vpa_target {
	char *namespace;
	char *vpa;
	char *workload; /* targetRef: "Deployment/web" */
	/* Else it may stand above the owners of pods, as an operator's custom resource. */
	bool owns_pods;
};

/* Zero is empty. */
struct vpa_export {
	struct vpa_saved *saved;
	size_t saved_count;
	struct vpa_target *targets;
	size_t target_count;
};

void vpa_export_drop(struct vpa_export *e);

/* A List, or one object. Objects of other kinds are passed over, and autoscalers without a target.
 * -EBADMSG: the text is no JSON of that shape; err says where. -ENOMEM. */
int vpa_export_decode(const char *text, size_t len, struct vpa_export *ret,
		      struct kube_decode_error *err);
/* Of a checkpoint, borrowed; NULL: it is refused, or its VerticalPodAutoscaler is not in the text.
 */
const struct vpa_target *vpa_export_target(const struct vpa_export *e,
					   const struct vpa_saved *saved);
