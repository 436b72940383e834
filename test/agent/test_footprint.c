// SPDX-License-Identifier: Apache-2.0
/* What a trim takes, and what it must leave: pages that were written are in no file. */
#include "agent/base/process.h"
#include "test/check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH 4096

static char *map_self(int protection)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, LENGTH, protection, MAP_PRIVATE, fd, 0);

	CHECK(p != MAP_FAILED);
	close(fd);
	return p;
}

/* Of the mapping that begins there; -1: there is none. */
static long resident_kib(const void *at)
{
	char line[512], begin[32];
	FILE *f = fopen("/proc/self/smaps", "re");
	bool here = false;
	long kib = -1;

	snprintf(begin, sizeof begin, "%lx-", (unsigned long)at);
	while (kib < 0 && fgets(line, sizeof line, f) != NULL) {
		here |= strncmp(line, begin, strlen(begin)) == 0;
		if (here)
			sscanf(line, "Rss: %ld", &kib);
	}
	fclose(f);
	return kib;
}

int main(void)
{
	char *clean = map_self(PROT_READ), *written = map_self(PROT_READ | PROT_WRITE);

	written[1] = 'x';
	CHECK_EQ(mprotect(written, LENGTH, PROT_READ), 0);
	CHECK_EQ(memcmp(clean, "\177ELF", 4), 0);
	CHECK_EQ(resident_kib(clean), 4);
	footprint_trim();
	CHECK_EQ(resident_kib(clean), 0);
	CHECK_EQ(resident_kib(written), 4);
	CHECK_EQ(memcmp(written, "\177xLF", 4), 0);
	CHECK_EQ(memcmp(clean, "\177ELF", 4), 0);
	munmap(clean, LENGTH);
	munmap(written, LENGTH);
	return check_result();
}
