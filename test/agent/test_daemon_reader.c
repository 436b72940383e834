// SPDX-License-Identifier: Apache-2.0
/* The whole daemon by the BPF reader: it decides what it decides by text, and lives without. */
#include "agent/pod/pods.h"
#include "test/agent/rig_scan.h"
#include "test/check.h"
#include <errno.h>
#include <linux/capability.h>
#include <sys/stat.h>

static char *reported;
static size_t reported_size;
static FILE *telling;

/* All events but those about the reader. */
static void note(struct rig *r, const struct event_record *e, const char *message)
{
	if (e->kind != EVENT_READER_CHOSEN && e->kind != EVENT_READER_FAILED)
		fprintf(telling, "%llu %s\n", (unsigned long long)r->boot, message);
}

static void open_rig(struct rig *r, const char *reader, const char *body)
{
	rig_open(r, "");
	r->reader = reader;
	rig_write_config(r, body);
	rig_scan_reset(r);
	fake_put(&r->tree, "proof.slice/memory.current", "4096\n");
	fake_put(&r->tree, "proof.slice/memory.stat",
		 "anon 4096\nfile 4096\nkernel 0\nshmem 0\nunevictable 0\nslab_reclaimable 0\nsock "
		 "0\ninactive_anon 0\nactive_anon 0\n"
		 "inactive_file 0\nactive_file 0\nworkingset_refault_anon 0\n"
		 "workingset_refault_file 0\n");
}

/* --- the same decisions --- */

static unsigned step_number;

/* Throttling that comes and goes, growth, page cache, a kill, and a unit that stands still. */
static void step_mixed(struct rig *r)
{
	unsigned n = step_number++;

	rig_burn(r, &r->unit[0], n % 300 < 200 ? 800 : 50);
	if (n > 100 && n < 400)
		rig_grow(r, &r->unit[1], MIB);
	rig_burn(r, &r->unit[1], 60);
	r->unit[2].file_bytes = n % 64 * MIB;
	rig_burn(r, &r->unit[2], n % 7 * 10);
	if (n == 500)
		rig_grow(r, &r->unit[3], 300 * MIB);
	rig_burn(r, &r->unit[4], 20);
}

static char *decisions(const char *reader, unsigned *ret_kills)
{
	static struct rig r;
	char *text;

	step_number = 0;
	open_rig(&r, reader, rig_config("  - match: '*.service'\n    max-memory: 2Gi\n"));
	rig_add(&r, "throttled.service", 100, 64 * MIB)->anon_bytes = 10 * MIB;
	rig_add(&r, "growing.service", 200, 64 * MIB)->anon_bytes = 30 * MIB;
	rig_add(&r, "caching.service", 200, 64 * MIB)->anon_bytes = 10 * MIB;
	rig_add(&r, "killed.service", 200, 64 * MIB)->anon_bytes = 30 * MIB;
	rig_add(&r, "oversized.service", 2000, 512 * MIB)->anon_bytes = 10 * MIB;
	rig_add(&r, "idle.service", 1000, 64 * MIB)->anon_bytes = 10 * MIB;
	telling = open_memstream(&reported, &reported_size);
	CHECK_EQ(rig_start(&r), 0);
	r.reported = note;
	rig_reflex(&r, 900, step_mixed);
	rig_run(&r, 120, step_mixed);
	fclose(telling);
	text = reported;
	*ret_kills = r.kills;
	CHECK(r.events[EVENT_LIMIT_RAISED] > 5);
	CHECK(r.events[EVENT_LIMIT_LOWERED] > 0);
	rig_close(&r);
	return text;
}

static void test_same(void)
{
	unsigned kills[2];
	char *text = decisions("text", &kills[0]), *bpf;

	CHECK_EQ(rig_scan.opened, 0);
	bpf = decisions("bpf", &kills[1]);
	CHECK(rig_scan.reads > 1000);
	CHECK(rig_scan.stat_passes > 0 && rig_scan.stat_passes < rig_scan.passes);
	CHECK_EQ(kills[0], kills[1]);
	CHECK_STR(bpf, text);
	free(text);
	free(bpf);
}

/* --- what becomes of the choice --- */

static void start_one(struct rig *r, const char *reader)
{
	open_rig(r, reader, "units:\n  - match: a*.service\n");
	rig_add(r, "a.service", 100, 64 * MIB)->anon_bytes = MIB;
}

static void step_burn(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
}

/* No start fails for want of BPF; a limit is raised as ever. */
static void test_not_loaded(void)
{
	static const char *const readers[] = {"auto", "bpf"};

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		struct rig r;

		start_one(&r, readers[i]);
		rig_scan.open_error = -EPERM;
		CHECK_EQ(rig_start(&r), 0);
		CHECK_STR(reader_name(&r.daemon->reader), "text");
		CHECK_STR(r.daemon->reader.detail, "scan: not here");
		rig_reflex(&r, 30, step_burn);
		CHECK(rig_cpu_milli(&r, &r.unit[0]) > 100);
		CHECK_EQ(rig_scan.passes, 0);
		rig_close(&r);
	}
}

/* Nothing to compare memory.stat with: it is not believed. */
static void test_no_proof(void)
{
	struct rig r;

	start_one(&r, "bpf");
	fake_remove(&r.tree, "proof.slice");
	CHECK_EQ(rig_start(&r), 0);
	CHECK_STR(r.daemon->reader.detail,
		  "scan: loaded; memory.stat is read from its file: no cgroup here could be "
		  "compared");
	CHECK_EQ(cg_scan_offers(r.daemon->reader.scan) & USAGE_MEM_STAT, 0);
	r.unit[0].anon_bytes = 9 * MIB;
	rig_reflex(&r, 30, step_burn);
	CHECK_EQ(r.daemon->units.items[0]->control.last.stat.anon, 9 * MIB);
	rig_close(&r);
}

/* After three passes that fail the files are read, and an error is reported, once. */
static void test_fails_later(void)
{
	struct rig r;

	start_one(&r, "auto");
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 30, NULL);
	CHECK_STR(reader_name(&r.daemon->reader), "bpf");
	CHECK_STR(r.daemon->reader.detail, "scan: loaded");
	rig_scan.pass_error = -EIO;
	rig_reflex(&r, 2, step_burn);
	CHECK_STR(reader_name(&r.daemon->reader), "bpf");
	CHECK_EQ(r.events[EVENT_READER_FAILED], 0);
	rig_reflex(&r, 30, step_burn);
	CHECK_EQ(r.events[EVENT_READER_FAILED], 1);
	CHECK_STR(reader_name(&r.daemon->reader), "text");
	CHECK_STR(r.daemon->reader.detail, "3 passes failed: Input/output error");
	CHECK(rig_cpu_milli(&r, &r.unit[0]) >= 640);
	rig_close(&r);
}

/* One that fails is none: the next one serves. */
static void test_fails_once(void)
{
	struct rig r;

	start_one(&r, "auto");
	CHECK_EQ(rig_start(&r), 0);
	for (unsigned i = 0; i < 10; i++) {
		rig_scan.pass_error = i % 3 == 2 ? 0 : -EIO;
		rig_reflex(&r, 1, step_burn);
	}
	CHECK_STR(reader_name(&r.daemon->reader), "bpf");
	rig_close(&r);
}

/* A unit without a slot is read by its files. */
static void test_no_slot(void)
{
	struct rig r;

	start_one(&r, "bpf");
	rig_add(&r, "a2.service", 100, 64 * MIB)->anon_bytes = MIB;
	rig_scan.slots = 1;
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 30, NULL);
	CHECK_EQ(rig_scan.added, 1);
	for (unsigned i = 0; i < 20; i++) {
		rig_burn(&r, &r.unit[1], 800);
		rig_reflex(&r, 1, step_burn);
	}
	CHECK(rig_cpu_milli(&r, &r.unit[0]) >= 640);
	CHECK(rig_cpu_milli(&r, &r.unit[1]) > 100);
	rig_close(&r);
}

/* What memory.events wakes for is read now, not taken from the last pass. */
static void test_wake(void)
{
	struct rig r;

	start_one(&r, "bpf");
	CHECK_EQ(rig_start(&r), 0);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t bytes = (i + 20) * MIB;

		rig_reflex(&r, 31, step_burn); /* after each pass of a second, and the sample */
		r.unit[0].anon_bytes = bytes;
		rig_wake(&r, &r.unit[0]);
		CHECK_EQ(r.daemon->units.items[0]->control.last.stat.anon, bytes);
		CHECK_EQ(r.daemon->units.items[0]->control.last.mem_current, bytes);
	}
	rig_close(&r);
}

/* A report of throttling is answered at once, and asked for again; the journal has one entry for a
 * limit that climbs. At the ceiling none is asked for. */
static void test_throttled(void)
{
	struct rig r;
	unsigned armed;

	open_rig(&r, "bpf", "units:\n  - {match: a*.service, max-cpu: 800m}\n");
	rig_add(&r, "a.service", 100, 64 * MIB)->anon_bytes = MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 20, NULL);
	armed = rig_scan.armed;
	CHECK(armed > 0);
	rig_throttle(&r, &r.unit[0]);
	CHECK_EQ(rig_cpu_milli(&r, &r.unit[0]), 110);
	CHECK_EQ(rig_scan.armed, armed + 1);
	rig_throttle(&r, &r.unit[0]); /* 21 ms of this period, 42, 84 */
	CHECK_EQ(rig_cpu_milli(&r, &r.unit[0]), 210);
	rig_throttle(&r, &r.unit[0]);
	CHECK_EQ(rig_cpu_milli(&r, &r.unit[0]), 420);
	CHECK_EQ(r.events[EVENT_LIMIT_RAISED], 0);
	/* What undoes a decrease has its own entry, after the sum of before. */
	r.daemon->units.items[0]->control.cpu.trial = (struct cpu_trial){
		.active = true, .since = r.boot, .from_milli = 500, .to_milli = 420};
	rig_throttle(&r, &r.unit[0]);
	CHECK_EQ(rig_cpu_milli(&r, &r.unit[0]), 800);
	CHECK_EQ(r.events[EVENT_LIMIT_RAISED], 1);
	CHECK_EQ(r.events[EVENT_LIMIT_UNDONE], 1);
	CHECK_EQ(r.daemon->tally.throttle_events, 4);
	rig_throttle(&r, &r.unit[0]); /* at the ceiling */
	CHECK_EQ(rig_cpu_milli(&r, &r.unit[0]), 800);
	armed = rig_scan.armed;
	rig_reflex(&r, 20, NULL);
	CHECK_EQ(r.events[EVENT_LIMIT_RAISED], 1);
	CHECK_EQ(rig_scan.armed, armed);
	rig_close(&r);
}

/* What is removed is let go at once, and its slot is free for the next. */
static void test_removed(void)
{
	struct managed *m;
	struct rig r;

	start_one(&r, "bpf");
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 30, NULL);
	m = r.daemon->units.items[0];
	CHECK(m->cgroup.cg != NULL && rig_scan.added == 1);
	rig_unit_stop(&r, &r.unit[0]);
	rig_reflex(&r, 1, NULL);
	CHECK(m->cgroup.cg == NULL);
	CHECK_EQ(m->cgroup.slots.own, READER_NO_SLOT);
	CHECK_EQ(rig_scan.added, 0);
	rig_unit_start(&r, &r.unit[0]);
	rig_run(&r, 15, NULL);
	CHECK(m->cgroup.cg != NULL);
	CHECK_EQ(rig_scan.added, 1);
	rig_close(&r);
}

/* "CapPrm:\t000001ffffffffff". */
static uint64_t permitted(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	uint64_t caps = UINT64_MAX;
	char line[256];

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "CapPrm:", 7) == 0)
			caps = strtoull(line + 7, NULL, 16);
	fclose(f);
	return caps;
}

/* Whatever reader serves, what was needed to load one is given up. */
static void check_rights(void)
{
	CHECK_EQ(permitted() & (1ULL << CAP_BPF | 1ULL << CAP_PERFMON), 0);
}

int main(void)
{
	test_same();
	test_not_loaded();
	test_no_proof();
	test_fails_later();
	test_fails_once();
	test_no_slot();
	test_wake();
	test_throttled();
	test_removed();
	check_rights();
	return check_result();
}
