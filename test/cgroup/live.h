/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An own folder below the running kernel's cgroup2 mount, with what controllers the host gives.
 * Failures end the test program, as in fake.h; only live_open() may find that there is no such
 * thing here.
 */
#pragma once

#include "cgroup/bpf/probe.h"
#include "cgroup/discover.h"
#include "test/check.h"
#include <errno.h>
#include <string.h>
#include <sys/types.h>

struct live {
	struct cg_host host;
	int root;     /* of the hierarchy */
	char top[64]; /* own folder in it */
};

/* NULL, or the reason why there is nothing to test on: no mount, no right. */
const char *live_open(struct live *l);
/* Kills and removes everything in the own folder, and the folder. */
void live_close(struct live *l);

/* Path of a name in the own folder, from the root; in a static buffer of eight that take turns. */
const char *live_path(const struct live *l, const char *name);
void live_make(const struct live *l, const char *name);
/* Kills what runs in it and removes it. */
void live_remove(const struct live *l, const char *name);
void live_put(const struct live *l, const char *name, const char *file, const char *text);
/* As live_put(), false if the kernel says no. */
bool live_try(const struct live *l, const char *name, const char *file, const char *text);

/* What a process in the group does until it is killed. */
enum live_load {
	LIVE_IDLE,   /* nothing */
	LIVE_BURN,   /* computes */
	LIVE_MEMORY, /* takes memory and gives it back, 1 to 16 MiB */
	LIVE_FILES,  /* writes a file in /tmp and cuts it off again */
};

/* Returns once the process is in the group. */
pid_t live_start(const struct live *l, const char *name, enum live_load load);

/* The result of a test whose BPF reader was not loaded. A kernel whose verifier refuses all builds
 * may do so: lab_bpf has the kernels that must take one. Whatever else is missing, a right (EPERM)
 * included, skips the test. */
static inline int live_not_loaded(const struct cg_probe *p)
{
	if (strncmp(p->why, "build ", strlen("build ")) != 0 || p->error == -EPERM)
		return check_skip(p->why);
	fprintf(stderr, "not loaded here: %s\n", p->why);
	return check_result();
}
