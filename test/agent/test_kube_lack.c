// SPDX-License-Identifier: Apache-2.0
/* What a node lacks, out of the kubelet's message. */
#include "agent/kube/model/pod.h"
#include "test/check.h"

#define CPU(text)    "Node didn't have enough resource: cpu, " text
#define MEMORY(text) "Node didn't have enough resource: memory, " text

TEST(good)
{
	enum resource r = RESOURCE_COUNT;
	uint64_t amount = 0;

	CHECK(kube_parse_lack(CPU("requested: 1550, used: 1300, capacity: 2000"), &r, &amount));
	CHECK_EQ(r, RESOURCE_CPU);
	CHECK_EQ(amount, 850);
	CHECK(kube_parse_lack(MEMORY("requested: 4294967296, used: 1, capacity: 4294967296"), &r,
			      &amount));
	CHECK_EQ(r, RESOURCE_MEMORY);
	CHECK_EQ(amount, 1);
}

TEST(bad)
{
	static const char *const texts[] = {
		"",
		"Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000",
		"Node didn't have enough resource: ephemeral-storage, requested: 3, used: 1, "
		"capacity: 2",
		CPU("requested: 1550, used: 1300"),
		CPU("requested: 1550, used: 1300, capacity: "),
		CPU("requested: -1550, used: 1300, capacity: 2000"),
		CPU("requested:  1550, used: 1300, capacity: 2000"),
		CPU("requested: 99999999999999999999, used: 1, capacity: 2"),
		CPU("requested: 18446744073709551615, used: 1, capacity: 2"),
		CPU("requested: 700, used: 1300, capacity: 2000"),
		CPU("used: 1300, requested: 1550, capacity: 2000"),
	};
	enum resource r = RESOURCE_COUNT;
	uint64_t amount = 7;

	CHECK(!kube_parse_lack(NULL, &r, &amount));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK(!kube_parse_lack(texts[i], &r, &amount));
	CHECK_EQ(amount, 7);
	CHECK_EQ(r, RESOURCE_COUNT);
}
