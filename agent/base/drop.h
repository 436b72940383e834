/* SPDX-License-Identifier: Apache-2.0 */
/* What OWN() runs for descriptors, folders and files; policy/ has none. */
#pragma once

#include <dirent.h>
#include <unistd.h>

static inline void drop_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void drop_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}
