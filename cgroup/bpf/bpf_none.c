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

int cg_scan_open(int root_dirfd, uint32_t slots, struct cg_scan **ret, struct cg_probe *p)
{
	(void)root_dirfd;
	(void)slots;
	(void)ret;
	return left_out(p, "scan");
}

int cg_life_open(struct cg_life **ret, struct cg_probe *p)
{
	(void)ret;
	return left_out(p, "life");
}

/* Never called: nothing can be opened. */
void cg_scan_close(struct cg_scan *s)
{
	(void)s;
}

int cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot)
{
	(void)s;
	(void)id;
	(void)ret_slot;
	return -EOPNOTSUPP;
}

void cg_scan_remove(struct cg_scan *s, uint32_t slot)
{
	(void)s;
	(void)slot;
}

uint32_t cg_scan_offers(const struct cg_scan *s)
{
	(void)s;
	return 0;
}

void cg_scan_withdraw(struct cg_scan *s, uint32_t parts)
{
	(void)s;
	(void)parts;
}

int cg_scan_pass(struct cg_scan *s, uint32_t want)
{
	(void)s;
	(void)want;
	return -EOPNOTSUPP;
}

int cg_scan_get(const struct cg_scan *s, uint32_t slot, uint32_t want, struct usage *ret)
{
	(void)s;
	(void)slot;
	(void)want;
	(void)ret;
	return -EOPNOTSUPP;
}

uint32_t cg_scan_passed(const struct cg_scan *s)
{
	(void)s;
	return 0;
}

int cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p)
{
	(void)s;
	(void)c;
	(void)p;
	return -EOPNOTSUPP;
}

void cg_life_close(struct cg_life *l)
{
	(void)l;
}

int cg_life_fd(const struct cg_life *l)
{
	(void)l;
	return -EOPNOTSUPP;
}

int cg_life_drain(struct cg_life *l, cg_life_fn hear, void *ctx)
{
	(void)l;
	(void)hear;
	(void)ctx;
	return -EOPNOTSUPP;
}
