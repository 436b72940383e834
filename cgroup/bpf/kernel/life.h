/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What life.bpf.c and its reader share: one record per cgroup made or removed. */
#pragma once

#ifdef __bpf__
#include "cgroup/bpf/kernel/kernel.h"
#else
#include <linux/types.h>
#endif

#define LIFE_VERSION    1u
#define LIFE_PATH_BYTES 512
/* Some 120 records; the process has all of it mapped, twice. A full ring is reported. */
#define LIFE_RING_BYTES (64 * 1024)

enum life_what { LIFE_MADE = 1, LIFE_REMOVED = 2 };

struct life_record {
	__u32 version; /* LIFE_VERSION */
	__u32 what;    /* enum life_what */
	__u64 id;
	__s64 path_bytes;           /* with its NUL; negative: the path could not be read */
	char path[LIFE_PATH_BYTES]; /* from the root of the hierarchy; cut off if it is longer */
};
