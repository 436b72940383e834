// SPDX-License-Identifier: Apache-2.0
/* The limit writer on a fake tree. What only a kernel can refuse is in test_fault.c and the lab. */
#include "cgroup/writer.h"
#include "test/cgroup/tree.h"
#include "test/check.h"
#include <errno.h>

#define MEM_NOW 83886080ULL  /* memory.current of the tree */
#define MEM_MAX 134217728ULL /* memory.max */

static struct fake f;

static struct change cpu(uint64_t quota, uint64_t period)
{
	return (struct change){.knob = KNOB_CPU_MAX, .to = quota, .period_usec = period};
}

static struct change mem(enum knob knob, uint64_t to, uint64_t margin)
{
	return (struct change){.knob = knob, .to = to, .margin_bytes = margin};
}

/* Applies to a fresh copy of the tree, then compares the outcome and one file. */
static void check_write(struct change ch, int outcome, const char *file, const char *text)
{
	OWN(drop_cg) struct cg *c = NULL;
	char buf[128], path[96];

	for (size_t i = 0; i < TREE_COUNT; i++)
		fake_put(&f, tree_files[i].path, tree_files[i].text);
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_write(c, &ch), outcome);
	snprintf(path, sizeof path, TREE_UNIT "/%s", file);
	CHECK_STR(fake_get(&f, path, buf, sizeof buf), text);
}

TEST(cpu_max)
{
	const char *untouched = "20000 100000\n";

	check_write(cpu(50000, 100000), APPLY_DONE, "cpu.max", "50000 100000\n");
	check_write(cpu(15000, 100000), APPLY_DONE, "cpu.max", "15000 100000\n");
	check_write(cpu(LIMIT_MAX, 100000), APPLY_DONE, "cpu.max", "max 100000\n");
	check_write(cpu(50000, 0), APPLY_DONE, "cpu.max", "50000 100000\n");
	check_write(cpu(20000, 50000), APPLY_DONE, "cpu.max", "20000 50000\n");
	check_write(cpu(20000, 100000), APPLY_UNCHANGED, "cpu.max", untouched);
	check_write(cpu(20000, 0), APPLY_UNCHANGED, "cpu.max", untouched);
	check_write(cpu(999, 100000), -EINVAL, "cpu.max", untouched);
	check_write(cpu(0, 100000), -EINVAL, "cpu.max", untouched);
	check_write(cpu(50000, 999), -EINVAL, "cpu.max", untouched);
	check_write(cpu(50000, 1000001), -EINVAL, "cpu.max", untouched);
}

/* The tree's burst is 10000. */
TEST(burst)
{
	check_write(cpu(5000, 100000), APPLY_DONE, "cpu.max.burst", "5000\n");
	check_write(cpu(10000, 100000), APPLY_DONE, "cpu.max.burst", "10000\n");
	check_write(cpu(50000, 100000), APPLY_DONE, "cpu.max.burst", "10000\n");
	check_write(cpu(999, 100000), -EINVAL, "cpu.max.burst", "10000\n");
	check_write(mem(KNOB_CPU_BURST, 0, 0), APPLY_DONE, "cpu.max.burst", "0\n");
	check_write(mem(KNOB_CPU_BURST, 10000, 0), APPLY_UNCHANGED, "cpu.max.burst", "10000\n");
}

TEST(mem_max)
{
	const char *untouched = "134217728\n";

	check_write(mem(KNOB_MEM_MAX, 2 * MEM_MAX, 0), APPLY_DONE, "memory.max", "268435456\n");
	check_write(mem(KNOB_MEM_MAX, LIMIT_MAX, 0), APPLY_DONE, "memory.max", "max\n");
	check_write(mem(KNOB_MEM_MAX, MEM_MAX, 0), APPLY_UNCHANGED, "memory.max", untouched);
	/* what the kernel would round away is no change */
	check_write(mem(KNOB_MEM_MAX, MEM_MAX + 4095, 0), APPLY_UNCHANGED, "memory.max", untouched);
	check_write(mem(KNOB_MEM_MAX, MEM_MAX + 4097, 0), APPLY_DONE, "memory.max", "134221824\n");
	/* more than a page counter holds is "max" to the kernel */
	check_write(mem(KNOB_MEM_MAX, INT64_MAX, 0), APPLY_DONE, "memory.max", "max\n");
}

/* Never below use + margin, counted on what the kernel would make of the value. */
TEST(mem_lower)
{
	const char *untouched = "134217728\n";
	const uint64_t margin = MIB;

	check_write(mem(KNOB_MEM_MAX, MEM_NOW + margin, margin), APPLY_DONE, "memory.max",
		    "84934656\n");
	check_write(mem(KNOB_MEM_MAX, MEM_NOW + margin + 4095, margin), APPLY_DONE, "memory.max",
		    "84934656\n");
	check_write(mem(KNOB_MEM_MAX, MEM_NOW + margin - 1, margin), APPLY_REFUSED, "memory.max",
		    untouched);
	check_write(mem(KNOB_MEM_MAX, MEM_NOW, 0), APPLY_DONE, "memory.max", "83886080\n");
	check_write(mem(KNOB_MEM_MAX, MEM_NOW - 1, 0), APPLY_REFUSED, "memory.max", untouched);
	check_write(mem(KNOB_MEM_MAX, 0, 0), APPLY_REFUSED, "memory.max", untouched);
	check_write(mem(KNOB_MEM_MAX, MEM_MAX - 4096, UINT64_MAX), APPLY_REFUSED, "memory.max",
		    untouched);
	/* raising asks for no margin: it can only help */
	check_write(mem(KNOB_MEM_MAX, MEM_MAX + 4096, UINT64_MAX), APPLY_DONE, "memory.max",
		    "134221824\n");
}

/* The check reads the kernel's present limit and use, not the plan's idea of them. */
TEST(mem_race)
{
	struct change ch = mem(KNOB_MEM_MAX, 2 * MEM_MAX, 0);
	OWN(drop_cg) struct cg *c = NULL;
	char buf[64];

	ch.from = MEM_MAX; /* a raise, when it was planned */
	fake_put(&f, TREE_UNIT "/memory.max", "max\n");
	fake_put(&f, TREE_UNIT "/memory.current", "300000000\n");
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_write(c, &ch), APPLY_REFUSED);
	CHECK_STR(fake_get(&f, TREE_UNIT "/memory.max", buf, sizeof buf), "max\n");
	fake_put(&f, TREE_UNIT "/memory.current", "200000000\n");
	CHECK_EQ(cg_write(c, &ch), APPLY_DONE);
	fake_put(&f, TREE_UNIT "/memory.max", "max\n");
	fake_put(&f, TREE_UNIT "/memory.current", "rubbish\n");
	CHECK_EQ(cg_write(c, &ch), -EBADMSG);
	fake_remove(&f, TREE_UNIT "/memory.current");
	cg_close(STEAL(c));
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_write(c, &ch), -EOPNOTSUPP);
	CHECK_STR(fake_get(&f, TREE_UNIT "/memory.max", buf, sizeof buf), "max\n");
}

TEST(mem_high)
{
	check_write(mem(KNOB_MEM_HIGH, 5000, 0), APPLY_DONE, "memory.high", "4096\n");
	check_write(mem(KNOB_MEM_HIGH, LIMIT_MAX, 0), APPLY_UNCHANGED, "memory.high", "max\n");
}

/* The file keeps what was written last: the size of the last piece. */
TEST(reclaim)
{
	check_write(mem(KNOB_MEM_RECLAIM, 0, 0), APPLY_UNCHANGED, "memory.reclaim", "");
	check_write(mem(KNOB_MEM_RECLAIM, 5, 0), APPLY_DONE, "memory.reclaim", "5\n");
	check_write(mem(KNOB_MEM_RECLAIM, 16 * MIB, 0), APPLY_DONE, "memory.reclaim", "16777216\n");
	check_write(mem(KNOB_MEM_RECLAIM, 33 * MIB, 0), APPLY_DONE, "memory.reclaim", "1048576\n");
	check_write(mem(KNOB_MEM_RECLAIM, UINT64_MAX, 0), APPLY_DONE, "memory.reclaim",
		    "16777216\n");
}

/* Every knob: a missing file of a living cgroup is an error of its own, a removed cgroup is gone,
 * and neither makes a file. */
TEST(missing)
{
	for (enum knob k = 0; k < KNOB_COUNT; k++) {
		struct change ch = {.knob = k, .to = 8 * MIB, .period_usec = 100000};
		OWN(drop_cg) struct cg *c = NULL;
		char path[64], buf[64];

		fake_put(&f, "bare.slice", NULL);
		CHECK_EQ(cg_open(f.fd, "bare.slice", &c), 0);
		CHECK_EQ(cg_write(c, &ch), -EOPNOTSUPP);
		/* enabled since: found at once */
		snprintf(path, sizeof path, "bare.slice/%s", knobs[k].file);
		fake_put(&f, path, k == KNOB_CPU_MAX ? "1000 1000\n" : "1000\n");
		CHECK_EQ(cg_write(c, &ch), APPLY_DONE);
		CHECK(strcmp(fake_get(&f, path, buf, sizeof buf), "1000\n") != 0);
		fake_remove(&f, "bare.slice");
		if (k == KNOB_MEM_RECLAIM)
			CHECK_EQ(cg_write(c, &ch), APPLY_GONE);
		cg_close(STEAL(c));
		fake_put(&f, "bare.slice", NULL);
		CHECK_EQ(cg_open(f.fd, "bare.slice", &c), 0);
		fake_remove(&f, "bare.slice");
		CHECK_EQ(cg_write(c, &ch), APPLY_GONE);
	}
}

TEST(knob_range)
{
	struct change ch = {.knob = KNOB_COUNT};
	OWN(drop_cg) struct cg *c = NULL;

	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_write(c, &ch), -EINVAL);
}

int main(void)
{
	int fds = fake_open_fds();

	fake_open(&f, tree_files, TREE_COUNT);
	check_run();
	fake_close(&f);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}
