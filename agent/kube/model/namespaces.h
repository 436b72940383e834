/* SPDX-License-Identifier: Apache-2.0 */
/* The namespaces that have annotations of vscaled.dev/, which are defaults for their pods. */
#pragma once

#include "agent/kube/model/pod.h"

struct kube_decode_error;

struct kube_namespace {
	char *name;
	struct kube_annotation *annotations; /* at least one */
	size_t annotation_count;
};

/* Zeroed is empty. */
struct kube_namespaces {
	struct kube_namespace *items; /* owned */
	size_t count;
};

/* A NamespaceList, or its metadata alone. -EBADMSG: err says what; -ENOMEM. */
int kube_decode_namespaces(const char *text, size_t len, struct kube_namespaces *ret,
			   struct kube_decode_error *err);
void kube_namespaces_drop(struct kube_namespaces *n);
/* NULL: it has no such annotation. */
const struct kube_namespace *kube_namespaces_find(const struct kube_namespaces *n,
						  const char *name);
/* The same annotations, in the same order? */
bool kube_namespaces_equal(const struct kube_namespaces *a, const struct kube_namespaces *b);
