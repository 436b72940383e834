// SPDX-License-Identifier: Apache-2.0
/* The bodies that are sent, to the byte, and read back. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/encode.h"
#include "test/check.h"
#include <cjson/cJSON.h>
#include <errno.h>

#define UID "01db0305-ede0-4ddc-b896-98a32314e7f2"
/* 2026-11-20T08:20:52.000004Z */
#define AT (1795162852ULL * USEC_PER_SEC + 4)

static struct kube_container containers[] = {
	{.name = (char *)"prep", .kind = CONTAINER_INIT},
	{.name = (char *)"mesh", .kind = CONTAINER_SIDECAR},
	{.name = (char *)"app", .kind = CONTAINER_APP},
	{.name = (char *)"log", .kind = CONTAINER_APP},
};
static const struct kube_pod pod = {
	.uid = (char *)UID,
	.namespace = (char *)"lab",
	.name = (char *)"web-0",
	.resource_version = (char *)"213",
	.containers = containers,
	.container_count = ARRAY_SIZE(containers),
};

static void check_text(char *got, const char *want)
{
	CHECK_STR(got, want);
	free(got);
}

TEST(resize)
{
	struct report_patch patch = {
		.count = 3,
		.item =
			{
				{.container = 2,
				 .limits = 3,
				 .requests = 1,
				 .limit = {600, 192 * MIB},
				 .request = {300}},
				{.container = 1, .limits = 2, .limit = {0, 64 * MIB + 4096}},
				{.container = 3, .requests = 2, .request = {0, 5 * GIB}},
			},
	};

	check_text(kube_encode_resize(&pod, &patch, false),
		   "{\"metadata\":{\"uid\":\"" UID "\"},\"spec\":{\"containers\":[{\"name\":\"app\""
		   ",\"resources\":{\"limits\":{\"cpu\":\"600m\",\"memory\":\"192Mi\"},"
		   "\"requests\":{\"cpu\":\"300m\"}}},{\"name\":\"log\","
		   "\"resources\":{\"requests\":{\"memory\":\"5120Mi\"}}}],"
		   "\"initContainers\":[{\"name\":\"mesh\",\"resources\":{\"limits\":{\"memory\":\""
		   "67112960\"}}}]}}");
	/* "no limit" cannot be asked for, and what is empty is left out */
	patch.count = 2;
	patch.item[0].limit[RESOURCE_MEMORY] = LIMIT_MAX;
	patch.item[1].limits = 0;
	check_text(kube_encode_resize(&pod, &patch, true),
		   "{\"metadata\":{\"uid\":\"" UID
		   "\",\"resourceVersion\":\"213\"},\"spec\":{\"containers\":["
		   "{\"name\":\"app\",\"resources\":{\"limits\":{\"cpu\":\"600m\"},"
		   "\"requests\":{\"cpu\":\"300m\"}}}]}}");
}

/* What is sent as amounts is read as the same amounts. */
TEST(round_trip)
{
	static const uint64_t bytes[] = {1, 4096, MIB, MIB + 1, 1536 * MIB, GIB, 3ULL << 50};
	static const uint64_t milli[] = {10, 990, 1000, 128000};

	for (size_t i = 0; i < ARRAY_SIZE(bytes) * ARRAY_SIZE(milli); i++) {
		const uint64_t cpu = milli[i / ARRAY_SIZE(bytes)],
			       mem = bytes[i % ARRAY_SIZE(bytes)];
		struct report_patch patch = {
			.count = 1,
			.item = {{.container = 2,
				  .limits = 3,
				  .requests = 3,
				  .limit = {cpu, mem},
				  .request = {cpu, mem}}},
		};
		OWN(drop_free) char *body = kube_encode_resize(&pod, &patch, false), *text = NULL;
		OWN(drop_kube_pod) struct kube_pod *back = NULL;
		struct kube_decode_error err;
		const char *rest = strstr(body, "},\"spec\"");

		CHECK(rest != NULL &&
		      asprintf(&text,
			       "{\"metadata\":{\"uid\":\"a\",\"name\":\"b\",\"namespace\":"
			       "\"c\",\"resourceVersion\":\"1\"%s",
			       rest) > 0);
		CHECK_EQ(kube_decode_pod(text, strlen(text), &back, &err), 0);
		if (back == NULL)
			continue;
		CHECK_EQ(back->containers[0].spec.limit[RESOURCE_CPU], cpu);
		CHECK_EQ(back->containers[0].spec.limit[RESOURCE_MEMORY], mem);
		CHECK_EQ(back->containers[0].spec.request[RESOURCE_CPU], cpu);
		CHECK_EQ(back->containers[0].spec.request[RESOURCE_MEMORY], mem);
		CHECK_EQ(back->qos, QOS_GUARANTEED);
	}
}

TEST(annotation)
{
	check_text(kube_encode_annotation(&pod, "{\"a\":\"\n\"}"),
		   "{\"metadata\":{\"uid\":\"" UID "\",\"annotations\":"
		   "{\"vscaled.dev/status\":\"{\\\"a\\\":\\\"\\n\\\"}\"}}}");
	check_text(kube_encode_annotation(&pod, NULL),
		   "{\"metadata\":{\"uid\":\"" UID
		   "\",\"annotations\":{\"vscaled.dev/status\":null}}}");
}

static struct kube_event event(const char *note)
{
	return (struct kube_event){
		.namespace = "lab",
		.name = "web-0.17d2c0f1a2b3c4d5",
		.type = "Warning",
		.reason = "ResizeRefused",
		.action = "Resize",
		.note = note,
		.instance = "node-1",
		.regarding = &pod,
		.at_real = AT,
	};
}

TEST(event)
{
	const struct kube_event e = event("cpu 500m -> 900m");

	check_text(
		kube_encode_event(&e),
		"{\"metadata\":{\"namespace\":\"lab\",\"name\":\"web-0.17d2c0f1a2b3c4d5\"},"
		"\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
		"\"eventTime\":\"2026-11-20T08:20:52.000004Z\",\"type\":\"Warning\","
		"\"reason\":\"ResizeRefused\",\"action\":\"Resize\",\"note\":\"cpu 500m -> 900m\","
		"\"reportingController\":\"vscaled.dev/vscaled\",\"reportingInstance\":\"node-1\","
		"\"regarding\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"namespace\":\"lab\","
		"\"name\":\"web-0\",\"uid\":\"" UID "\",\"resourceVersion\":\"213\"}}");
	check_text(
		kube_encode_event_series(7, AT),
		"{\"series\":{\"count\":7,\"lastObservedTime\":\"2026-11-20T08:20:52.000004Z\"}}");
}

/* Bytes of a member of the event, which must still be whole characters. */
static size_t length_of(const struct kube_event *e, const char *key)
{
	OWN(drop_free) char *body = kube_encode_event(e);
	cJSON *json = cJSON_Parse(body);
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
	size_t n = s != NULL ? strlen(s) : 0;

	CHECK(n > 0 && ((unsigned char)s[n - 1] < 0x80 ||
			((unsigned char)s[n - 1] == 0xac && (unsigned char)s[n - 3] == 0xe2)));
	cJSON_Delete(json);
	return n;
}

TEST(lengths)
{
	char long_note[4096] = "", long_word[400];
	struct kube_event e;

	for (int i = 0; i < 1000; i++)
		strcat(long_note, "\xe2\x82\xac"); /* three bytes each: 1024 ends inside one */
	memset(long_word, 'x', sizeof long_word);
	long_word[sizeof long_word - 1] = '\0';
	e = event(long_note);
	e.reason = e.action = e.instance = long_word;
	CHECK_EQ(length_of(&e, "note"), 1023);
	CHECK_EQ(length_of(&e, "reason"), 128);
	CHECK_EQ(length_of(&e, "action"), 128);
	CHECK_EQ(length_of(&e, "reportingInstance"), 128);
	e.note = long_note + 3000 - 1023;
	CHECK_EQ(length_of(&e, "note"), 1023);
	e.note = long_word;
	CHECK_EQ(length_of(&e, "note"), 399);
}

TEST(access)
{
	check_text(
		kube_encode_access("patch", "", "pods", "resize"),
		"{\"spec\":{\"resourceAttributes\":{\"verb\":\"patch\",\"group\":\"\","
		"\"resource\":\"pods\",\"subresource\":\"resize\"}},"
		"\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\"}");
	check_text(
		kube_encode_access("create", "events.k8s.io", "events", NULL),
		"{\"spec\":{\"resourceAttributes\":{\"verb\":\"create\","
		"\"group\":\"events.k8s.io\",\"resource\":\"events\"}},"
		"\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\"}");
}

TEST(segment)
{
	char buf[16];

	CHECK_EQ(kube_encode_segment("spec.nodeName=a", buf, sizeof buf), -ENAMETOOLONG);
	CHECK_EQ(kube_encode_segment("a/b c=%\xc3", buf, sizeof buf), -ENAMETOOLONG);
	CHECK_EQ(kube_encode_segment("a/b=~.-_", buf, sizeof buf), 0);
	CHECK_STR(buf, "a%2Fb%3D~.-_");
	CHECK_EQ(kube_encode_segment("123456789012345", buf, sizeof buf), 0);
	CHECK_EQ(kube_encode_segment("1234567890123456", buf, sizeof buf), -ENAMETOOLONG);
	CHECK_EQ(kube_encode_segment("", buf, 1), 0);
	CHECK_EQ(kube_encode_segment("", buf, 0), -ENAMETOOLONG);
}
