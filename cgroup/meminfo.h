/* SPDX-License-Identifier: Apache-2.0 */
/* The node's memory: /proc/meminfo. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes. */
struct meminfo {
	uint64_t total;
	uint64_t available; /* without swapping, by the kernel's estimate; never above total */
};

/* The whole content of the file. 0, or -EBADMSG with *ret untouched: one of the two is missing,
 * twice, malformed or too large, a NUL byte, or a last line without its newline. */
int meminfo_parse(const char *text, size_t len, struct meminfo *ret);
/* The file as it is now, on a kept descriptor. -errno; -EBADMSG as above. */
int meminfo_read(int fd, struct meminfo *ret);
