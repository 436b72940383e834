// SPDX-License-Identifier: Apache-2.0
/* Pods whose spec.resources limit the pod's own cgroup: their containers share that. */
#include "agent/manage/messages.h"
#include "test/agent/test_pods.h"

#define CPU_MILLI 1500

static uint64_t budget;
static uint64_t goal[RIG_CONTAINERS_MAX];
static uint64_t highest_sum;
static bool moved; /* something else than a container was written to */
static char denied[EVENT_MESSAGE_SIZE];

static void on_reported(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind == EVENT_MEMORY_DENIED && denied[0] == '\0')
		snprintf(denied, sizeof denied, "%s", message);
}

/* Each container's use comes near its goal, by 2 MiB in a tick at most. */
static void step(struct rig *r)
{
	struct rig_pod *p = &r->pod[0];
	uint64_t sum = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct rig_unit *u = p->container[i].unit;

		if (u->anon_bytes < goal[i])
			rig_grow(r, u, MIN(goal[i] - u->anon_bytes, 2 * MIB));
		else
			u->anon_bytes -= MIN(u->anon_bytes - goal[i], 8 * MIB);
		rig_burn(r, u, goal[i] > 100 * MIB ? 700 : 20);
		if (p->container[i].spec.limit[RESOURCE_MEMORY] != LIMIT_MAX)
			sum += rig_bytes(r, u, "memory.max");
	}
	highest_sum = MAX(highest_sum, sum);
	moved |= rig_bytes(r, p->level, "memory.max") != budget ||
		 rig_cpu_milli(r, p->level) != CPU_MILLI || p->level->props.mem_max != budget ||
		 p->level->props.cpu_quota_per_sec_usec != CPU_MILLI * USEC_PER_MSEC;
}

/* app (200m, 64Mi) and log (300m, 64Mi) in a pod of 1500m and `bytes`. */
static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver, uint64_t bytes)
{
	struct rig_pod *p;

	rig_open(r, rig_config("  - {match: none.service}\n"));
	r->reported = on_reported;
	denied[0] = '\0';
	highest_sum = 0;
	moved = false;
	budget = bytes;
	p = rig_pod_add(r, driver, "web-0");
	p->budget[RESOURCE_CPU] = bytes != 0 ? CPU_MILLI : 0;
	p->budget[RESOURCE_MEMORY] = bytes;
	p->mode = "Auto";
	for (size_t i = 0; i < 2; i++) {
		rig_container_add(r, p, i == 0 ? "app" : "log", 200 + 100 * i, 64 * MIB)
			->unit->anon_bytes = 30 * MIB;
		goal[i] = 30 * MIB;
	}
	rig_meminfo(r, 16 * GIB, 12 * GIB);
	CHECK_EQ(rig_start(r), 0);
	rig_pod_put(r, p);
	rig_run(r, 10, step);
	return p;
}

static uint64_t memory_of(struct rig *r, size_t i)
{
	return rig_bytes(r, r->pod[0].container[i].unit, "memory.max");
}

/* Each of them needs more than half of the budget at its time. */
TEST_RIG_DRIVERS(in_turn_for_an_hour)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);
	uint64_t lowest[2] = {LIMIT_MAX, LIMIT_MAX};

	for (unsigned minute = 0; minute < 60; minute++) {
		size_t active = minute / 10 % 2;

		goal[active] = 180 * MIB;
		goal[1 - active] = 30 * MIB;
		/* What the other one had is to be given back first. */
		if (minute % 10 == 0)
			goal[active] = 30 * MIB;
		rig_run(r, 60, step);
		if (minute % 10 == 9) {
			CHECK(memory_of(r, active) >= 180 * MIB);
			CHECK(rig_cpu_milli(r, p->container[active].unit) >= 700);
			lowest[1 - active] = MIN(lowest[1 - active], memory_of(r, 1 - active));
		}
	}
	CHECK(lowest[0] < 100 * MIB && lowest[1] < 100 * MIB);
	CHECK_EQ(r->kills, 0);
	CHECK(highest_sum > 200 * MIB && highest_sum <= budget);
	CHECK(!moved);
	CHECK(!r->below);
}

/* What one of them uses is not taken from it. What it no longer uses goes to the one that needs it.
 */
TEST_RIG_DRIVERS(too_small_for_both)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	goal[0] = 200 * MIB;
	rig_run(r, 100, step);
	goal[1] = 150 * MIB;
	rig_run(r, 40, step);
	CHECK(memory_of(r, 0) >= 200 * MIB);
	CHECK(memory_of(r, 1) <= 100 * MIB);
	CHECK_EQ(p->container[0].unit->oom_kills, 0);
	CHECK(strstr(denied, "default/web-0/log") != NULL);
	CHECK(strstr(denied, "below the limit of default/web-0,") != NULL);
	goal[0] = 60 * MIB;
	rig_run(r, 60, step);
	r->kills = 0;
	rig_run(r, 60, step);
	CHECK(memory_of(r, 1) >= 150 * MIB);
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(p->level->oom_kills, 0);
	CHECK(highest_sum <= budget);
	CHECK(!moved);
}

/* A container without a limit has the pod's in its cgroup: it is not its own. What it uses is not
 * given to others. */
TEST_RIG_DRIVERS(without_a_limit)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);
	struct rig_unit *free;

	p->mode = NULL;
	free = rig_container_add(r, p, "free", LIMIT_MAX, LIMIT_MAX)->unit;
	p->mode = "Auto";
	free->anon_bytes = goal[2] = 120 * MIB;
	rig_pod_put(r, p);
	rig_run(r, 60, step);
	CHECK_EQ(rig_bytes(r, free, "memory.max"), 300 * MIB);
	CHECK_EQ(rig_cpu_milli(r, free), CPU_MILLI);
	CHECK_EQ(pods_of(r, "default/web-0/free")->control.resource[RESOURCE_MEMORY].blocked,
		 BLOCKED_NO_LIMIT);
	goal[0] = 200 * MIB;
	rig_run(r, 120, step);
	CHECK(memory_of(r, 0) > 64 * MIB);
	CHECK(memory_of(r, 0) + memory_of(r, 1) <= 180 * MIB);
	CHECK_EQ(p->level->oom_kills, 0);
	CHECK(!moved);
	/* The kubelet writes the pod's new limit into the container: it is not put back. */
	p->budget[RESOURCE_MEMORY] = budget = 400 * MIB;
	p->generation++;
	p->level->props.mem_max = free->props.mem_max = budget;
	rig_realise(r, p->level);
	rig_realise(r, free);
	rig_pod_put(r, p);
	rig_run(r, 10, step);
	rig_stop(r);
	rig_restart(r);
	rig_pod_put(r, p);
	rig_run(r, 70, step);
	CHECK_EQ(rig_bytes(r, free, "memory.max"), budget);
	p->mode = NULL;
	rig_pod_put(r, p);
	rig_run(r, 200, step);
	CHECK_EQ(rig_bytes(r, free, "memory.max"), budget);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), budget);
}

/* Their owner has given out more than the pod has: what is in use bounds them. */
TEST_RIG_DRIVERS(given_out_twice)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	p->container[0].spec.limit[RESOURCE_MEMORY] = 300 * MIB;
	p->container[1].spec.limit[RESOURCE_MEMORY] = 300 * MIB;
	p->mode = NULL;
	rig_pod_put(r, p);
	rig_run(r, 5, step);
	rig_pod_realise(r, p);
	p->mode = "Auto";
	rig_pod_put(r, p);
	for (int i = 0; i < 6; i++) {
		goal[i % 2] = 30 * MIB;
		rig_run(r, 60, step);
		goal[1 - i % 2] = 220 * MIB;
		rig_run(r, 240, step);
		CHECK(memory_of(r, i % 2) < 300 * MIB);
	}
	CHECK_EQ(r->kills, 0);
	CHECK(!moved);
}

/* Everything is as it was, with the annotation removed and by vscalectl restore. */
TEST_RIG_DRIVERS(given_back)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	goal[0] = 180 * MIB;
	rig_run(r, 200, step);
	CHECK(memory_of(r, 0) >= 180 * MIB && memory_of(r, 1) < 64 * MIB);
	goal[0] = 30 * MIB;
	rig_run(r, 30, step);
	p->mode = NULL;
	rig_pod_put(r, p);
	rig_run(r, 300, step);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(memory_of(r, i), 64 * MIB);
		CHECK_EQ(rig_cpu_milli(r, p->container[i].unit), 200 + 100 * i);
		if (driver == DRIVER_SYSTEMD)
			CHECK_EQ(p->container[i].unit->props.mem_max, 64 * MIB);
	}
	CHECK(!moved);
	CHECK_EQ(r->kills, 0);
}

/* No API server takes a container with more than its pod: nothing is written. */
TEST_RIG_DRIVERS(container_above_its_pod)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	p->mode = NULL;
	rig_pod_put(r, p);
	rig_run(r, 60, step);
	p->container[0].spec.limit[RESOURCE_MEMORY] = 301 * MIB;
	p->mode = "Auto";
	rig_pod_put(r, p);
	goal[1] = 60 * MIB;
	rig_run(r, 60, step);
	CHECK_EQ(memory_of(r, 1), 64 * MIB);
	CHECK_EQ(managed_find(&r->daemon->units, "default/web-0/log"), NULL);
	CHECK(!moved);
}

/* The limit of the pod came with a resize: what vscaled wrote goes back, but not over it. */
TEST_RIG_DRIVERS(came_and_went)
{
	struct rig_pod *p = begin(r, driver, 0);

	goal[0] = 90 * MIB;
	rig_run(r, 60, step);
	CHECK(memory_of(r, 0) > 90 * MIB);
	goal[0] = 30 * MIB;
	rig_run(r, 20, step);
	p->budget[RESOURCE_CPU] = CPU_MILLI;
	p->budget[RESOURCE_MEMORY] = budget = 300 * MIB;
	p->generation++;
	rig_pod_put(r, p);
	rig_pod_realise(r, p);
	rig_run(r, 2, step);
	moved = false;
	goal[1] = 60 * MIB;
	rig_run(r, 200, step);
	CHECK_EQ(memory_of(r, 0), 64 * MIB);
	CHECK_EQ(memory_of(r, 1), 64 * MIB);
	CHECK(!moved);
	CHECK_EQ(p->level->oom_kills, 0);
	CHECK_EQ(r->daemon->pods.items[0]->why, STATE_POD_RESOURCES);
}

static void opt_out(struct rig *r, struct rig_pod *p)
{
	goal[0] = 30 * MIB;
	rig_run(r, 30, step);
	p->mode = NULL;
	rig_pod_put(r, p);
	rig_run(r, 200, step);
	CHECK_EQ(memory_of(r, 0), 64 * MIB);
}

/* Its owner gives it more, or less: that is bounded by, and stays when all goes back. */
TEST_RIG_DRIVERS(owner_resizes)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	goal[0] = 250 * MIB;
	p->budget[RESOURCE_MEMORY] = budget = 400 * MIB;
	p->generation++;
	rig_pod_put(r, p);
	rig_pod_realise(r, p);
	rig_run(r, 150, step);
	CHECK(memory_of(r, 0) >= 250 * MIB);
	CHECK_EQ(r->kills, 0);
	opt_out(r, p);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 400 * MIB);
	CHECK_EQ(p->level->props.mem_max, 400 * MIB);
}

/* The same while the agent does not run. */
TEST_RIG_DRIVERS(owner_resizes_without_us)
{
	struct rig_pod *p = begin(r, driver, 300 * MIB);

	goal[0] = 200 * MIB;
	rig_run(r, 150, step);
	rig_stop(r);
	p->budget[RESOURCE_MEMORY] = budget = 350 * MIB;
	p->generation++;
	p->level->props.mem_max = budget;
	rig_realise(r, p->level);
	rig_restart(r);
	rig_pod_put(r, p);
	rig_run(r, 10, step);
	CHECK(memory_of(r, 0) >= 200 * MIB);
	opt_out(r, p);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), budget);
	CHECK_EQ(p->level->props.mem_max, budget);
	CHECK_EQ(r->kills, 0);
}
