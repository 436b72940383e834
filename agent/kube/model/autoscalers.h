/* SPDX-License-Identifier: Apache-2.0 */
/* HorizontalPodAutoscalers that scale by utilisation, which is use over request: a request that
 * moves would move the number of replicas. VerticalPodAutoscalers that size running pods. */
#pragma once

#include "policy/types/profile.h"
#include <stddef.h>

struct kube_decode_error;

enum autoscaler_kind {
	AUTOSCALER_HORIZONTAL,
	AUTOSCALER_VERTICAL,
	AUTOSCALER_KIND_COUNT,
};

struct kube_autoscaler {
	char *workload;     /* name of its target */
	char *kind;         /* of its target */
	char *why[2];       /* a request stays: of its target's pods, of others */
	uint32_t resources; /* RESOURCES_* whose utilisation it scales by, or which it sizes */
	/* Its target is an owner of pods. Else it may be an operator's, and above any of them. */
	bool traced;
};

/* Zeroed is empty. */
struct kube_autoscalers {
	enum autoscaler_kind kind;
	struct kube_autoscaler *items; /* owned */
	size_t count;
};

/* A HorizontalPodAutoscalerList of autoscaling/v2, or a VerticalPodAutoscalerList of
 * autoscaling.k8s.io/v1: those whose updateMode is Off or Initial set nothing by themselves, and
 * are not in *ret. -EBADMSG: err says what; -ENOMEM. */
int kube_decode_autoscalers(enum autoscaler_kind kind, const char *text, size_t len,
			    struct kube_autoscalers *ret, struct kube_decode_error *err);
void kube_autoscalers_drop(struct kube_autoscalers *a);
/* There are pods with this owner: its kind and name. */
void kube_autoscalers_owner(struct kube_autoscalers *a, const char *kind, const char *workload);
/* Why a request of pods with this owner stays, borrowed; NULL: it may move. above: without one of
 * their own, those count whose target is not known to own pods. */
const char *kube_autoscaler_of(const struct kube_autoscalers *a, const char *kind,
			       const char *workload, bool above, enum resource r);
