/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the answer to a resize or an annotation: one table over status, causes and, where the
 * API gives nothing better, the message. */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/decode.h"
#include "policy/report/report.h"

/* *ret_status: the Status of a failure, zeroed for a success. *ret_missing: the path itself does
 * not exist, so the answer is not about the pod. */
struct report_answer reporter_classify(const struct kube_answer *a, struct kube_status *ret_status,
				       bool *ret_missing);
/* RESOURCES_* that a text of the server or the kubelet mentions; quoted words do not count. */
uint32_t reporter_resources_named(const char *text);
