// SPDX-License-Identifier: Apache-2.0
/* Memory that starts to grow while the kubelet is about to carry out a resize of ours. */
#include "test/kube/test_cluster.h"

#define STEP_BYTES (8 * MIB) /* a second */

static void burn_and_grow(struct rig *r)
{
	burn_699(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES);
}

/* The kubelet will write the old limit within seconds: a higher one is sent before the next
 * review.
 */
TEST(growth_does_not_wait_for_the_review)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);
	struct daemon *d;

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	rig_run(&c.rig, 2, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	d = c.rig.daemon;
	d->config.clocks.review_usec = USEC_PER_HOUR;
	c.rig.loop->timer.next_review = d->wake.now + USEC_PER_HOUR;
	CHECK(crig_until(&c, 20, burn_and_grow, memory_is_raised));
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.current") < 64 * MIB);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 3, burn_and_grow);
}

static bool spec_covers_use(struct crig *x)
{
	struct rig_pod *p = &x->rig.pod[0];

	return crig_spec(x, p, "app", RESOURCE_MEMORY) >
	       rig_bytes(&x->rig, app_of(p), "memory.current");
}

static void grow_slowly(struct rig *r)
{
	burn_50(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES);
}

/* systemd's headroom makes room for all of it: no limit has to move, and the spec follows use. */
TEST(growth_into_headroom)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);

	rig_run(&c.rig, 70, burn_50);
	rig_run(&c.rig, 16, grow_slowly);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.current") > 100 * MIB);
	CHECK(crig_until(&c, 30, burn_50, spec_covers_use));
}

static void grow_by_passes(struct rig *r)
{
	burn_699(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES / 10);
}

/* Nor for the next sample, and a server that fails twice does not make it wait for one either. */
TEST(growth_does_not_wait_for_the_sample)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);
	struct daemon *d;

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	rig_run(&c.rig, 2, burn_699);
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":2");
	crig_forget_log(&c);
	d = c.rig.daemon;
	d->config.clocks.review_usec = d->config.clocks.sample_usec = USEC_PER_HOUR;
	c.rig.loop->timer.next_review = c.rig.loop->timer.next_sample = d->wake.now + USEC_PER_HOUR;
	for (unsigned i = 0; i < 300 && !memory_is_raised(&c); i++)
		rig_reflex(&c.rig, 1, i < 60 ? grow_by_passes : burn_699);
	CHECK(memory_is_raised(&c));
	CHECK_EQ(crig_requests(&c, "/resize", 500), 2);
	CHECK(c.rig.loop->timer.next_sample > d->wake.now); /* it was a pass that reported */
	crig_kubelet(&c, p, NULL);
}

static uint64_t memory_limit(struct rig_pod *p)
{
	return rig_bytes(&c.rig, app_of(p), "memory.max");
}

/* CPU is on its way, growth has overtaken it, and the kubelet cannot do it. */
static struct rig_pod *refuse_raise(const char *message)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	char condition[256];

	snprintf(condition, sizeof condition,
		 "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","
		 "\"message\":\"%s\"}",
		 message);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	CHECK(crig_until(&c, 20, burn_and_grow, memory_is_raised));
	crig_kubelet(&c, p, condition);
	CHECK(UNTIL(30, burn_699, c.rig.daemon->tally.apply_failed[BACKEND_API] > 0));
	CHECK(is_refused(&c));
	CHECK_EQ(c.rig.daemon->tally.apply_failed[BACKEND_API], 1);
	return p;
}

/* CPU and memory in one refusal: the CPU value goes back, headroom of the spec is no value of the
 * cgroup; one Event. */
TEST(refusal_of_both)
{
	struct rig_pod *p = refuse_raise("Node didn't have enough capacity: cpu, memory");

	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 1);
	CHECK(memory_limit(p) > rig_bytes(&c.rig, app_of(p), "memory.current"));
}

/* Memory goes on growing where there is not enough CPU. */
TEST(refusal_of_cpu)
{
	struct rig_pod *p = refuse_raise("Node didn't have enough capacity: cpu");

	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 1);
	rig_run(&c.rig, 16, grow_slowly);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.current") > 160 * MIB);
	CHECK(memory_limit(p) > rig_bytes(&c.rig, app_of(p), "memory.current"));
}
