// SPDX-License-Identifier: Apache-2.0
/*
 * Both readers on one tree that does not hold still: cgroups come and go, are loaded, limited and
 * let alone, at random. For every cgroup, whatever the pass read lies between two text reads that
 * frame it. Counters must agree at every step; gauges (memory in use), which may move to and fro
 * between the looks, at least once in a while under load and at the end when all is still.
 *
 * VSCALED_SEED repeats a run; VSCALED_STEPS makes a longer one.
 */
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/scan_record.h"
#include "test/cgroup/live.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

#define ALL    ((USAGE_MEM_LIMIT << 1) - 1)
#define GAUGES (USAGE_MEM | USAGE_MEM_STAT)
#define GROUPS 12

struct group {
	struct cg *c; /* NULL: not there */
	char name[16];
	uint32_t slot;
	bool loaded;
	uint32_t looks;
	uint32_t gauges_agreed;
};

static struct live live;
static struct cg_scan *scan;
static struct group groups[GROUPS];
static uint64_t random_state;
static uint64_t compared;

static uint32_t pick(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

static void come(struct group *g)
{
	live_make(&live, g->name);
	CHECK_EQ(cg_open(live.root, live_path(&live, g->name), &g->c), 0);
	CHECK_EQ(cg_scan_add(scan, cg_id(g->c), &g->slot), 0);
	g->loaded = false;
	g->looks = g->gauges_agreed = 0;
}

/* Both readers must say so. */
static void go(struct group *g)
{
	struct usage u;

	live_remove(&live, g->name);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, g->slot, ALL, &u), -ENODEV);
	CHECK_EQ(cg_read(g->c, ALL, &u), -ENODEV);
	if (g->loaded && g->looks > 20)
		CHECK(g->gauges_agreed > 0);
	cg_scan_remove(scan, g->slot);
	cg_close(STEAL(g->c));
}

static void limit(const struct group *g)
{
	static const char *const quotas[] = {"max 100000", "10000 100000", "50000 50000"};
	static const char *const sizes[] = {"max", "67108864", "268435456"};

	if (live.host.enabled & CG_CPU)
		live_put(&live, g->name, "cpu.max", quotas[pick(ARRAY_SIZE(quotas))]);
	if (live.host.enabled & CG_MEMORY) {
		live_put(&live, g->name, "memory.high", sizes[pick(ARRAY_SIZE(sizes))]);
		live_put(&live, g->name, "memory.max", sizes[pick(ARRAY_SIZE(sizes))]);
	}
}

static void load(struct group *g)
{
	live_start(&live, g->name, LIVE_IDLE + pick(LIVE_FILES + 1));
	g->loaded = true;
}

/* All groups in one pass between two rounds of text. Returns how many differ in a gauge. */
static uint32_t compare(void)
{
	static struct usage before[GROUPS], after[GROUPS];
	struct usage u;
	uint32_t moving = 0;

	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	for (uint32_t i = 0; i < GROUPS; i++)
		if (groups[i].c != NULL)
			CHECK_EQ(cg_read(groups[i].c, ALL, &before[i]), 0);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	for (uint32_t i = 0; i < GROUPS; i++)
		if (groups[i].c != NULL)
			CHECK_EQ(cg_read(groups[i].c, ALL, &after[i]), 0);
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct group *g = &groups[i];
		uint32_t differs;

		if (g->c == NULL)
			continue;
		CHECK_EQ(cg_scan_get(scan, g->slot, ALL, &u), 0);
		CHECK_EQ(u.have, after[i].have);
		differs = scan_parts_of(scan_differing_fields(&before[i], &u, &after[i]));
		CHECK_EQ(differs & ~(uint32_t)GAUGES, 0);
		g->looks++;
		g->gauges_agreed += differs == 0;
		moving += differs != 0;
		compared++;
	}
	return moving;
}

static void step(void)
{
	struct group *g = &groups[pick(GROUPS)];

	if (g->c == NULL)
		come(g);
	else if (pick(8) == 0)
		go(g);
	else if (pick(3) == 0)
		limit(g);
	else if (!g->loaded && pick(2) == 0)
		load(g);
	else
		usleep(2000 + pick(20000));
	(void)compare();
}

/* When everything has stopped, nothing is left to differ. */
TEST(at_rest)
{
	uint32_t moving = UINT32_MAX;

	for (uint32_t i = 0; i < GROUPS; i++)
		if (groups[i].c != NULL && groups[i].loaded)
			CHECK(live_try(&live, groups[i].name, "cgroup.kill", "1"));
	for (int i = 0; i < 100 && moving != 0; i++) {
		usleep(50000);
		moving = compare();
	}
	CHECK_EQ(moving, 0);
}

static uint64_t number(const char *name, uint64_t value)
{
	const char *text = getenv(name);

	return text == NULL ? value : strtoull(text, NULL, 10);
}

int main(void)
{
	uint64_t seed = number("VSCALED_SEED", 1), steps = number("VSCALED_STEPS", 300);
	const char *why = live_open(&live);
	struct cg_probe p;

	if (why != NULL)
		return check_skip(why);
	if (cg_scan_open(live.root, GROUPS, true, &scan, &p) < 0) {
		live_close(&live);
		CHECK(scan == NULL && p.error < 0);
		return live_not_loaded(&p);
	}
	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	for (uint32_t i = 0; i < GROUPS; i++)
		snprintf(groups[i].name, sizeof groups[i].name, "g%u", i);
	for (uint64_t i = 0; i < steps && check_failures == 0; i++)
		step();
	check_run();
	fprintf(stderr, "seed %llu, %llu steps, %llu comparisons\n", (unsigned long long)seed,
		(unsigned long long)steps, (unsigned long long)compared);
	for (uint32_t i = 0; i < GROUPS; i++)
		if (groups[i].c != NULL)
			go(&groups[i]);
	cg_scan_close(scan);
	live_close(&live);
	return check_result();
}
