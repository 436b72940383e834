// SPDX-License-Identifier: Apache-2.0
/* vscaled.dev/startup-boost from the annotation to cpu.max and back, in passes of a tenth of a
 * second: starts, restarts of container and agent, and its end. */
#include "test/agent/test_pods.h"

#define RULE "2x 5s"

static struct rig_unit *app(const struct rig_pod *p)
{
	return p->container[0].unit;
}

static uint64_t milli(struct rig *r, const struct rig_pod *p)
{
	return rig_cpu_milli(r, app(p));
}

/* app with 200m and log with 300m have just started, and neither is ready. */
static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver, const char *config)
{
	struct rig_pod *p = pods_begin(r, driver, config);

	p->extra_key = "startup-boost";
	p->extra_value = RULE;
	for (size_t i = 0; i < p->count; i++) {
		p->container[i].unready = true;
		p->container[i].started_real = r->real;
	}
	rig_pod_put(r, p);
	return p;
}

static void ready(struct rig *r, struct rig_pod *p)
{
	for (size_t i = 0; i < p->count; i++)
		p->container[i].unready = false;
	/* Whole seconds, as the API server has them. */
	p->ready_real = r->real - r->real % USEC_PER_SEC;
	rig_pod_put(r, p);
}

/* Runs until the limit has that value, at most so many passes; returns their number. */
static unsigned checks_until(struct rig *r, const struct rig_pod *p, uint64_t want, unsigned most)
{
	unsigned n = 0;

	for (; n < most && milli(r, p) != want; n++)
		rig_reflex(r, 1, pods_burn_20);
	CHECK_EQ(milli(r, p), want);
	return n;
}

static void check_boosted(struct rig *r, const struct rig_pod *p)
{
	CHECK_EQ(milli(r, p), 400);
	CHECK_EQ(rig_cpu_milli(r, p->container[1].unit), 600);
	CHECK_EQ(rig_cpu_milli(r, p->level), 1000);
	CHECK(!r->below);
}

/* Lines of the journal since the rig was opened. */
static struct {
	char text[32][EVENT_MESSAGE_SIZE];
	size_t count;
} reported;

static void note_reported(struct rig *, const struct event_record *, const char *message)
{
	if (reported.count < ARRAY_SIZE(reported.text))
		snprintf(reported.text[reported.count++], sizeof reported.text[0], "%s", message);
}

static bool was_reported(const char *text)
{
	for (size_t i = 0; i < reported.count; i++)
		if (strstr(reported.text[i], text) != NULL)
			return true;
	return false;
}

TEST_RIG_DRIVERS(begin_and_end)
{
	struct rig_pod *p = begin(r, driver, "");
	usec_t at;

	reported.count = 0;
	r->reported = note_reported;
	rig_reflex(r, 1, pods_burn_20);
	check_boosted(r, p);
	CHECK(was_reported("app cpu 200m -> 400m (startup boost"));
	rig_run(r, 30, pods_burn_20);
	check_boosted(r, p);
	CHECK(histogram_empty(&pods_of(r, "default/web-0/app")->control.history.cpu));
	CHECK_EQ(pods_of(r, "default/web-0/app")->control.resource[RESOURCE_CPU].blocked,
		 BLOCKED_BOOST);
	ready(r, p);
	at = p->ready_real;
	rig_reflex(r, 40, pods_burn_20);
	check_boosted(r, p);
	checks_until(r, p, 200, 20);
	CHECK(r->real >= at + 5 * USEC_PER_SEC && r->real <= at + 6 * USEC_PER_SEC);
	rig_reflex(r, 1, pods_burn_20);
	pods_check_originals(r, p);
	CHECK(was_reported("app cpu 400m -> 200m (startup boost has ended"));
	rig_run(r, 30, pods_burn_20);
	pods_check_originals(r, p);
	CHECK(!histogram_empty(&pods_of(r, "default/web-0/app")->control.history.cpu));
}

static void restart(struct rig *r, struct rig_pod *p, struct rig_container *c)
{
	rig_container_stop(r, c);
	rig_reflex(r, 2, NULL);
	rig_container_start(r, p, c, false);
	/* The cgroup exists, and the API server still reports the previous one. */
	rig_reflex(r, 1, NULL);
}

static void report(struct rig *r, struct rig_pod *p, struct rig_container *c)
{
	c->reported = true;
	c->unready = true;
	c->started_real = r->real;
	p->ready_real = 0;
	rig_pod_put(r, p);
}

TEST_RIG_DRIVERS(container_restarts)
{
	struct rig_pod *p = begin(r, driver, "");
	struct rig_container *c = &p->container[0];

	/* In the middle, and again after its end; ready was the one before. */
	rig_reflex(r, 30, pods_burn_20);
	for (int i = 0; i < 2; i++) {
		restart(r, p, c);
		CHECK_EQ(milli(r, p), 400);
		rig_reflex(r, 20, pods_burn_20);
		report(r, p, c);
		rig_reflex(r, 80, pods_burn_20);
		CHECK_EQ(milli(r, p), 400);
		ready(r, p);
		checks_until(r, p, 200, 60);
	}
	rig_reflex(r, 10, pods_burn_20);
	pods_check_originals(r, p);
}

/* What was held before a boost, higher than the original, is known to the next daemon as well. */
TEST_RIG(agent_restarts)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS, "");
	struct rig_container *c = &p->container[0];
	uint64_t held;

	ready(r, p);
	rig_reflex(r, 60, pods_burn_20);
	rig_run(r, 20, pods_burn_800);
	held = milli(r, p);
	CHECK(held >= 800 && held < 2000);
	restart(r, p, c);
	report(r, p, c);
	rig_reflex(r, 10, pods_burn_20);
	CHECK_EQ(milli(r, p), MIN(2 * held, r->daemon->host.cpu_milli));
	rig_restart(r);
	rig_pod_put(r, p);
	rig_reflex(r, 20, pods_burn_20);
	CHECK_EQ(milli(r, p), MIN(2 * held, r->daemon->host.cpu_milli));
	/* And it goes on in the life of the next one, which ends it after its time. */
	ready(r, p);
	rig_reflex(r, 20, pods_burn_20);
	rig_restart(r);
	rig_pod_put(r, p);
	rig_reflex(r, 20, pods_burn_20);
	CHECK_EQ(milli(r, p), MIN(2 * held, r->daemon->host.cpu_milli));
	checks_until(r, p, held, 20);
	CHECK(r->real <= p->ready_real + 6 * USEC_PER_SEC);
}

/* The boost should have ended while the agent was stopped. */
TEST_RIG(agent_comes_late)
{
	struct rig_pod *p = begin(r, DRIVER_SYSTEMD, "");

	rig_reflex(r, 10, pods_burn_20);
	check_boosted(r, p);
	rig_stop(r);
	r->boot += USEC_PER_MIN;
	r->real += USEC_PER_MIN;
	for (size_t i = 0; i < p->count; i++)
		p->container[i].unready = false;
	p->ready_real = r->real - 30 * USEC_PER_SEC;
	CHECK_EQ(rig_start(r), 0);
	rig_pod_put(r, p);
	rig_reflex(r, 10, pods_burn_20);
	pods_check_originals(r, p);
	rig_run(r, 10, pods_burn_20);
	pods_check_originals(r, p);
}

/* First seen when ready for longer than the boost's time, whether or not the pod is ready. */
TEST_RIG_BOTH(found_running, pod_ready)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	p->extra_key = "startup-boost";
	p->extra_value = RULE;
	for (size_t i = 0; i < p->count; i++)
		p->container[i].started_real = r->real - USEC_PER_MIN;
	p->ready_real = pod_ready ? r->real - 10 * USEC_PER_SEC : 0;
	rig_pod_put(r, p);
	rig_reflex(r, 30, pods_burn_20);
	pods_check_originals(r, p);
	CHECK_EQ(r->moved_count, 0);
}

static void ignore(void *, const struct restore_result *result)
{
	CHECK_EQ(result->outcome, RESTORE_RESTORED);
}

TEST_DRIVERS(hands_off)
{
	struct rig r;
	struct rig_pod *p = begin(&r, driver, "");
	const struct control_ops *ops = r.loop->serve.api.ops;

	rig_reflex(&r, 10, pods_burn_20);
	check_boosted(&r, p);
	CHECK(ops->pause(&r.loop->serve, "default/web-0") >= 1);
	CHECK_EQ(milli(&r, p), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->container[1].unit), 300);
	rig_reflex(&r, 10, pods_burn_20);
	CHECK(ops->resume(&r.loop->serve, "default/web-0") >= 1);
	rig_reflex(&r, 30, pods_burn_20);
	pods_check_originals(&r, p);
	rig_close(&r);

	p = begin(&r, driver, "");
	rig_reflex(&r, 10, pods_burn_20);
	check_boosted(&r, p);
	CHECK_OK(r.loop->serve.api.ops->restore(&r.loop->serve, "default/web-0", false, ignore,
						NULL));
	pods_check_originals(&r, p);
	rig_reflex(&r, 30, pods_burn_20);
	pods_check_originals(&r, p);
	rig_close(&r);

	p = begin(&r, driver, "");
	rig_reflex(&r, 10, pods_burn_20);
	check_boosted(&r, p);
	p->mode = "Off";
	rig_pod_put(&r, p);
	rig_reflex(&r, 20, pods_burn_20);
	pods_check_originals(&r, p);
	rig_close(&r);
}

/* The annotation is changed, then removed. */
TEST_RIG(annotation_changes)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS, "");

	rig_reflex(r, 10, pods_burn_20);
	p->extra_value = "+500m 5s";
	rig_pod_put(r, p);
	rig_reflex(r, 1, pods_burn_20);
	CHECK_EQ(milli(r, p), 700);
	p->extra_key = NULL;
	rig_pod_put(r, p);
	rig_reflex(r, 1, pods_burn_20);
	pods_check_originals(r, p);
}

/* An invalid value: no boost, and the container is not sized. */
TEST_RIG(invalid)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	p->extra_key = "startup-boost";
	p->extra_value = "double 5s";
	p->container[0].unready = true;
	rig_pod_put(r, p);
	rig_reflex(r, 20, pods_burn_800);
	CHECK_EQ(r->events[EVENT_ANNOTATION_INVALID], 1);
	CHECK_EQ(pods_of(r, "default/web-0/app")->control.rule.mode, MODE_OFF);
	pods_check_originals(r, p);
}

/* The administrator's bound limits the boost; the kubelet's echo of the spec does not end it. */
TEST_RIG(bounds_and_echoes)
{
	struct rig_pod *p = begin(r, DRIVER_SYSTEMD, "kubernetes: {maxCpu: 350m}\n");

	rig_reflex(r, 5, pods_burn_20);
	CHECK_EQ(milli(r, p), 350);
	rig_pod_realise(r, p);
	rig_reflex(r, 20, pods_burn_20);
	CHECK_EQ(milli(r, p), 350);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
	ready(r, p);
	checks_until(r, p, 200, 60);
}

/* The boost that explain shows; NULL: none. Owned. */
static cJSON *shown(struct rig *r)
{
	cJSON *unit = NULL, *boost;

	CHECK_EQ(r->loop->serve.api.ops->explain(&r->loop->serve, "default/web-0/app", &unit), 0);
	boost = cJSON_DetachItemFromObject(cJSON_GetObjectItem(unit, "cpu"), "boost");
	cJSON_Delete(unit);
	if (cJSON_IsObject(boost))
		return boost;
	cJSON_Delete(boost);
	return NULL;
}

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(object, key);

	return cJSON_IsNumber(n) ? (uint64_t)n->valuedouble : VIEW_NONE;
}

TEST(shown)
{
	struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_CGROUPFS, "");
	cJSON *b;

	rig_reflex(&r, 10, pods_burn_20);
	b = shown(&r);
	CHECK(cJSON_IsTrue(cJSON_GetObjectItem(b, "lent")));
	CHECK_EQ(number(b, "limit"), 400);
	CHECK_EQ(number(b, "base"), 200);
	CHECK_EQ(number(b, "ready_for_usec"), 5 * USEC_PER_SEC);
	CHECK_EQ(number(b, "ends_in_usec"), VIEW_NONE);
	cJSON_Delete(b);
	ready(&r, p);
	rig_reflex(&r, 10, pods_burn_20);
	b = shown(&r);
	CHECK(number(b, "ends_in_usec") > 0 && number(b, "ends_in_usec") <= 4 * USEC_PER_SEC);
	cJSON_Delete(b);
	rig_reflex(&r, 60, pods_burn_20);
	CHECK(shown(&r) == NULL);
	rig_close(&r);
	p = begin(&r, DRIVER_CGROUPFS, "kubernetes: {highestMode: Off}\n");
	rig_reflex(&r, 10, pods_burn_20);
	b = shown(&r);
	CHECK(cJSON_IsFalse(cJSON_GetObjectItem(b, "lent")));
	CHECK_EQ(number(b, "limit"), 400);
	cJSON_Delete(b);
	pods_check_originals(&r, p);
	rig_close(&r);
}
