// SPDX-License-Identifier: Apache-2.0
/* Cgroups made and removed, as the running kernel reports them. */
#include "cgroup/bpf/kernel/life.h"
#include "cgroup/bpf/watch_bpf.h"
#include "cgroup/reader.h"
#include "test/cgroup/live.h"
#include "test/check.h"
#include "test/fake.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_MAX 64

static struct live live;

/* Events of the own folder; other processes make cgroups, too. */
struct received {
	struct cg_life_event event[EVENTS_MAX];
	char path[EVENTS_MAX][LIFE_PATH_BYTES];
	uint32_t count;
	uint64_t all;
	uint64_t lost;
};

static void hear(void *ctx, const struct cg_life_event *e)
{
	struct received *h = ctx;

	h->all++;
	h->lost += e->lost;
	if (e->path == NULL || strncmp(e->path + 1, live.top, strlen(live.top)) != 0 ||
	    h->count == EVENTS_MAX)
		return;
	h->event[h->count] = *e;
	snprintf(h->path[h->count], sizeof h->path[0], "%s", e->path);
	h->count++;
}

static void test_one(struct cg_life *l)
{
	struct pollfd p = {.fd = cg_life_fd(l), .events = POLLIN};
	struct received h = {0};
	OWN(drop_cg) struct cg *c = NULL;
	char path[128];

	live_make(&live, "one");
	CHECK_EQ(poll(&p, 1, 2000), 1);
	CHECK(cg_life_drain(l, hear, &h) >= 1);
	CHECK_EQ(cg_open(live.root, live_path(&live, "one"), &c), 0);
	snprintf(path, sizeof path, "/%s", live_path(&live, "one"));
	CHECK_EQ(h.count, 1);
	CHECK_EQ(h.event[0].what, CG_LIFE_MADE);
	CHECK(h.event[0].id == cg_id(c));
	CHECK_STR(h.path[0], path);
	live_remove(&live, "one");
	CHECK(cg_life_drain(l, hear, &h) >= 1);
	CHECK_EQ(h.count, 2);
	CHECK_EQ(h.event[1].what, CG_LIFE_REMOVED);
	CHECK(h.event[1].id == cg_id(c));
	CHECK_STR(h.path[1], path);
	CHECK_EQ(h.lost, 0);
	CHECK(cg_life_drain(l, hear, &h) >= 0);
	CHECK_EQ(h.count, 2);
}

/* More events than the ring holds: those kept are reported, and the count of lost ones. */
static void test_overflow(struct cg_life *l)
{
	const uint64_t made = 2 * (LIFE_RING_BYTES / sizeof(struct life_record));
	struct received h = {0};

	for (uint64_t i = 0; i < made / 2; i++) {
		live_make(&live, "many");
		live_remove(&live, "many");
	}
	CHECK(cg_life_drain(l, hear, &h) > 0);
	CHECK(h.lost > 0 && h.all - 1 + h.lost >= made);
	/* reported once, and it goes on */
	h = (struct received){0};
	test_one(l);
	CHECK(cg_life_drain(l, hear, &h) >= 0);
	CHECK_EQ(h.lost, 0);
}

/* A path that does not fit is reported by its id alone. */
static void test_long_path(struct cg_life *l)
{
	struct received h = {0};
	char name[251], path[600], paths[3][600];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	snprintf(path, sizeof path, "%s", live.top);
	for (int i = 0; i < 2; i++) {
		size_t len = strlen(path);

		snprintf(path + len, sizeof path - len, "/%s", name);
		snprintf(paths[i], sizeof paths[i], "%s", path);
		CHECK_EQ(mkdirat(live.root, path, 0755), 0);
	}
	CHECK(cg_life_drain(l, hear, &h) >= 2);
	CHECK(h.count == 1 && h.all >= 2);
	for (int i = 1; i >= 0; i--)
		CHECK_EQ(unlinkat(live.root, paths[i], AT_REMOVEDIR), 0);
	CHECK(cg_life_drain(l, hear, &h) >= 2);
	CHECK(h.count == 2 && h.lost == 0);
}

int main(void)
{
	OWN(drop_cg_life) struct cg_life *l = NULL;
	const char *why = live_open(&live);
	struct cg_probe p;
	int fds;

	if (why != NULL)
		return check_skip(why);
	fds = fake_open_fds();
	if (cg_life_open(&l, &p) < 0) {
		live_close(&live);
		CHECK(l == NULL && p.error < 0 && p.why[0] != '\0');
		return check_skip(p.why);
	}
	test_one(l);
	test_long_path(l);
	test_overflow(l);
	cg_life_close(STEAL(l));
	CHECK_EQ(fake_open_fds(), fds);
	live_close(&live);
	return check_result();
}
