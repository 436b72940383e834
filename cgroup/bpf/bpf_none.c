// SPDX-License-Identifier: Apache-2.0
/* In place of the BPF reader where the build leaves it out: it cannot be opened. */
#include "cgroup/bpf/reader_bpf.h"
#include <errno.h>
#include <stdio.h>

int cg_scan_open(int, uint32_t, bool, struct cg_scan **, struct cg_probe *p)
{
	*p = (struct cg_probe){.program = "scan", .error = -EOPNOTSUPP};
	snprintf(p->why, sizeof p->why, "built without VSCALED_BPF");
	return p->error;
}

/* Never called. */
void cg_scan_close(struct cg_scan *)
{
}

int cg_scan_add(struct cg_scan *, uint64_t, uint32_t *)
{
	return -EOPNOTSUPP;
}

void cg_scan_remove(struct cg_scan *, uint32_t)
{
}

int cg_scan_throttles_fd(const struct cg_scan *)
{
	return -EOPNOTSUPP;
}

void cg_scan_arm(struct cg_scan *, uint32_t)
{
}

void cg_scan_take_throttles(struct cg_scan *, cg_throttled_fn *, void *)
{
}

uint32_t cg_scan_offers(const struct cg_scan *)
{
	return 0;
}

void cg_scan_withdraw(struct cg_scan *, uint32_t)
{
}

int cg_scan_pass(struct cg_scan *, uint32_t)
{
	return -EOPNOTSUPP;
}

int cg_scan_get(const struct cg_scan *, uint32_t, uint32_t, struct usage *)
{
	return -EOPNOTSUPP;
}

uint32_t cg_scan_passed(const struct cg_scan *)
{
	return 0;
}

int cg_scan_prove(struct cg_scan *, struct cg *, struct cg_probe *)
{
	return -EOPNOTSUPP;
}
