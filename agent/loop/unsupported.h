/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose cgroups are not of version 2. */
#pragma once

#include <stdbool.h>

struct loop;

/* No cgroup version 2 here. 0: in a cluster; -ENOTSUP: the start fails. */
int unsupported_host(struct loop *l);
/* The loop of such a node: probes, metrics, the control socket, and Events for pods. */
int unsupported_start(struct loop *l);
/* The wake-up on such a node. False: the node is supported. */
bool unsupported_tick(struct loop *l);
