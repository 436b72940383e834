// SPDX-License-Identifier: Apache-2.0
/* What is no pod: Status, plain text, discovery, LimitRanges, reviews, names. */
#include "pod_text.h"
#include "test/check.h"
#include <errno.h>

TEST(status)
{
	static const char full[] =
		"{\"kind\":\"Status\",\"message\":\"no\\u0007 \\u00fc\",\"reason\":\"Invalid\","
		"\"code\":422,\"details\":{\"retryAfterSeconds\":3,\"causes\":["
		"{\"reason\":\"A\",\"message\":\"m\",\"field\":\"spec\"},"
		"{\"reason\":\"A\",\"message\":\"m\",\"field\":\"spec\"},{\"reason\":\"B\"}]}}";
	char longest[2000];
	OWN(drop_free) char *text = NULL;
	struct kube_status s;

	kube_decode_status(full, strlen(full), &s);
	text = status_text(&s);
	CHECK_STR(text, "code=422 reason=Invalid retry=3s message=no  \xc3\xbc\n"
			"cause A field=spec message=m\ncause B field= message=\n");
	kube_decode_status("Too many requests\r\n", 19, &s);
	CHECK_STR(s.message, "Too many requests");
	CHECK_EQ(s.code, 0);
	kube_decode_status("<html>\n\x1b[2J\xff", 12, &s);
	CHECK_STR(s.message, "<html>  [2J?");
	kube_decode_status("{\"kind\":\"Pod\"}", 14, &s);
	CHECK_STR(s.message, "{\"kind\":\"Pod\"}");
	kube_decode_status("", 0, &s);
	CHECK_STR(s.message, "");
	/* cut between characters: 511 bytes would end inside one */
	memset(longest, 0, sizeof longest);
	strcpy(longest, "{\"kind\":\"Status\",\"message\":\"");
	for (int i = 0; i < 400; i++)
		strcat(longest, "\xc3\xbc");
	strcat(longest, "\"}");
	kube_decode_status(longest, strlen(longest), &s);
	CHECK_EQ(strlen(s.message), 510);
}

TEST(others)
{
	static const char resources[] = "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":"
					"\"pods\",\"verbs\":[\"patch\"]},"
					"{\"name\":\"pods/resize\",\"verbs\":[\"get\",\"%s\"]}]}";
	static const char ranges[] =
		"{\"kind\":\"LimitRangeList\",\"items\":[{\"spec\":{\"limits\":[{\"type\":\"Contain"
		"er\",\"min\":{\"cpu\":\"50m\"},\"max\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},"
		"\"maxLimitRequestRatio\":{\"cpu\":\"1.5\"}},{\"type\":\"Pod\","
		"\"max\":{\"cpu\":\"1m\"}}]}},{\"spec\":{\"limits\":[{\"type\":\"Container\","
		"\"min\":{\"cpu\":\"100m\"},\"max\":{\"cpu\":\"1\"},"
		"\"maxLimitRequestRatio\":{\"cpu\":\"4\"}}]}}]}";
	static const char review[] =
		"{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":%s}}";
	struct kube_limit_range range;
	struct kube_decode_error err;
	char text[512];
	bool yes = false;

	snprintf(text, sizeof text, resources, "patch");
	CHECK(kube_decode_resize_offered(text, strlen(text), &yes, &err) == 0 && yes);
	snprintf(text, sizeof text, resources, "update");
	CHECK(kube_decode_resize_offered(text, strlen(text), &yes, &err) == 0 && !yes);
	CHECK_EQ(kube_decode_resize_offered("{}", 2, &yes, &err), -EBADMSG);

	CHECK_EQ(kube_decode_limit_ranges(ranges, strlen(ranges), &range, &err), 0);
	CHECK_EQ(range.container.min[RESOURCE_CPU], 100);
	CHECK_EQ(range.container.max[RESOURCE_CPU], 1000);
	CHECK_EQ(range.container.max[RESOURCE_MEMORY], GIB);
	CHECK_EQ(range.container.min[RESOURCE_MEMORY], 0);
	CHECK_EQ(range.container.ratio_permille[RESOURCE_CPU], 1500);
	CHECK_EQ(range.container.ratio_permille[RESOURCE_MEMORY], 0);
	CHECK_EQ(range.pod.max[RESOURCE_CPU], 1);
	CHECK_EQ(range.pod.max[RESOURCE_MEMORY], 0);

	snprintf(text, sizeof text, review, "true");
	CHECK(kube_decode_access(text, strlen(text), &yes, &err) == 0 && yes);
	snprintf(text, sizeof text, review, "\"true\"");
	CHECK_EQ(kube_decode_access(text, strlen(text), &yes, &err), -EBADMSG);
	snprintf(text, sizeof text, review, "null");
	CHECK_EQ(kube_decode_access(text, strlen(text), &yes, &err), -EBADMSG);
}

TEST(lease)
{
	static const struct {
		const char *text, *error; /* NULL: none */
	} rows[] = {
		{"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"12\"},\"spec\":{"
		 "\"holderIdentity\":\"web-0_1\",\"renewTime\":\"2026-11-20T08:03:10.000000Z\"}}",
		 NULL},
		{"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"12\"}}", NULL},
		{"{\"kind\":\"Lease\",\"metadata\":{}}", "metadata.resourceVersion"},
		{"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"12\"},\"spec\":{"
		 "\"renewTime\":\"yesterday\"}}",
		 "spec.renewTime"},
		{"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"12\"},\"spec\":{"
		 "\"holderIdentity\":12}}",
		 "spec.holderIdentity"},
		{"{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"12\"}}", "kind"},
		{"<html>", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_decode_error err = {.text = ""};
		struct kube_lease l = {.holder = "before"};
		int r = kube_decode_lease(rows[i].text, strlen(rows[i].text), &l, &err);

		CHECK_EQ(r, rows[i].error != NULL ? -EBADMSG : 0);
		CHECK(rows[i].error == NULL || strstr(err.text, rows[i].error) != NULL);
		CHECK(r == 0 || strcmp(l.holder, "before") == 0);
		if (i == 0) {
			CHECK(strcmp(l.holder, "web-0_1") == 0 && strcmp(l.version, "12") == 0);
			CHECK_EQ(l.renewed_real, 1795161790 * USEC_PER_SEC);
		}
		CHECK(i != 1 || (l.holder[0] == '\0' && l.renewed_real == 0));
	}
}

TEST(node)
{
	static const char good[] =
		"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"},\"status\":"
		"{"
		"\"capacity\":{\"cpu\":\"4\"},\"allocatable\":{\"cpu\":\"3920m\",\"memory\":"
		"\"7Gi\",\"pods\":\"110\"},\"nodeInfo\":{\"kubeletVersion\":\"v1.36.3-eks-1\"}}}";
	static const char *const bad[] = {
		"{\"kind\":\"Pod\"}",
		"{\"kind\":\"Node\",\"status\":{\"allocatable\":{\"cpu\":\"many\"}}}",
		"{\"kind\":\"Node\",\"status\":{\"nodeInfo\":{\"kubeletVersion\":36}}}",
		"[]",
	};
	struct kube_node n = {.kubelet_version = ""};
	struct kube_decode_error err;

	CHECK_EQ(kube_decode_node(good, strlen(good), &n, &err), 0);
	CHECK_EQ(n.allocatable[RESOURCE_CPU], 3920);
	CHECK_EQ(n.allocatable[RESOURCE_MEMORY], 7ULL << 30);
	CHECK_STR(n.kubelet_version, "v1.36.3-eks-1");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(kube_decode_node(bad[i], strlen(bad[i]), &n, &err), -EBADMSG);
	CHECK_EQ(n.allocatable[RESOURCE_CPU], 3920);
}
