/* SPDX-License-Identifier: Apache-2.0 */
/* Values to the JSON that is sent. Owned by the caller; NULL: no memory. */
#pragma once

#include "agent/kube/model/pod.h"
#include "policy/report/report.h"

/* Strategic merge patch for pods/NAME/resize: the uid, and what the report changes. exact: the
 * server refuses it as a conflict if the object has changed since. */
char *kube_encode_resize(const struct kube_pod *pod, const struct report_patch *patch, bool exact);
/* Merge patch of the annotation vscaled.dev/status with the uid; NULL removes it. */
char *kube_encode_annotation(const struct kube_pod *pod, const char *status);

struct kube_event {
	const char *namespace;
	const char *name; /* of the event: unique, "web-0.17d2c0f1a2b3c4d5" */
	const char *type; /* Normal, Warning */
	const char *reason;
	const char *action;
	const char *note;     /* shortened to 1024 bytes, never inside a character */
	const char *instance; /* reportingInstance: the node */
	const struct kube_pod *regarding;
	usec_t at_real;
};
char *kube_encode_event(const struct kube_event *e);
/* Merge patch that makes it a series, count >= 2. */
char *kube_encode_event_series(uint32_t count, usec_t last_real);
/* Eviction of policy/v1 for pods/NAME/eviction, of the pod with this uid alone. */
char *kube_encode_eviction(const struct kube_pod *pod);
/* Lease of coordination.k8s.io, to create it, or as a merge patch of what was read with
 * l->version. workload: for people who read it. */
struct kube_lease;
char *kube_encode_lease(const char *name, const char *workload, const struct kube_lease *l,
			uint32_t duration_sec);
/* A question for SelfSubjectAccessReview. subresource NULL: none. */
char *kube_encode_access(const char *verb, const char *group, const char *resource,
			 const char *subresource);
/* Percent-encodes one path segment or query value into buf; -ENAMETOOLONG. */
int kube_encode_segment(const char *text, char *buf, size_t size);
