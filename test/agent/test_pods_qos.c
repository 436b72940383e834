// SPDX-License-Identifier: Apache-2.0
/* The kubelet's MemoryQoS: what it writes to memory.high with every update of a container lifts no
 * brake, is computed as it computes it, and is no external writer's. */
#include "agent/manage/managed.h"
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"

#define KUBELET_EVERY_SEC 5

static const enum rig_memory_qos modes[] = {RIG_QOS_OFF, RIG_QOS_NONE, RIG_QOS_FACTOR,
					    RIG_QOS_TIERED};
static const enum cgroup_driver drivers[] = {DRIVER_CGROUPFS, DRIVER_SYSTEMD};

static struct rig_pod *begin(struct rig *r, enum rig_memory_qos mode, enum cgroup_driver driver)
{
	rig_open(r, "");
	r->memory_qos = mode;
	r->qos_permille = 900;
	return pods_start(r, driver);
}

static uint64_t high(struct rig *r)
{
	return rig_bytes(r, r->pod[0].container[0].unit, "memory.high");
}

/* As the kubelet computes it. */
static uint64_t formula(const struct rig *r, uint64_t limit)
{
	uint64_t request = r->pod[0].container[0].spec.request[RESOURCE_MEMORY];

	return round_down(request + (limit - request) / 1000 * r->qos_permille +
				  (limit - request) % 1000 * r->qos_permille / 1000,
			  fake_page_bytes());
}

static void check_untold(struct rig *r)
{
	const uint64_t *reverted = r->daemon->tally.reverted;

	CHECK_EQ(reverted[WRITER_UNKNOWN] + reverted[WRITER_USER], 0);
	/* With systemd its own headroom in memory.max counts as an echo. */
	if (r->pod[0].driver == DRIVER_CGROUPFS)
		CHECK_EQ(reverted[WRITER_KUBELET] + reverted[WRITER_SYSTEMD], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
}

/* The kubelet updates the container, as for its CPU, with what the spec says. */
static void update(struct rig *r)
{
	struct rig_pod *p = &r->pod[0];
	struct managed *m = pods_of(r, "default/web-0/app");

	/* The values in the spec are those that stand. */
	p->container[0].spec.limit[RESOURCE_CPU] = rig_cpu_milli(r, p->container[0].unit);
	p->container[0].spec.limit[RESOURCE_MEMORY] =
		rig_bytes(r, p->container[0].unit, "memory.max");
	CHECK(!pod_echo_pending(m));
	rig_pod_realise(r, p);
	rig_settle(r);
}

static void test_brake_stays(enum rig_memory_qos mode, enum cgroup_driver driver)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, mode, driver);

	p->container[0].unit->anon_bytes = 53 * MIB;
	rig_pod_put(&r, p);
	rig_reflex(&r, 60, pods_burn_20);
	CHECK_EQ(high(&r), 56 * MIB);
	for (int i = 0; i < 6; i++) {
		update(&r);
		rig_reflex(&r, 1, NULL);
		CHECK_EQ(high(&r), 56 * MIB);
		rig_run(&r, KUBELET_EVERY_SEC, pods_burn_20);
		CHECK_EQ(high(&r), 56 * MIB);
	}
	check_untold(&r);
	/* Its reason ends. */
	p->container[0].unit->anon_bytes = 20 * MIB;
	rig_run(&r, 30, pods_burn_20);
	CHECK_EQ(high(&r), mode == RIG_QOS_FACTOR ? formula(&r, 64 * MIB) : LIMIT_MAX);
}

static void grow_2(struct rig *r)
{
	rig_grow(r, r->pod[0].container[0].unit, 2 * MIB);
	pods_burn_20(r);
}

/* Above a raised limit memory.high is what the kubelet writes for that limit. */
static void test_formula(enum cgroup_driver driver)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, RIG_QOS_FACTOR, driver);
	struct rig_unit *app = p->container[0].unit;
	uint64_t max;

	rig_pod_put(&r, p);
	CHECK_EQ(high(&r), formula(&r, 64 * MIB));
	rig_run(&r, 60, grow_2);
	app->anon_bytes = 60 * MIB;
	rig_run(&r, 30, pods_burn_20);
	max = rig_bytes(&r, app, "memory.max");
	CHECK(max >= 128 * MIB);
	CHECK_EQ(high(&r), formula(&r, max));
	for (int i = 0; i < 5; i++) {
		update(&r);
		rig_run(&r, KUBELET_EVERY_SEC, pods_burn_20);
		CHECK_EQ(high(&r), formula(&r, max));
	}
	check_untold(&r);
	CHECK_EQ(r.kills, 0);
}

/* The kubelet is started with a factor, with another one, and without. */
TEST_RIG(factor_changes)
{
	struct rig_pod *p = begin(r, RIG_QOS_OFF, DRIVER_CGROUPFS);
	const struct control *c;
	uint64_t request = p->container[0].spec.request[RESOURCE_MEMORY];
	uint64_t half = request + (64 * MIB - request) / 2;

	pods_raise_app(r, p);
	c = &pods_of(r, "default/web-0/app")->control;
	r->memory_qos = RIG_QOS_FACTOR;
	update(r);
	rig_run(r, KUBELET_EVERY_SEC, pods_burn_20);
	CHECK_EQ(high(r), formula(r, 64 * MIB));
	CHECK_EQ(c->original.mem_high, formula(r, 64 * MIB));
	r->qos_permille = 500;
	update(r);
	rig_run(r, KUBELET_EVERY_SEC, pods_burn_20);
	CHECK_EQ(high(r), half);
	CHECK_EQ(c->original.mem_high, half);
	r->memory_qos = RIG_QOS_OFF;
	update(r);
	rig_run(r, KUBELET_EVERY_SEC, pods_burn_20);
	CHECK_EQ(high(r), LIMIT_MAX);
	CHECK_EQ(c->original.mem_high, LIMIT_MAX);
	check_untold(r);
}

/* The owner's new limit is adopted before the kubelet has carried it out. */
TEST_RIG(owner_resizes)
{
	struct rig_pod *p = begin(r, RIG_QOS_FACTOR, DRIVER_CGROUPFS);
	const struct control *c;

	pods_raise_app(r, p);
	c = &pods_of(r, "default/web-0/app")->control;
	p->container[0].spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	p->generation++;
	rig_pod_run(r, p, 10, pods_burn_20);
	CHECK_EQ(c->original.mem_max, 256 * MIB);
	CHECK_EQ(c->original.mem_high, formula(r, 256 * MIB));
	CHECK_EQ(high(r), formula(r, 256 * MIB));
	rig_pod_realise(r, p);
	rig_run(r, 10, pods_burn_20);
	CHECK_EQ(c->original.mem_high, formula(r, 256 * MIB));
	CHECK_EQ(high(r), formula(r, 256 * MIB));
}

TEST(with_parameters)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(drivers); k++)
			test_brake_stays(modes[i], drivers[k]);
	for (size_t k = 0; k < ARRAY_SIZE(drivers); k++)
		test_formula(drivers[k]);
}
