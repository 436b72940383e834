/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations vscaled.dev/... of a pod, one row per key. Tenants' input: the administrator's
 * bounds always win, and a value that cannot be parsed makes the pod Off. */
#pragma once

#include "agent/config/config.h"
#include "agent/kube/model/pod.h"
#include "policy/report/report.h"

/* What is wrong with them and what is allowed, for the Event and `explain`. Printable ASCII. */
struct annotation_error {
	char text[256];
};

struct pod_settings;

/* One row of docs/annotations.md. */
struct annotation_key {
	const char *key;      /* without the domain */
	const char *values;   /* in words */
	const char *fallback; /* the default in words */
	const char *doc;
	/* Reads the value. -EINVAL: not one of the values, or err says more. NULL: written by
	 * vscaled, never read. */
	int (*take)(const char *value, struct pod_settings *settings, struct annotation_error *err);
};
extern const struct annotation_key annotation_keys[];
extern const size_t annotation_key_count;

/* How one container of a pod is to be treated. */
struct container_rule {
	struct policy_rule rule;
	bool named; /* by `containers` and `policy`: else not managed */
	enum controlled_values controlled;
	bool allow_restart;        /* of a container whose memory resize takes one */
	bool in_place_or_recreate; /* accepted, behaves as Auto */
	bool goal;                 /* given and understood, not in effect yet */
};

/* The rule of one container: configuration defaults, annotations, the administrator's bounds.
 * -ENOENT: the pod has no mode annotation; -EINVAL: err says what is wrong, the same for every
 * container of the pod. *ret is mode Off in both cases. */
int annotation_rule(const struct config *config, const struct kube_pod *pod, const char *container,
		    struct container_rule *ret, struct annotation_error *err);
