// SPDX-License-Identifier: Apache-2.0
#include "cgroup/watch_bpf.h"
#include "cgroup/bpf/life.h"
#include "life.skel.h"
#include "policy/base.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

static const char *const programs[] = {"made", "removed"};

struct cg_life {
	struct bpf_object *object;
	struct bpf_link *links[ARRAY_SIZE(programs)];
	struct ring_buffer *ring;
	const uint64_t *lost; /* counted by the programs */
	uint64_t lost_told;
	cg_life_fn hear; /* of the drain that is running */
	void *ctx;
};

/* A record that is none is our own bug between two files; it counts as a lost event. */
static int take(void *ctx, void *bytes, size_t len)
{
	struct cg_life *l = ctx;
	struct cg_life_event e;

	if (cg_life_decode(bytes, len, &e) < 0)
		e = (struct cg_life_event){.what = CG_LIFE_LOST, .lost = 1};
	l->hear(l->ctx, &e);
	return 0;
}

static int attach(struct cg_life *l, struct cg_probe *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(l->object, programs[i]);

		if (program == NULL)
			return cg_probe_fault(p, -ENOENT, "no program %s", programs[i]);
		l->links[i] = bpf_program__attach(program);
		if (l->links[i] == NULL)
			return cg_probe_fault(p, -errno, "%s: not attached: %s", programs[i],
					      strerror(errno));
	}
	return 0;
}

static int load(struct cg_life *l, struct cg_probe *p)
{
	size_t bytes = 0;
	const void *elf = life__elf_bytes(&bytes);
	int r = cg_probe_take(elf, bytes, &l->object, p);

	if (r < 0)
		return r;
	r = bpf_object__load(l->object);
	if (r < 0)
		return cg_probe_fault(p, r, "not loaded: %s", strerror(-r));
	r = cg_probe_share(l->object, ".bss", sizeof *l->lost, (void **)&l->lost, p);
	if (r < 0)
		return r;
	l->ring =
		ring_buffer__new(bpf_object__find_map_fd_by_name(l->object, "ring"), take, l, NULL);
	if (l->ring == NULL)
		return cg_probe_fault(p, -errno, "the ring: %s", strerror(errno));
	return attach(l, p);
}

int cg_life_open(struct cg_life **ret, struct cg_probe *p)
{
	OWN(drop_cg_life) struct cg_life *l = NULL;
	int r;

	*p = (struct cg_probe){.program = "life"};
	r = cg_probe_host(p);
	if (r < 0)
		return r;
	l = calloc(1, sizeof *l);
	if (l == NULL)
		return cg_probe_fault(p, -ENOMEM, "%s", strerror(ENOMEM));
	cg_probe_listen();
	r = load(l, p);
	cg_probe_listen_end(p);
	if (r < 0)
		return r;
	(void)cg_probe_fault(p, 0, "loaded");
	*ret = STEAL(l);
	return 0;
}

void cg_life_close(struct cg_life *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_link__destroy(l->links[i]);
	ring_buffer__free(l->ring);
	cg_probe_unshare((void *)l->lost, sizeof *l->lost);
	bpf_object__close(l->object);
	free(l);
}

int cg_life_fd(const struct cg_life *l)
{
	return ring_buffer__epoll_fd(l->ring);
}

int cg_life_drain(struct cg_life *l, cg_life_fn hear, void *ctx)
{
	uint64_t lost;
	int r;

	l->hear = hear;
	l->ctx = ctx;
	r = ring_buffer__consume(l->ring);
	if (r < 0)
		return r;
	lost = __atomic_load_n(l->lost, __ATOMIC_RELAXED);
	if (lost != l->lost_told) {
		struct cg_life_event e = {.what = CG_LIFE_LOST, .lost = lost - l->lost_told};

		l->lost_told = lost;
		hear(ctx, &e);
		r++;
	}
	return r;
}
