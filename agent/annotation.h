/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod says of itself: the annotations vscaled.dev/..., one row per key. Tenants' input: the
 * configuration's own bounds always win, and what cannot be understood makes the pod Off, never a
 * guess. docs/annotations.md is held against the table by a test.
 */
#pragma once

#include "agent/config.h"
#include "agent/kube/pod.h"
#include "policy/report.h"

#define ANNOTATION_DOMAIN "vscaled.dev/"

/* One row of docs/annotations.md. */
struct annotation_key {
	const char *key;      /* without the domain */
	const char *values;   /* in words */
	const char *fallback; /* the default in words */
	const char *doc;
};
extern const struct annotation_key annotation_keys[];
extern const size_t annotation_key_count;

/* What is wrong with them, for the Event and `explain`: names the annotation and what is allowed. */
struct annotation_error {
	char text[256];
};

/* How one container of a pod is to be treated. */
struct container_rule {
	struct policy_rule rule;
	bool named;                        /* by `containers` and `policy`: else not ours */
	enum controlled_values controlled;
	bool in_place_or_recreate;         /* accepted, behaves as Auto */
};

/*
 * The rule of one container: configuration defaults, then annotations, then the administrator's
 * bounds. 0: *ret is set; -ENOENT: the pod has no mode annotation, it is not ours; -EINVAL: err says
 * what is wrong, and *ret is mode Off.
 */
int annotation_rule(const struct config *config, const struct kube_pod *pod, const char *container,
		    struct container_rule *ret, struct annotation_error *err);
