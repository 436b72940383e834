// SPDX-License-Identifier: Apache-2.0
/* The rules of policy/report/report.h, one by one, in virtual time. */
#include "test/policy/report_rig.h"

static void test_nothing_to_say(void)
{
	WITH(g)
	{
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_NONE);
		CHECK_EQ(g.d.again, 0);
		CHECK_EQ(g.d.write[CPU] | g.d.write[MEM], 0);
	}
}

static void test_lease(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_LEASE);
		CHECK_EQ(g.d.again, g.now + 60 * S);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
		CHECK_EQ(rig_limit(&g, 1, CPU), 0);
		CHECK_EQ(g.d.urgency, REPORT_ORDINARY);
	}
}

static void test_lease_starts_anew(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 59 * S;
		rig_set_held(&g, 0, CPU, 1100);
		g.now += 59 * S;
		CHECK(!rig_decide(&g));
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 1100);
	}
}

static void test_every_memory_limit_is_named(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 60 * S;
		rig_res(&g, 1, MEM)->managed = false;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_after(&g, 0, MEM), 256 * MIB);
		CHECK_EQ(rig_after(&g, 1, MEM), 256 * MIB);
		rig_res(&g, 1, MEM)->spec_limit = rig_res(&g, 1, MEM)->held = LIMIT_MAX;
		CHECK(rig_decide(&g));
		CHECK(rig_item(&g, 1) == NULL);
	}
}

static void test_memory_carries_room(void)
{
	WITH(g)
	{
		g.c[0].use_bytes = 480 * MIB;
		g.c[0].slope_bps = MIB;
		rig_set_held(&g, 0, MEM, 512 * MIB);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		/* use + 60 s of slope + a tenth of use */
		CHECK_EQ(rig_limit(&g, 0, MEM), (480 + 60 + 48) * MIB);
		CHECK_EQ(g.d.urgency, REPORT_LEADS); /* it is nearer than its margin */
	}
}

/* A CPU resize of one container replays the memory of the other. */
static void test_room_for_the_sibling(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.c[1].use_bytes = 250 * MIB;
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 1, MEM), 275 * MIB);
		g.c[0].use_bytes = 2 * MIB;
		rig_res(&g, 0, MEM)->spec_limit = rig_res(&g, 0, MEM)->held = 10 * MIB;
		rig_res(&g, 0, MEM)->spec_request = 4 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 18 * MIB);
	}
}

static void test_room_ends_at_the_ceiling(void)
{
	WITH(g)
	{
		g.c[0].use_bytes = 300 * MIB;
		g.c[0].slope_bps = 100 * MIB;
		rig_res(&g, 0, MEM)->ceiling = 400 * MIB;
		rig_set_held(&g, 0, MEM, 390 * MIB);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 400 * MIB);
	}
}

static void test_room_alone_is_no_change(void)
{
	WITH(g)
	{
		g.c[0].use_bytes = 250 * MIB;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_NONE);
	}
}

/* What is sent while memory grows has room for the growth. */
static void test_cpu_while_memory_grows(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 600 * S;
		g.c[1].growing = true;
		g.c[1].slope_bps = 8 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_MEMORY_RAISE);
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
		CHECK_EQ(rig_after(&g, 0, MEM), 256 * MIB);
		CHECK_EQ(rig_limit(&g, 1, MEM), 100 * MIB + 16 * MIB + 480 * MIB);
	}
}

static void test_memory_before_cpu(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 30 * S;
		rig_set_held(&g, 1, MEM, 512 * MIB);
		g.now += 30 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_MEMORY);
		CHECK_EQ(g.d.again, g.now + 30 * S);
		g.now += 30 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
		CHECK_EQ(rig_limit(&g, 1, MEM), 512 * MIB);
	}
}

/* A request of memory makes no memory grow: it does not go before other writes. */
static void test_request_while_its_limit_waits(void)
{
	WITH(g)
	{
		g.f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
		rig_res(&g, 0, MEM)->request = 160 * MIB;
		rig_res(&g, 0, MEM)->request_since = 1;
		g.now += 1800 * S;
		rig_set_held(&g, 0, MEM, 512 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_request(&g, 0, MEM), 160 * MIB);
		CHECK_EQ(rig_limit(&g, 0, MEM), 0);
		CHECK_EQ(g.d.urgency, REPORT_ORDINARY);
	}
}

/* A decrease of memory that may come later does not delay other changes. */
static void test_lower_memory_does_not_block_cpu(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 59 * S;
		rig_set_held(&g, 1, MEM, 200 * MIB);
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
		CHECK_EQ(rig_after(&g, 1, MEM), 256 * MIB);
	}
}

static void test_memory_sinks(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, MEM, 200 * MIB);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 200 * MIB);
		g.n.no_decrease_until = g.now + S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_DECREASE);
		g.now += S;
		CHECK(rig_decide(&g));
		/* Never below use and margin, and never below the request. */
		g.c[0].use_bytes = 190 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 209 * MIB);
		rig_set_held(&g, 0, MEM, 64 * MIB);
		g.c[0].use_bytes = 10 * MIB;
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 128 * MIB);
	}
}

static void ratify(struct report_rig *g, uint64_t cpu)
{
	rig_set_held(g, 0, CPU, cpu);
	g->now += 60 * S;
	CHECK(rig_decide(g));
	rig_accept(g);
	rig_echo(g);
}

static void test_intervals(void)
{
	WITH(g)
	{
		g.t.lease_usec = 0;
		ratify(&g, 900);
		rig_set_held(&g, 0, CPU, 1200);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INTERVAL);
		CHECK_EQ(g.d.again, g.now + 10 * S);
		rig_set_held(&g, 0, CPU, 600);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.again, g.now + 300 * S);
		g.now += 299 * S;
		CHECK(!rig_decide(&g));
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 600);
	}
}

static void test_small_changes(void)
{
	WITH(g)
	{
		g.t.lease_usec = 0;
		ratify(&g, 900);
		rig_set_held(&g, 0, CPU, 950);
		g.now += 599 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_SMALL);
		CHECK_EQ(g.d.again, g.now + S);
		rig_set_held(&g, 0, CPU, 990); /* 10 % */
		CHECK(rig_decide(&g));
		rig_set_held(&g, 0, CPU, 950);
		g.now += S;
		CHECK(rig_decide(&g));
	}
}

static void test_one_at_a_time(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_store(&g);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_SENT);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), 0);
		rig_set_held(&g, 0, CPU, 1500);
		g.now += 60 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_ECHO);
		rig_echo(&g);
		CHECK(rig_decide(&g));
	}
}

/* A pending resize would be carried out below use: a higher value has to overtake it. */
static void test_growth_overtakes_what_was_asked(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, MEM, 300 * MIB);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		rig_accept(&g);
		g.f.pending_deferred = true;
		rig_observe(&g);
		g.now += 600 * S;
		rig_set_held(&g, 0, MEM, 500 * MIB);
		g.c[0].use_bytes = 195 * MIB;
		g.c[0].slope_bps = 2 * MIB;
		g.c[0].growing = true;
		CHECK(!rig_decide(&g)); /* still fits */
		g.c[0].use_bytes = 295 * MIB;
		g.c[0].slope_bps = 10 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, MEM), round_up(295 * MIB * 11 / 10, 4096) + 600 * MIB);
		CHECK_EQ(rig_limit(&g, 0, CPU), 0);
	}
}

/* Spec and checkpoint have the value, the cgroup does not: no request would change that. */
static void test_trap(void)
{
	WITH(g)
	{
		rig_res(&g, 0, CPU)->actual = 300;
		rig_res(&g, 1, MEM)->actual = 128 * MIB;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.write[CPU], 1);
		CHECK_EQ(g.d.write[MEM], 2);
		rig_res(&g, 0, CPU)->actual = 497; /* one percent rounds */
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.write[CPU], 0);
		g.f.echoed = false; /* the kubelet is still at it */
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.write[MEM], 0);
	}
}

static void test_restoring(void)
{
	WITH(g)
	{
		ratify(&g, 900);
		g.f.active = false;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INACTIVE);
		g.f.restoring = true;
		CHECK(rig_decide(&g)); /* at once: no lease, no interval */
		CHECK_EQ(g.d.urgency, REPORT_AT_ONCE);
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		rig_accept(&g);
		rig_echo(&g);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_NONE);
		/* The spec is back and the cgroup is not: ours to write. */
		CHECK_EQ(g.d.write[CPU], 1);
	}
}

/* One container is no longer managed, the other one is: its originals are sent without a lease, and
 * without the five minutes after the last resize that other decreases wait. */
static void test_one_is_handed_back(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		rig_set_held(&g, 1, CPU, 800);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		g.now += S;
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			rig_res(&g, 0, r)->back = true;
			rig_set_held(&g, 0, r, rig_res(&g, 0, r)->original_limit);
		}
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INTERVAL);
		CHECK(g.d.again <= g.now + 10 * S);
		g.now += 10 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		CHECK_EQ(rig_after(&g, 0, MEM), 256 * MIB);
		CHECK_EQ(rig_limit(&g, 1, CPU), 0);
		CHECK_EQ(rig_after(&g, 1, MEM), 256 * MIB);
		rig_accept(&g);
		rig_echo(&g);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_NONE);
	}
}

static void test_restoring_keeps_memory_above_use(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, MEM, 512 * MIB);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		g.f.restoring = true;
		g.c[0].use_bytes = 300 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 330 * MIB);
		rig_accept(&g);
		rig_echo(&g);
		/* The original is still owed, also when use grows again. */
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
		CHECK_EQ(g.d.again, g.now + g.t.up_interval_usec);
		g.c[0].use_bytes = 320 * MIB;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
		/* Not where the server takes no lower limit: it will never stand there. */
		g.n.no_decrease_until = g.now + S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_NONE);
		g.n.no_decrease_until = 0;
		/* The rest follows when use sinks, and not with every page of it. */
		g.c[0].use_bytes = 299 * MIB;
		CHECK(!rig_decide(&g));
		g.now += 300 * S;
		CHECK(!rig_decide(&g));
		g.c[0].use_bytes = 100 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 256 * MIB);
	}
}

/* More memory is in use than the cgroup's original: its limit stays, and nothing else waits for it.
 */
static void test_restoring_all_but_a_limit(bool whole_pod)
{
	WITH(g)
	{
		struct report_resource *cpu = rig_res(&g, 0, CPU), *mem = rig_res(&g, 0, MEM);

		rig_set_held(&g, 0, CPU, 900);
		rig_set_held(&g, 0, MEM, 512 * MIB);
		mem->request = 256 * MIB;
		g.f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_request(&g, 0, MEM), 256 * MIB);
		rig_accept(&g);
		rig_echo(&g);
		g.now += 10 * S;
		g.f.restoring = whole_pod;
		cpu->back = mem->back = !whole_pod;
		cpu->held = cpu->actual = 500;
		g.c[0].use_bytes = 300 * MIB;
		mem->limit_stays = true;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		CHECK_EQ(rig_request(&g, 0, MEM), 128 * MIB);
		CHECK_EQ(rig_after(&g, 0, MEM), 512 * MIB);
		rig_accept(&g);
		rig_echo(&g);
		g.now += 300 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
		/* It follows without the interval of decreases. */
		cpu->spec_limit = cpu->actual = 600;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		rig_accept(&g);
		rig_echo(&g);
		mem->limit_stays = false;
		mem->held = mem->actual = 256 * MIB;
		g.c[0].use_bytes = 100 * MIB;
		g.now += 10 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 256 * MIB);
	}
}

/* The kubelet replays all of the spec: a memory limit below use holds the rest back, and is not
 * raised for it. */
static void test_restoring_below_use(void)
{
	WITH(g)
	{
		struct report_resource *cpu = rig_res(&g, 0, CPU), *mem = rig_res(&g, 0, MEM);

		cpu->spec_limit = 900;
		g.f.restoring = true;
		g.c[0].use_bytes = 300 * MIB;
		mem->held = mem->actual = 400 * MIB;
		mem->limit_stays = true;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
		CHECK_EQ(g.d.write[MEM], 0);
		g.c[0].use_bytes = 100 * MIB;
		mem->held = mem->actual = 256 * MIB;
		mem->limit_stays = false;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
	}
}

static void test_restoring_puts_requests_back(void)
{
	WITH(g)
	{
		g.f.restoring = true;
		rig_res(&g, 0, CPU)->spec_request = 450;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_request(&g, 0, CPU), 200);
		CHECK_EQ(rig_limit(&g, 0, CPU), 0);
	}
}

static void test_not_offered_not_active(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		g.now += 60 * S;
		g.f.offered = false;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_OFFERED);
		g.f.offered = true;
		g.f.active = false;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INACTIVE);
		g.f.active = true;
		g.f.forbidden_until = g.now + S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.again, g.now + S);
		g.now += S;
		CHECK(rig_decide(&g));
	}
}

static void test_names(void)
{
	for (enum report_block h = 0; h < REPORT_BLOCK_COUNT; h++)
		CHECK(report_block_name(h) != NULL && report_block_name(h)[0] != '?');
	CHECK_STR(report_block_name(REPORT_BLOCK_COUNT), "?");
	CHECK(report_state_new(REPORT_CONTAINERS_MAX + 1) == NULL);
}

int main(void)
{
	test_nothing_to_say();
	test_lease();
	test_lease_starts_anew();
	test_every_memory_limit_is_named();
	test_memory_carries_room();
	test_room_for_the_sibling();
	test_room_ends_at_the_ceiling();
	test_room_alone_is_no_change();
	test_cpu_while_memory_grows();
	test_memory_before_cpu();
	test_request_while_its_limit_waits();
	test_lower_memory_does_not_block_cpu();
	test_memory_sinks();
	test_intervals();
	test_small_changes();
	test_one_at_a_time();
	test_growth_overtakes_what_was_asked();
	test_trap();
	test_restoring();
	test_one_is_handed_back();
	test_restoring_keeps_memory_above_use();
	test_restoring_puts_requests_back();
	test_restoring_all_but_a_limit(true);
	test_restoring_all_but_a_limit(false);
	test_restoring_below_use();
	test_not_offered_not_active();
	test_names();
	return check_result();
}
