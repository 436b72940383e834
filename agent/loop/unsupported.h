/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose cgroups are not of version 2. */
#pragma once

struct daemon;

/* No cgroup version 2 here. 0: in a cluster; -ENOTSUP: the start fails. */
int unsupported_host(struct daemon *d);
