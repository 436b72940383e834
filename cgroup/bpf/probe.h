/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a BPF program, or the reason why not: never a failed start. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CG_PROBE_TEXT_BYTES 400

/* The result of loading one program; filled by the function that opens it. */
struct cg_probe {
	const char *program;           /* its name, static */
	int error;                     /* 0: it serves; else -errno */
	char why[CG_PROBE_TEXT_BYTES]; /* one line; which build of it serves, or why none does */
};

/* Whether programs can be loaded here at all: the kernel describes its types, and this process has
 * CAP_BPF and CAP_PERFMON. 0, or -errno with the reason in p->why. */
int cg_probe_host(struct cg_probe *p);

/* Loading is over: gives up CAP_BPF and CAP_PERFMON for good. What is loaded goes on without them.
 * Under "no new privileges" no program that is executed gets them back either. */
int cg_probe_drop_rights(void);

/* One line into p->why; returns error, which it stores as well. */
int cg_probe_fault(struct cg_probe *p, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Between these two, libbpf's messages are kept instead of printed. cg_probe_listen_end() adds the
 * last one to p->why (if p->error is set), so that the reason names what the kernel refused. */
void cg_probe_listen(void);
void cg_probe_listen_end(struct cg_probe *p);
