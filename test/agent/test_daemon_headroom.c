// SPDX-License-Identifier: Apache-2.0
/* PID 1 gets the first headroom before memory grows, and what was stored before us comes
 * back.
 */
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"

#define SMALL "units:\n  - {match: a.service, max-memory: 1Gi}\n"

static void step_40(struct rig *r)
{
	rig_grow(r, &r->unit[0], 4 * MIB);
}

static bool answers_late;
static unsigned drifts; /* changes attributed to an external writer */

static void on_event(struct rig *, const struct event_record *, const char *message)
{
	drifts += strstr(message, "external writer") != NULL;
}

static struct rig_unit *begin(struct rig *r, const char *config, uint64_t mem_max, uint64_t use)
{
	struct rig_unit *u;

	rig_open(r, config);
	r->answers_late = answers_late;
	r->reported = on_event;
	drifts = 0;
	u = rig_add(r, "a.service", 200, mem_max);
	u->anon_bytes = use;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 40, NULL);
	return u;
}

/*
 * Growth at 40 MB/s begins while PID 1 is in a reload of three seconds: it writes what it stored
 * before, then does what it was asked meanwhile, and reloads again.
 */
TEST_RIG(reload_when_growth_begins)
{
	struct rig_unit *u = begin(r, SMALL, 64 * MIB, 20 * MIB);

	r->lag_seconds = 3;
	for (int i = 0; i < 60; i++) {
		rig_reflex(r, 1, step_40);
		if (i % 5 == 4)
			rig_realise(r, u);
	}
	CHECK_EQ(r->kills, 0);
	CHECK(u->anon_bytes >= 250 * MIB);
	CHECK(u->props.mem_max >= u->anon_bytes);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
}

/* It is no limit: the file has what it had, and no change is reported. late: PID 1 has written it a
 * moment before it answers. */
TEST_RIG_BOTH(only_systemd, late)
{
	struct rig_unit *u;

	answers_late = late;
	u = begin(r, SMALL, 64 * MIB, 20 * MIB);
	answers_late = false;
	rig_reflex(r, 200, NULL);
	CHECK_EQ(u->props.mem_max, 276 * MIB);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 64 * MIB);
	CHECK_EQ(r->sent_calls, 1);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED] + r->events[EVENT_LIMIT_LOWERED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 0);
}

/* The call in flight is not the newest one: growth has asked for more since. */
TEST_RIG(older_call)
{
	struct rig_unit *u = begin(r, SMALL, 64 * MIB, 20 * MIB);

	r->lag_seconds = 2;
	r->answers_late = true;
	rig_reflex(r, 15, step_40);
	rig_reflex(r, 150, NULL);
	CHECK_EQ(u->anon_bytes, 80 * MIB);
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(drifts, 0);
}

/* Far from its limit, at its ceiling, or not to grow: nothing is said. */
TEST(not_needed)
{
	struct rig r;

	begin(&r, SMALL, 512 * MIB, 20 * MIB);
	CHECK_EQ(r.set_calls, 0);
	rig_close(&r);
	begin(&r, "units:\n  - {match: a.service, max-memory: 64Mi}\n", 64 * MIB, 20 * MIB);
	CHECK_EQ(r.set_calls, 0);
	rig_close(&r);
	begin(&r, "units:\n  - {match: a.service, mode: Off}\n", 64 * MIB, 20 * MIB);
	CHECK_EQ(r.set_calls, 0);
	rig_close(&r);
	begin(&r, "units:\n  - {match: a.service, mode: Initial}\n", 64 * MIB, 20 * MIB);
	CHECK_EQ(r.set_calls, 0);
	rig_close(&r);
}

/* The next daemon finds the file as its owner wrote it, and more with systemd: still ours. */
TEST_RIG(given_back_after_a_restart)
{
	struct rig_unit *u = begin(r, SMALL, 64 * MIB, 20 * MIB);

	rig_stop(r);
	CHECK_EQ(u->props.mem_max, 276 * MIB);
	rig_write_config(r, "units:\n  - {match: a.service, mode: Off}\n");
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 50, NULL);
	CHECK_EQ(u->props.mem_max, 64 * MIB);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 64 * MIB);
}

/* A container and its pod's cgroup get headroom alike; both get their originals back from a daemon
 * that was restarted meanwhile. */
TEST_RIG(pod)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit, *log = p->container[1].unit;

	app->anon_bytes = 20 * MIB;
	rig_pod_run(r, p, 5, pods_burn_20);
	/* Four times the original is the ceiling. */
	CHECK_EQ(app->props.mem_max, 256 * MIB);
	CHECK_EQ(log->props.mem_max, 128 * MIB);
	CHECK(p->level->props.mem_max >= 384 * MIB);
	CHECK_EQ(rig_bytes(r, app, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 96 * MIB);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED] + r->events[EVENT_LIMIT_LOWERED], 0);
	rig_restart(r);
	rig_pod_run(r, p, 5, pods_burn_20);
	CHECK_EQ(app->props.mem_max, 256 * MIB);
	p->mode = NULL;
	rig_pod_run(r, p, 10, pods_burn_20);
	pods_check_originals(r, p);
	CHECK_EQ(app->props.mem_max, 64 * MIB);
	CHECK_EQ(log->props.mem_max, 32 * MIB);
	CHECK_EQ(p->level->props.mem_max, 96 * MIB);
}

/* The pod's rig_reflex(): growth at 50 MB/s, which memory.high stops as it does in the kernel. */
static void step_50_braked(struct rig *r)
{
	struct rig_unit *u = r->pod[0].container[0].unit;

	if (u->anon_bytes + 5 * MIB < rig_bytes(r, u, "memory.high"))
		rig_grow(r, u, 5 * MIB);
}

/* A CPU manager is at work, so growth is held below what the runtime may write. Returns the
 * container's cgroup. */
static struct rig_unit *begin_braked(struct rig *r, unsigned lag_seconds)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;

	app->anon_bytes = 4 * MIB;
	rig_put(r, app, "cpuset.cpus", "0-1\n");
	rig_pod_run(r, p, 2, NULL);
	rig_reflex(r, 120, NULL);
	runtime_check(&r->daemon->units, true);
	CHECK(r->daemon->host.cpu_manager);
	CHECK_EQ(pods_of(r, "default/web-0/app")->control.pod.replay_mem_bytes, 64 * MIB);
	r->lag_seconds = lag_seconds;
	for (int i = 0; i < 20 && rig_bytes(r, app, "memory.high") == LIMIT_MAX; i++)
		rig_reflex(r, 1, step_50_braked);
	rig_reflex(r, 3, step_50_braked);
	CHECK(rig_bytes(r, app, "memory.high") < 64 * MIB);
	CHECK(app->props.mem_max > 64 * MIB);
	return app;
}

/* PID 1, which answers three seconds later, writes memory.high with the headroom that it stores, or
 * with the old limit that the runtime asks for: the brake holds on. */
TEST_RIG_BOTH(brake_outlasts_property, replay)
{
	struct rig_unit *app = begin_braked(r, 3);

	if (replay)
		app->props.mem_max = 64 * MIB;
	rig_realise(r, app);
	CHECK_EQ(rig_bytes(r, app, "memory.high"), LIMIT_MAX);
	for (int i = 0; i < 5; i++) {
		rig_reflex(r, 1, step_50_braked);
		CHECK(rig_bytes(r, app, "memory.high") < 64 * MIB);
	}
	CHECK(app->anon_bytes < 64 * MIB);
}

static void step_50_busy(struct rig *r)
{
	step_50_braked(r);
	rig_burn(r, r->pod[0].container[0].unit, 800);
}

/* Each call makes PID 1 lift the brake. What its memory does not need waits, as the CPU limit that
 * rises meanwhile, until growth is held no longer. */
TEST_RIG(calls_wait_for_brake)
{
	struct rig_unit *app = begin_braked(r, 0);
	uint64_t stored = app->props.cpu_quota_per_sec_usec;

	rig_reflex(r, 100, step_50_busy);
	CHECK(rig_cpu_milli(r, app) > 400);
	CHECK(rig_bytes(r, app, "memory.high") < 64 * MIB);
	/* Each call carries it. */
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, stored);
	rig_put(r, app, "cpuset.cpus", "\n");
	runtime_check(&r->daemon->units, true);
	rig_reflex(r, 20, step_50_busy);
	CHECK(app->props.cpu_quota_per_sec_usec > stored);
	CHECK_EQ(r->kills, 0);
}
