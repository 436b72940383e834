// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/jvm.h"
#include "test/check.h"

static const struct {
	const char *text;
	uint64_t bytes;
	uint32_t permille;
} rows[] = {
	{"", 0, 0},
	{"-server -Dfile.encoding=UTF-8", 0, 0},
	{"-Xmx512m", 512 * MIB, 0},
	{"-Xmx512M", 512 * MIB, 0},
	{"-Xmx2g", 2 * GIB, 0},
	{"-Xmx1t", 1024 * GIB, 0},
	{"-Xmx1048576k", GIB, 0},
	{"-Xmx536870912", 512 * MIB, 0},
	{"-XX:MaxHeapSize=1G", GIB, 0},
	/* the last one wins, in either spelling */
	{"-Xmx1g -Xmx2g", 2 * GIB, 0},
	{"-XX:MaxHeapSize=1g -Xmx3g", 3 * GIB, 0},
	{"-Xmx3g\t-XX:MaxHeapSize=1g\n", GIB, 0},
	{"-XX:MaxRAMPercentage=50 -XX:MaxRAMPercentage=80.0", 0, 800},
	{"-XX:MaxRAMPercentage=66.6", 0, 666},
	{"-XX:MaxRAMPercentage=33.333", 0, 334},
	{"-XX:MaxRAMPercentage=100", 0, 1000},
	{"-Xmx1g -XX:MaxRAMPercentage=75", GIB, 750},
	/* quoted, and among a shell's words */
	{"sh -c 'exec java \"-Xmx64m\" -jar a.jar'", 64 * MIB, 0},
	/* what the JVM would refuse, or what is something else */
	{"-Xmx", 0, 0},
	{"-Xmx0", 0, 0},
	{"-Xmxfast", 0, 0},
	{"-Xmx1x", 0, 0},
	{"-Xmx1gb", 0, 0},
	{"-Xmx-1", 0, 0},
	{"-Xmx99999999999999999999", 0, 0},
	{"-Xmx18446744073709551615k", 0, 0},
	{"-Xmx$(HEAP)", 0, 0},
	{"-Xms1g -Xmn1g", 0, 0},
	{"--Xmx1g", 0, 0},
	{"-XX:MaxRAMPercentage=101", 0, 0},
	{"-XX:MaxRAMPercentage=", 0, 0},
	{"-XX:MaxRAMPercentage=0", 0, 0},
	{"-XX:MaxRAMPercentage=75.", 0, 0},
	{"-XX:MaxRAMPercentage=100.5", 0, 0},
	{"-XX:MaxRAMPercentage=75%", 0, 0},
	{"-Xmx1g -Xmxbad", GIB, 0},
};

static void test_options(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jvm_heap h = {0};

		jvm_options(&h, rows[i].text);
		if (h.bytes != rows[i].bytes || h.permille != rows[i].permille)
			fprintf(stderr, "\t%s\n", rows[i].text);
		CHECK_EQ(h.bytes, rows[i].bytes);
		CHECK_EQ(h.permille, rows[i].permille);
	}
}

static void test_floor(void)
{
	const struct jvm_heap none = {0}, fixed = {.bytes = 768 * MIB, .permille = 10},
			      share = {.permille = 600}, most = {.permille = 900};

	CHECK_EQ(jvm_floor(&none, GIB), 0);
	CHECK_EQ(jvm_floor(&none, LIMIT_MAX), 0);
	/* the heap is three quarters of it; a percentage beside a size counts nothing */
	CHECK_EQ(jvm_floor(&fixed, 4 * GIB), GIB);
	CHECK_EQ(jvm_floor(&fixed, LIMIT_MAX), GIB);
	/* also above what it started with: the heap may still fill */
	CHECK_EQ(jvm_floor(&fixed, 800 * MIB), GIB);
	CHECK_EQ(jvm_floor(&share, 1000 * MIB), 800 * MIB);
	CHECK_EQ(jvm_floor(&most, 750 * MIB), 900 * MIB);
	CHECK_EQ(jvm_floor(&share, LIMIT_MAX), 0);
	CHECK_EQ(jvm_floor(&(struct jvm_heap){.bytes = LIMIT_MAX - 1}, LIMIT_MAX), LIMIT_MAX - 1);
}

int main(void)
{
	test_options();
	test_floor();
	return check_result();
}
