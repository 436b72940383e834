/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc reports of this process. */
#pragma once

#include "policy/base/base.h"

struct process_facts {
	usec_t cpu_usec;
	uint64_t virtual_bytes;
	uint64_t resident_bytes;
	uint64_t fds;
	uint64_t fds_max;
	usec_t started_real; /* 0: not known */
};

/* /proc/self/stat: cpu time, memory, and the start in ticks since the boot. -EBADMSG. */
int process_parse_stat(const char *text, struct process_facts *ret, uint64_t *ret_start_ticks);
/* The boot's time out of /proc/stat, in seconds. -EBADMSG. */
int process_parse_boot(const char *text, uint64_t *ret_sec);
/* What cannot be read is 0. */
void process_read(struct process_facts *ret);
