/* SPDX-License-Identifier: Apache-2.0 */
/* This process: what /proc reports of it, its footprint, its threads. */
#pragma once

#include "policy/base/base.h"
#include <pthread.h>

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

/* Keeps the resident size at what the loop needs. */

/* Once, before anything else: a constant mmap threshold for the allocator. By default it rises when
 * the first large block is freed, and the text of a save then leaves a hole in the heap. */
void footprint_start(void);

/* Start-up and TLS handshakes run code that does not run again; its pages count towards the
 * resident size. Unmaps the pages of this process's files that were never written (they are mapped
 * again from the page cache when needed) and returns unused heap memory. Without it 250 containers
 * of a cluster take 19 MB, not 8, and 1,000 a peak of 24 MB, not 17. */
void footprint_trim(void);

/* A thread beside the loop: it gets no signals, and a stack of 64 KiB. -errno. */
int thread_start(pthread_t *ret, void *(*work)(void *), void *arg);

/* Of the sources that this was built from (a commit, short); "unknown". */
extern const char *const vscaled_revision;
