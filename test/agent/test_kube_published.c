// SPDX-License-Identifier: Apache-2.0
/* Recommendations in the status annotation: what was written is read, all else is refused. */
#include "agent/base/json.h"
#include "agent/kube/model/published.h"
#include "test/check.h"
#include <errno.h>

#define RANGE        "\"lowerBound\":\"50m\",\"target\":\"100m\",\"upperBound\":\"200m\",\"peak\":\"150m\""
#define ENTRY(range) "{\"cpu\":{" range "},\"samples\":60,\"confidence\":0.25}"
#define TEXT(version, entry)                                                                       \
	"{\"mode\":\"Auto\",\"containers\":{\"app\":{\"cpu\":{\"original\":\"1\",\"limit\":"       \
	"\"2\",\"target\":\"110m\"}}},\"recommendation\":{\"version\":" version                    \
	",\"containers\":{\"app\":" entry "}}}"

static struct kube_published sample(void)
{
	return (struct kube_published){
		.request = {100, 64 * MIB},
		.limit = {LIMIT_MAX, 256 * MIB},
		.own = {.resource = {{50, 100, 200, 150}, {MIB, 123456789, GIB, 123456789}},
			.confidence_permille = {42, 17}},
		.samples = 3600,
		.reason = "throttled",
	};
}

TEST(round)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	OWN(drop_free) char *text = NULL;
	struct kube_published p = sample(), got, none = {0};
	uint64_t shown[RESOURCE_COUNT] = {7, 7};

	CHECK(kube_published_add(root, "app", &p));
	CHECK(kube_published_add(root, "log", &p));
	CHECK(kube_published_add(root, "new", &none));
	text = cJSON_PrintUnformatted(root);
	CHECK_EQ(kube_published_read(text, "app", &got, shown), 0);
	CHECK_EQ(got.samples, 3600);
	CHECK_EQ(got.own.confidence_permille[RESOURCE_CPU], 42);
	CHECK_EQ(got.own.confidence_permille[RESOURCE_MEMORY], 17);
	CHECK(memcmp(&got.own.resource[RESOURCE_CPU], &p.own.resource[RESOURCE_CPU],
		     sizeof(struct range_of)) == 0);
	/* Never less than what is needed. */
	CHECK_EQ(got.own.resource[RESOURCE_MEMORY].target, 118 * MIB);
	CHECK_EQ(shown[RESOURCE_CPU], 0);
	CHECK(strstr(text, "\"request\":\"100m\",\"lowerBound\":\"50m\"") != NULL);
	CHECK(strstr(text, "\"limit\":\"256Mi\"") != NULL);
	CHECK(strstr(text, "\"reason\":\"cpu: throttled\"") != NULL);
	CHECK_EQ(kube_published_read(text, "new", &got, shown), -ENOENT);
}

/* Cut first: what the pod has elsewhere, too (request, limit); then the bounds; then whole
 * containers, from the last. */
TEST(cut)
{
	static const struct {
		bool app, log, bare; /* there; app without bounds */
	} steps[] = {{true, true, false}, {true, true, false}, {true, true, false},
		     {true, true, true},  {true, false, true}, {false, false, false}};
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	struct kube_published p = sample(), got;
	uint64_t shown[RESOURCE_COUNT];

	CHECK(kube_published_add(root, "app", &p));
	CHECK(kube_published_add(root, "log", &p));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		OWN(drop_free) char *text = NULL;

		CHECK(kube_published_cut(root));
		text = cJSON_PrintUnformatted(root);
		CHECK_EQ(strstr(text, "\"request\"") != NULL, i == 0);
		CHECK_EQ(kube_published_read(text, "log", &got, shown), steps[i].log ? 0 : -ENOENT);
		CHECK_EQ(!steps[i].log || got.bare, !steps[i].log || i >= 2);
		CHECK_EQ(kube_published_read(text, "app", &got, shown), steps[i].app ? 0 : -ENOENT);
		CHECK_EQ(steps[i].app && got.bare, steps[i].bare);
		CHECK(got.own.resource[RESOURCE_CPU].target == 100);
		CHECK(got.own.resource[RESOURCE_CPU].peak == 150);
	}
	CHECK(!kube_published_cut(root));
	CHECK_EQ(cJSON_GetArraySize(root), 0);
}

TEST(texts)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{TEXT("1", ENTRY(RANGE)), 0},
		{TEXT("2", ENTRY(RANGE)), -ENOENT},
		{TEXT("\"1\"", ENTRY(RANGE)), -EBADMSG},
		{TEXT("1", "7"), -EBADMSG},
		{TEXT("1", "{}"), -EBADMSG},
		{TEXT("1", "{\"samples\":1,\"confidence\":0}"), 0},
		{TEXT("1", "{\"samples\":0,\"confidence\":0}"), -EBADMSG},
		{TEXT("1", "{\"samples\":1,\"confidence\":1.5}"), -EBADMSG},
		{TEXT("1", "{\"samples\":1,\"confidence\":-1}"), -EBADMSG},
		{TEXT("1", "{\"samples\":1,\"confidence\":\"1\"}"), -EBADMSG},
		{TEXT("1", ENTRY("\"target\":\"100m\"")), -EBADMSG},
		{TEXT("1",
		      ENTRY("\"lowerBound\":\"300m\",\"target\":\"100m\",\"upperBound\":\"200m\","
			    "\"peak\":\"150m\"")),
		 -EBADMSG},
		{TEXT("1",
		      ENTRY("\"lowerBound\":\"50m\",\"target\":\"100m\",\"upperBound\":\"max\","
			    "\"peak\":\"150m\"")),
		 -EBADMSG},
		{TEXT("1", ENTRY("\"lowerBound\":\"-50m\",\"target\":\"100m\",\"upperBound\":\"1\","
				 "\"peak\":\"150m\"")),
		 -EBADMSG},
		{TEXT("1", ENTRY("\"lowerBound\":\"1m\",\"target\":\"1\",\"upperBound\":\"1e99\","
				 "\"peak\":\"1\"")),
		 -EBADMSG},
		{TEXT("1", ENTRY(RANGE)) "x", -EBADMSG},
		{"{\"recommendation\":[]}", -EBADMSG},
		{"{\"recommendation\":{\"version\":1,\"containers\":[]}}", -EBADMSG},
		{"{\"recommendation\":{\"version\":1}}", -ENOENT},
		{"{}", -ENOENT},
		{"[]", -EBADMSG},
		{"", -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_published got = {.samples = 99};
		uint64_t shown[RESOURCE_COUNT] = {7, 7};
		int r = kube_published_read(rows[i].text, "app", &got, shown);

		if (r != rows[i].result)
			fprintf(stderr, "%s\n", rows[i].text);
		CHECK_EQ(r, rows[i].result);
		CHECK_EQ(shown[RESOURCE_CPU], r == 0 ? 110 : 7);
		CHECK(r == 0 || got.samples == 99);
	}
}
