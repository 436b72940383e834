// SPDX-License-Identifier: Apache-2.0
/*
 * Records of the BPF programs. Input: what the reader expects (id, pass), then a record of a scan;
 * the same bytes are tried as an event, too.
 */
#include "cgroup/bpf/kernel/scan.h"
#include "cgroup/bpf/scan_record.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define PAGE 4096u
#define ALL  ((USAGE_MEM_LIMIT << 1) - 1)

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void scan(const uint8_t *data, size_t size)
{
	/* Records stand aligned in the map. */
	static _Alignas(8) uint8_t bytes[2 * sizeof(struct scan_record)];
	struct scan_expect e = {.page_bytes = PAGE, .want = ALL};
	struct usage u = {.have = UINT32_MAX};
	int r;

	if (size < 16 || size - 16 > sizeof bytes)
		return;
	memcpy(&e.id, data, 8);
	memcpy(&e.pass, data + 8, 8);
	memcpy(bytes, data + 16, size - 16);
	r = scan_record_decode(bytes, size - 16, &e, &u);
	must(r == 0 || r == -EBADMSG || r == -ENODEV);
	if (r < 0) {
		must(u.have == UINT32_MAX);
		return;
	}
	must(size - 16 == sizeof(struct scan_record) && (u.have & ~(uint32_t)ALL) == 0);
	must(u.limits.cpu_quota_usec != 0 && u.limits.cpu_period_usec != 0);
	must(u.mem_current <= INT64_MAX && u.mem_peak <= INT64_MAX && u.stat.anon <= INT64_MAX);
	must(u.limits.mem_max == LIMIT_MAX || u.limits.mem_max <= INT64_MAX);
	must(u.events.oom_kill <= INT64_MAX && u.nr_periods <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scan(data, size);
	return 0;
}
