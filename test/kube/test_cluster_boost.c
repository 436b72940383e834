// SPDX-License-Identifier: Apache-2.0
/* Startup boost and the API server: readiness comes from it, and a boost is not sent to it. */
#include "test/kube/test_cluster.h"

#define BOOSTED(value)                                                                             \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/scale-down\":\"false\","                                                    \
	"\"vscaled.dev/startup-boost\":\"" value "\"}"

static bool is_boosted(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 400;
}

static void started_now(struct rig_pod *p)
{
	for (size_t i = 0; i < p->count; i++) {
		p->container[i].unready = true;
		p->container[i].started_real = c.rig.real;
	}
	crig_kubelet(&c, p, NULL);
}

static void ready_now(struct rig_pod *p)
{
	for (size_t i = 0; i < p->count; i++)
		p->container[i].unready = false;
	p->ready_real = c.rig.real;
	crig_kubelet(&c, p, NULL);
}

static void check_facts(const struct rig_pod *p)
{
	static struct reporter_view v;
	const struct report_resource *cpu = &v.containers[0].resource[RESOURCE_CPU];

	CHECK_OK(cluster_facts(c.rig.loop->cluster, pods_entry(c.rig.loop->cluster->pods, p->uid),
			       &v));
	CHECK_EQ(cpu->held, 200);
	CHECK_EQ(cpu->actual, 200);
	CHECK_EQ(cpu->spec_limit, 200);
}

TEST_DRIVERS(reported)
{
	struct rig_pod *p = begin(driver, NULL, BOOSTED("2x 10s"));
	unsigned resizes;

	started_now(p);
	CHECK(crig_until(&c, 240, burn_50, is_boosted));
	/* Longer than any lease. */
	rig_run(&c.rig, 120, burn_50);
	CHECK(is_boosted(&c));
	check_facts(p);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	/* Something else is to be reported: the limit in it is the one that lasts. */
	rig_grow(&c.rig, app_of(p), 40 * MIB);
	CHECK(UNTIL(180, burn_50, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) > 64 * MIB));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_50, has_ratified));
	/* Growth has ended: what the spec was ahead by goes after its lease. */
	CHECK(UNTIL(240, burn_50,
		    crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) < 256 * MIB));
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(80, burn_50, c.rig.events[EVENT_REPORT_RATIFIED] > 1));
	/* The kubelet has replayed the spec. */
	CHECK(crig_until(&c, 80, burn_50, is_boosted));
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	resizes = crig_requests(&c, "/resize", 0);
	ready_now(p);
	rig_run(&c.rig, 5, burn_50);
	/* On a busy machine the 10 s may be over. */
	CHECK(is_boosted(&c) || c.rig.real - p->ready_real >= 10 * USEC_PER_SEC);
	CHECK(crig_until(&c, 80, burn_50, has_200));
	rig_run(&c.rig, 120, burn_50);
	CHECK(has_200(&c));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(crig_requests(&c, "/resize", 0), resizes);
	CHECK(!c.rig.below);
}

static void ignore(void *, const struct restore_result *result)
{
	CHECK_EQ(result->outcome, RESTORE_RESTORED);
}

/* The records of pods stay until the spec is restored too: no boost comes from them any more. */
TEST(restored)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, BOOSTED("2x 10s"));
	struct daemon *d = c.rig.daemon;
	const struct managed *m;
	const struct baseline *b;

	started_now(p);
	CHECK(crig_until(&c, 240, burn_50, is_boosted));
	m = managed_find(&d->units, "default/web-0/app");
	CHECK_EQ(baseline_find(&d->records.baselines, m->key)->boost_base_milli, 200);
	CHECK_OK(c.rig.loop->serve.api.ops->restore(&c.rig.loop->serve, "default/web-0", false,
						    ignore, NULL));
	CHECK(has_200(&c));
	b = baseline_find(&d->records.baselines, m->key);
	CHECK(b != NULL && b->boost_base_milli == 0);
	rig_run(&c.rig, 20, burn_50);
	CHECK(has_200(&c));
}
