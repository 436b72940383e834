// SPDX-License-Identifier: Apache-2.0
/* managedFields: which values of a pod's spec are vscaled's, and which are another's. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/decode_impl.h"
#include "test/check.h"

#define ENTRY(manager, operation, sub, fields)                                                     \
	"{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\","      \
	"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" fields sub "}"
#define RESIZE ",\"subresource\":\"resize\""
#define IN(list, name, values)                                                                     \
	"{\"f:spec\":{\"f:" list "\":{\"k:{\\\"name\\\":\\\"" name "\\\"}\":{\".\":{},"            \
	"\"f:resources\":{" values "}}}}}"
#define LIMIT_CPU "\"f:limits\":{\"f:cpu\":{}}"
#define BOTH      "\"f:limits\":{\"f:cpu\":{},\"f:memory\":{}},\"f:requests\":{\"f:memory\":{}}"

struct row {
	const char *what, *entries;
	unsigned ours, others; /* of app ... */
	unsigned ours_init;    /* ... and of init */
};

static const struct row rows[] = {
	{"the creator's",
	 ENTRY("kube-controller-manager", "Update", "", IN("containers", "app", BOTH)), 0, 11, 0},
	{"ours beside the creator's",
	 ENTRY("m", "Update", "",
	       IN("containers", "app",
		  "\"f:limits\":{\"f:memory\":{}}")) "," ENTRY("vscaled", "Update", RESIZE,
							       IN("containers", "app", LIMIT_CPU)),
	 1, 2, 0},
	{"a shared one",
	 ENTRY("gitops", "Apply", RESIZE, IN("containers", "app", LIMIT_CPU)) "," ENTRY(
		 "vscaled", "Update", RESIZE, IN("containers", "app", LIMIT_CPU)),
	 1, 1, 0},
	{"our annotation is no claim on a value",
	 ENTRY("vscaled", "Update", "", "{\"f:metadata\":{\"f:annotations\":{\"f:a\":{}}}}"), 0, 0,
	 0},
	{"an Apply in our name",
	 ENTRY("vscaled", "Apply", RESIZE, IN("containers", "app", LIMIT_CPU)), 0, 1, 0},
	{"merged entries", ENTRY("ancient-changes", "Update", "", IN("containers", "app", BOTH)), 0,
	 0, 0},
	{"a map without a value",
	 ENTRY("vscaled", "Update", RESIZE, IN("containers", "app", "\"f:limits\":{}")), 0, 0, 0},
	{"a sidecar", ENTRY("vscaled", "Update", RESIZE, IN("initContainers", "init", BOTH)), 0, 0,
	 11},
	{"the kubelet's status",
	 ENTRY("kubelet", "Update", ",\"subresource\":\"status\"",
	       "{\"f:status\":{\"f:containerStatuses\":{}}}"),
	 0, 0, 0},
	{"another container", ENTRY("m", "Update", "", IN("containers", "apps", BOTH)), 0, 0, 0},
	{"cleared", "{}", 0, 0, 0},
	{"no object", ENTRY("m", "Update", "", "{\"f:spec\":{\"f:containers\":[1,\"k:\"]}}"), 0, 0,
	 0},
	{"an escaped name", ENTRY("m", "Update", "", IN("containers", "a\\\\u0070p", BOTH)), 0, 0,
	 0},
};

#define POD                                                                                        \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"resourceVersion\":"  \
	"\"1\",\"uid\":"                                                                           \
	"\"1f2a3b4c-0000-4000-8000-000000000001\",\"managedFields\":[%s]},\"spec\":{"              \
	"\"initContainers\":[{\"name\":\"init\",\"restartPolicy\":\"Always\"}],"                   \
	"\"containers\":[{\"name\":\"app\"}]},\"status\":{}}"

static void check_row(const struct row *r)
{
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	OWN(drop_free) char *text = NULL;
	struct kube_decode_error err;

	CHECK(asprintf(&text, POD, r->entries) > 0);
	CHECK_EQ(kube_decode_pod(text, strlen(text), &p, &err), 0);
	if (p == NULL || kube_pod_container(p, "app") == NULL) {
		fprintf(stderr, "%s: %s\n", r->what, err.text);
		return;
	}
	CHECK_EQ(kube_pod_container(p, "app")->ours, r->ours);
	CHECK_EQ(kube_pod_container(p, "app")->others, r->others);
	CHECK_EQ(kube_pod_container(p, "init")->ours, r->ours_init);
	if (kube_pod_container(p, "app")->ours != r->ours)
		fprintf(stderr, "%s\n", r->what);
}

/* Names of containers that stand behind others in the text, and more of them than are kept. */
TEST(slim)
{
	char text[16384] = "{\"f:spec\":{\"f:initContainers\":{\"k:{\\\"name\\\":\\\"z\\\"}\":{"
			   "\"f:resources\":{" LIMIT_CPU "}}},\"f:containers\":{";
	size_t len, kept;

	for (int i = 0; i < 80; i++) {
		char item[128];

		snprintf(item, sizeof item,
			 "%s\"k:{\\\"name\\\":\\\"c%d\\\"}\":{\"f:resources\":{" LIMIT_CPU "}}",
			 i > 0 ? "," : "", i);
		strcat(text, item);
	}
	strcat(text, "}}}");
	len = strlen(text);
	kept = owners_cut(text, len);
	CHECK_EQ(kept, 64);
	CHECK_EQ(strlen(text), len);
	CHECK(strncmp(text, "{\"c0\":1,\"c1\":1,", 15) == 0);
	CHECK(strstr(text, "\"c63\":1}   ") != NULL);
	/* No name has more than 63 characters. */
	for (int chars = 63; chars <= 64; chars++) {
		snprintf(text, sizeof text,
			 "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"%0*d\\\"}\":{"
			 "\"f:resources\":{" LIMIT_CPU "}}}}}",
			 chars, 0);
		CHECK_EQ(owners_cut(text, strlen(text)), chars == 63);
	}
}

TEST(with_parameters)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
}
