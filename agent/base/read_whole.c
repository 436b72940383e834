// SPDX-License-Identifier: Apache-2.0
#include "agent/base/read_whole.h"
#include <errno.h>
#include <unistd.h>

int read_whole(int fd, char *buf, size_t size, size_t *ret)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, buf + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	*ret = have;
	return 0;
}
