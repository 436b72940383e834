// SPDX-License-Identifier: Apache-2.0
/* A status annotation, written by any client: refused, or positive amounts within bounds. */
#include "agent/kube/model/published.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

static void read_published(const char *text)
{
	struct kube_published p = {.samples = 7};
	uint64_t shown[RESOURCE_COUNT] = {7, 7};

	if (kube_published_read(text, "app", &p, shown) < 0) {
		require(p.samples == 7 && shown[0] == 7 && shown[1] == 7, "touched");
		return;
	}
	require(p.samples > 0 && p.own.confidence_permille[RESOURCE_CPU] <= 1000 &&
			p.own.confidence_permille[RESOURCE_MEMORY] <= 1000,
		"confidence");
	require(prior_is_possible(&p.own), "not a recommendation");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kube_container c = {
		.spec = {.limit = {1000, 256 * MIB}, .request = {100, 16 * MIB}},
	};
	struct kube_originals o = {{7, 7}, {7, 7}};
	char *text = calloc(1, size + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	if (kube_originals_read(text, "app", &o) < 0) {
		require(o.limit[0] == 7 && o.limit[1] == 7 && o.request[0] == 7, "touched");
	} else {
		require(o.limit[0] < LIMIT_MAX && o.limit[1] < LIMIT_MAX, "no limit");
		if (kube_originals_fit(&o, &c, RESOURCES_BOTH)) {
			require(o.limit[0] >= 100, "CPU out of bounds");
			require(o.limit[1] >= 16 * MIB, "memory out of bounds");
			require(o.request[0] <= o.limit[0] && o.request[1] <= o.limit[1],
				"a request above its limit");
		}
	}
	read_published(text);
	free(text);
	return 0;
}
