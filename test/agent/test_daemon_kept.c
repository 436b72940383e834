// SPDX-License-Identifier: Apache-2.0
/* The daemon on a node whose memory was used by ended containers: what is kept for which
 * successors, and from which units. */
#include "test/agent/test_pods.h"

#define TOTAL  (2 * GIB)
#define SYSTEM (400 * MIB)

#define UNITS 8

/* All that use memory, and the one that grows to its goal, at a rate per second. */
static struct rig_unit *unit[UNITS], *grower;
static unsigned units;
static uint64_t goal, rate;
static uint64_t lowest; /* MemAvailable */

/* What the node has left: everything that is not used. */
static uint64_t available(void)
{
	uint64_t used = SYSTEM;

	for (unsigned i = 0; i < units; i++)
		used += unit[i]->running ? unit[i]->anon_bytes : 0;
	return TOTAL - MIN(TOTAL, used);
}

static void step(struct rig *r)
{
	for (unsigned i = 0; i < units; i++)
		if (unit[i]->running)
			rig_burn(r, unit[i], 50);
	if (grower->running && grower->anon_bytes < goal)
		rig_grow(r, grower,
			 MIN(rate * r->tick_usec / USEC_PER_SEC, goal - grower->anon_bytes));
	lowest = MIN(lowest, available());
	rig_meminfo(r, TOTAL, available());
}

static uint64_t reserve(void)
{
	return ledger_reserve(&tuning_default.node, TOTAL);
}

/* ---- from equals ---- */

/* So many of the same rank, all calm. */
static void start_equals(struct rig *r, unsigned count)
{
	char name[32];

	rig_open(r, "units:\n  - {match: equal-*.service, max-memory: 2Gi}\n");
	for (units = 0; units < count; units++) {
		snprintf(name, sizeof name, "equal-%u.service", units);
		unit[units] = rig_add(r, name, 1000, 64 * MIB);
		unit[units]->anon_bytes = 30 * MIB;
	}
	lowest = LIMIT_MAX;
	goal = 0;
	grower = unit[0];
	rig_meminfo(r, TOTAL, available());
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 33, step);
}

/* Nothing is kept from a running unit for equals that have ended, however many. */
TEST_RIG(one_after_another)
{
	start_equals(r, 8);
	goal = 450 * MIB;
	rate = 200 * MIB;
	for (unsigned i = 0; i < 8; i++) {
		grower = unit[i];
		rig_reflex(r, 25, step);
		CHECK_EQ(grower->anon_bytes, goal);
		rig_unit_stop(r, grower);
	}
	CHECK_EQ(r->kills, 0);
	CHECK(lowest >= reserve());
}

/* Nor for one that has restarted and does not use what its predecessor held. */
TEST_RIG(equal_successor)
{
	start_equals(r, 2);
	goal = 1000 * MIB;
	rate = 100 * MIB;
	rig_reflex(r, 120, step);
	CHECK_EQ(grower->anon_bytes, goal);
	rig_unit_stop(r, grower);
	grower = unit[1];
	goal = 500 * MIB;
	rig_reflex(r, 60, step);
	CHECK_EQ(grower->anon_bytes, goal);
	rig_unit_start(r, unit[0]);
	unit[0]->anon_bytes = 30 * MIB;
	rig_reflex(r, 3, step);
	goal = 1200 * MIB;
	rig_reflex(r, 80, step);
	CHECK_EQ(grower->anon_bytes, goal);
	CHECK_EQ(r->kills, 0);
	CHECK(lowest >= reserve());
}

/* ---- for a successor ---- */

struct ended {
	bool once;
	enum container_kind kind;
	int32_t priority; /* of the other one: 0 */
	bool frees;       /* before it ends */
};

/* A container has grown to 1,000 MiB and ended, then another one grows; the kills of that one. */
static unsigned kills_after_an_end(struct ended e)
{
	struct rig r;
	unsigned kills;

	rig_open(&r, "");
	for (units = 0; units < 2; units++) {
		const char *name = units == 0 ? "first" : "second";
		struct rig_pod *p = rig_pod_add(&r, DRIVER_CGROUPFS, name);
		struct rig_container *c;

		p->mode = "Auto";
		p->once = e.once;
		p->priority = units == 0 ? e.priority : 0;
		p->extra_key = "max-memory";
		p->extra_value = "3Gi";
		c = rig_container_add(&r, p, "app", 1000, 64 * MIB);
		c->kind = e.kind;
		unit[units] = c->unit;
	}
	rig_meminfo(&r, TOTAL, available());
	CHECK_EQ(rig_start(&r), 0);
	for (size_t i = 0; i < r.pod_count; i++)
		rig_pod_put(&r, &r.pod[i]);
	grower = unit[0];
	goal = 0;
	rig_reflex(&r, 33, step);
	goal = 1000 * MIB;
	rate = 50 * MIB;
	rig_reflex(&r, 300, step);
	CHECK_EQ(grower->anon_bytes, goal);
	if (e.frees)
		grower->anon_bytes = 30 * MIB;
	goal = 0;
	rig_reflex(&r, 30, step);
	rig_container_stop(&r, &r.pod[0].container[0]);
	grower = unit[1];
	rig_reflex(&r, 10, step);
	goal = 1000 * MIB;
	rate = 200 * MIB;
	rig_reflex(&r, 60, step);
	kills = (unsigned)grower->oom_kills;
	CHECK(kills > 0 || grower->anon_bytes == goal);
	rig_close(&r);
	return kills;
}

/* From lower ranks, room is kept for a successor: as much as its predecessor used. */
TEST(what_is_kept)
{
	CHECK(kills_after_an_end((struct ended){.priority = 1000}) > 0);
	CHECK_EQ(kills_after_an_end((struct ended){0}), 0);
	CHECK_EQ(kills_after_an_end((struct ended){.priority = 1000, .frees = true}), 0);
	/* A container that is not restarted has no successor; a sidecar is restarted in any pod. */
	CHECK_EQ(kills_after_an_end((struct ended){.priority = 1000, .once = true}), 0);
	CHECK(kills_after_an_end((struct ended){
		      .priority = 1000, .once = true, .kind = CONTAINER_SIDECAR}) > 0);
}
