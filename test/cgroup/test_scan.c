// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF reader on the running kernel: what it reads of own cgroups is what their files say. What
 * this host does not offer (controllers) is covered by the lab, on several kernels.
 */
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/scan_record.h"
#include "test/cgroup/live.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define ALL   ((USAGE_MEM_LIMIT << 1) - 1)
#define SLOTS 16
/* The kernel aggregates pressure every 2 s; a busy machine comes late. */
#define AGGREGATION_USEC (3 * USEC_PER_SEC)

static struct live live;
static struct cg_scan *scan;

static struct cg *open_cg(const char *name)
{
	struct cg *c = NULL;

	CHECK_EQ(cg_open(live.root, live_path(&live, name), &c), 0);
	return c;
}

/* One pass between two reads of the files: 1 where both agree in every part. */
static int look(struct cg *c, uint32_t slot, struct usage *ret)
{
	struct usage before, after;

	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_read(c, ALL, &before), 0);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, ret), 0);
	CHECK_EQ(cg_read(c, ALL, &after), 0);
	CHECK_EQ(ret->have, after.have);
	return scan_parts_of(scan_differing_fields(&before, ret, &after)) == 0;
}

static void test_idle(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	uint32_t slot;

	live_make(&live, "idle");
	c = open_cg("idle");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, &u), -ENODEV); /* no pass yet */
	CHECK_EQ(look(c, slot, &u), 1);
	CHECK_EQ(u.cpu_usage_usec, 0);
	CHECK(u.limits.mem_max == LIMIT_MAX && u.limits.cpu_quota_usec == LIMIT_MAX);
	CHECK_EQ(cg_scan_get(scan, slot, USAGE_CPU, &u), 0);
	CHECK_EQ(u.have, USAGE_CPU);
	/* only what the pass was for is there */
	CHECK_EQ(cg_scan_pass(scan, USAGE_PSI_CPU), 0);
	CHECK_EQ(cg_scan_get(scan, slot, USAGE_MEM | USAGE_CPU_LIMIT, &u), 0);
	CHECK_EQ(u.have, 0);
	cg_scan_remove(scan, slot);
}

static void test_limits(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	uint32_t slot;

	live_make(&live, "limits");
	c = open_cg("limits");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	if (live.host.enabled & CG_CPU) {
		live_put(&live, "limits", "cpu.max", "123456 500000");
		live_put(&live, "limits", "cpu.max.burst", "7890");
		CHECK_EQ(look(c, slot, &u), 1);
		CHECK(u.limits.cpu_quota_usec == 123456 && u.limits.cpu_period_usec == 500000);
		CHECK_EQ(u.limits.cpu_burst_usec, 7890);
	}
	if (live.host.enabled & CG_MEMORY) {
		live_put(&live, "limits", "memory.max", "123456789");
		live_put(&live, "limits", "memory.high", "98765432");
		CHECK_EQ(look(c, slot, &u), 1);
		CHECK_EQ(u.limits.mem_max, 123456789 / 4096 * 4096);
		CHECK_EQ(u.limits.mem_high, 98765432 / 4096 * 4096);
	}
	cg_scan_remove(scan, slot);
}

/* Five seconds without a read of the pressure files. */
static void test_pressure_age(struct cg *c, uint32_t slot)
{
	struct usage u, after;
	uint64_t lag;

	usleep(5 * USEC_PER_SEC);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, &u), 0);
	CHECK_EQ(cg_read(c, ALL, &after), 0);
	CHECK(after.psi_cpu_usec > USEC_PER_SEC);
	CHECK(u.psi_cpu_usec <= after.psi_cpu_usec);
	lag = after.psi_cpu_usec - u.psi_cpu_usec;
	fprintf(stderr, "cpu pressure: %llu us behind its file\n", (unsigned long long)lag);
	CHECK(lag <= AGGREGATION_USEC);
}

/* Counters only rise, so that every pass must agree; values that vary must agree at times. */
static void test_load(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u = {0};
	uint64_t anon = 0, file = 0;
	uint32_t slot;
	int agreed = 0;

	live_make(&live, "load");
	c = open_cg("load");
	if (live.host.enabled & CG_CPU)
		live_put(&live, "load", "cpu.max", "20000 100000");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	live_start(&live, "load", LIVE_BURN);
	live_start(&live, "load", LIVE_BURN);
	live_start(&live, "load", LIVE_BURN);
	live_start(&live, "load", LIVE_MEMORY);
	live_start(&live, "load", LIVE_FILES);
	for (int i = 0; i < 100; i++) {
		agreed += look(c, slot, &u);
		anon = MAX(anon, u.stat.anon);
		file = MAX(file, u.stat.file);
		usleep(5000);
	}
	fprintf(stderr, "under load %d of 100 looks agree in every part\n", agreed);
	CHECK(agreed > 0);
	CHECK(u.cpu_usage_usec > 0);
	if (live.host.psi)
		test_pressure_age(c, slot);
	CHECK_EQ(look(c, slot, &u) | look(c, slot, &u) | look(c, slot, &u) | look(c, slot, &u), 1);
	if (live.host.enabled & CG_CPU)
		CHECK(u.nr_throttled > 5 && u.throttled_usec > 0 && u.nr_periods > 10);
	if (live.host.enabled & CG_MEMORY)
		CHECK(u.mem_peak >= MIB && file > 0 && anon > 0);
	cg_scan_remove(scan, slot);
	live_remove(&live, "load");
}

struct reported {
	uint32_t slot, count;
	usec_t period_end;
};

static void note_throttle(void *ctx, uint32_t slot, usec_t period_end)
{
	struct reported *r = ctx;

	r->slot = slot;
	r->period_end = period_end;
	r->count++;
}

/* How many reports come within this time. */
static struct reported throttles_within(int ms)
{
	struct pollfd p = {.fd = cg_scan_throttles_fd(scan), .events = POLLIN};
	struct reported r = {0};

	if (poll(&p, 1, ms) == 1)
		cg_scan_take_throttles(scan, note_throttle, &r);
	return r;
}

/* A throttle is reported within its period: once each time that it is asked for, of added cgroups.
 */
static void test_throttles(void)
{
	OWN(drop_cg) struct cg *c = NULL, *other = NULL;
	struct reported r;
	struct timespec t;
	struct usage u;
	usec_t now;
	uint32_t slot, quiet;

	live_make(&live, "hot");
	live_make(&live, "quiet");
	live_put(&live, "hot", "cpu.max", "10000 1000000");
	live_put(&live, "quiet", "cpu.max", "10000 1000000");
	c = open_cg("hot");
	other = open_cg("quiet");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	CHECK_EQ(cg_scan_add(scan, cg_id(other), &quiet), 0);
	live_start(&live, "hot", LIVE_BURN);
	live_start(&live, "hot", LIVE_BURN);
	CHECK_EQ(throttles_within(1500).count, 0); /* not asked for */
	cg_scan_arm(scan, slot);
	cg_scan_arm(scan, quiet);
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
	r = throttles_within(1500);
	CHECK_EQ(r.count, 1);
	CHECK_EQ(r.slot, slot);
	CHECK(r.period_end > now && r.period_end <= now + 2500 * USEC_PER_MSEC);
	CHECK_EQ(throttles_within(1500).count, 0); /* asked for once */
	CHECK_EQ(cg_read(c, USAGE_THROTTLE, &u), 0);
	CHECK(u.nr_throttled > 2);
	/* A raise lets it run on in the same period, to be throttled once more. */
	cg_scan_arm(scan, slot);
	CHECK_EQ(throttles_within(1500).count, 1);
	cg_scan_arm(scan, slot);
	live_put(&live, "hot", "cpu.max", "20000 1000000");
	CHECK_EQ(throttles_within(300).count, 1);
	/* One that is removed is not reported any more. */
	cg_scan_arm(scan, slot);
	cg_scan_remove(scan, slot);
	CHECK_EQ(throttles_within(1500).count, 0);
	cg_scan_remove(scan, quiet);
	live_remove(&live, "hot");
	live_remove(&live, "quiet");
}

/* memory.events and the peak of a group that runs into its limit. */
static void test_events(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u = {0};
	uint32_t slot;

	live_make(&live, "events");
	c = open_cg("events");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	live_put(&live, "events", "memory.high", "6291456");
	live_put(&live, "events", "memory.max", "8388608");
	live_start(&live, "events", LIVE_MEMORY);
	for (int i = 0; i < 400 && u.events.oom_kill == 0; i++) {
		usleep(50000);
		/* without a brake it soon runs into the wall */
		if (i == 20)
			live_put(&live, "events", "memory.high", "max");
		CHECK_EQ(cg_scan_pass(scan, USAGE_MEM_EVENTS), 0);
		CHECK_EQ(cg_scan_get(scan, slot, USAGE_MEM_EVENTS, &u), 0);
	}
	CHECK(u.events.high > 0 && u.events.max > 0 && u.events.oom_kill == 1);
	CHECK_EQ(look(c, slot, &u), 1);
	CHECK(u.mem_peak <= 8 * MIB && u.mem_peak >= 6 * MIB);
	cg_scan_remove(scan, slot);
}

static void test_gone(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u = {.have = 77};
	uint32_t slot;

	live_make(&live, "gone");
	c = open_cg("gone");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	live_remove(&live, "gone");
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, &u), -ENODEV);
	/* another one of the same name is another one */
	live_make(&live, "gone");
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, &u), -ENODEV);
	CHECK_EQ(u.have, 77);
	cg_scan_remove(scan, slot);
}

static void test_slots(void)
{
	OWN(drop_cg) struct cg *c = open_cg("idle");
	OWN(drop_cg) struct cg *other = open_cg("limits");
	uint32_t slots[SLOTS], more;
	struct usage u;

	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slots[0]), 0);
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &more), -EEXIST);
	CHECK_EQ(cg_scan_add(scan, 0, &more), -EINVAL);
	for (uint32_t i = 1; i < SLOTS; i++)
		CHECK_EQ(cg_scan_add(scan, UINT64_MAX - i, &slots[i]), 0);
	CHECK_EQ(cg_scan_add(scan, cg_id(other), &more), -ENOSPC);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slots[0], ALL, &u), 0);
	CHECK_EQ(cg_scan_get(scan, slots[1], ALL, &u), -ENODEV);
	CHECK_EQ(cg_scan_get(scan, SLOTS, ALL, &u), -ENODEV);
	/* what the pass read of the former owner is not the new one's */
	cg_scan_remove(scan, slots[0]);
	cg_scan_remove(scan, slots[0]);
	CHECK_EQ(cg_scan_get(scan, slots[0], ALL, &u), -ENODEV);
	CHECK_EQ(cg_scan_add(scan, cg_id(other), &more), 0);
	CHECK_EQ(more, slots[0]);
	CHECK_EQ(cg_scan_get(scan, more, ALL, &u), -ENODEV);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, more, ALL, &u), 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		cg_scan_remove(scan, slots[i]);
}

static void test_pressure_off(void)
{
	OWN(drop_cg) struct cg *c = open_cg("idle");
	struct usage u;
	uint32_t slot;

	if (!live_try(&live, "idle", "cgroup.pressure", "0"))
		return;
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slot), 0);
	CHECK_EQ(look(c, slot, &u), 1);
	CHECK_EQ(u.have & CG_SCAN_STALE, 0);
	live_put(&live, "idle", "cgroup.pressure", "1");
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slot, ALL, &u), 0);
	CHECK_EQ(u.have & CG_SCAN_STALE, CG_SCAN_STALE);
	cg_scan_remove(scan, slot);
}

/* One call for both readers: whatever the pass lacks comes from the files. */
static void test_both(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u, text;
	struct cg_scan_slots slots = {0};

	live_make(&live, "both");
	live_start(&live, "both", LIVE_BURN);
	live_start(&live, "both", LIVE_BURN);
	live_start(&live, "both", LIVE_BURN);
	c = open_cg("both");
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slots.own), 0);
	CHECK_EQ(cg_scan_read(scan, slots, c, ALL, 0, &u), 0); /* not passed by yet */
	CHECK_EQ(cg_read(c, ALL, &text), 0);
	CHECK_EQ(u.have, text.have);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	usleep(200000);
	CHECK_EQ(cg_scan_read(scan, slots, c, ALL, 0, &u), 0);
	CHECK_EQ(cg_read(c, ALL, &text), 0);
	CHECK(u.have == text.have && u.cpu_usage_usec <= text.cpu_usage_usec);
	/* what the pass was not for */
	CHECK_EQ(cg_scan_pass(scan, USAGE_CPU), 0);
	CHECK_EQ(cg_scan_read(scan, slots, c, ALL, 0, &u), 0);
	CHECK_EQ(u.have, text.have);
	/* CPU time of the pass, pressure of now */
	if (live.host.psi) {
		uint64_t usage = u.cpu_usage_usec;

		CHECK_EQ(cg_scan_read(scan, slots, c, ALL, CG_SCAN_STALE, &u), 0);
		CHECK(u.have == text.have && u.cpu_usage_usec == usage);
		CHECK(u.psi_cpu_usec >= text.psi_cpu_usec);
		CHECK_EQ(cg_scan_read(NULL, slots, c, ALL, 0, &u), 0);
		CHECK(u.have == text.have && u.cpu_usage_usec >= usage);
	}
	live_remove(&live, "both");
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_read(scan, slots, c, ALL, 0, &u), -ENODEV);
	cg_scan_remove(scan, slots.own);
}

/* Every part is proven on a cgroup in use; a withdrawn one is not read from then on. */
static void test_prove(struct cg_probe *p)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	struct cg_scan_slots slots = {0};

	live_make(&live, "prove");
	live_start(&live, "prove", LIVE_FILES);
	live_start(&live, "prove", LIVE_MEMORY);
	c = open_cg("prove");
	usleep(200000);
	CHECK_EQ(cg_scan_prove(scan, c, p), 0);
	CHECK_EQ(cg_scan_offers(scan), ALL);
	fprintf(stderr, "%s: %s\n", p->program, p->why);
	CHECK_EQ(cg_scan_add(scan, cg_id(c), &slots.own), 0);
	cg_scan_withdraw(scan, USAGE_CPU);
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	CHECK_EQ(cg_scan_get(scan, slots.own, ALL, &u), 0);
	CHECK_EQ(u.have & USAGE_CPU, 0);
	CHECK_EQ(cg_scan_read(scan, slots, c, ALL, 0, &u), 0);
	CHECK_EQ(u.have & USAGE_CPU, USAGE_CPU);
	live_remove(&live, "prove");
	CHECK_EQ(cg_scan_pass(scan, ALL), 0);
	cg_scan_remove(scan, slots.own);
	CHECK_EQ(cg_scan_prove(scan, c, p), -ENODEV);
}

/* A reader whose root is removed returns an error, and a folder that is no cgroup is refused. */
static void test_root(void)
{
	OWN(drop_cg_scan) struct cg_scan *s = NULL;
	struct cg_probe p;
	int fd;

	live_make(&live, "root");
	fd = openat(live.root, live_path(&live, "root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(cg_scan_open(fd, 1, false, &s, &p), 0);
	close(fd);
	CHECK_EQ(cg_scan_pass(s, ALL), 0);
	live_remove(&live, "root");
	CHECK_EQ(cg_scan_pass(s, ALL), -ENODEV);
	cg_scan_close(STEAL(s));
	fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(cg_scan_open(fd, 1, false, &s, &p) < 0);
	CHECK(s == NULL && p.error < 0 && strstr(p.why, "not attached") != NULL);
	close(fd);
	CHECK_EQ(cg_scan_open(live.root, 0, false, &s, &p), -EINVAL);
	CHECK_EQ(cg_scan_open(live.root, CG_SCAN_SLOTS_MAX + 1, false, &s, &p), -EINVAL);
	CHECK(s == NULL);
}

static void run_tests(struct cg_probe *p)
{
	test_idle();
	test_limits();
	test_load();
	if (live.host.enabled & CG_MEMORY)
		test_events();
	if ((live.host.enabled & CG_CPU) && cg_scan_throttles_fd(scan) >= 0)
		test_throttles();
	test_gone();
	test_slots();
	if (live.host.psi)
		test_pressure_off();
	test_root();
	test_both();
	test_prove(p);
}

int main(void)
{
	const char *why = live_open(&live);
	struct cg_probe p;
	int fds;

	if (why != NULL)
		return check_skip(why);
	fds = fake_open_fds();
	if (cg_scan_open(live.root, SLOTS, true, &scan, &p) < 0) {
		live_close(&live);
		CHECK(scan == NULL && p.error < 0);
		return live_not_loaded(&p);
	}
	run_tests(&p);
	cg_scan_close(scan);
	cg_scan_close(NULL);
	CHECK_EQ(fake_open_fds(), fds);
	live_close(&live);
	return check_result();
}
