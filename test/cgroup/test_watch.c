// SPDX-License-Identifier: Apache-2.0
/* The inotify watch on a fake tree: writes of files, and children that are made and removed. */
#include "cgroup/watch.h"
#include "cgroup/writer.h"
#include "test/cgroup/tree.h"
#include "test/check.h"
#include <errno.h>
#include <poll.h>

#define WEB 7
#define TOP 8

static struct fake f;

/* The calls of one drain as text, one word each. */
struct received {
	char text[4096];
	struct cg_watch *forget; /* end the watch on its first event */
};

static void hear(void *ctx, const struct cg_watch_event *e)
{
	static const char *const what[] = {"wrote", "new", "gone", "removed", "overflow"};
	struct received *h = ctx;
	size_t len = strlen(h->text);

	CHECK(e->what == CG_WATCH_LIMIT || e->knob == KNOB_COUNT);
	snprintf(h->text + len, sizeof h->text - len, "%s:%d:%s ", what[e->what], (int)e->cookie,
		 e->name                     ? e->name
		 : e->what == CG_WATCH_LIMIT ? knobs[e->knob].file
					     : "");
	if (h->forget != NULL)
		cg_watch_forget(h->forget, e->cookie);
}

static const char *drain(struct cg_watch *w)
{
	static struct received h;

	h = (struct received){0};
	CHECK(cg_watch_drain(w, hear, &h) >= 0);
	return h.text;
}

TEST(limits)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct change ch = {.knob = KNOB_MEM_MAX, .to = 256 * MIB};
	struct pollfd p;

	CHECK_EQ(cg_watch_new(&w), 0);
	p = (struct pollfd){.fd = cg_watch_fd(w), .events = POLLIN};
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_watch_limits(w, c, WEB), 3);
	CHECK_EQ(cg_watch_count(w), 3);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_STR(drain(w), "");

	fake_put(&f, TREE_UNIT "/cpu.max", "max 100000\n");
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_STR(drain(w), "wrote:7:cpu.max ");
	CHECK_EQ(poll(&p, 1, 0), 0);
	/* our own writes are received too */
	CHECK_EQ(cg_write(c, &ch), APPLY_DONE);
	CHECK_STR(drain(w), "wrote:7:memory.max ");
	fake_put(&f, TREE_UNIT "/memory.high", "4096\n");
	fake_put(&f, TREE_UNIT "/memory.max", "8192\n");
	CHECK_STR(drain(w), "wrote:7:memory.high wrote:7:memory.max ");
	fake_put(&f, TREE_UNIT "/cpu.max.burst", "0\n");
	CHECK_STR(drain(w), "");

	cg_watch_forget(w, WEB + 1);
	CHECK_EQ(cg_watch_count(w), 3);
	cg_watch_forget(w, WEB);
	CHECK_EQ(cg_watch_count(w), 0);
	fake_put(&f, TREE_UNIT "/cpu.max", "max 100000\n");
	CHECK_STR(drain(w), "");
}

/* Watched again: the cookie is replaced, and files that came since are picked up. */
TEST(again)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;

	fake_put(&f, "a.slice/memory.max", "max\n");
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(f.fd, "a.slice", &c), 0);
	CHECK_EQ(cg_watch_limits(w, c, 1), 1);
	fake_put(&f, "a.slice/cpu.max", "max 100000\n");
	fake_put(&f, "a.slice/memory.max", "1\n");
	CHECK_STR(drain(w), "wrote:1:memory.max ");
	CHECK_EQ(cg_watch_limits(w, c, 2), 2);
	CHECK_EQ(cg_watch_count(w), 2);
	fake_put(&f, "a.slice/memory.max", "2\n");
	fake_put(&f, "a.slice/cpu.max", "1000 1000\n");
	CHECK_STR(drain(w), "wrote:2:memory.max wrote:2:cpu.max ");
	fake_remove(&f, "a.slice");
}

TEST(children)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;

	fake_put(&f, "b.slice", NULL);
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(f.fd, "b.slice", &c), 0);
	CHECK_EQ(cg_watch_children(w, c, TOP), 0);
	fake_put(&f, "b.slice/x.scope", NULL);
	CHECK_STR(drain(w), "new:8:x.scope ");
	fake_put(&f, "b.slice/file", "no folder\n");
	fake_put(&f, "b.slice/x.scope/y", NULL);
	CHECK_STR(drain(w), "");
	fake_remove(&f, "b.slice/x.scope");
	CHECK_STR(drain(w), "gone:8:x.scope ");
	fake_remove(&f, "b.slice");
	/* The folder is still open, so it is reported only when that ends. */
	cg_close(STEAL(c));
	CHECK_STR(drain(w), "removed:8: ");
	CHECK_EQ(cg_watch_count(w), 0);
}

/* A cgroup made again under the old name is not the one that is watched. */
TEST(recycled)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;

	fake_put(&f, "r.slice/cpu.max", "max 100000\n");
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(f.fd, "r.slice", &c), 0);
	CHECK_EQ(cg_watch_limits(w, c, 1), 1);
	fake_remove(&f, "r.slice");
	fake_put(&f, "r.slice/cpu.max", "max 100000\n");
	CHECK_STR(drain(w), "");
	CHECK_EQ(cg_watch_count(w), 0);
	/* gone: nothing to watch any more */
	CHECK_EQ(cg_watch_limits(w, c, 1), 0);
	fake_remove(&f, "r.slice");
}

/* The callback may end the watch whose later events wait in the same buffer. */
TEST(forget_inside)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct received h = {0};

	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_watch_limits(w, c, WEB), 3);
	fake_put(&f, TREE_UNIT "/cpu.max", "max 100000\n");
	fake_put(&f, TREE_UNIT "/memory.max", "1\n");
	fake_put(&f, TREE_UNIT "/memory.high", "1\n");
	h.forget = w;
	CHECK_EQ(cg_watch_drain(w, hear, &h), 1);
	CHECK_STR(h.text, "wrote:7:cpu.max ");
	CHECK_EQ(cg_watch_count(w), 0);
}

TEST(many)
{
	enum { COUNT = 100 };
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	char name[64], want[64];

	CHECK_EQ(cg_watch_new(&w), 0);
	for (int i = 0; i < COUNT; i++) {
		OWN(drop_cg) struct cg *c = NULL;

		snprintf(name, sizeof name, "many.slice/%d/cpu.max", i);
		fake_put(&f, name, "max 100000\n");
		snprintf(name, sizeof name, "many.slice/%d", i);
		CHECK_EQ(cg_open(f.fd, name, &c), 0);
		CHECK_EQ(cg_watch_limits(w, c, (uint64_t)i), 1);
		CHECK_EQ(cg_watch_children(w, c, (uint64_t)i), 0);
	}
	CHECK_EQ(cg_watch_count(w), 2 * COUNT);
	for (int i = 0; i < COUNT; i += 2)
		cg_watch_forget(w, (uint64_t)i);
	CHECK_EQ(cg_watch_count(w), COUNT);
	(void)drain(w);
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof name, "many.slice/%d/cpu.max", i);
		fake_put(&f, name, "1000 1000\n");
		snprintf(want, sizeof want, "wrote:%d:cpu.max ", i);
		CHECK_STR(drain(w), i % 2 ? want : "");
	}
	fake_remove(&f, "many.slice");
}

static void count_overflow(void *ctx, const struct cg_watch_event *e)
{
	*(int *)ctx += e->what == CG_WATCH_OVERFLOW;
}

/* More events than the kernel's queue holds: said so, exactly once, and everything goes on. */
TEST(overflow)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	int events = 0, overflows = 0, drains = 0, r;

	CHECK(limit != NULL && fscanf(limit, "%d", &events) == 1);
	if (limit != NULL)
		fclose(limit);
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_watch_limits(w, c, WEB), 3);
	/* equal neighbours are merged, so two files take turns */
	for (int i = 0; i < events / 2 + 10; i++) {
		fake_put(&f, TREE_UNIT "/memory.max", "1\n");
		fake_put(&f, TREE_UNIT "/memory.high", "1\n");
	}
	do {
		r = cg_watch_drain(w, count_overflow, &overflows);
		CHECK(r >= 0);
		drains++;
	} while (r > 0);
	CHECK_EQ(overflows, 1);
	/* a drain is bounded: the storm took several */
	CHECK(events < 8192 || drains > 2);
	fake_put(&f, TREE_UNIT "/memory.max", "1\n");
	CHECK_STR(drain(w), "wrote:7:memory.max ");
}

int main(void)
{
	int fds = fake_open_fds();

	fake_open(&f, tree_files, TREE_COUNT);
	check_run();
	cg_watch_free(NULL);
	fake_close(&f);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}
