// SPDX-License-Identifier: Apache-2.0
/* The pod's own values in a request: what they become beside those of its containers. */
#include "test/policy/report_rig.h"

/* Both containers have 500m and 256Mi; the pod has more, and follows them. */
static void follow(struct report_rig *g, bool guaranteed)
{
	struct report_level *l = &g->f.level;

	*l = (struct report_level){
		.follows = RESOURCES_BOTH,
		.guaranteed = guaranteed,
		.spec = {.limit = {1200, 600 * MIB}, .request = {400, 256 * MIB}},
		.original = {1200, 600 * MIB},
	};
	if (guaranteed)
		memcpy(l->spec.request, l->spec.limit, sizeof l->spec.limit);
	g->now += 60 * S;
}

static uint64_t level(const struct report_rig *g, size_t r)
{
	const struct report_item *l = &g->d.patch.level;

	return l->limits & (1u << r) ? l->limit[r] : g->f.level.spec.limit[r];
}

TEST_RIG_BOTH(is_the_sum, guaranteed)
{
	follow(g, guaranteed);
	CHECK(rig_decide(g));
	CHECK_EQ(g->d.patch.count, 0);
	CHECK_EQ(level(g, CPU), 1000);
	CHECK_EQ(level(g, MEM), 512 * MIB);
	CHECK_EQ(g->d.patch.level.requests, guaranteed ? RESOURCES_BOTH : 0);
	CHECK_EQ(g->d.patch.level.request[CPU], guaranteed ? 1000 : g->d.patch.level.request[CPU]);
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 0, MEM, 512 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(level(g, CPU), 1400);
	CHECK_EQ(level(g, MEM), 768 * MIB);
	/* Both stay while they wait for their lease. */
	rig_set_held(g, 0, MEM, 1024 * MIB);
	CHECK(!rig_decide(g) || g->d.patch.level.limits == 0);
}

/* A lead raises memory alone. */
TEST_RIG(lead)
{
	follow(g, false);
	g->c[0].use_bytes = 250 * MIB;
	g->c[0].slope_bps = 8 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 300 * MIB);
	CHECK(rig_later(g, 1 * S));
	CHECK(g->d.patch.leads);
	CHECK_EQ(level(g, CPU), 1200);
	CHECK_EQ(level(g, MEM), rig_limit(g, 0, MEM) + 256 * MIB);
	/* Nor is it lowered by others while memory grows. */
	rig_res(g, 0, MEM)->spec_limit = 4096 * MIB;
	g->f.level.spec.limit[MEM] = 5000 * MIB;
	rig_decide(g);
	CHECK_EQ(level(g, MEM), 5000 * MIB);
}

/* No less than init containers need, what is in use, and its requests: with limits that are its
 * requests it would be Guaranteed. */
TEST_RIG(least)
{
	follow(g, false);
	g->f.level.least[CPU] = 1100;
	g->f.level.least[MEM] = 590 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(level(g, CPU), 1100);
	CHECK_EQ(level(g, MEM), 590 * MIB);
	g->f.level.least[CPU] = g->f.level.least[MEM] = 0;
	g->f.level.spec.request[CPU] = 1000;
	g->f.level.spec.request[MEM] = 512 * MIB;
	CHECK(rig_decide(g));
	CHECK(level(g, CPU) > 1000);
	CHECK(level(g, MEM) > 512 * MIB);
	/* The kubelet may fail on a lower limit. */
	g->f.no_decrease = true;
	CHECK(rig_decide(g));
	CHECK_EQ(level(g, MEM), 600 * MIB);
}

/* The requests of a Guaranteed pod rise as far as the node has room, and its containers with them.
 */
TEST_RIG(room)
{
	follow(g, true);
	g->f.room_counted = true;
	g->f.room[CPU] = 300;
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 800);
	CHECK_EQ(level(g, CPU), 1300);
	CHECK(g->d.short_of_room);
	/* A lead that does not fit is none. */
	g->c[0].use_bytes = 340 * MIB;
	g->c[0].slope_bps = 8 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 400 * MIB);
	rig_later(g, 1 * S);
	CHECK(!g->d.send && g->d.blocked);
}

/* As far as its containers have gone back. */
TEST_RIG(goes_back)
{
	follow(g, false);
	g->f.level.follows = 0;
	g->f.level.backs = RESOURCES_BOTH;
	g->f.level.spec.limit[CPU] = 1400;
	g->f.level.spec.limit[MEM] = 300 * MIB;
	rig_res(g, 0, CPU)->spec_limit = 600;
	rig_res(g, 0, CPU)->held = 600;
	CHECK(rig_decide(g));
	CHECK_EQ(level(g, CPU), 1300);
	CHECK_EQ(level(g, MEM), 600 * MIB);
	g->f.level.spec.limit[CPU] = 1250;
	g->f.level.spec.limit[MEM] = 600 * MIB;
	CHECK(!rig_decide(g));
	g->f.restoring = true;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	CHECK_EQ(level(g, CPU), 1200);
}

/* Refused by itself it is no reason to hold back growth. */
TEST_RIG(refused)
{
	follow(g, false);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
	CHECK(!rig_later(g, 60 * S));
	CHECK_EQ(g->d.block, REPORT_BLOCK_WAIT);
	g->c[0].use_bytes = 250 * MIB;
	g->c[0].slope_bps = 8 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 300 * MIB);
	CHECK(rig_later(g, 1 * S));
	CHECK(g->d.patch.leads);
}
