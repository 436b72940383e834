/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a BPF program in a child: the kernel's types take some 12 MB for a tenth of a second. Only
 * descriptors come back. Without the child the peak of an agent with 250 containers is 19 MB,
 * not 12.5. */
#pragma once

#include "cgroup/bpf/probe.h"

#define CG_LOAD_FDS_MAX 6

/* What a load gives; by value between two processes. */
struct cg_load_result {
	uint32_t number; /* whatever the two sides agree on */
	uint32_t count;
	int fd[CG_LOAD_FDS_MAX]; /* -1: taken */
};

/* Runs in the child. Adds its descriptors with cg_load_keep(). 0 or what p->error says. */
typedef int cg_load_fn(void *ctx, struct cg_load_result *ret, struct cg_probe *p);

/* *ret is owned on success: its descriptors are close-on-exec. p->why and p->error are load's. */
int cg_load_in_child(cg_load_fn *load, void *ctx, struct cg_load_result *ret, struct cg_probe *p);
/* A descriptor that is to outlive the object that fd is of; negative: there is none. */
int cg_load_keep(struct cg_load_result *a, int fd, struct cg_probe *p);
/* The i-th descriptor, handed on. */
int cg_load_take(struct cg_load_result *a, uint32_t i);
/* Closes what was not taken. */
void cg_load_drop(struct cg_load_result *a);
