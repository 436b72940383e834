// SPDX-License-Identifier: Apache-2.0
#include "agent/base/drop.h"
#include "agent/base/read_whole.h"
#include "agent/ctl/ctl.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int ctl_read_file(const char *file, uint64_t max, char **ret, size_t *ret_size)
{
	OWN(drop_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	OWN(drop_free) char *text = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return -ENOMEM;
	r = read_whole(fd, text, (size_t)st.st_size, ret_size);
	if (r == 0)
		*ret = STEAL(text);
	return r;
}
