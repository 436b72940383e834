// SPDX-License-Identifier: Apache-2.0
/* In place of the BPF parts where the build leaves them out: none can be opened. */
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/watch_bpf.h"
#include <errno.h>
#include <stdio.h>

static int left_out(struct cg_probe *p, const char *program)
{
	*p = (struct cg_probe){.program = program, .error = -EOPNOTSUPP};
	snprintf(p->why, sizeof p->why, "built without VSCALED_BPF");
	return p->error;
}

int cg_scan_open(int, uint32_t, struct cg_scan **, struct cg_probe *p)
{
	return left_out(p, "scan");
}

int cg_life_open(struct cg_life **, struct cg_probe *p)
{
	return left_out(p, "life");
}

/* Never called: nothing can be opened. */
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

void cg_life_close(struct cg_life *)
{
}

int cg_life_fd(const struct cg_life *)
{
	return -EOPNOTSUPP;
}

int cg_life_drain(struct cg_life *, cg_life_fn, void *)
{
	return -EOPNOTSUPP;
}
