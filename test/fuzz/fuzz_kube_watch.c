// SPDX-License-Identifier: Apache-2.0
/* A line of a watch: an event with what belongs to it, or a refusal that says why. */
#include "agent/kube/model/decode.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_watch_line l = {.event = WATCH_UNKNOWN};
	struct kube_decode_error err = {.text = ""};

	if (kube_decode_watch((const char *)data, size, &l, &err) < 0) {
		require(err.text[0] != '\0', "refused without a word");
		require(l.pod == NULL && l.event == WATCH_UNKNOWN, "touched");
		return 0;
	}
	require((l.pod != NULL) == (l.event <= WATCH_DELETED), "pod");
	require(l.event > WATCH_BOOKMARK || l.resource_version[0] != '\0', "version");
	if (l.pod != NULL)
		require(strcmp(l.pod->resource_version, l.resource_version) == 0, "two versions");
	kube_pod_free(l.pod);
	return 0;
}
