// SPDX-License-Identifier: Apache-2.0
#include "agent/base/footprint.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The allocator's own threshold at the start. */
#define LARGE_BYTES (128 * 1024)

struct mapping {
	unsigned long start, end;
	int trimmable;
};

/* "start-end r-xp offset dev inode /path": code and constants of a file. */
static int read_mapping(const char *line, struct mapping *ret)
{
	char mode[8], path[8] = "";
	struct mapping m;

	/* Field names may begin with letters that are hexadecimal digits. */
	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &m.start, &m.end, mode, path) < 3)
		return 0;
	m.trimmable = path[0] == '/' && (strcmp(mode, "r-xp") == 0 || strcmp(mode, "r--p") == 0);
	*ret = m;
	return 1;
}

void footprint_start(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

void footprint_trim(void)
{
	struct mapping m = {0};
	unsigned long own;
	char line[512];
	FILE *maps = fopen("/proc/self/smaps", "re");

	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		if (read_mapping(line, &m))
			continue;
		/* A page that the dynamic linker wrote before it became read-only is in no file. */
		if (m.trimmable && sscanf(line, "Anonymous: %lu", &own) == 1 && own == 0)
			madvise((void *)m.start, m.end - m.start, MADV_DONTNEED);
	}
	if (maps != NULL)
		fclose(maps);
	malloc_trim(0);
}
