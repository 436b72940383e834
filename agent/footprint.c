// SPDX-License-Identifier: Apache-2.0
#include "agent/footprint.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* "start-end r-xp ... /path": code backed by a file, which nobody can have written to. */
static int is_code(const char *mode, const char *path)
{
	return strcmp(mode, "r-xp") == 0 && path[0] == '/';
}

void footprint_trim(void)
{
	unsigned long start, end;
	char mode[8], path[8], line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return;
	while (fgets(line, sizeof line, maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &start, &end, mode, path) == 4 &&
		    is_code(mode, path))
			madvise((void *)start, end - start, MADV_DONTNEED);
	fclose(maps);
	malloc_trim(0);
}
