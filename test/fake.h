/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup tree made of plain files in a temporary folder. It answers reads and takes writes like
 * cgroupfs does, without the kernel behind it: no rounding, no refusal, no accounting.
 * Every failure in here ends the test program: a test without its tree proves nothing.
 */
#pragma once

#include <stddef.h>

/* text NULL: a folder. Parents are made as needed, and every folder gets cgroup.controllers and
 * cgroup.subtree_control with "cpu memory" unless the table has them. */
struct fake_file {
	const char *path;
	const char *text;
};

struct fake {
	char path[64];
	int fd; /* of the root, what the code under test is given */
};

void fake_open(struct fake *f, const struct fake_file *files, size_t count);
/* Removes the tree. */
void fake_close(struct fake *f);

/* Replaces or adds one file (text NULL: a folder). */
void fake_put(const struct fake *f, const char *path, const char *text);
/* Content of a file, at most size - 1 bytes, NUL-terminated; returns buf. */
const char *fake_get(const struct fake *f, const char *path, char *buf, size_t size);
/* Removes a file, or a folder with everything in it. */
void fake_remove(const struct fake *f, const char *path);

/* Open descriptors of this process: equal before and after means none leaked. */
int fake_open_fds(void);
