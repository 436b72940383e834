// SPDX-License-Identifier: Apache-2.0
/* OOM kills, and an external writer whose lower memory.max was the reason, under the whole daemon.
 */
#include "test/agent/test_pods.h"

static char reported[EVENT_MESSAGE_SIZE];
static unsigned lowers_reported;
static char warned[2][320]; /* Events: at the ceiling, killed */

static void on_event(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind != EVENT_OOM_KILL)
		return;
	snprintf(reported, sizeof reported, "%s", message);
	lowers_reported += strstr(message, "external writer") != NULL;
}

static void on_warning(const struct pod *, const char *reason, const char *, const char *text)
{
	if (strcmp(reason, "CeilingReached") == 0)
		snprintf(warned[0], sizeof warned[0], "%s", text);
	if (strcmp(reason, "OOMKilled") == 0)
		snprintf(warned[1], sizeof warned[1], "%s", text);
}

static struct rig_container *app_of(struct rig *r)
{
	return &r->pod[0].container[0];
}

/* 113 MiB at 100 MiB a second, and no more. */
static void step_ramp(struct rig *r)
{
	struct rig_unit *u = app_of(r)->unit;

	rig_burn(r, u, 50);
	if (u->anon_bytes < 113 * MIB)
		rig_grow(r, u, MIN(10 * MIB, 113 * MIB - u->anon_bytes));
}

static void step_idle(struct rig *r)
{
	rig_burn(r, app_of(r)->unit, 20);
}

/* A container of 64 MiB that has grown fast to 113; returns its limit now. */
static uint64_t grown(struct rig *r, enum cgroup_driver driver)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_unit *app = p->container[0].unit;
	uint64_t held;

	reported[0] = '\0';
	lowers_reported = 0;
	r->reported = on_event;
	r->daemon->pods.hooks.warn = on_warning;
	memset(warned, 0, sizeof warned);
	app->anon_bytes = 20 * MIB;
	rig_pod_put(r, p);
	rig_reflex(r, 20, step_idle);
	rig_reflex(r, 20, step_ramp);
	CHECK_EQ(app->anon_bytes, 113 * MIB);
	held = rig_bytes(r, app, "memory.max");
	CHECK_EQ(held, 256 * MIB); /* the ceiling */
	CHECK_EQ(r->kills, 0);
	return held;
}

static void hear_files(struct rig *r)
{
	while (sd_event_run(r->daemon->wake.event, 0) > 0)
		;
}

/* The container ends, and its successor runs for a moment; returns its held limit in MiB. The file
 * may have the headroom stored by PID 1 for a moment. */
static uint64_t successor(struct rig *r, bool killed)
{
	struct rig_pod *p = &r->pod[0];
	struct rig_container *app = app_of(r);

	rig_container_stop(r, app);
	rig_reflex(r, 3, NULL);
	rig_container_start(r, p, app, false);
	app->oom_run = killed ? app->restarts : 0;
	app->reported = true;
	rig_pod_put(r, p);
	rig_reflex(r, 15, step_idle);
	CHECK(rig_bytes(r, app->unit, "memory.max") >=
	      pods_of(r, "default/web-0/app")->control.resource[RESOURCE_MEMORY].limit);
	return pods_of(r, "default/web-0/app")->control.resource[RESOURCE_MEMORY].limit / MIB;
}

static void check_reported(uint64_t held)
{
	char want[160];

	snprintf(want, sizeof want,
		 "OOM-killed in default/web-0/app at the limit 64.00Mi, processes: 1 (an external "
		 "writer had lowered memory.max from %llu MiB; 113 MiB in use)",
		 held / MIB);
	CHECK_STR(reported, want);
}

/*
 * 64 MiB are written over 113 in use. The first notification is memory.events, since the write
 * returns after the kill; or inotify, and the limit has been put back by then.
 */
static void test_killed_by_a_write(enum cgroup_driver driver, bool events_first)
{
	OWN(rig_close) struct rig r;
	uint64_t held = grown(&r, driver), next;
	struct managed *m = pods_of(&r, "default/web-0/app");
	cJSON *unit = NULL;
	const char *why;

	rig_put(&r, app_of(&r)->unit, "memory.max", "67108864\n");
	CHECK_EQ(r.kills, 1);
	if (!events_first)
		hear_files(&r);
	rig_wake(&r, app_of(&r)->unit);
	CHECK_EQ(r.events[EVENT_OOM_KILL], 1);
	check_reported(held);
	CHECK_EQ(m->control.kill.use, 113 * MIB);
	CHECK_EQ(r.loop->serve.api.ops->explain(&r.loop->serve, "default/web-0/app", &unit), 0);
	why = cJSON_GetStringValue(
		cJSON_GetObjectItem(cJSON_GetObjectItem(unit, "memory"), "killed"));
	CHECK(why != NULL && strstr(why, " ago at its limit of 64 MiB, 113 MiB in use") != NULL);
	cJSON_Delete(unit);
	/* A container that survives has the held limit, or the one raised for the kill: the file
	 * may have had PID 1's headroom. */
	rig_reflex(&r, 5, step_idle);
	CHECK(rig_bytes(&r, app_of(&r)->unit, "memory.max") >=
	      (driver == DRIVER_SYSTEMD ? 213 * MIB : held));
	next = successor(&r, true);
	CHECK(next >= 213 && next < 230);
	CHECK_EQ(r.events[EVENT_OOM_KILL], 1);
	CHECK_EQ(r.kills, 1);
}

/* The cgroup is removed with its counters: the kill is known from the API server, the write from
 * inotify. */
TEST_RIG(kill_unseen)
{
	uint64_t held = grown(r, DRIVER_CGROUPFS), next;

	rig_put(r, app_of(r)->unit, "memory.max", "67108864\n");
	hear_files(r);
	CHECK_EQ(r->events[EVENT_OOM_KILL], 0);
	next = successor(r, true);
	CHECK(next >= 213 && next < 230);
	CHECK_EQ(r->events[EVENT_OOM_KILL], 1);
	check_reported(held);
}

/* Not attributed to the external writer: a kill while the lowered limit is above use; and the end
 * of a container long after a process in it was killed. */
TEST(not_the_writers)
{
	struct rig r;
	uint64_t held = grown(&r, DRIVER_CGROUPFS);
	struct rig_unit *app = app_of(&r)->unit;

	rig_put(&r, app, "memory.max", "157286400\n"); /* 150 MiB: still above use, no kill */
	rig_reflex(&r, 20, step_idle);
	CHECK_EQ(r.kills, 0);
	app->max_events++;
	app->oom_events++;
	app->oom_kills++;
	rig_wake(&r, app);
	CHECK_EQ(r.events[EVENT_OOM_KILL], 1);
	CHECK_EQ(lowers_reported, 0);
	CHECK(pods_of(&r, "default/web-0/app")->control.kill.use >= held);
	rig_close(&r);

	held = grown(&r, DRIVER_CGROUPFS);
	rig_put(&r, app_of(&r)->unit, "memory.max", "67108864\n");
	rig_reflex(&r, 150, step_idle);
	CHECK_EQ(lowers_reported, 1);
	CHECK(successor(&r, false) * MIB >= held);
	rig_close(&r);
}

/* Growth passes the limit while the daemon does not get to run: the kill says for how long, and is
 * counted. A kill between two passes is neither. */
static void test_killed_while_late(usec_t late)
{
	OWN(rig_close) struct rig r;
	bool told = late > USEC_PER_SEC;

	grown(&r, DRIVER_CGROUPFS);
	r.boot += late;
	app_of(&r)->unit->max_events++;
	app_of(&r)->unit->oom_events++;
	app_of(&r)->unit->oom_kills++;
	rig_wake(&r, app_of(&r)->unit);
	CHECK_EQ(r.events[EVENT_OOM_KILL], 1);
	CHECK_EQ(strstr(reported, "vscaled had not looked at it for 3") != NULL, told);
	CHECK_EQ(r.daemon->tally.late_kills, told);
}

/* It needs more than its ceiling: an Event says so, once. */
TEST_RIG(ceiling)
{
	grown(r, DRIVER_CGROUPFS);
	CHECK_STR(warned[0], "");
	app_of(r)->unit->anon_bytes = 252 * MIB;
	rig_reflex(r, 20, step_idle);
	CHECK_STR(warned[0], "app needs more memory than 256 MiB: its ceiling (annotation, "
			     "LimitRange, node or default)");
	CHECK_EQ(r->events[EVENT_CEILING_REACHED], 1);
}

/* The kubelet writes the pod's limit, and the pod is full: what the container used counts. */
TEST_RIG(pod_lowered)
{
	uint64_t next;

	grown(r, DRIVER_CGROUPFS);
	rig_put(r, r->pod[0].level, "memory.max", "100663296\n");
	r->pod[0].level->oom_events++;
	app_of(r)->unit->oom_kills++;
	rig_wake(r, app_of(r)->unit);
	CHECK_EQ(r->events[EVENT_OOM_KILL], 1);
	CHECK(strstr(reported,
		     "at the limit 96.00Mi, processes: 1 (an external writer had lowered the pod's "
		     "memory.max from ") != NULL);
	CHECK(strstr(reported, "113 MiB in use") != NULL);
	CHECK_STR(warned[1],
		  "app was OOM-killed at the limit 96 MiB: an external writer had lowered the "
		  "pod's memory.max from 288 MiB; 113 MiB in use; its own limit is 256 MiB now");
	next = successor(r, true);
	CHECK(next >= 213 && next < 230);
}

#define SHOP "{match: web.service, mode: Auto}, {match: db.service, mode: Auto}"

/* shop.slice of 256 MiB with web.service and db.service of 64 MiB each, which use 40. */
static void shop(struct rig *r)
{
	rig_open(r, "clocks: {reviewInterval: 1s}\nunits: [" SHOP "]\n");
	r->reported = on_event;
	reported[0] = '\0';
	rig_add_at(r, "shop.slice", "shop.slice", 256 * MIB)->anon_bytes = 80 * MIB;
	rig_add_at(r, "web.service", "shop.slice/web.service", 64 * MIB)->anon_bytes = 40 * MIB;
	rig_add_at(r, "db.service", "shop.slice/shop-db.slice/db.service", 64 * MIB)->anon_bytes =
		40 * MIB;
	r->unit[0].oom_events = 7; /* before the start */
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 5, NULL);
}

/* For whose limit a process of web.service was killed, by the kernel's counters; its own moves the
 * limit, those of others do not, though page cache has just been reclaimed at the limit. */
static void test_whose(size_t full, bool inside, const char *want)
{
	OWN(rig_close) struct rig r;
	struct rig_unit *web;

	shop(&r);
	web = &r.unit[1];
	web->max_events++;
	rig_run(&r, 1, NULL);
	if (full < r.unit_count)
		r.unit[full].oom_events++;
	web->inner_ooms += inside;
	r.unit[0].inner_ooms += inside;
	web->oom_kills++;
	rig_run(&r, 3, NULL);
	CHECK_STR(reported, want);
	CHECK_EQ(rig_bytes(&r, web, "memory.max") > 64 * MIB, full == 1);
	CHECK_EQ(managed_find(&r.daemon->units, "web.service")->control.mem.oom_record != 0 ||
			 rig_bytes(&r, web, "memory.max") > 64 * MIB,
		 full == 1);
}

/* One limit, and processes of both units. */
/* The kernel goes on counting until the memory of a killed process is free: that says nothing about
 * the next kill. */
TEST_RIG(tail)
{
	struct rig_unit *web;

	shop(r);
	web = &r->unit[1];
	web->max_events++;
	web->oom_events++;
	web->oom_kills++;
	rig_run(r, 3, NULL);
	web->oom_events += 20;
	rig_wake(r, web);
	rig_run(r, 3, NULL);
	web->oom_kills++;
	rig_run(r, 3, NULL);
	CHECK(strstr(reported, "for the memory of the node") != NULL);
}

TEST_RIG(both)
{
	shop(r);
	r->unit[0].oom_events++;
	r->unit[1].oom_kills++;
	r->unit[2].oom_kills++;
	rig_run(r, 3, NULL);
	CHECK_EQ(r->events[EVENT_OOM_KILL], 2);
	CHECK_STR(reported, "OOM-killed in db.service at the limit 256.00Mi, processes: 1 (for the "
			    "memory of shop.slice, not for its own limit)");
	/* Much later the node lacks memory; the slice was full for others in between. */
	r->unit[0].oom_events++;
	rig_run(r, 10, NULL);
	r->unit[1].oom_kills++;
	rig_run(r, 3, NULL);
	CHECK_STR(reported, "OOM-killed in web.service, processes: 1 (for the memory of the node, "
			    "not for its own limit)");
}

TEST(with_parameters)
{
	test_killed_while_late(0);
	test_killed_while_late(3 * USEC_PER_SEC);
	test_whose(1, false, "OOM-killed in web.service at the limit 64.00Mi, processes: 1");
	test_whose(0, false,
		   "OOM-killed in web.service at the limit 256.00Mi, processes: 1 (for the memory "
		   "of shop.slice, not for its own limit)");
	test_whose(SIZE_MAX, true,
		   "OOM-killed in web.service, processes: 1 (for the memory of a cgroup in it, not "
		   "for its own limit)");
	test_whose(SIZE_MAX, false,
		   "OOM-killed in web.service, processes: 1 (for the memory of the node, not for "
		   "its own limit)");
	test_killed_by_a_write(DRIVER_CGROUPFS, true);
	test_killed_by_a_write(DRIVER_CGROUPFS, false);
	test_killed_by_a_write(DRIVER_SYSTEMD, true);
	test_killed_by_a_write(DRIVER_SYSTEMD, false);
}
