// SPDX-License-Identifier: Apache-2.0
/* Needs of other pods of the workload: merged, with less weight as own history grows. */
#include "test/check.h"
#include "test/policy/rig.h"

static struct range_of range(uint64_t target)
{
	return (struct range_of){target / 2, target, target * 2, target + target / 2};
}

static struct recommendation pod(uint64_t milli, uint64_t bytes, uint32_t confidence)
{
	struct recommendation r = {0};
	const uint64_t amounts[RESOURCE_COUNT] = {milli, bytes};

	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		if (amounts[i] != 0) {
			r.resource[i] = range(amounts[i]);
			r.confidence_permille[i] = confidence;
		}
	return r;
}

static uint64_t cpu_target(const struct prior *p)
{
	return p->of.resource[RESOURCE_CPU].target;
}

TEST(possible)
{
	struct recommendation r = pod(100, 0, 5);

	CHECK(prior_is_possible(&r));
	CHECK(prior_is_possible(&(struct recommendation){0}));
	r.resource[RESOURCE_CPU].lower = 101;
	CHECK(!prior_is_possible(&r));
	r = pod(100, 0, 5);
	r.resource[RESOURCE_CPU].peak = 99;
	CHECK(!prior_is_possible(&r));
	r = pod(100, 0, 5);
	r.resource[RESOURCE_CPU].upper = LIMIT_MAX;
	CHECK(!prior_is_possible(&r));
	r = pod(100, 0, 5);
	r.resource[RESOURCE_CPU].upper = 99;
	CHECK(!prior_is_possible(&r));
	r = pod(0, 0, 5);
	r.resource[RESOURCE_MEMORY].peak = 1;
	CHECK(!prior_is_possible(&r));
}

TEST(merge)
{
	struct recommendation pods[PRIOR_PODS_MAX];
	struct prior p;

	prior_merge(NULL, 0, &p);
	CHECK_EQ(p.pods, 0);
	CHECK_EQ(cpu_target(&p), 0);
	CHECK_EQ(p.of.confidence_permille[RESOURCE_CPU], 0);
	pods[0] = pod(100, MIB, 40);
	prior_merge(pods, 1, &p);
	CHECK_EQ(p.pods, 1);
	CHECK_EQ(cpu_target(&p), 100);
	CHECK_EQ(p.of.resource[RESOURCE_MEMORY].peak, MIB + MIB / 2);
	CHECK_EQ(p.of.confidence_permille[RESOURCE_CPU], 40);
	/* One that is far off does not count among three of equal confidence. */
	pods[1] = pod(110, 2 * MIB, 40);
	pods[2] = pod(60000, 0, 40);
	prior_merge(pods, 3, &p);
	CHECK_EQ(cpu_target(&p), 110);
	CHECK_EQ(p.of.confidence_permille[RESOURCE_CPU], 120);
	/* Memory is known of two of them: the higher one. */
	CHECK_EQ(p.of.resource[RESOURCE_MEMORY].target, 2 * MIB);
	/* A long history outweighs many short ones, and none counts for more than a whole. */
	pods[0].confidence_permille[RESOURCE_CPU] = 900;
	prior_merge(pods, 3, &p);
	CHECK_EQ(cpu_target(&p), 100);
	pods[2].confidence_permille[RESOURCE_CPU] = UINT32_MAX;
	pods[1].confidence_permille[RESOURCE_CPU] = 200;
	prior_merge(pods, 3, &p);
	CHECK_EQ(cpu_target(&p), 110);
	CHECK_EQ(p.of.confidence_permille[RESOURCE_CPU], 1000);
	for (size_t i = 0; i < PRIOR_PODS_MAX; i++)
		pods[i] = pod(1 + (i * 31) % PRIOR_PODS_MAX, MIB, 0);
	prior_merge(pods, PRIOR_PODS_MAX, &p);
	CHECK_EQ(cpu_target(&p), 26);
	CHECK(prior_is_possible(&p.of));
	prior_bound(&p, (const uint64_t[]){20, 0});
	CHECK_EQ(cpu_target(&p), 20);
	CHECK_EQ(p.of.resource[RESOURCE_CPU].upper, 20);
	CHECK_EQ(p.of.resource[RESOURCE_MEMORY].target, MIB);
	CHECK(prior_is_possible(&p.of));
}

/* From full weight to none. */
TEST(fades)
{
	struct recommendation known = pod(1000, GIB, 1000), own = pod(100, 0, 0), got;
	struct prior p;
	uint64_t before = 1001;

	prior_merge(&known, 1, &p);
	for (uint32_t confidence = 0; confidence <= 1200; confidence += 50) {
		own.confidence_permille[RESOURCE_CPU] = confidence;
		prior_blend(&p, &own, &got);
		CHECK(got.resource[RESOURCE_CPU].target < before + (confidence >= 1000));
		CHECK(confidence > 1000 || got.confidence_permille[RESOURCE_CPU] == 1000);
		CHECK(prior_is_possible(&got));
		/* Nothing is known of memory but from others. */
		CHECK_EQ(got.resource[RESOURCE_MEMORY].target, GIB);
		CHECK_EQ(got.confidence_permille[RESOURCE_MEMORY], 1000);
		before = got.resource[RESOURCE_CPU].target;
	}
	CHECK_EQ(got.resource[RESOURCE_CPU].target, 100);
	/* A need seen here is not doubted. */
	own = pod(5000, 0, 10);
	prior_blend(&p, &own, &got);
	CHECK(got.resource[RESOURCE_CPU].peak >= 7500);
	CHECK(got.resource[RESOURCE_CPU].target <= 1050);
	/* The wide upper bound of a short history does not come through. */
	own = pod(1000, 0, 1);
	own.resource[RESOURCE_CPU].upper = 1000 * 1001;
	prior_blend(&p, &own, &got);
	CHECK(got.resource[RESOURCE_CPU].upper <= 2100);
	/* Without a prior nothing changes. */
	prior_blend(&(struct prior){0}, &own, &got);
	CHECK_EQ(got.resource[RESOURCE_CPU].upper, 1000 * 1001);
	CHECK_EQ(got.confidence_permille[RESOURCE_CPU], 1);
}

static void begin(struct rig *r, enum mode mode)
{
	struct pod_bounds p = {.requests_move = true};

	p.resource[RESOURCE_CPU].request = 1000;
	p.resource[RESOURCE_MEMORY].request = GIB;
	rig_init(r, 2000, 2 * GIB, 4);
	r->c.rule.mode = mode;
	control_set_pod(&r->c, &p);
	r->sim.load = sim_steady(1, 90);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
}

/* Mode Initial sizes nothing until the other pods' sizes are known. */
static void wait_for_prior(struct rig *r, const struct prior *prior)
{
	control_await_facts(&r->c, r->sim.now + 30 * USEC_PER_SEC);
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK(!r->c.initial_done);
	control_set_prior(&r->c, prior);
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK(r->c.initial_done);
}

/* Mode Initial waits for what is known of other pods, and then sizes by that, once. */
TEST_RIG(initial)
{
	struct recommendation known = pod(100, 100 * MIB, 500);
	struct prior prior;

	prior_merge(&known, 1, &prior);
	begin(r, MODE_INITIAL);
	wait_for_prior(r, &prior);
	/* The half that is not known is held up by the original. */
	CHECK_EQ(r->c.resource[RESOURCE_CPU].limit, 1000);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 100);
	CHECK_EQ(control_request(&r->c, RESOURCE_MEMORY), 100 * MIB);
	CHECK_EQ(control_request_since(&r->c, RESOURCE_CPU, r->sim.now), 0);
	/* Likewise where a little is known, from a pod that started here a moment ago. */
	begin(r, MODE_AUTO);
	rig_run(r, USEC_PER_HOUR);
	CHECK(r->c.own.confidence_permille[RESOURCE_CPU] > 0);
	r->c.rule.mode = MODE_INITIAL;
	r->c.initial_done = false;
	wait_for_prior(r, &prior);
	/* No answer: it waits no longer than that. */
	begin(r, MODE_INITIAL);
	control_await_facts(&r->c, r->sim.now + 30 * USEC_PER_SEC);
	rig_run(r, 29 * USEC_PER_SEC);
	CHECK(!r->c.initial_done);
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK(r->c.initial_done);
	/* Nothing is known: at once. */
	begin(r, MODE_INITIAL);
	control_await_facts(&r->c, r->sim.now + 30 * USEC_PER_SEC);
	control_set_prior(&r->c, &(struct prior){0});
	rig_run(r, 11 * USEC_PER_SEC);
	CHECK(r->c.initial_done);
}

/* Limits are sized by what is known of others before a request is sent beside them. */
TEST_RIG(birth_limit)
{
	struct recommendation known = pod(1500, 100 * MIB, 500);
	struct prior prior;

	prior_merge(&known, 1, &prior);
	begin(r, MODE_AUTO);
	control_set_life(&r->c, &(struct startup_life){.started_at = r->sim.now});
	rig_run(r, 10 * USEC_PER_SEC);
	control_set_prior(&r->c, &prior);
	for (int i = 0; i < 12 && control_request(&r->c, RESOURCE_CPU) == 0; i++)
		rig_run(r, USEC_PER_SEC);
	CHECK(sim_milli(&r->sim) >= 1425);
	CHECK(control_request(&r->c, RESOURCE_CPU) >= 1425);
}

/* With little confidence the upper bound is many times the target: none is shown above what there
 * is and may be. */
TEST_RIG(upper_bound)
{
	struct recommendation known = pod(100, 100 * MIB, 1);

	known.resource[RESOURCE_CPU].upper = 57960;
	known.resource[RESOURCE_MEMORY].upper = 57960 * MIB;
	begin(r, MODE_AUTO);
	control_bound_upper(&r->c, (const uint64_t[]){2000, 4 * GIB}, &known);
	CHECK_EQ(known.resource[RESOURCE_CPU].upper, 2000);
	CHECK_EQ(known.resource[RESOURCE_MEMORY].upper, 4 * GIB);
	r->c.rule.cpu_milli.max = 700;
	control_bound_upper(&r->c, (const uint64_t[]){2000, 0}, &known);
	CHECK_EQ(known.resource[RESOURCE_CPU].upper, 700);
	CHECK_EQ(known.resource[RESOURCE_MEMORY].upper, 4 * GIB);
	r->c.rule.cpu_milli.max = 50;
	control_bound_upper(&r->c, (const uint64_t[]){0, 0}, &known);
	CHECK_EQ(known.resource[RESOURCE_CPU].upper, known.resource[RESOURCE_CPU].target);
	CHECK(prior_is_possible(&known));
}

/* The request of a new container does not wait if it is known from others. */
TEST_RIG(birth)
{
	struct recommendation known = pod(100, 100 * MIB, 500);
	struct startup_life life;
	struct prior prior;

	prior_merge(&known, 1, &prior);
	begin(r, MODE_AUTO);
	life = (struct startup_life){.started_at = r->sim.now};
	control_set_life(&r->c, &life);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK(control_request_since(&r->c, RESOURCE_CPU, r->sim.now) != 0);
	control_set_prior(&r->c, &prior);
	/* What goes to the API server at once is theirs, not what the first samples showed; and
	 * not before the limits are sized, which would cut it. */
	CHECK_EQ(control_request_since(&r->c, RESOURCE_MEMORY, r->sim.now), 0);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 0);
	CHECK_EQ(control_request(&r->c, RESOURCE_MEMORY), 0);
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK_EQ(control_request_since(&r->c, RESOURCE_CPU, r->sim.now), 0);
	CHECK(control_request(&r->c, RESOURCE_CPU) >= 95);
	CHECK(control_request(&r->c, RESOURCE_CPU) <= 105);
	/* Later on it waits as any other. */
	rig_run(r, 10 * USEC_PER_MIN);
	CHECK(control_request_since(&r->c, RESOURCE_CPU, r->sim.now) != 0);
	/* What is published is its own alone. */
	CHECK(r->c.own.resource[RESOURCE_MEMORY].target < 80 * MIB);
	CHECK(r->c.recommendation.resource[RESOURCE_MEMORY].target > 90 * MIB);
}

/* Days of CPU, and nothing of memory. */
static void fill_cpu(struct rig *r)
{
	struct cpu_rates rates = {.span_usec = USEC_PER_MIN, .demand_milli = 90};

	for (usec_t done = 0; done < 3 * USEC_PER_DAY; done += USEC_PER_MIN) {
		r->now_real += USEC_PER_MIN;
		history_add_cpu(&r->c.history, &rates, r->now_real);
	}
}

/* No memory limit falls before there is a day of history of memory, whatever is known of CPU: on
 * this node or, of a workload, on others. */
TEST_RIG(memory_for_itself)
{
	begin(r, MODE_AUTO);
	fill_cpu(r);
	rig_run(r, 2 * USEC_PER_HOUR);
	CHECK(r->c.kernel.mem_max == 2 * GIB);
	CHECK(sim_milli(&r->sim) < 1000);
	rig_run(r, 22 * USEC_PER_HOUR + 30 * USEC_PER_MIN);
	CHECK(r->c.kernel.mem_max < 2 * GIB);
	begin(r, MODE_INITIAL);
	fill_cpu(r);
	rig_run(r, 11 * USEC_PER_SEC);
	CHECK(r->c.initial_done);
	CHECK(r->c.kernel.mem_max >= 2 * GIB * 99 / 100);
}

TEST_RIG(memory_of_kin)
{
	struct recommendation known[2] = {pod(100, 100 * MIB, 1000), pod(0, 900 * MIB, 200)};
	struct prior prior;

	known[0].confidence_permille[RESOURCE_MEMORY] = 0;
	prior_merge(known, 2, &prior);
	/* Days of CPU weigh nothing beside hours of memory. */
	CHECK_EQ(prior.of.resource[RESOURCE_MEMORY].target, 900 * MIB);
	CHECK_EQ(prior.of.confidence_permille[RESOURCE_CPU], 1000);
	CHECK_EQ(prior.of.confidence_permille[RESOURCE_MEMORY], 200);
	prior_merge(known, 1, &prior);
	begin(r, MODE_AUTO);
	control_set_life(&r->c, &(struct startup_life){.started_at = r->sim.now});
	control_set_prior(&r->c, &prior);
	rig_run(r, 20 * USEC_PER_SEC);
	CHECK(control_request(&r->c, RESOURCE_CPU) <= 105);
	CHECK_EQ(control_trust(&r->c, RESOURCE_MEMORY), 0);
	CHECK(control_trust(&r->c, RESOURCE_CPU) >= 500);
}
