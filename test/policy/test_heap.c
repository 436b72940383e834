// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/heap.h"
#include "test/check.h"

/* Words of the command line or of a variable: a JVM. */
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
	{"set -e;java -Xmx512m;echo", 512 * MIB, 0},
	{"(java -Xmx512m)&", 512 * MIB, 0},
	{"java -Xmx512m|tee log", 512 * MIB, 0},
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
	{"-XX:MaxRAMFraction=", 0, 0},
	{"-XX:MaxRAMFraction=0", 0, 0},
};

TEST(jvm)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct heap_options h = {0};

		heap_words(&h, rows[i].text);
		if (h.runtime[HEAP_JVM].bytes != rows[i].bytes)
			fprintf(stderr, "\t%s\n", rows[i].text);
		CHECK_EQ(h.runtime[HEAP_JVM].bytes, rows[i].bytes);
		CHECK_EQ(h.runtime[HEAP_JVM].permille, rows[i].permille);
		CHECK_EQ(h.runtime[HEAP_NODE].bytes, 0);
	}
}

static const struct {
	const char *text;
	uint64_t bytes;
	uint32_t permille;
} node_rows[] = {
	{"node --max-old-space-size=4096 app.js", 4096 * MIB, 0},
	{"node --max_old_space_size=512 app.js", 512 * MIB, 0},
	{"node --max-old_space-size=512", 512 * MIB, 0},
	{"node --max-old-space-size 256 app.js", 256 * MIB, 0},
	{"--max-old-space-size=100 --max-old-space-size=200", 200 * MIB, 0},
	{"--max-old-space-size-percentage=60", 0, 600},
	{"--max-old-space-size-percentage=62.5 --max-old-space-size=100", 100 * MIB, 625},
	{"--max-old-space-size", 0, 0},
	{"--max-old-space-size=", 0, 0},
	{"--max-old-space-size=0", 0, 0},
	{"--max-old-space-size=1g", 0, 0},
	{"--max-old-space-size=99999999999999999999", 0, 0},
	{"--max-old-space-size=18446744073709551615", 0, 0},
	{"--max-old-space-size --max-old-space-size=64", 0, 0},
	{"--max-old-space-size-percentage=101", 0, 0},
	{"--max-semi-space-size=64", 0, 0},
	{"__max_old_space_size=64", 0, 0},
};

TEST(node)
{
	struct heap_options h = {0};

	for (size_t i = 0; i < ARRAY_SIZE(node_rows); i++) {
		h = (struct heap_options){0};
		heap_words(&h, node_rows[i].text);
		if (h.runtime[HEAP_NODE].bytes != node_rows[i].bytes)
			fprintf(stderr, "\t%s\n", node_rows[i].text);
		CHECK_EQ(h.runtime[HEAP_NODE].bytes, node_rows[i].bytes);
		CHECK_EQ(h.runtime[HEAP_NODE].permille, node_rows[i].permille);
	}
	/* Each argument of a pod's args is a text of its own. */
	h = (struct heap_options){0};
	heap_words(&h, "--max-old-space-size");
	heap_words(&h, "300");
	heap_words(&h, "400");
	CHECK_EQ(h.runtime[HEAP_NODE].bytes, 300 * MIB);
}

static const struct {
	const char *text;
	uint64_t bytes;
} go_rows[] = {
	{"500MiB", 500 * MIB},
	{"1GiB", GIB},
	{"2TiB", 2048 * GIB},
	{"1048576", MIB},
	{"64KiB", 64 * KIB},
	{"1048576B", MIB},
	{"off", 0},
	{"", 0},
	{"500MB", 0},
	{"500M", 0},
	{"-1", 0},
	{"1.5GiB", 0},
	{"0", 0},
	{" 1GiB", 0},
};

static const struct {
	const char *text;
	uint64_t bytes, percent;
} dotnet_rows[] = {
	{"C800000", 200 * MIB, 0},
	{"0xC800000", 200 * MIB, 0},
	{"0Xc800000", 200 * MIB, 0},
	{"4B", 75, 75},
	{"0x32", 50, 50},
	{"64", 100, 100},
	{"65", 101, 0},
	{"0", 0, 0},
	{"", 0, 0},
	{"0x", 0, 0},
	{"200M", 0, 0},
	{"ffffffffffffffff", 0, 0},
	{"10000000000000000", 0, 0},
};

TEST(variables)
{
	for (size_t i = 0; i < ARRAY_SIZE(go_rows); i++) {
		struct heap_options h = {0};

		heap_go_limit(&h, go_rows[i].text);
		CHECK_EQ(h.runtime[HEAP_GO].bytes, go_rows[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(dotnet_rows); i++) {
		struct heap_options h = {0};

		heap_dotnet_limit(&h, dotnet_rows[i].text);
		heap_dotnet_percent(&h, dotnet_rows[i].text);
		CHECK_EQ(h.runtime[HEAP_DOTNET].bytes, dotnet_rows[i].bytes);
		CHECK_EQ(h.runtime[HEAP_DOTNET].permille, dotnet_rows[i].percent * 10);
	}
}

static struct heap_ceiling of(enum heap_runtime runtime, uint64_t bytes, uint32_t permille)
{
	return (struct heap_ceiling){runtime, bytes, permille};
}

TEST(floor)
{
	const struct heap_ceiling none = {0}, fixed = of(HEAP_JVM, 768 * MIB, 10),
				  share = of(HEAP_JVM, 0, 600), most = of(HEAP_JVM, 0, 900),
				  go = of(HEAP_GO, 900 * MIB, 0);

	CHECK_EQ(heap_floor(&none, GIB), 0);
	CHECK_EQ(heap_floor(&none, LIMIT_MAX), 0);
	/* the heap is three quarters of it; a percentage beside a size counts nothing */
	CHECK_EQ(heap_floor(&fixed, 4 * GIB), GIB);
	CHECK_EQ(heap_floor(&fixed, LIMIT_MAX), GIB);
	/* also above what it started with: the heap may still fill */
	CHECK_EQ(heap_floor(&fixed, 800 * MIB), GIB);
	CHECK_EQ(heap_floor(&share, 1000 * MIB), 800 * MIB);
	CHECK_EQ(heap_floor(&most, 750 * MIB), 900 * MIB);
	CHECK_EQ(heap_floor(&share, LIMIT_MAX), 0);
	CHECK_EQ(heap_floor(&go, GIB), 1000 * MIB);
	CHECK_EQ(heap_floor(&(struct heap_ceiling){.bytes = LIMIT_MAX - 1}, LIMIT_MAX),
		 LIMIT_MAX - 1);
}

static void check_highest(const struct heap_options *h, struct heap_ceiling want)
{
	struct heap_ceiling got = heap_highest(h);

	CHECK_EQ(got.runtime, want.runtime);
	CHECK_EQ(got.bytes, want.bytes);
	CHECK_EQ(got.permille, want.permille);
}

TEST(highest)
{
	struct heap_options h = {0};

	check_highest(&h, of(HEAP_JVM, 0, 0));
	h.runtime[HEAP_DOTNET].permille = 500;
	check_highest(&h, of(HEAP_DOTNET, 0, 500));
	h.runtime[HEAP_DOTNET].bytes = 100 * MIB;
	check_highest(&h, of(HEAP_DOTNET, 100 * MIB, 0));
	/* more bytes, but less on top of them */
	h.runtime[HEAP_GO].bytes = 110 * MIB;
	check_highest(&h, of(HEAP_DOTNET, 100 * MIB, 0));
	h.runtime[HEAP_GO].bytes = 130 * MIB;
	check_highest(&h, of(HEAP_GO, 130 * MIB, 0));
	/* Node.js takes the share, whatever the size is */
	h = (struct heap_options){0};
	h.runtime[HEAP_NODE].bytes = GIB;
	h.runtime[HEAP_NODE].permille = 300;
	check_highest(&h, of(HEAP_NODE, 0, 300));
	h.runtime[HEAP_JVM].bytes = MIB;
	check_highest(&h, of(HEAP_JVM, MIB, 0));
}
