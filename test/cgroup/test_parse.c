// SPDX-License-Identifier: Apache-2.0
/* The file parsers: real contents of several kernels, and everything that must be refused. */
#include "cgroup/parse.h"
#include "test/check.h"
#include <errno.h>

#define S(text) text, sizeof(text) - 1

struct text {
	const char *text;
	size_t len;
};

/* Runs parse over each text and wants -EBADMSG or -ENODATA with *out untouched. */
#define CHECK_BAD(parse, type, texts)                                                              \
	do {                                                                                       \
		for (size_t bad_ = 0; bad_ < ARRAY_SIZE(texts); bad_++) {                          \
			type out_, before_;                                                        \
			int r_;                                                                    \
                                                                                                   \
			memset(&out_, 0x5a, sizeof out_);                                          \
			memset(&before_, 0x5a, sizeof before_);                                    \
			r_ = parse(texts[bad_].text, texts[bad_].len, &out_);                      \
			if ((r_ != -EBADMSG && r_ != -ENODATA) ||                                  \
			    memcmp(&out_, &before_, sizeof out_) != 0)                             \
				fprintf(stderr, #parse " took text %zu: \"%.60s\"\n", bad_,        \
					texts[bad_].text);                                         \
			CHECK(r_ == -EBADMSG || r_ == -ENODATA);                                   \
			CHECK(memcmp(&out_, &before_, sizeof out_) == 0);                          \
		}                                                                                  \
	} while (0)

TEST(cpu_max)
{
	static const struct text bad[] = {
		{S("")},
		{S("\n")},
		{S("max")},
		{S("max\n")},
		{S("max ")},
		{S("max \n")},
		{S("max 100000")},
		{S("maximum 100000\n")},
		{S("max  100000\n")},
		{S(" max 100000\n")},
		{S("max 100000 \n")},
		{S("max 100000 1\n")},
		{S("max max\n")},
		{S("50000\n")},
		{S("0 100000\n")},
		{S("50000 0\n")},
		{S("-1 100000\n")},
		{S("+1 100000\n")},
		{S("0x10 100000\n")},
		{S("1e3 100000\n")},
		{S("050000 100000\n")},
		{S("50000 100000\n\n")},
		{S("50000 100000\n50000 100000\n")},
		{S("50000\t100000\n")},
		{S("50000 100000\r\n")},
		{S("50000\0 100000\n")},
		{S("18446744073709551615 100000\n")},
		{S("18446744073709551616 100000\n")},
		{S("99999999999999999999999 100000\n")},
		{S("50000 99999999999999999999999\n")},
	};
	struct cg_cpu_max m;

	CHECK_EQ(cg_parse_cpu_max(S("max 100000\n"), &m), 0);
	CHECK(m.quota_usec == LIMIT_MAX && m.period_usec == 100000);
	CHECK_EQ(cg_parse_cpu_max(S("1000 1000000\n"), &m), 0);
	CHECK(m.quota_usec == 1000 && m.period_usec == 1000000);
	CHECK_EQ(cg_parse_cpu_max(S("18446744073709551614 1\n"), &m), 0);
	CHECK(m.quota_usec == UINT64_MAX - 1 && m.period_usec == 1);
	CHECK_BAD(cg_parse_cpu_max, struct cg_cpu_max, bad);
}

TEST(cpu_stat)
{
	static const struct text bad[] = {
		{S("")},
		{S("\n")},
		{S("user_usec 1\n")},
		{S("usage_usec\n")},
		{S("usage_usec \n")},
		{S("usage_usec 1")},
		{S("usage_usec  1\n")},
		{S(" usage_usec 1\n")},
		{S("usage_usec 1 \n")},
		{S("usage_usec 1 2\n")},
		{S("usage_usec -1\n")},
		{S("usage_usec 1x\n")},
		{S("usage_usec 0x1\n")},
		{S("usage_usec 01\n")},
		{S("usage_usec 1\n\n")},
		{S("\nusage_usec 1\n")},
		{S("usage_usec 1\nuser_usec\n")},
		{S("usage_usec 1\nuser_usec 2")},
		{S("usage_usec 1\nusage_usec 1\n")},
		{S("usage_usec 1\0\n")},
		{S("usage_usec 1\nuser_usec \0 1\n")},
		{S("usage_usec 1\nuser_usec 1\0 2\n")},
		{S("usage_usec 18446744073709551616\n")},
		{S("usage_usec 18446744073709551615\n")},
		{S("USAGE_USEC 1\n")},
		{S("usage_use 1\n")},
		{S("usage_usecs 1\n")},
	};
	struct cg_cpu_stat s;

	/* 6.18 without a cpu controller */
	CHECK_OK(cg_parse_cpu_stat(S("usage_usec 17\nuser_usec 9\nsystem_usec 8\nnice_usec 0\n"),
				   &s));
	CHECK(s.usage_usec == 17 && !s.has_throttle && s.nr_periods == 0);
	/* 6.12 with it */
	CHECK_OK(cg_parse_cpu_stat(S("usage_usec 29500000\nuser_usec 29000000\n"
				     "system_usec 500000\nnice_usec 0\n"
				     "core_sched.force_idle_usec 0\nnr_periods 160\n"
				     "nr_throttled 158\nthrottled_usec 26000000\nnr_bursts 0\n"
				     "burst_usec 0\n"),
				   &s));
	CHECK(s.has_throttle && s.nr_periods == 160 && s.nr_throttled == 158);
	CHECK(s.throttled_usec == 26000000 && s.usage_usec == 29500000);
	/* another order, and unknown keys, even if their values are no numbers */
	CHECK_OK(cg_parse_cpu_stat(S("throttled_usec 3\nnew some=1 full=2\nnr_throttled 2\n"
				     "nr_periods 1\nusage_usec 4\n"),
				   &s));
	CHECK(s.has_throttle && s.nr_periods == 1 && s.nr_throttled == 2 && s.usage_usec == 4);
	CHECK_BAD(cg_parse_cpu_stat, struct cg_cpu_stat, bad);
}

TEST(values)
{
	static const struct text bad[] = {
		{S("")},
		{S("\n")},
		{S("1")},
		{S(" 1\n")},
		{S("1 \n")},
		{S("1\n\n")},
		{S("1\n2\n")},
		{S("1\0\n")},
		{S("\0")},
		{S("-1\n")},
		{S("+1\n")},
		{S("1.5\n")},
		{S("1k\n")},
		{S("00\n")},
		{S("0x10\n")},
		{S("MAX\n")},
		{S("maxx\n")},
		{S("max \n")},
		{S("ma\n")},
		{S("max")},
		{S("18446744073709551615\n")},
		{S("18446744073709551616\n")},
		{S("184467440737095516150\n")},
	};
	static const struct text no_number[] = {{S("max\n")}};
	uint64_t v;

	CHECK_EQ(cg_parse_value(S("0\n"), &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(cg_parse_value(S("18446744073709551614\n"), &v), 0);
	CHECK(v == UINT64_MAX - 1);
	CHECK_EQ(cg_parse_limit(S("max\n"), &v), 0);
	CHECK(v == LIMIT_MAX);
	CHECK_EQ(cg_parse_limit(S("999424\n"), &v), 0);
	CHECK_EQ(v, 999424);
	CHECK_BAD(cg_parse_value, uint64_t, bad);
	CHECK_BAD(cg_parse_limit, uint64_t, bad);
	CHECK_BAD(cg_parse_value, uint64_t, no_number);
}

/* The keys of 6.12 in its order; the ones that are read have values of their own. */
#define MEM_STAT_HEAD "anon 1001\nfile 1002\nkernel 1003\nkernel_stack 9\npagetables 9\n"
#define MEM_STAT_REST                                                                              \
	"sec_pagetables 9\npercpu 9\nsock 1011\nvmalloc 9\nshmem 1004\nzswap 0\nzswapped 0\n"      \
	"file_mapped 9\nfile_dirty 9\nfile_writeback 9\nswapcached 0\nanon_thp 9\nfile_thp 0\n"    \
	"shmem_thp 0\ninactive_anon 1012\nactive_anon 1013\ninactive_file 1005\nactive_file "      \
	"1006\n"                                                                                   \
	"unevictable 1007\nslab_reclaimable 1008\nslab_unreclaimable 9\nslab 9\n"                  \
	"workingset_refault_anon 1009\nworkingset_refault_file 1010\n"                             \
	"workingset_activate_anon 9\npgscan 9\npgsteal 9\npgfault 9\nthp_swpout 0\n"

/* The kernel memory of 6.12 is the line `kernel`, whatever is charged. */
static int parse_mem_stat(const char *text, size_t len, struct mem_stat *ret)
{
	return cg_parse_mem_stat(text, len, 1 << 20, ret);
}

TEST(mem_stat)
{
	static const struct text bad[] = {
		{S("")},
		{S(MEM_STAT_REST)},
		{S(MEM_STAT_HEAD MEM_STAT_REST "x")},
		{S(MEM_STAT_HEAD MEM_STAT_REST "x\n")},
		{S(MEM_STAT_HEAD MEM_STAT_HEAD MEM_STAT_REST)},
		{S("anon -1\n" MEM_STAT_HEAD MEM_STAT_REST)},
		{S(MEM_STAT_HEAD MEM_STAT_REST "\0\n")},
	};
	struct mem_stat s;

	CHECK_EQ(parse_mem_stat(S(MEM_STAT_HEAD MEM_STAT_REST), &s), 0);
	CHECK_EQ(s.anon, 1001);
	CHECK_EQ(s.file, 1002);
	CHECK_EQ(s.kernel, 1003);
	CHECK_EQ(s.shmem, 1004);
	CHECK_EQ(s.inactive_file, 1005);
	CHECK_EQ(s.active_file, 1006);
	CHECK_EQ(s.unevictable, 1007);
	CHECK_EQ(s.slab_reclaimable, 1008);
	CHECK_EQ(s.sock, 1011);
	CHECK_EQ(s.inactive_anon, 1012);
	CHECK_EQ(s.active_anon, 1013);
	CHECK_EQ(s.refaults, 1009 + 1010);
	CHECK_EQ(parse_mem_stat(S(MEM_STAT_REST MEM_STAT_HEAD), &s), 0);
	CHECK_EQ(s.anon, 1001);
	CHECK_BAD(parse_mem_stat, struct mem_stat, bad);
}

/* Linux 5.10: no `kernel`, no page tables. Kernel memory is the sum of the parts, or what is
 * charged beside page cache and slab that can go, if that is more. */
TEST(mem_stat_old)
{
#define OLD                                                                                        \
	"anon 1000\nfile 300\nkernel_stack 20\npercpu 5\nshmem 100\ninactive_anon 600\n"           \
	"active_anon 500\ninactive_file 200\nslab_reclaimable 40\nslab_unreclaimable 30\nslab "    \
	"70\n"
	struct mem_stat s;

	CHECK_EQ(cg_parse_mem_stat(S(OLD), 0, &s), 0);
	CHECK_EQ(s.kernel, 95);
	CHECK_EQ(s.sock, 0);
	CHECK_EQ(mem_unreclaimable(&s), 1155);
	CHECK_EQ(cg_parse_mem_stat(S(OLD), 1300, &s), 0);
	CHECK_EQ(mem_unreclaimable(&s), 1155);
	CHECK_EQ(cg_parse_mem_stat(S(OLD), 1500, &s), 0);
	CHECK_EQ(mem_unreclaimable(&s), 1500 - 200 - 40);
	CHECK_EQ(cg_parse_mem_stat(S(OLD "pagetables 15\nsock 2\n"), 0, &s), 0);
	CHECK_EQ(mem_unreclaimable(&s), 1172);
	CHECK_EQ(cg_parse_mem_stat(S("anon 7\nfile 9\n"), 0, &s), 0);
	CHECK_EQ(mem_unreclaimable(&s), 7);
}

TEST(mem_events)
{
	static const struct text bad[] = {
		{S("low 0\nhigh 1\nmax 2\noom 3\n")},
		{S("low 0\nhigh 1\nmax 2\noom 3\noom_kill 4")},
		{S("low 0\nhigh 1\nmax 2\noom 3\noom_kill x\n")},
		{S("low 0\nhigh 1\nhigh 1\nmax 2\noom 3\noom_kill 4\n")},
		{S("max 2\noom 3\noom_kill 4\n")},
		{S("low 0\nhigh 1\nmax max\noom 3\noom_kill 4\n")},
	};
	static const struct text no_ooms[] = {
		{S("low 0\nhigh 1\nmax 2\noom_kill 4\n")},
		{S("low 0\noom -1\n")},
		{S("oom 3\noom 4\n")},
	};
	struct mem_events e;
	uint64_t ooms;

	/* 7.2 has one key more */
	CHECK_OK(cg_parse_mem_events(S("low 0\nhigh 1\nmax 2\noom 52164\noom_kill 4\n"
				       "oom_group_kill 5\nsock_throttled 6\n"),
				     &e));
	CHECK(e.high == 1 && e.max == 2 && e.oom_kill == 4);
	CHECK_BAD(cg_parse_mem_events, struct mem_events, bad);
	CHECK_EQ(cg_parse_mem_ooms(S("low 0\nhigh 1\nmax 2\noom 52164\noom_kill 4\n"), &ooms), 0);
	CHECK_EQ(ooms, 52164);
	CHECK_BAD(cg_parse_mem_ooms, uint64_t, no_ooms);
}

#define SOME "some avg10=12.34 avg60=1.00 avg300=0.10 total=777\n"
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total=55\n"

TEST(psi)
{
	static const struct text bad[] = {
		{S("")},
		{S("\n")},
		{S(FULL)},
		{S(SOME SOME)},
		{S("some\n")},
		{S("some \n")},
		{S("some avg10=0.00\n")},
		{S("some total=\n")},
		{S("some total=x\n")},
		{S("some total=1x\n")},
		{S("some total=-1\n")},
		{S("some total=1 \n")},
		{S("some  total=1\n")},
		{S("some\ttotal=1\n")},
		{S("some total=1 total=2\n")},
		{S("some total=1")},
		{S("some total=1\0\n")},
		{S("other \0\n" SOME)},
		{S("some total=18446744073709551616\n")},
		{S(FULL)},
		{S("awesome total=1\n")},
	};
	static const struct text good[] = {
		{S(SOME FULL)},
		{S(FULL SOME)},
		{S(SOME)},
		{S(SOME "full avg10=0.00 total=x\n" FULL)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		uint64_t some = 0;

		CHECK_EQ(cg_parse_psi(good[i].text, good[i].len, &some), 0);
		CHECK_EQ(some, 777);
	}
	CHECK_BAD(cg_parse_psi, uint64_t, bad);
}

TEST(state)
{
	static const struct text bad[] = {
		{S("")},
		{S("frozen 0\n")},
		{S("populated 2\n")},
		{S("populated 1\nfrozen 2\n")},
		{S("populated yes\n")},
		{S("populated 1")},
	};
	struct cg_state s;

	CHECK_EQ(cg_parse_state(S("populated 1\nfrozen 0\n"), &s), 0);
	CHECK(s.populated && !s.frozen);
	CHECK_EQ(cg_parse_state(S("populated 0\n"), &s), 0);
	CHECK(!s.populated && !s.frozen);
	CHECK_BAD(cg_parse_state, struct cg_state, bad);
}

TEST(controllers)
{
	static const struct text bad[] = {
		{S("\n")},
		{S("cpu")},
		{S("cpu \n")},
		{S(" cpu\n")},
		{S("cpu  memory\n")},
		{S("cpu\nmemory\n")},
		{S("cpu\tmemory\n")},
		{S("cpu\0memory\n")},
		{S("cpu memory\n\n")},
	};
	uint32_t mask = 0;

	CHECK_EQ(cg_parse_controllers(S(""), &mask), 0);
	CHECK_EQ(mask, 0);
	CHECK_OK(cg_parse_controllers(S("cpuset cpu io memory hugetlb pids rdma misc dmem\n"),
				      &mask));
	CHECK_EQ(mask, CG_CPU | CG_MEMORY | CG_CPUSET | CG_IO | CG_PIDS);
	CHECK_EQ(cg_parse_controllers(S("hugetlb\n"), &mask), 0);
	CHECK_EQ(mask, 0);
	CHECK_EQ(cg_parse_controllers(S("cpuacct memoryless cp\n"), &mask), 0);
	CHECK_EQ(mask, 0);
	CHECK_BAD(cg_parse_controllers, uint32_t, bad);
}

TEST(cpu_list)
{
	static const struct {
		const char *text;
		uint32_t count;
	} good[] = {
		{"\n", 0},      {"0\n", 1},       {"0-3\n", 4},
		{"0-3,7\n", 5}, {"1,3,5-6\n", 4}, {"8191\n", 1},
	};
	static const char *const bad[] = {"",      "0",    "3-1\n",  "0,0\n",  "0-2,1\n", ",\n",
					  "0,\n",  "-1\n", "0-\n",   "a\n",    "0 1\n",   "8192\n",
					  "0\n\n", "01\n", "0--1\n", "0-1-2\n"};
	uint32_t count;

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		CHECK_EQ(cg_parse_cpu_list(good[i].text, strlen(good[i].text), &count), 0);
		CHECK_EQ(count, good[i].count);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		count = 77;
		CHECK_EQ(cg_parse_cpu_list(bad[i], strlen(bad[i]), &count), -EBADMSG);
		CHECK_EQ(count, 77);
	}
}
