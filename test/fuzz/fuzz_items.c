// SPDX-License-Identifier: Apache-2.0
/*
 * A list of pods in pieces, the first byte their length, against the same list decoded as a whole:
 * what is a list as a whole is one in pieces, with the same pods and the same number of bad ones.
 * The other way is open: an item that is no JSON spoils the whole, but in pieces itself alone.
 */
#include "agent/kube/model/decode.h"
#include "agent/kube/watch/items.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

struct count {
	size_t good;
	size_t bad;
};

static int take_pod(void *arg, struct kube_pod *pod)
{
	struct count *c = arg;

	c->good++;
	kube_pod_free(pod);
	return 0;
}

static int take_item(void *arg, const char *text, size_t len)
{
	struct kube_decode_error err = {.text = ""};
	struct kube_pod *pod = NULL;
	struct count *c = arg;

	if (kube_decode_pod(text, len, &pod, &err) == 0)
		c->good++;
	else
		c->bad++;
	kube_pod_free(pod);
	return 0;
}

static int split(const char *text, size_t len, size_t piece, struct count *ret, char *version)
{
	struct items i = {.max = 1 << 20};
	struct kube_decode_error err = {.text = ""};
	struct count zeros = {0, 0};
	int r = 0;

	for (size_t at = 0; at < len && r == 0; at += piece)
		r = items_feed(&i, text + at, MIN(piece, len - at), take_item, ret);
	if (r == 0)
		r = kube_decode_pods(i.frame.text != NULL ? i.frame.text : "", i.frame.len,
				     take_pod, &zeros, version, 128, &zeros.bad, &err);
	items_drop(&i);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct count whole = {0, 0}, pieces = {0, 0};
	char version[2][128] = {"", ""};
	struct kube_decode_error err = {.text = ""};
	const char *text = (const char *)data + 1;
	int r;

	if (size < 2 || size > 65536)
		return 0;
	r = kube_decode_pods(text, size - 1, take_pod, &whole, version[0], 128, &whole.bad, &err);
	if (split(text, size - 1, data[0] + 1U, &pieces, version[1]) != 0 && r == 0) {
		fprintf(stderr, "a list, but not in pieces\n");
		abort();
	}
	if (r == 0 && (pieces.good != whole.good || pieces.bad != whole.bad ||
		       strcmp(version[0], version[1]) != 0)) {
		fprintf(stderr, "%zu good and %zu bad pods, in pieces %zu and %zu\n", whole.good,
			whole.bad, pieces.good, pieces.bad);
		abort();
	}
	return 0;
}
