/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF reader on a rig: real passes over as many cgroups of this kernel. What it counted there
 * is fetched, and then played over with the rig's counters, in full records. To be linked with
 * --wrap for the functions that it stands before, see CMakeLists.txt.
 */
#pragma once

#include "test/agent/daemon_rig.h"

/* NULL, or why there is nothing to pass over here. */
const char *played_open(void);
void played_close(void);
/* A cgroup for the unit that was added last. */
void played_add(struct rig *r, const struct rig_unit *u);
/* What the units count now is what the next pass finds. */
void played_turn(struct rig *r);
/* What it holds itself. */
extern const size_t played_bytes;
