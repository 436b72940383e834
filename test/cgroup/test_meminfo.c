// SPDX-License-Identifier: Apache-2.0
/* /proc/meminfo: contents of real kernels, and everything that must be refused. */
#include "cgroup/meminfo.h"
#include "policy/base/base.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define S(text) text, sizeof(text) - 1

/* 6.12, shortened. */
static const char real[] = "MemTotal:        2014232 kB\n"
			   "MemFree:         1630464 kB\n"
			   "MemAvailable:    1713408 kB\n"
			   "Buffers:           13648 kB\n"
			   "Active(file):      43200 kB\n"
			   "Inactive(file):    71040 kB\n"
			   "SwapTotal:             0 kB\n"
			   "HugePages_Total:       0\n"
			   "Hugepagesize:       2048 kB\n";

TEST(real)
{
	struct meminfo m;

	CHECK_EQ(meminfo_parse(S(real), &m), 0);
	CHECK_EQ(m.total, 2014232ULL * 1024);
	CHECK_EQ(m.available, 1713408ULL * 1024);
	CHECK_EQ(m.kubelet_available, (1630464ULL + 71040) * 1024);
	/* A full node, and in the other order. */
	CHECK_EQ(meminfo_parse(S("MemAvailable: 0 kB\nMemTotal: 8 kB\n"), &m), 0);
	CHECK_EQ(m.available, 0);
	CHECK_EQ(m.total, 8192);
	CHECK_EQ(m.kubelet_available, UINT64_MAX); /* not reported */
	/* LXC: the total is the container's, what is available the host's. */
	CHECK_OK(meminfo_parse(S("MemTotal: 8 kB\nMemFree: 3 kB\nMemAvailable: 9 kB\n"
				 "Inactive(file): 1 kB\n"),
			       &m));
	CHECK_EQ(m.available, 3072);
}

/* The two lines are not of one moment: never more than there is. */
TEST(kubelet)
{
	struct meminfo m;

	CHECK_OK(meminfo_parse(S("MemTotal: 8 kB\nMemFree: 0 kB\nMemAvailable: 4 kB\n"
				 "Inactive(anon): 3 kB\nInactive(file): 0 kB\n"),
			       &m));
	CHECK_EQ(m.kubelet_available, 0);
	CHECK_OK(meminfo_parse(S("MemTotal: 8 kB\nMemFree: 5 kB\nMemAvailable: 4 kB\n"
				 "Inactive(file): 4 kB\n"),
			       &m));
	CHECK_EQ(m.kubelet_available, 8192);
	CHECK_OK(meminfo_parse(S("MemTotal: 8 kB\nMemFree: 18014398509481982 kB\n"
				 "MemAvailable: 4 kB\nInactive(file): 18014398509481982 kB\n"),
			       &m));
	CHECK_EQ(m.kubelet_available, 8192);
}

TEST(refused)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		{S("")},
		{S("\n")},
		{S("MemTotal: 8 kB\n")},
		{S("MemAvailable: 8 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB")},
		{S("MemTotal: 8 kB\nMemAvailable: 9 kB\n")},
		{S("MemTotal: 0 kB\nMemAvailable: 0 kB\n")},
		{S("MemTotal: 8 kB\nMemTotal: 8 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 MB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 kB \nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal:\t8 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: -8 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 08 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal:\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 18014398509481983 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 99999999999999999999 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 kB\n MemAvailable: 4 kB\n")},
		{S("memtotal: 8 kB\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 kB\n\0\nMemAvailable: 4 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB\nMemFree: 1 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB\nInactive(file): 1 kB\n")},
		{S("MemTotal: 8 kB\nMemFree: 1 kB\nInactive(file): 1 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB\nMemFree: 1\nInactive(file): 1 kB\n")},
		{S("MemTotal: 8 kB\nMemAvailable: 4 kB\nMemFree: 1 kB\nMemFree: 1 kB\n"
		   "Inactive(file): 1 kB\n")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct meminfo m = {1, 2, 3};

		CHECK_EQ(meminfo_parse(bad[i].text, bad[i].len, &m), -EBADMSG);
		if (m.total != 1 || m.available != 2 || m.kubelet_available != 3)
			fprintf(stderr, "text %zu was taken\n", i);
		CHECK(m.total == 1 && m.available == 2 && m.kubelet_available == 3);
	}
}

/* A file that is written anew is read anew. */
TEST(read)
{
	char path[] = "/tmp/vscaled-meminfo-XXXXXX";
	int fd = mkstemp(path);
	struct meminfo m;

	CHECK_EQ(meminfo_read(fd, &m), -EBADMSG);
	CHECK_EQ(write(fd, real, sizeof real - 1), (ssize_t)sizeof real - 1);
	CHECK_EQ(meminfo_read(fd, &m), 0);
	CHECK_EQ(meminfo_read(fd, &m), 0);
	CHECK_EQ(m.total, 2014232ULL * 1024);
	unlink(path);
	close(fd);
	CHECK_EQ(meminfo_read(fd, &m), -EBADF);
	fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(meminfo_read(fd, &m), 0);
	CHECK(m.total >= m.available && m.total > 0);
	CHECK(m.kubelet_available > 0 && m.kubelet_available <= m.total);
	close(fd);
}
