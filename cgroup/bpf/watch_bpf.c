// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/watch_bpf.h"
#include "cgroup/bpf/kernel/life.h"
#include "cgroup/bpf/load_child.h"
#include "life.skel.h"
#include "policy/base/base.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *const programs[] = {"made", "removed"};

struct cg_life {
	/* What holds the programs and the ring in the kernel; libbpf's books of them go. */
	int link_fd[ARRAY_SIZE(programs)];
	int ring_fd;
	struct ring_buffer *ring;
	const uint64_t *lost; /* counted by the programs */
	uint64_t lost_reported;
	cg_life_fn hear; /* of the drain that is running */
	void *ctx;
};

/* A malformed record is a bug of vscaled; it counts as a lost event. */
static int watch_bpf_take(void *ctx, void *bytes, size_t len)
{
	struct cg_life *l = ctx;
	struct cg_life_event e;

	if (cg_life_decode(bytes, len, &e) < 0)
		e = (struct cg_life_event){.what = CG_LIFE_LOST, .lost = 1};
	l->hear(l->ctx, &e);
	return 0;
}

/* The descriptors that loading returns: the links first. */
enum { LOADED_LOST = ARRAY_SIZE(programs), LOADED_RING };

static int watch_bpf_attach(struct bpf_object *object, struct cg_load_result *ret,
			    struct cg_probe *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(object, programs[i]);
		struct bpf_link *link;
		int r;

		if (program == NULL)
			return cg_probe_fault(p, -ENOENT, "no program %s", programs[i]);
		link = bpf_program__attach(program);
		if (link == NULL)
			return cg_probe_fault(p, -errno, "%s: not attached: %s", programs[i],
					      strerror(errno));
		r = cg_load_keep(ret, bpf_link__fd(link), p);
		bpf_link__destroy(link);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_object(struct bpf_object **ret, struct cg_load_result *made, struct cg_probe *p)
{
	size_t bytes = 0;
	const void *elf = life__elf_bytes(&bytes);
	int r = cg_probe_take(elf, bytes, ret, p);

	if (r < 0)
		return r;
	r = bpf_object__load(*ret);
	if (r < 0)
		return cg_probe_fault(p, r, "not loaded: %s", strerror(-r));
	r = watch_bpf_attach(*ret, made, p);
	if (r == 0)
		r = cg_load_keep(made, bpf_object__find_map_fd_by_name(*ret, ".bss"), p);
	if (r == 0)
		r = cg_load_keep(made, bpf_object__find_map_fd_by_name(*ret, "ring"), p);
	return r;
}

/* In a process of its own. */
static int watch_bpf_load(void *, struct cg_load_result *ret, struct cg_probe *p)
{
	struct bpf_object *object = NULL;
	int r;

	cg_probe_listen();
	r = load_object(&object, ret, p);
	cg_probe_listen_end(p);
	bpf_object__close(object);
	return r == 0 ? cg_probe_fault(p, 0, "loaded") : r;
}

/* Where what was loaded is used. */
static int use(struct cg_life *l, struct cg_load_result *loaded, struct cg_probe *p)
{
	int r = cg_probe_share(cg_load_fd(loaded, LOADED_LOST), sizeof *l->lost, (void **)&l->lost,
			       p);

	for (uint32_t i = 0; i < ARRAY_SIZE(programs); i++)
		l->link_fd[i] = cg_load_take(loaded, i);
	l->ring_fd = cg_load_take(loaded, LOADED_RING);
	if (r < 0)
		return r;
	l->ring = ring_buffer__new(l->ring_fd, watch_bpf_take, l, NULL);
	return l->ring == NULL ? cg_probe_fault(p, -errno, "the ring: %s", strerror(errno)) : 0;
}

static struct cg_life *life_new(void)
{
	struct cg_life *l = calloc(1, sizeof *l);

	for (size_t i = 0; l != NULL && i < ARRAY_SIZE(programs); i++)
		l->link_fd[i] = -1;
	if (l != NULL)
		l->ring_fd = -1;
	return l;
}

int cg_life_open(struct cg_life **ret, struct cg_probe *p)
{
	OWN(drop_cg_life) struct cg_life *l = NULL;
	struct cg_load_result loaded = {0};
	int r;

	*p = (struct cg_probe){.program = "life"};
	r = cg_probe_host(p);
	if (r < 0)
		return r;
	l = life_new();
	if (l == NULL)
		return cg_probe_fault(p, -ENOMEM, "%s", strerror(ENOMEM));
	r = cg_load_in_child(watch_bpf_load, NULL, &loaded, p);
	if (r == 0)
		r = use(l, &loaded, p);
	cg_load_drop(&loaded);
	if (r < 0)
		return r;
	*ret = STEAL(l);
	return 0;
}

void cg_life_close(struct cg_life *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (l->link_fd[i] >= 0)
			close(l->link_fd[i]);
	ring_buffer__free(l->ring);
	if (l->ring_fd >= 0)
		close(l->ring_fd);
	cg_probe_unshare((void *)l->lost, sizeof *l->lost);
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
	if (lost != l->lost_reported) {
		struct cg_life_event e = {.what = CG_LIFE_LOST, .lost = lost - l->lost_reported};

		l->lost_reported = lost;
		hear(ctx, &e);
		r++;
	}
	return r;
}
