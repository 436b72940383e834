// SPDX-License-Identifier: Apache-2.0
/* The agent stops, as when its DaemonSet is updated: until another one is there, nothing raises a
 * limit. What is in the cgroup below the spec was safe with the agent alone. */
#include "test/kube/test_cluster.h"

#define GROW_BYTES   (16 * MIB) /* a second */
#define ABSENT_BYTES (5 * MIB)  /* a second, while there is no agent */

static void grow(struct rig *r)
{
	burn_699(r);
	rig_grow(r, app_of(&r->pod[0]), GROW_BYTES);
}

static uint64_t limit_of(const struct rig_pod *p)
{
	return rig_bytes(&c.rig, app_of(p), "memory.max");
}

static bool is_below_spec(struct crig *x)
{
	struct rig_pod *p = &x->rig.pod[0];

	return limit_of(p) < memory_of(x) && rig_cpu_milli(&x->rig, app_of(p)) < 600;
}

static const struct control *app_control(void)
{
	return &managed_find(&c.rig.daemon->units, "default/web-0/app")->control;
}

static unsigned drifts(void)
{
	return c.rig.events[EVENT_DRIFT_REASSERTED] + c.rig.events[EVENT_DRIFT_ADOPTED] +
	       c.rig.events[EVENT_DRIFT_GAVE_WAY];
}

/* Its spec has 700m and four times its memory, its cgroup less of both, and the API server has not
 * heard of that. */
static struct rig_pod *begin_lowered(enum cgroup_driver driver)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, driver, "web-0", AUTO);
	rig_meminfo(&c.rig, 4 * GIB, 3 * GIB);
	crig_start(&c);
	ratify(p);
	rig_run(&c.rig, 6, grow);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, burn_699);
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":-1");
	CHECK(crig_until(&c, 300, burn_50, is_below_spec));
	return p;
}

/* While there is no agent. */
static void grow_alone(struct rig_pod *p, uint64_t use)
{
	while (app_of(p)->anon_bytes + app_of(p)->blocked_bytes + ABSENT_BYTES < use)
		rig_grow(&c.rig, app_of(p), ABSENT_BYTES);
	CHECK_EQ(app_of(p)->blocked_bytes, 0);
	if (p->driver != DRIVER_SYSTEMD)
		return;
	/* What PID 1 stores is no lower: a reload in between changes nothing. */
	rig_realise(&c.rig, p->level);
	rig_realise(&c.rig, app_of(p));
	rig_pods_turn(&c.rig);
}

TEST_DRIVERS(raised_to_the_spec)
{
	struct rig_pod *p = begin_lowered(driver);
	uint64_t spec = memory_of(&c);
	unsigned before = drifts();

	c.rig.below = false;
	rig_terminate(&c.rig, burn_50);
	CHECK_EQ(limit_of(p), spec);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.high"), LIMIT_MAX);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_lines(&c, EVENT_LIMIT_RAISED, "vscaled stops"), 2);
	grow_alone(p, spec);
	CHECK(limit_of(p) >= spec);
	crig_start(&c);
	crig_heal(&c);
	rig_run(&c.rig, 10, burn_50);
	CHECK_EQ(app_control()->resource[RESOURCE_MEMORY].original, 64 * MIB);
	CHECK_EQ(app_control()->resource[RESOURCE_CPU].original, 200);
	/* It goes on as before. */
	CHECK(UNTIL(60, burn_50, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) < 600));
	CHECK_EQ(drifts(), before);
	CHECK_EQ(c.rig.kills, 0);
	CHECK(!c.rig.below);
}

/* No further than the node has memory beside its reserve; nothing was denied that was in need. */
TEST(full_node)
{
	struct rig_pod *p = begin_lowered(DRIVER_CGROUPFS);

	rig_meminfo(&c.rig, 4 * GIB, 300 * MIB);
	rig_terminate(&c.rig, burn_50);
	CHECK(limit_of(p) < memory_of(&c));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(c.rig.events[EVENT_MEMORY_DENIED], 0);
	crig_start(&c);
}

/* Its limits stay until `resume`: a running agent would not raise them, either. */
TEST(paused)
{
	struct rig_pod *p = begin_lowered(DRIVER_CGROUPFS);
	uint64_t limit = limit_of(p), milli = rig_cpu_milli(&c.rig, app_of(p));

	CHECK(lifecycle_pause(&c.rig.daemon->units, NULL) > 0);
	rig_terminate(&c.rig, burn_50);
	CHECK_EQ(limit_of(p), limit);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), milli);
	crig_start(&c);
}
