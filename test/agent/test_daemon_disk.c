// SPDX-License-Identifier: Apache-2.0
/* A state folder on a disk that stalls: the temporary file of the originals is a FIFO without a
 * reader, so that a save blocks in open(2) until the test opens it. */
#include "agent/loop/loop.h"
#include "daemon_rig.h"
#include "test/check.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STALLED        ".baseline.new"
#define MANY_TRIES     10
#define BROKEN         ".baseline.new"
#define TEST_SECONDS   60
#define SAVE_WAIT_MSEC 5000

static void stall(struct rig *r)
{
	CHECK_EQ(mkfifoat(r->daemon->records.dir, STALLED, 0600), 0);
}

/* The save under way fails, as on a disk that reports an error after its stall. */
static void go_on(struct rig *r)
{
	struct pollfd p = {.fd = r->daemon->records.saver.event_fd, .events = POLLIN};
	int fd = openat(r->daemon->records.dir, STALLED, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(poll(&p, 1, SAVE_WAIT_MSEC), 1);
	close(fd);
}

/* The save under way has ended. */
static void wait_saved(struct rig *r)
{
	struct pollfd p = {.fd = r->daemon->records.saver.event_fd, .events = POLLIN};

	CHECK_EQ(poll(&p, 1, SAVE_WAIT_MSEC), 1);
}

/* The same, and takes its result in place of the loop. */
static bool take_saved(struct rig *r)
{
	uint64_t ended;

	wait_saved(r);
	CHECK_EQ(read(r->daemon->records.saver.event_fd, &ended, sizeof ended), sizeof ended);
	return persist_saved(&r->daemon->records);
}

static void start(struct rig *r)
{
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 2, NULL);
	CHECK_EQ(folders_save_beside(&r->loop->daemon), 0);
}

static void burn_both(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
	rig_burn(r, &r->unit[1], 800);
}

/* A unit whose record is on disk is sized; a new unit waits until its record is saved. */
static void test_stall(void)
{
	struct rig r;
	struct rig_unit *known, *new;

	rig_open(&r, "units:\n  - match: a.service\n  - match: b.service\n");
	known = rig_add(&r, "a.service", 200, 64 * MIB);
	new = rig_add(&r, "b.service", 200, 64 * MIB);
	rig_unit_stop(&r, new);
	start(&r);
	stall(&r);
	rig_unit_start(&r, new);
	rig_run(&r, 20, burn_both);
	CHECK(rig_cpu_milli(&r, known) >= 800);
	CHECK_EQ(rig_cpu_milli(&r, new), 200);
	CHECK_EQ(r.events[EVENT_BASELINE_UNSAVED], 0);
	go_on(&r);
	rig_run(&r, 1, burn_both);
	CHECK_EQ(r.events[EVENT_BASELINE_UNSAVED], 1);
	wait_saved(&r);
	rig_run(&r, 10, burn_both);
	CHECK(rig_cpu_milli(&r, new) >= 800);
	rig_close(&r);
}

/* More than 30 s: the waiting units are reported. */
static void test_long_stall(void)
{
	struct rig r;

	rig_open(&r, "units:\n  - match: a.service\n  - match: b.service\n");
	rig_add(&r, "a.service", 200, 64 * MIB);
	rig_unit_stop(&r, rig_add(&r, "b.service", 200, 64 * MIB));
	start(&r);
	stall(&r);
	rig_unit_start(&r, &r.unit[1]);
	rig_run(&r, 60, NULL);
	CHECK_EQ(r.events[EVENT_BASELINE_UNSAVED], 1);
	CHECK_STR(r.daemon->records.result, "baseline: Connection timed out");
	go_on(&r);
	rig_close(&r);
}

/* Every save fails at once: one try a second, not one after another. */
static void test_broken(void)
{
	struct rig r;

	rig_open(&r, "units:\n  - match: a.service\n  - match: b.service\n");
	rig_add(&r, "a.service", 200, 64 * MIB);
	rig_unit_stop(&r, rig_add(&r, "b.service", 200, 64 * MIB));
	start(&r);
	CHECK_EQ(mkdirat(r.daemon->records.dir, BROKEN, 0700), 0);
	rig_unit_start(&r, &r.unit[1]);
	for (unsigned i = 0; i < 20; i++) {
		unsigned tries = 0;

		rig_run(&r, 1, NULL);
		/* A try that follows its failure at once is followed by the next one. */
		while (tries < MANY_TRIES &&
		       poll(&(struct pollfd){.fd = r.daemon->records.saver.event_fd,
					     .events = POLLIN},
			    1, 20) == 1 &&
		       sd_event_run(r.daemon->wake.event, 0) > 0)
			tries++;
		CHECK(tries < MANY_TRIES);
	}
	CHECK_EQ(r.events[EVENT_BASELINE_UNSAVED], 1);
	CHECK_EQ(unlinkat(r.daemon->records.dir, BROKEN, AT_REMOVEDIR), 0);
	rig_close(&r);
}

/* The folder is replaced before a save to the old one is taken: that one does not count. */
static void test_replaced_folder(void)
{
	struct rig r;
	struct records *records;
	char path[160];

	rig_open(&r, "units:\n  - match: a.service\n  - match: b.service\n");
	rig_add(&r, "a.service", 200, 64 * MIB);
	rig_unit_stop(&r, rig_add(&r, "b.service", 200, 64 * MIB));
	start(&r);
	records = &r.daemon->records;
	stall(&r);
	rig_unit_start(&r, &r.unit[1]);
	rig_run(&r, 20, NULL);
	go_on(&r);
	CHECK(!take_saved(&r));
	persist_baselines(records);
	wait_saved(&r);
	snprintf(path, sizeof path, "%s/other", r.folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	persist_use_folder(records, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CHECK(!take_saved(&r));
	persist_baselines(records);
	CHECK(take_saved(&r));
	rig_run(&r, 10, burn_both);
	CHECK(rig_cpu_milli(&r, &r.unit[1]) >= 800);
	CHECK_EQ(faccessat(records->dir, "baseline", F_OK, 0), 0);
	rig_close(&r);
}

/* Another process has the lock: nothing more is written. */
static void test_abandoned(void)
{
	struct rig r;

	rig_open(&r, "units:\n  - match: a.service\n");
	rig_add(&r, "a.service", 200, 64 * MIB);
	start(&r);
	CHECK_EQ(unlinkat(r.daemon->records.dir, "baseline", 0), 0);
	persist_abandon(&r.daemon->records);
	persist_changed(&r.daemon->records);
	rig_run(&r, 20, NULL);
	persist_end(&r.daemon->records);
	CHECK(faccessat(r.daemon->records.dir, "baseline", F_OK, 0) < 0);
	rig_close(&r);
}

static struct managed *first(const struct rig *r)
{
	return r->daemon->units.items[0];
}

/* After a kill, the next run knows what was sent while the disk stalled. */
static void test_killed_in_a_stall(void)
{
	static const uint64_t sent[RESOURCE_COUNT] = {900, 100 * MIB};
	static const uint64_t newer[RESOURCE_COUNT] = {1000, 120 * MIB};
	static const uint64_t over[RESOURCE_COUNT] = {200, 64 * MIB};
	const struct baseline *record;
	struct rig r;

	rig_open(&r, "units:\n  - match: a.service\n");
	rig_add(&r, "a.service", 200, 64 * MIB);
	start(&r);
	stall(&r);
	for (enum resource which = 0; which < RESOURCE_COUNT; which++) {
		persist_sent(first(&r), which, sent[which], over[which]);
		persist_sent(first(&r), which, newer[which], over[which]);
	}
	persist_baselines(&r.daemon->records);
	go_on(&r);
	/* Without the save of an ordered end. */
	loop_free(r.loop);
	r.loop = NULL;
	rig_pid1_stop(&r);
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 2, NULL);
	record = first(&r)->record;
	CHECK(record != NULL && record->sent[RESOURCE_MEMORY] == newer[RESOURCE_MEMORY]);
	CHECK(record != NULL && record->sent_over[RESOURCE_MEMORY] == over[RESOURCE_MEMORY]);
	CHECK(record != NULL && record->sent[RESOURCE_CPU] == newer[RESOURCE_CPU]);
	CHECK(record != NULL && record->sent_before[RESOURCE_MEMORY] == sent[RESOURCE_MEMORY]);
	rig_close(&r);
}

int main(void)
{
	/* A loop that waits for the disk ends here. */
	alarm(TEST_SECONDS);
	test_stall();
	test_killed_in_a_stall();
	test_long_stall();
	test_broken();
	test_replaced_folder();
	test_abandoned();
	return check_result();
}
