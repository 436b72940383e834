/* SPDX-License-Identifier: Apache-2.0 */
/* The control API's view of pods. Private to serve.c and serve_pod.c. */
#pragma once

#include "agent/control_api/control_api.h"

struct kube_container;
struct managed;
struct pod;
struct pods;

#define SERVE_ANNOTATIONS_MAX 16

/* A view and the memory for it. */
struct serve_pod {
	struct pod_view view;
	struct annotation_view annotations[SERVE_ANNOTATIONS_MAX];
	char source[320];
	char namespace[80];
	char condition[320];
	char rollout[160];
};

/* c NULL: the pod itself; m NULL: not managed. */
void serve_pod_view(const struct pod *p, const struct kube_container *c, const struct managed *m,
		    struct serve_pod *ret);
/* The containers that are not managed, with the reason. */
void serve_unmanaged(const struct pods *pods, control_unit_fn *each, void *arg);
/* One of them. False: there is none of this name. */
bool serve_unmanaged_named(const struct pods *pods, const char *name, control_unit_fn *each,
			   void *arg);
