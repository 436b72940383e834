// SPDX-License-Identifier: Apache-2.0
/*
 * systemd writes its stored headroom into memory.max, and reports that seconds later: until then a
 * node without that much memory does not grant it.
 */
#include "test/agent/test_pods.h"

#define TOTAL  (2 * GIB)
#define SYSTEM (400 * MIB)
#define JUMP   "1992294400\n" /* 1900 MiB: use + 30 s of growth */

static uint64_t goal, rate, lowest;

static uint64_t available(const struct rig *r)
{
	uint64_t used = SYSTEM;

	for (size_t i = 0; i < r->unit_count; i++)
		used += r->unit[i].running ? r->unit[i].anon_bytes : 0;
	return TOTAL - MIN(TOTAL, used);
}

static uint64_t reserve(void)
{
	return ledger_reserve(&tuning_default.node, TOTAL);
}

static void step(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		rig_burn(r, u, 50);
		if (u->anon_bytes < goal && i == 0)
			rig_grow(r, u,
				 MIN(rate * r->tick_usec / USEC_PER_SEC, goal - u->anon_bytes));
	}
	lowest = MIN(lowest, available(r));
	rig_meminfo(r, TOTAL, available(r));
}

static void start(struct rig *r)
{
	rig_open(r, "units:\n"
		    "  - {match: low.service, max-memory: 2Gi}\n"
		    "  - {match: high.service, max-memory: 2Gi, priority: 100}\n");
	rig_add(r, "low.service", 1000, 64 * MIB)->anon_bytes = 30 * MIB;
	rig_add(r, "high.service", 1000, 64 * MIB)->anon_bytes = 30 * MIB;
	goal = 0;
	lowest = LIMIT_MAX;
	rate = 40 * MIB;
	rig_meminfo(r, TOTAL, available(r));
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 33, step);
	r->lag_seconds = 20; /* its answers to what it has written come that late */
}

static uint64_t max_of(struct rig *r, int unit)
{
	return rig_bytes(r, &r->unit[unit], "memory.max");
}

/* Journal entries about headroom that was taken back. */
static unsigned taken_back;

static void on_event(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind == EVENT_LIMIT_LOWERED && strstr(message, "low.service memory ") != NULL &&
	    strstr(message, "external writer") != NULL)
		taken_back++;
}

/*
 * A full node: the headroom is taken back at the inotify event, and growth ends at the held limit.
 * stored: PID 1 writes its stored value again at every call; taken back as well, without an entry.
 */
TEST_RIG_BOTH(full_node, stored)
{
	char jump[32] = JUMP;
	struct managed *m;
	uint64_t held, use;

	start(r);
	r->lag_seconds = stored ? 1 : 20;
	goal = 2 * GIB;
	for (int i = 0; i < 600 && r->events[EVENT_MEMORY_DENIED] == 0; i++)
		rig_reflex(r, 1, step);
	CHECK(r->events[EVENT_MEMORY_DENIED] > 0);
	/* Until not even a small raise is left, which would overwrite the file by itself. */
	rig_reflex(r, 10, step);
	held = max_of(r, 0);
	use = r->unit[0].anon_bytes;
	CHECK(lowest >= reserve());
	r->reported = on_event;
	taken_back = 0;
	m = managed_find(&r->daemon->units, "low.service");
	if (stored)
		CHECK(m->properties.stored.mem_max > held);
	if (stored)
		snprintf(jump, sizeof jump, "%llu\n",
			 (unsigned long long)round_down(m->properties.stored.mem_max,
							PAGE_DEFAULT_BYTES));
	rig_put(r, &r->unit[0], "memory.max", jump);
	rig_reflex(r, 1, step);
	CHECK_EQ(m->drift.early, stored ? DRIFT_EARLY_REPLACED_STORED : DRIFT_EARLY_REPLACED);
	rig_reflex(r, 79, step);
	printf("full node: held %llu MiB, 8 s after a jump to %llu MiB use went from %llu to %llu"
	       " MiB, available never below %llu MiB of %llu reserved\n",
	       (unsigned long long)held / MIB, strtoull(jump, NULL, 10) / MIB,
	       (unsigned long long)use / MIB, (unsigned long long)r->unit[0].anon_bytes / MIB,
	       (unsigned long long)lowest / MIB, (unsigned long long)reserve() / MIB);
	/* A pass of growth may come before the wake-up. */
	CHECK(lowest + rate / 10 >= reserve());
	CHECK(max_of(r, 0) <= held + rate / 10);
	/* Reported once, in ten seconds. */
	rig_reflex(r, 60, step);
	CHECK_EQ(taken_back, stored ? 0 : 1);
}

/* The node has room for the raised limit: it stays while growth may need it, counts as granted, and
 * is taken back as soon as a unit of higher rank needs the memory. */
TEST_RIG(room)
{
	struct rig_unit *low, *high;
	uint64_t before = 0;
	struct ledger *l;

	start(r);
	low = &r->unit[0];
	high = &r->unit[1];
	goal = 2 * GIB;
	/* Right after a raise: the next one would overwrite the file by itself. */
	for (int i = 0; i < 100 && (i < 20 || max_of(r, 0) == before); i++) {
		before = max_of(r, 0);
		rig_reflex(r, 1, step);
	}
	rig_put(r, low, "memory.max", "1258291200\n"); /* 1200 MiB */
	rig_reflex(r, 3, step);
	CHECK_EQ(max_of(r, 0), 1200 * MIB);
	l = &r->daemon->memory.ledger;
	printf("room: use %llu MiB, outstanding %llu MiB with 1200 MiB in the file\n",
	       (unsigned long long)low->anon_bytes / MIB, (unsigned long long)l->outstanding / MIB);
	CHECK(l->outstanding + low->anon_bytes + MIB >= 1200 * MIB);
	goal = 0; /* it stops; the other one needs what is left */
	for (int i = 0; i < 400 && high->anon_bytes < 1000 * MIB; i++) {
		rig_grow(r, high, 4 * MIB);
		rig_reflex(r, 1, step);
	}
	CHECK(high->anon_bytes >= 1000 * MIB);
	CHECK_EQ(high->oom_kills, 0);
	CHECK(max_of(r, 0) < 1200 * MIB);
	CHECK(lowest >= reserve());
}
