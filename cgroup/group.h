/* SPDX-License-Identifier: Apache-2.0 */
/* One open cgroup: its folder, its identity and one kept descriptor per file. What reader, writer
 * and watch share; code outside cgroup/ does not use it. */
#pragma once

#include "cgroup/reader.h"
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum cg_file {
	CG_FILE_CPU_STAT,
	CG_FILE_MEM_CURRENT,
	CG_FILE_MEM_STAT,
	CG_FILE_MEM_PEAK,
	CG_FILE_MEM_EVENTS,
	CG_FILE_PSI_CPU,
	CG_FILE_PSI_MEM,
	CG_FILE_CPU_MAX,
	CG_FILE_CPU_BURST,
	CG_FILE_MEM_MAX,
	CG_FILE_MEM_HIGH,
	CG_FILE_COUNT
};

extern const char *const cg_file_names[CG_FILE_COUNT];

/* The longest file, memory.stat, has about 2 KiB. One that fills the buffer is refused. */
#define CG_TEXT_BYTES 8192
/* A missing file is opened again after this many reads: a controller may be enabled, or pressure
 * switched on, later. At one read a second that is the interval of the review. */
#define CG_ABSENT_READS 10

/* Throttling as of the last read of one level. */
struct cg_throttle {
	uint64_t nr_periods;
	uint64_t nr_throttled;
	uint64_t throttled_usec;
};

struct cg {
	int dir;
	uint64_t dev;
	uint64_t id;
	int fd[CG_FILE_COUNT];               /* -1: not open */
	uint8_t absent_reads[CG_FILE_COUNT]; /* reads left before the next try to open it */
	/* The number that cg_events_fd() returned for memory.events, -1: none. It is not closed
	 * before cg_close(): while the file is missing, the number refers to the folder, which
	 * never causes a wake-up. */
	int events_fd;
	/* A container's scope may have a second level, see levels.h. Owned; NULL: it has none. */
	bool scope;
	struct cg *inner;
	unsigned inner_files;       /* limit files that it had at the last check */
	bool inner_due;             /* some are still missing */
	uint64_t scanned_id;        /* of the inner level at the last check; 0: none */
	struct cg_throttle seen[2]; /* of the scope, of the second level */
	struct cg_throttle sum;
};

/* Opens a folder below dir, which is no symbolic link. */
int cg_open_child(int dir, const char *name, struct cg **ret);

/* Content of a file that is read too seldom to be kept open, into buf, which has CG_TEXT_BYTES.
 * Returns its length; -EBADMSG: it is longer; -errno. */
int cg_text_read(int dir, const char *name, char *buf);
/* Content of a file into buf, which has CG_TEXT_BYTES. Returns its length; -ENOENT: the cgroup has
 * no such file (now); -ENODEV: the cgroup is gone. */
int cg_file_read(struct cg *c, enum cg_file file, char *buf);

/* Parses the content of a file into the fields it is read for, and sets their bits. */
int cg_file_fill(enum cg_file file, const char *text, size_t len, struct usage *u);

static inline void cg_drop_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* 0 while the cgroup exists, -ENODEV once it is removed. */
int cg_alive(const struct cg *c);
