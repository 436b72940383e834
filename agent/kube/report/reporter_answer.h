/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the answer to a write about one object: one table over status, causes and, where the
 * API gives nothing better, the message. */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/decode.h"
#include "policy/report/report.h"

/* *ret_status: the Status of a failure, zeroed for a success. */
struct report_answer reporter_classify(const struct kube_answer *a, struct kube_status *ret_status);

/* A message without "pods "web-0" is forbidden: ", since the name may contain anything. */
const char *reporter_reason(const char *message);
/* What the text of a refusal says, cut as it is in the annotation. */
struct report_answer reporter_refusal_of(const char *text);

/* A denied right is asked about again after this time, by namespace: that is all that the server's
 * text says, whatever role lacks the right. */
#define FORBIDDEN_FOR (10 * USEC_PER_MIN)
#define HOLDS_MAX     256u /* a node has 250 pods */
struct holds {
	struct {
		uint64_t space; /* text_hash() of the namespace */
		usec_t until;
	} item[HOLDS_MAX];
	size_t count;
};
void holds_add(struct holds *h, uint64_t space, usec_t until, usec_t now);
/* 0: never held. */
usec_t holds_until(const struct holds *h, uint64_t space);

/* RESOURCES_* that a text of the server or the kubelet mentions; quoted words do not count. */
uint32_t reporter_resources_named(const char *text);
