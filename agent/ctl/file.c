// SPDX-License-Identifier: Apache-2.0
/* Files and the lock, as the commands without the daemon use them. */
#include "agent/base/drop.h"
#include "agent/base/lock.h"
#include "agent/base/read_whole.h"
#include "agent/ctl/ctl.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int ctl_lock(const struct ctl *c, const char *hint, struct lock *ret)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX];
	const struct lock_place at = {c->state_directory, c->runtime_directory, holder};
	int r;

	snprintf(holder, sizeof holder, "vscalectl, process %d", (int)getpid());
	r = lock_take(&at, ret, other);
	if (r == -EWOULDBLOCK)
		return ctl_fail(c, CTL_TRY_LATER, hint, "%s holds the lock in %s", other,
				c->state_directory);
	if (r < 0)
		return ctl_fail(c, CTL_ERROR, r == -EACCES ? "run vscalectl as root" : NULL,
				"%s: %s", c->state_directory, strerror(-r));
	return CTL_OK;
}
