/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscalers that scale by utilisation, which is use over request: a request that
 * moves would move the number of replicas. */
#pragma once

#include "policy/types/profile.h"
#include <stddef.h>

struct kube_decode_error;

struct kube_autoscaler {
	char *workload;     /* name of its target */
	char *kind;         /* of its target */
	uint32_t resources; /* RESOURCES_* whose utilisation it scales by, not 0 */
};

/* Zeroed is empty. */
struct kube_autoscalers {
	struct kube_autoscaler *items; /* owned */
	size_t count;
};

/* A HorizontalPodAutoscalerList of autoscaling/v2; those without such a metric are left out.
 * -EBADMSG: err says what; -ENOMEM. */
int kube_decode_autoscalers(const char *text, size_t len, struct kube_autoscalers *ret,
			    struct kube_decode_error *err);
void kube_autoscalers_drop(struct kube_autoscalers *a);
/* RESOURCES_* of the workload. A target of a kind that is not the owner of pods (a custom resource
 * with a scale) may stand above one of the same name: it counts. */
uint32_t kube_autoscalers_of(const struct kube_autoscalers *a, const char *kind,
			     const char *workload);
