// SPDX-License-Identifier: Apache-2.0
/* The status annotation beside other writers, and after a refusal. */
#include "test/kube/reporter_rig.h"
#include <errno.h>
#include <string.h>

#define CPU RESOURCE_CPU
#define REFUSED                                                                                    \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"       \
	"\"message\":\"pods \\\"u0\\\" is forbidden: exceeded quota: q\"}"

/* A status that stands already is not written again by a new agent. */
static void test_status_is_known(void)
{
	struct rig g;

	rig_start(&g, 1);
	rig_run(&g, S);
	CHECK_EQ(g.pods[0].statuses, 1);
	reporter_forget(g.reporter, "u0");
	CHECK_EQ(reporter_changed(g.reporter, "u0", g.now), 0);
	rig_run(&g, 3600 * S);
	CHECK_EQ(g.pods[0].statuses, 1);
	CHECK_EQ(reporter_changed(g.reporter, "", g.now), -EINVAL);
	rig_stop(&g);
}

/* Another writer removes the annotation, which holds the originals, or changes it. */
static void test_status_is_removed(void)
{
	struct rig g;

	rig_start(&g, 1);
	rig_run(&g, S);
	for (unsigned i = 0; i < 2; i++) {
		free(g.pods[0].status);
		g.pods[0].status = i == 0 ? NULL : strdup("{}");
		rig_show(&g, 0);
		CHECK_EQ(reporter_changed(g.reporter, "u0", g.now), 0);
		rig_run(&g, 700 * S);
		CHECK_EQ(g.pods[0].statuses, 2 + i);
		CHECK(g.pods[0].status != NULL && strstr(g.pods[0].status, "original") != NULL);
	}
	rig_stop(&g);
}

/* The load has gone, and with it what would have been sent: the refusal ends all the same. */
static void test_refusal_ends(void)
{
	struct rig g;
	struct rig_pod *p = &g.pods[0];

	rig_start(&g, 1);
	rig_run(&g, S);
	rig_fail(&g, "resize", 1, 403, REFUSED);
	rig_set_held(&g, 0, CPU, 900);
	rig_run(&g, 65 * S);
	rig_set_held(&g, 0, CPU, 500);
	rig_run(&g, 3000 * S);
	CHECK(strstr(p->status, "\"refused\"") != NULL);
	rig_run(&g, 1300 * S);
	CHECK_EQ(p->resizes, 0);
	CHECK(strstr(p->status, "\"refused\"") == NULL);
	rig_stop(&g);
}

int main(void)
{
	test_status_is_known();
	test_status_is_removed();
	test_refusal_ends();
	return check_result();
}
