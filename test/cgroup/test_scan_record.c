// SPDX-License-Identifier: Apache-2.0
/* Records of the BPF programs: what is taken, what is refused, and that refusals touch nothing. */
#include "cgroup/bpf/kernel/scan.h"
#include "cgroup/bpf/scan_record.h"
#include "test/check.h"
#include <errno.h>
#include <limits.h>

#define ALL      ((USAGE_MEM_LIMIT << 1) - 1)
#define PAGE     4096
#define NO_LIMIT ((uint64_t)LONG_MAX / PAGE)

static const struct scan_expect expected = {.id = 42, .pass = 7, .page_bytes = PAGE, .want = ALL};

static const struct scan_record good = {
	.version = SCAN_VERSION,
	.have = SCAN_ALL,
	.id = 42,
	.pass = 7,
	.cpu_usage_nsec = 1234567,
	.throttled_nsec = 7654321,
	.nr_periods = 30,
	.nr_throttled = 20,
	.quota_nsec = 20000000,
	.period_nsec = 100000000,
	.burst_nsec = 10000000,
	.mem_pages = 100,
	.mem_peak_pages = 200,
	.mem_max_pages = 300,
	.mem_high_pages = NO_LIMIT,
	.psi_cpu_nsec = {11000, 12999},
	.psi_mem_nsec = {21000, 22000},
	.events = {1, 2, 3, 4},
	.stat = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
};

static int decode(const struct scan_record *rec, struct usage *ret)
{
	return scan_record_decode(rec, sizeof *rec, &expected, ret);
}

TEST(good)
{
	struct usage u;

	CHECK_EQ(decode(&good, &u), 0);
	CHECK_EQ(u.have, ALL);
	CHECK(u.cpu_usage_usec == 1234 && u.throttled_usec == 7654);
	CHECK(u.nr_periods == 30 && u.nr_throttled == 20);
	CHECK(u.limits.cpu_quota_usec == 20000 && u.limits.cpu_period_usec == 100000);
	CHECK_EQ(u.limits.cpu_burst_usec, 10000);
	CHECK(u.mem_current == 100 * PAGE && u.mem_peak == 200 * PAGE);
	CHECK(u.limits.mem_max == 300 * PAGE && u.limits.mem_high == LIMIT_MAX);
	CHECK(u.psi_cpu_usec == 11 && u.psi_mem_usec == 21);
	CHECK(u.events.high == 2 && u.events.max == 3);
	CHECK_EQ(u.events.oom_kill, 4);
	CHECK(u.stat.anon == PAGE && u.stat.file == 2 * PAGE && u.stat.kernel == 3 * PAGE);
	CHECK(u.stat.shmem == 4 * PAGE && u.stat.unevictable == 5 * PAGE);
	CHECK(u.stat.slab_reclaimable == 6); /* bytes */
	CHECK_EQ(u.stat.sock, 7 * PAGE);
	CHECK(u.stat.inactive_anon == 8 * PAGE && u.stat.active_anon == 9 * PAGE);
	CHECK(u.stat.inactive_file == 10 * PAGE && u.stat.active_file == 11 * PAGE);
	CHECK_EQ(u.stat.refaults, 12 + 13);
}

/* What a record does not have stays as for files that are not there. */
TEST(parts)
{
	struct scan_record rec = good;
	struct scan_expect e = expected;
	struct usage u;

	rec.have = SCAN_CPU | SCAN_MEM;
	CHECK_EQ(decode(&rec, &u), 0);
	CHECK_EQ(u.have, USAGE_CPU | USAGE_MEM);
	CHECK(u.nr_periods == 0 && u.mem_peak == 0 && u.stat.anon == 0 && u.psi_cpu_usec == 0);
	CHECK(u.limits.cpu_quota_usec == LIMIT_MAX && u.limits.mem_max == LIMIT_MAX);
	e.want = USAGE_MEM_LIMIT;
	CHECK_EQ(scan_record_decode(&good, sizeof good, &e, &u), 0);
	CHECK_EQ(u.have, USAGE_MEM_LIMIT);
	CHECK_EQ(u.limits.mem_max, 300 * PAGE);
	/* invalid values in a part that is not wanted are ignored */
	rec = good;
	rec.quota_nsec = 0;
	CHECK_EQ(scan_record_decode(&rec, sizeof rec, &e, &u), 0);
}

TEST(edges)
{
	struct scan_record rec = good;
	struct usage u;

	rec.quota_nsec = UINT64_MAX;
	rec.mem_max_pages = NO_LIMIT;
	rec.mem_high_pages = 0;
	rec.stat[SCAN_STAT_ANON] = -1;
	rec.stat[SCAN_STAT_SLAB_RECLAIMABLE] = LONG_MIN;
	rec.mem_pages = -3;
	CHECK_EQ(decode(&rec, &u), 0);
	CHECK(u.limits.cpu_quota_usec == LIMIT_MAX && u.limits.mem_max == LIMIT_MAX);
	CHECK(u.limits.mem_high == 0 && u.stat.anon == 0 && u.stat.slab_reclaimable == 0);
	CHECK_EQ(u.mem_current, 0);
}

#define REFUSED(what, value)                                                                       \
	do {                                                                                       \
		struct scan_record spoilt = good;                                                  \
		struct usage kept = {.have = 77};                                                  \
		spoilt.what = (value);                                                             \
		CHECK_EQ(decode(&spoilt, &kept), -EBADMSG);                                        \
		CHECK_EQ(kept.have, 77);                                                           \
	} while (0)

TEST(refused)
{
	struct usage u = {.have = 77};
	struct scan_record rec = good;

	REFUSED(version, SCAN_VERSION + 1);
	REFUSED(version, 0);
	REFUSED(id, 43);
	REFUSED(have, SCAN_ALL + 1);
	REFUSED(have, SCAN_ALL & ~SCAN_CPU);
	REFUSED(nr_periods, -1);
	REFUSED(nr_throttled, -1);
	REFUSED(quota_nsec, 0);
	REFUSED(quota_nsec, 999);
	REFUSED(period_nsec, 0);
	REFUSED(mem_peak_pages, NO_LIMIT + 1);
	REFUSED(mem_max_pages, NO_LIMIT + 1);
	REFUSED(mem_high_pages, UINT64_MAX);
	REFUSED(mem_pages, LONG_MAX);
	REFUSED(events[SCAN_EVENT_KILL], -1);
	REFUSED(stat[SCAN_STAT_FILE], LONG_MAX);
	for (size_t len = 0; len < sizeof good; len++)
		CHECK_EQ(scan_record_decode(&good, len, &expected, &u), -EBADMSG);
	CHECK_EQ(scan_record_decode(&good, sizeof good + 1, &expected, &u), -EBADMSG);
	rec.pass = 6;
	CHECK_EQ(decode(&rec, &u), -ENODEV);
	CHECK_EQ(u.have, 77);
}

/* A value between two reads agrees; below or above, in any of the fields, its part differs. */
TEST(differs)
{
	struct usage before, u, after;
	uint32_t seen = 0;

	CHECK_EQ(decode(&good, &u), 0);
	before = after = u;
	CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), 0);
	for (size_t at = offsetof(struct usage, cpu_usage_usec); at < sizeof u; at += 8) {
		uint64_t *value = (uint64_t *)((char *)&u + at);
		uint64_t *low = (uint64_t *)((char *)&before + at);
		uint64_t kept = *value;
		uint32_t part;

		*value = kept + 1;
		part = scan_parts_of(scan_differing_fields(&before, &u, &after));
		CHECK_EQ(__builtin_popcount(part), 1);
		seen |= part;
		*value = kept - 1;
		CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), part);
		*low = kept - 1;
		CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), 0);
		CHECK_EQ(scan_parts_of(scan_differing_fields(&after, &u, &before)), 0);
		*low = *value = kept;
	}
	CHECK_EQ(seen, ALL);
	/* By fields: two of one part, each its own. */
	u.stat.anon++;
	u.stat.sock++;
	CHECK_EQ(__builtin_popcountll(scan_differing_fields(&before, &u, &after)), 2);
	CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), USAGE_MEM_STAT);
	CHECK_EQ(scan_parts_of(0), 0);
	u.stat = before.stat;
	/* one look has the part: it came or went just now; none has it: the scan made it up */
	before.have &= ~(uint32_t)USAGE_MEM;
	u.mem_current++;
	CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), 0);
	after.have &= ~(uint32_t)USAGE_MEM;
	CHECK_EQ(scan_parts_of(scan_differing_fields(&before, &u, &after)), USAGE_MEM);
}

TEST(take)
{
	struct usage full, to = {.have = USAGE_CPU, .cpu_usage_usec = 3, .mem_current = 4};

	CHECK_EQ(decode(&good, &full), 0);
	scan_take(&to, &full, USAGE_PSI_MEM | USAGE_MEM_LIMIT);
	CHECK_EQ(to.have, USAGE_CPU | USAGE_PSI_MEM | USAGE_MEM_LIMIT);
	CHECK(to.psi_mem_usec == 21 && to.limits.mem_max == 300 * PAGE);
	CHECK(to.cpu_usage_usec == 3 && to.mem_current == 4 && to.psi_cpu_usec == 0);
	/* what it does not have is not taken */
	full.have = USAGE_CPU;
	scan_take(&to, &full, ALL);
	CHECK(to.cpu_usage_usec == 1234 && to.mem_current == 4);
	full.have = ALL;
	scan_take(&to, &full, ALL);
	CHECK_EQ(scan_parts_of(scan_differing_fields(&full, &to, &full)), 0);
	CHECK_EQ(to.have, ALL);
}
