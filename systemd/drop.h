/* SPDX-License-Identifier: Apache-2.0 */
/* What OWN() runs for a descriptor, in this layer. */
#pragma once

#include <unistd.h>

static inline void drop_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
