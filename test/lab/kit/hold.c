// SPDX-License-Identifier: Apache-2.0
/*
 * hold [SIZE_MB] [SECONDS]: touches SIZE_MB once, says "hold ready", then sleeps without ever
 * waking (or for SECONDS): the quietest neighbour there is, for units by the hundred.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long size = argc > 1 ? atol(argv[1]) * 1024 * 1024 : 0;
	long page = sysconf(_SC_PAGESIZE);
	char *room;

	if (size > 0) {
		room = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (room == MAP_FAILED) {
			perror("hold: mmap");
			return 1;
		}
		for (long at = 0; at < size; at += page)
			room[at] = 1;
	}
	puts("hold ready");
	fflush(stdout);
	if (argc > 2)
		sleep((unsigned)atoi(argv[2]));
	else
		pause();
	return 0;
}
