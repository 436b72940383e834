// SPDX-License-Identifier: Apache-2.0
/* Answers that are no pods: whatever comes, texts end, fit and hold nothing that a log acts on. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/names.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

static void check_text(const char *s, size_t size)
{
	require(memchr(s, '\0', size) != NULL, "no end");
	for (; *s != '\0'; s++)
		require((unsigned char)*s >= 0x20 && *s != 0x7f, "control character");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	OWN(kube_autoscalers_drop) struct kube_autoscalers autoscalers = {0};
	struct kube_limit_range range;
	struct kube_lease lease;
	struct kube_node node;
	struct kube_decode_error err;
	struct kube_status s;
	bool yes = false;

	kube_decode_status(text, size, &s);
	check_text(s.reason, sizeof s.reason);
	check_text(s.message, sizeof s.message);
	require(s.cause_count <= KUBE_CAUSES_MAX, "causes");
	for (uint32_t i = 0; i < s.cause_count; i++) {
		check_text(s.cause[i].reason, sizeof s.cause[i].reason);
		check_text(s.cause[i].field, sizeof s.cause[i].field);
		check_text(s.cause[i].message, sizeof s.cause[i].message);
	}
	(void)kube_decode_resize_offered(text, size, &yes, &err);
	if (kube_decode_lease(text, size, &lease, &err) == 0) {
		check_text(lease.holder, sizeof lease.holder);
		check_text(lease.version, sizeof lease.version);
	}
	(void)kube_decode_access(text, size, &yes, &err);
	(void)kube_decode_limit_ranges(text, size, &range, &err);
	if (kube_decode_autoscalers(AUTOSCALER_HORIZONTAL, text, size, &autoscalers, &err) == 0)
		(void)kube_autoscaler_of(&autoscalers, "Deployment", "web", true, RESOURCE_CPU);
	kube_autoscalers_drop(&autoscalers);
	(void)kube_decode_autoscalers(AUTOSCALER_VERTICAL, text, size, &autoscalers, &err);
	if (kube_decode_node(text, size, &node, &err) == 0)
		check_text(node.kubelet_version, sizeof node.kubelet_version);
	return 0;
}
