// SPDX-License-Identifier: Apache-2.0
/*
 * Pods and lists of them. A list is cut into its items and parsed one at a time: the result must be
 * that of the whole document parsed at once. What is taken over has names that are safe in paths.
 */
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include "pod_text.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

/* Below this no item can have more values than are allowed. */
#define COMPARED_BYTES SCAN_VALUES_MAX

struct pods {
	struct kube_pod **pod;
	size_t count;
};

static void check_pod(const struct kube_pod *p)
{
	enum resource lacking;
	uint64_t lack;

	require(kube_is_uid(p->uid) && kube_is_uid(p->cgroup_uid), "uid");
	require(kube_is_label(p->namespace) && kube_is_subdomain(p->name), "names");
	require(p->node == NULL || kube_is_subdomain(p->node), "node");
	require(kube_is_subdomain(p->workload), "workload");
	require(p->container_count > 0, "containers");
	require(!kube_parse_lack(p->resize_message, &lacking, &lack) || lack > 0, "lack");
	for (size_t i = 0; i < p->container_count; i++) {
		const struct kube_container *c = &p->containers[i];

		require(kube_is_label(c->name), "container name");
		require(kube_pod_container(p, c->name) == c, "container twice");
		require(c->id == NULL || kube_is_container_id(c->id), "container id");
	}
}

static int keep(void *arg, struct kube_pod *pod)
{
	struct pods *l = arg;
	struct kube_pod **more = realloc(l->pod, (l->count + 1) * sizeof(struct kube_pod *));

	require(more != NULL, "memory");
	l->pod = more;
	l->pod[l->count++] = pod;
	check_pod(pod);
	return 0;
}

static void check_same(const struct kube_pod *a, const struct kube_pod *b)
{
	char *text_a = pod_text(a), *text_b = pod_text(b);

	if (strcmp(text_a, text_b) != 0)
		fprintf(stderr, "one at a time:\n%s\nat once:\n%s\n", text_a, text_b);
	require(strcmp(text_a, text_b) == 0, "two results");
	free(text_a);
	free(text_b);
}

static void check_whole(const char *text, size_t size, const struct pods *l, size_t bad)
{
	OWN(drop_json) cJSON *whole = cJSON_ParseWithLength(text, size);
	const cJSON *item;
	size_t count = 0, refused = 0;

	require(whole != NULL, "not JSON");
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(whole, "items")) {
		OWN(drop_kube_pod) struct kube_pod *p = calloc(1, sizeof *p);
		struct kube_decode_error err = {.text = ""};
		const struct field root = field_root(item, &err);

		if (!cJSON_IsObject(item) || decode_pod(&root, p) < 0) {
			refused++;
			continue;
		}
		require(count < l->count, "too few");
		check_same(l->pod[count++], p);
	}
	require(count == l->count && refused == bad, "another number");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	struct kube_decode_error err = {.text = ""};
	struct pods l = {NULL, 0};
	char version[128];
	size_t bad = 0;

	if (kube_decode_pod((const char *)data, size, &p, &err) == 0)
		check_pod(p);
	else
		require(err.text[0] != '\0', "refused without a word");
	if (kube_decode_pods((const char *)data, size, keep, &l, version, sizeof version, &bad,
			     &err) == 0 &&
	    size < COMPARED_BYTES)
		check_whole((const char *)data, size, &l, bad);
	if (kube_decode_continue((const char *)data, size, version, sizeof version, &err) < 0)
		require(err.text[0] != '\0', "a token refused without a word");
	for (size_t i = 0; i < l.count; i++)
		kube_pod_free(l.pod[i]);
	free(l.pod);
	return 0;
}
