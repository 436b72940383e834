// SPDX-License-Identifier: Apache-2.0
/* Lists of namespaces: what is refused says why, what is taken is whole. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/names.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(kube_namespaces_drop) struct kube_namespaces got = {0};
	struct kube_decode_error err;
	int r = kube_decode_namespaces((const char *)data, size, &got, &err);

	if (r < 0)
		return 0;
	for (size_t i = 0; i < got.count; i++)
		if (!kube_is_label(got.items[i].name) || got.items[i].annotation_count == 0 ||
		    kube_namespaces_find(&got, got.items[i].name) == NULL)
			abort();
	if (!kube_namespaces_equal(&got, &got))
		abort();
	return 0;
}
