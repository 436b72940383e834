/* SPDX-License-Identifier: Apache-2.0 */
/* The node's memory: /proc/meminfo. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes. */
struct meminfo {
	uint64_t total;
	uint64_t available; /* without swapping, by the kernel's estimate; never above total */
	/* MemFree + Inactive(file), never above total: a lower bound of the kubelet's
	 * memory.available. It is capacity - working set of the root cgroup, which has no
	 * memory.current. Older kubelets take MemTotal - MemFree for its usage, those built
	 * with runc 1.2 anon + file of its memory.stat, which is never more; inactive_file is
	 * subtracted in either case. UINT64_MAX: the file has neither of the two lines. */
	uint64_t kubelet_available;
};

/* The whole content of the file. 0, or -EBADMSG with *ret untouched: MemTotal or MemAvailable is
 * missing, only one of MemFree and Inactive(file) is there, one of the four is there twice,
 * malformed or too large, a NUL byte, or a last line without its newline. */
int meminfo_parse(const char *text, size_t len, struct meminfo *ret);
/* The file as it is now, on a kept descriptor. -errno; -EBADMSG as above. */
int meminfo_read(int fd, struct meminfo *ret);
