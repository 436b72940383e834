// SPDX-License-Identifier: Apache-2.0
/* Memory that starts to grow while the kubelet is about to carry out a resize of ours. */
#include "test/kube/test_cluster.h"

#define STEP_BYTES (8 * MIB) /* a second */

static void burn_and_grow(struct rig *r)
{
	burn_600(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES);
}

static bool memory_is_told(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY) > 64 * MIB;
}

/* The kubelet will write the old limit within seconds: a higher one is told before the next review.
 */
static void test_growth_does_not_wait_for_the_review(enum cgroup_driver driver)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);
	struct daemon *d;

	CHECK(crig_until(&c, 60, burn_600, is_resized));
	rig_run(&c.rig, 2, burn_600);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	d = c.rig.daemon;
	d->config.clocks.review_usec = USEC_PER_HOUR;
	d->next_review = d->now + USEC_PER_HOUR;
	CHECK(crig_until(&c, 20, burn_and_grow, memory_is_told));
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.current") < 64 * MIB);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 3, burn_and_grow);
	CHECK_EQ(c.rig.kills, 0);
	crig_close(&c);
}

static void grow_by_looks(struct rig *r)
{
	burn_600(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES / 10);
}

/* Nor for the next sample, and a server that fails twice does not make it wait for one either. */
static void test_growth_does_not_wait_for_the_sample(void)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);
	struct daemon *d;

	CHECK(crig_until(&c, 60, burn_600, is_resized));
	rig_run(&c.rig, 2, burn_600);
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":2");
	crig_forget_log(&c);
	d = c.rig.daemon;
	d->config.clocks.review_usec = d->config.clocks.sample_usec = USEC_PER_HOUR;
	d->next_review = d->next_sample = d->now + USEC_PER_HOUR;
	for (unsigned i = 0; i < 300 && !memory_is_told(&c); i++)
		rig_look(&c.rig, 1, i < 60 ? grow_by_looks : burn_600);
	CHECK(memory_is_told(&c));
	CHECK_EQ(crig_requests(&c, "/resize", 500), 2);
	CHECK(d->next_sample > d->now); /* it was a look that told */
	crig_kubelet(&c, p, NULL);
	CHECK_EQ(c.rig.kills, 0);
	crig_close(&c);
}

static bool is_refused(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_REFUSED] > 1;
}

/* CPU and memory in one refusal: two values to go back, and one Event. */
static void test_refusal_of_both(void)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 60, burn_600, is_resized));
	CHECK(crig_until(&c, 20, burn_and_grow, memory_is_told));
	crig_kubelet(&c, p,
		     "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":"
		     "\"Infeasible\",\"message\":\"Node didn't have enough capacity: cpu\"}");
	CHECK(crig_until(&c, 30, burn_600, is_refused));
	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 2);
	CHECK_EQ(c.rig.daemon->tally.apply_failed[BACKEND_API], 1);
	CHECK_EQ(c.rig.kills, 0);
	crig_close(&c);
}

int main(void)
{
	test_growth_does_not_wait_for_the_review(DRIVER_SYSTEMD);
	test_growth_does_not_wait_for_the_review(DRIVER_CGROUPFS);
	test_growth_does_not_wait_for_the_sample();
	test_refusal_of_both();
	return check_result();
}
