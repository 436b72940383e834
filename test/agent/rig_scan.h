/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF reader in the place of the kernel's (cgroup/bpf/reader_bpf.h), for a rig: a pass makes
 * records of what the rig's units count, and only of cgroups that are there. Compiled into a test,
 * its functions are taken instead of the library's.
 */
#pragma once

#include "test/agent/daemon_rig.h"

struct rig_scan {
	struct rig *rig;
	int open_error; /* it does not load */
	int pass_error; /* nor run */
	uint32_t slots; /* fewer than asked for; 0: as many */
	unsigned opened, passes, reads, stat_passes;
	size_t added;   /* now */
	unsigned armed; /* times that a report was asked for */
};
extern struct rig_scan rig_scan;

void rig_scan_reset(struct rig *r);
