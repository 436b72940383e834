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

int main(void)
{
	test_growth_does_not_wait_for_the_review(DRIVER_SYSTEMD);
	test_growth_does_not_wait_for_the_review(DRIVER_CGROUPFS);
	return check_result();
}
