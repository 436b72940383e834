/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v2 file contents: text in, struct out. No I/O, no allocation.
 * Every parser takes the whole content of a file and returns 0, or an error with the output
 * untouched. -ENODATA: a required key is missing. -EBADMSG: a key is there twice, a malformed or
 * too large number, a NUL byte, a last line without its newline (the read was cut short). Files are
 * read by name: unknown keys are skipped, because new kernels add some. */
#pragma once

#include "policy/types/usage.h"

/* cpu.max */
struct cg_cpu_max {
	uint64_t quota_usec; /* LIMIT_MAX = "max" */
	uint64_t period_usec;
};

/* cpu.stat; the throttle counters exist only with a cpu controller. has_throttle: all of them. */
struct cg_cpu_stat {
	bool has_throttle;
	uint64_t usage_usec;
	uint64_t nr_periods;
	uint64_t nr_throttled;
	uint64_t throttled_usec; /* summed over CPUs */
};

/* cgroup.events; frozen is false where the kernel does not show it. */
struct cg_state {
	bool populated;
	bool frozen;
};

/* Bits of a controller mask; other controllers are skipped. */
enum cg_controller {
	CG_CPU = 1 << 0,
	CG_MEMORY = 1 << 1,
	CG_CPUSET = 1 << 2,
	CG_IO = 1 << 3,
	CG_PIDS = 1 << 4,
};

int cg_parse_cpu_max(const char *text, size_t len, struct cg_cpu_max *ret);
int cg_parse_cpu_stat(const char *text, size_t len, struct cg_cpu_stat *ret);
/* One number: memory.current, memory.peak, cpu.max.burst. */
int cg_parse_value(const char *text, size_t len, uint64_t *ret);
/* One number or "max" (LIMIT_MAX): memory.max, memory.high. */
int cg_parse_limit(const char *text, size_t len, uint64_t *ret);
/* All but `anon` and `file` may be missing, and is then 0. current: memory.current of that moment,
 * 0: not known; for kernels that do not show `kernel`. */
int cg_parse_mem_stat(const char *text, size_t len, uint64_t current, struct mem_stat *ret);
int cg_parse_mem_events(const char *text, size_t len, struct mem_events *ret);
/* Its `oom` alone: retries, not kills. */
int cg_parse_mem_ooms(const char *text, size_t len, uint64_t *ret);
/* The total of its `some`. */
int cg_parse_psi(const char *text, size_t len, uint64_t *ret);
int cg_parse_state(const char *text, size_t len, struct cg_state *ret);
/* cgroup.controllers and cgroup.subtree_control; an empty file is an empty mask. */
int cg_parse_controllers(const char *text, size_t len, uint32_t *ret_mask);

/* How many CPUs a list like "0-3,7" names; an empty file names none. */
int cg_parse_cpu_list(const char *text, size_t len, uint32_t *ret);
