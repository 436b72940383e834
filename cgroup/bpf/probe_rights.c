// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/probe.h"
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int cg_probe_drop_rights(void)
{
	static const unsigned needless[] = {CAP_BPF, CAP_PERFMON};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, caps) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof needless / sizeof *needless; i++) {
		struct __user_cap_data_struct *c = &caps[CAP_TO_INDEX(needless[i])];

		c->effective &= ~CAP_TO_MASK(needless[i]);
		c->permitted &= ~CAP_TO_MASK(needless[i]);
		c->inheritable &= ~CAP_TO_MASK(needless[i]);
	}
	return syscall(SYS_capset, &header, caps) < 0 ? -errno : 0;
}
