// SPDX-License-Identifier: Apache-2.0
/* Originals of a status annotation: what we wrote is read, all else is refused, and none gains. */
#include "agent/kube/model/published.h"
#include "test/check.h"
#include <errno.h>

#define CPU "\"cpu\":{\"original\":\"500m\",\"limit\":\"900m\",\"target\":\"850m\"}"
#define MEMORY                                                                                     \
	"\"memory\":{\"original\":\"128Mi\",\"limit\":\"256Mi\",\"originalRequest\":\"64Mi\"}"
#define APP "\"app\":{" CPU "," MEMORY "}"

TEST(good)
{
	struct kube_originals o;

	CHECK_OK(kube_originals_read("{\"mode\":\"Auto\",\"containers\":{\"log\":{" CPU "}," APP
				     "},\"changed\":\"2026-01-01T00:00:00Z\"}",
				     "app", &o));
	CHECK_EQ(o.limit[RESOURCE_CPU], 500);
	CHECK_EQ(o.limit[RESOURCE_MEMORY], 128 * MIB);
	CHECK_EQ(o.request[RESOURCE_CPU], 0);
	CHECK_EQ(o.request[RESOURCE_MEMORY], 64 * MIB);
}

/* Of a container without a limit there is only the request. */
TEST(request_alone)
{
	struct kube_originals o;

	CHECK_OK(kube_originals_read("{\"containers\":{\"app\":{\"cpu\":{\"originalRequest\":"
				     "\"250m\",\"target\":\"1\"}}}}",
				     "app", &o));
	CHECK_EQ(o.limit[RESOURCE_CPU], 0);
	CHECK_EQ(o.request[RESOURCE_CPU], 250);
}

TEST(refused)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{"", -EBADMSG},
		{"null", -EBADMSG},
		{"[]", -EBADMSG},
		{"{}", -ENOENT},
		{"{\"containers\":null}", -ENOENT},
		{"{\"containers\":[]}", -EBADMSG},
		{"{\"containers\":{}}", -ENOENT},
		{"{\"containers\":{\"log\":{" CPU "}}}", -ENOENT},
		{"{\"containers\":{\"app\":7}}", -EBADMSG},
		{"{\"containers\":{" APP "," APP "}}", -EBADMSG},
		{"{\"containers\":{" APP ",\"../x\":{}}}", -EBADMSG},
		{"{\"containers\":{" APP ",\"log\":{\"cpu\":{\"limit\":\"1\"}}}}", -EBADMSG},
		{"{\"containers\":{" APP "}} x", -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"0\",\"limit\":\"1\"}}}}",
		 -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"-1\",\"limit\":\"1\"}}}}",
		 -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"max\",\"limit\":\"1\"}}}}",
		 -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":500,\"limit\":\"1\"}}}}",
		 -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"1e99\",\"limit\":\"1\"}}}}",
		 -EBADMSG},
		{"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"1\"}}}}", -EBADMSG},
	};
	char *large = calloc(1, KUBE_STATUS_MAX + 2);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_originals o = {{7, 7}, {7, 7}};
		int r = kube_originals_read(rows[i].text, "app", &o);

		CHECK_EQ(r, rows[i].result);
		if (r != rows[i].result)
			fprintf(stderr, "%s\n", rows[i].text);
		CHECK_EQ(o.limit[RESOURCE_CPU], 7);
	}
	memset(large, ' ', KUBE_STATUS_MAX + 1);
	CHECK_EQ(kube_originals_read(large, "app", &(struct kube_originals){{0}, {0}}), -EBADMSG);
	free(large);
}

TEST(fit)
{
	static const struct {
		uint64_t cpu, memory, request;
		uint32_t mask;
		bool fits;
	} rows[] = {
		{500, 128 * MIB, 0, RESOURCES_BOTH, true},
		{900, 256 * MIB, 0, RESOURCES_BOTH, true},
		{910, GIB, 0, RESOURCES_BOTH, true}, /* above the spec: it was lowered */
		{0, 128 * MIB, 0, RESOURCES_BOTH, false},
		{0, 128 * MIB, 0, RESOURCES_MEMORY, true},
		{90, 128 * MIB, 0, RESOURCES_BOTH, false}, /* below the request */
		{500, 128 * MIB, 129 * MIB, RESOURCES_BOTH, false},
		{500, 128 * MIB, 128 * MIB, RESOURCES_BOTH, true},
	};
	const struct kube_container c = {
		.spec = {.limit = {900, 256 * MIB}, .request = {100, 32 * MIB}},
	};
	const struct kube_container free_memory = {
		.spec = {.limit = {900, LIMIT_MAX}, .request = {100, 32 * MIB}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kube_originals o = {{rows[i].cpu, rows[i].memory},
						 {0, rows[i].request}};

		CHECK_EQ(kube_originals_fit(&o, &c, rows[i].mask), rows[i].fits);
	}
	CHECK(kube_originals_fit(&(struct kube_originals){{500, 0}, {0, 0}}, &free_memory,
				 RESOURCES_BOTH));
}
