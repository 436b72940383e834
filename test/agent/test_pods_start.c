// SPDX-License-Identifier: Apache-2.0
/*
 * While a container runtime creates a container, a property call for its scope makes the start
 * fail: files are written at once, PID 1 is called once the runtime is done.
 */
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"
#include <errno.h>

/* The runtime writes what it was given. */
static void runtime_set(struct rig *r, struct rig_unit *u, const struct unit_props *spec)
{
	struct unit_props stored = u->props;

	u->props = *spec;
	rig_realise(r, u);
	u->props = stored;
}

/* A successor of app appears, and the API server has not received of it. */
static struct rig_unit *creating(struct rig *r, struct rig_pod *p)
{
	struct rig_container *app = &p->container[0];

	rig_container_stop(r, app);
	rig_reflex(r, 2, NULL);
	rig_container_start(r, p, app, false);
	app->unit->creating = true;
	return app->unit;
}

static void running(struct rig *r, struct rig_pod *p)
{
	p->container[0].unit->creating = false;
	p->container[0].reported = true;
	p->container[0].started_real = r->real;
	rig_pod_put(r, p);
}

static void check_no_call(struct rig *r)
{
	CHECK_EQ(r->broken_starts, 0);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 0);
	CHECK_EQ(r->kills, 0);
	CHECK(!r->below);
}

/* What was held before stands in the files at once and after the runtime's own write, and with PID
 * 1 as soon as the API server says that the container runs. */
static void test_held_size(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);
	struct rig_unit *app = creating(&r, p);
	struct unit_props spec = app->props;

	rig_reflex(&r, 2, NULL);
	CHECK_EQ(rig_cpu_milli(&r, app), had);
	rig_reflex(&r, 10, NULL);
	runtime_set(&r, app, &spec);
	CHECK_EQ(rig_cpu_milli(&r, app), 200);
	rig_reflex(&r, 1, NULL);
	CHECK_EQ(rig_cpu_milli(&r, app), had);
	CHECK_EQ(r.daemon->tally.reverted[WRITER_UNKNOWN], 0);
	rig_run(&r, 5, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	check_no_call(&r);
	/* The level has no program for devices: it may be reported any time, and has to be. */
	CHECK_EQ(p->level->props.cpu_quota_per_sec_usec, (had + 300) * USEC_PER_MSEC);
	running(&r, p);
	rig_reflex(&r, 2, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, had * USEC_PER_MSEC);
	CHECK_EQ(rig_cpu_milli(&r, app), had);
	check_no_call(&r);
	rig_close(&r);
}

/* The API server does not report the new container: after 10 s its start counts as done. */
static void test_api_is_silent(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);
	struct rig_unit *app = creating(&r, p);

	rig_run(&r, 9, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	check_no_call(&r);
	app->creating = false;
	rig_run(&r, 3, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, had * USEC_PER_MSEC);
	rig_close(&r);
}

/* A busy PID 1 takes longer than that to create it, which the API server's report shows; not where
 * use is what a reload of PID 1 could cut. */
static void test_late(bool grown)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);
	struct rig_unit *app;

	r.daemon->pods.live = true;
	app = creating(&r, p);
	rig_run(&r, 40, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	check_no_call(&r);
	if (grown) {
		app->creating = false;
		rig_grow(&r, app, 40 * MIB);
		rig_run(&r, 2, NULL);
	} else {
		running(&r, p);
		rig_reflex(&r, 2, NULL);
	}
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, had * USEC_PER_MSEC);
	CHECK_EQ(r.broken_starts + r.kills, 0);
	rig_close(&r);
}

/* Mode Initial: sized by history at the first review of its life. */
static void test_initial(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, rig_config("  - match: none.service\n"));
	struct rig_unit *app;
	uint64_t sized;

	p->mode = "Initial";
	p->started_long_ago = true;
	rig_pod_put(&r, p);
	rig_run(&r, 30, pods_burn_800);
	p->started_long_ago = false;
	app = creating(&r, p);
	rig_run(&r, 6, pods_burn_20);
	sized = rig_cpu_milli(&r, app);
	CHECK(sized != 200);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	check_no_call(&r);
	running(&r, p);
	rig_run(&r, 1, NULL);
	CHECK_EQ(app->props.cpu_quota_per_sec_usec, sized * USEC_PER_MSEC);
	rig_close(&r);
}

/* Its predecessor was killed: more memory in the files at once, with PID 1 later. */
static void test_successor_of_a_kill(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	struct rig_container *app = &p->container[0];

	rig_pod_put(&r, p);
	rig_run(&r, 5, pods_burn_20);
	app->unit->oom_kills++;
	app->unit->oom_events++;
	app->unit->max_events++;
	rig_run(&r, 1, pods_burn_20);
	creating(&r, p);
	rig_reflex(&r, 3, NULL);
	CHECK(rig_bytes(&r, app->unit, "memory.max") >= 160 * MIB);
	runtime_set(&r, app->unit, &app->unit->props);
	rig_reflex(&r, 1, NULL);
	CHECK(rig_bytes(&r, app->unit, "memory.max") >= 160 * MIB);
	rig_run(&r, 8, pods_burn_20);
	CHECK_EQ(app->unit->props.mem_max, 64 * MIB);
	check_no_call(&r);
	running(&r, p);
	rig_run(&r, 1, NULL);
	CHECK(app->unit->props.mem_max >= 160 * MIB);
	rig_close(&r);
}

/* Growth in the first seconds is as fast as ever: in the files. */
static void test_growth_while_creating(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	struct rig_unit *app;

	rig_pod_put(&r, p);
	rig_run(&r, 5, pods_burn_20);
	app = creating(&r, p);
	for (int i = 0; i < 80; i++) {
		rig_reflex(&r, 1, pods_burn_20);
		rig_grow(&r, app, 2 * MIB);
	}
	CHECK(rig_bytes(&r, app, "memory.max") > 150 * MIB);
	check_no_call(&r);
	running(&r, p);
	rig_reflex(&r, 2, pods_burn_20);
	CHECK(app->props.mem_max >= rig_bytes(&r, app, "memory.max"));
	rig_close(&r);
}

struct restored {
	unsigned count[RESTORE_OUTCOME_COUNT];
	char pending[256]; /* their names */
};

static void count_result(void *arg, const struct restore_result *result)
{
	struct restored *all = arg;

	all->count[result->outcome]++;
	if (result->outcome != RESTORE_PENDING)
		return;
	CHECK(result->detail[0] != '\0');
	strcat(strcat(all->pending, result->unit), " ");
}

/* A restore calls PID 1: not for a container that is being created, nor for its pod's cgroup, whose
 * limits are the sum of its containers'. Those are pending, all others are restored. */
static void test_restore_waits(const char *name)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, ""), *other;
	struct restored all = {.pending = ""};

	other = rig_pod_add(&r, DRIVER_SYSTEMD, "web-1");
	rig_container_add(&r, other, "app", 200, 64 * MIB);
	other->mode = "Auto";
	rig_pod_put(&r, other);
	pods_raise_app(&r, p);
	CHECK(rig_cpu_milli(&r, other->container[0].unit) >= 800);
	creating(&r, p);
	rig_reflex(&r, 2, NULL);
	CHECK_EQ(lifecycle_restore(&r.loop->hand_back, name, false, count_result, &all), 0);
	CHECK_STR(all.pending, "default/web-0/app default/web-0 ");
	CHECK_EQ(all.count[RESTORE_RESTORED], name == NULL ? 3 : 1);
	CHECK_EQ(rig_cpu_milli(&r, other->container[0].unit) == 200, name == NULL);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_MANAGED);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/log")), UNIT_RESTORED);
	running(&r, p);
	rig_run(&r, 5, NULL);
	all = (struct restored){.pending = ""};
	CHECK_EQ(lifecycle_restore(&r.loop->hand_back, "default/web-0", false, count_result, &all),
		 0);
	CHECK_EQ(all.count[RESTORE_RESTORED], 2);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_RESTORED);
	CHECK(!r.below);
	check_no_call(&r);
	rig_close(&r);
}

/* Its annotation goes while it is created: handed back once the runtime is done. */
static void test_hand_back_waits(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);
	struct rig_unit *app = creating(&r, p);

	rig_reflex(&r, 2, NULL);
	p->mode = NULL;
	rig_pod_put(&r, p);
	rig_run(&r, 4, NULL);
	CHECK_EQ(rig_cpu_milli(&r, app), had);
	check_no_call(&r);
	running(&r, p);
	rig_run(&r, 6, NULL);
	CHECK_EQ(rig_cpu_milli(&r, app), 200);
	check_no_call(&r);
	rig_close(&r);
}

#define SCOPE "docker-00000000000000000000000000000000000000000000000000000000000000aa.scope"

static void step_scope(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
}

/* Without a cluster: the scope of a runtime that `units` names, which comes again under its name.
 */
static void test_scope_of_units(void)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, rig_config("  - match: docker-*.scope\n"));
	u = rig_add(&r, SCOPE, 200, 64 * MIB);
	u->anon_bytes = 20 * MIB;
	u->active_enter_usec = daemon_clock();
	u->creating = true;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 8, step_scope);
	CHECK(rig_cpu_milli(&r, u) > 200);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	check_no_call(&r);
	u->creating = false;
	rig_run(&r, 6, step_scope);
	CHECK(u->props.cpu_quota_per_sec_usec > 200 * USEC_PER_MSEC);
	rig_close(&r);
}

/* A call that waits for its turn when the scope goes is not made of the scope that comes. */
static void test_waiting_call_is_dropped(void)
{
	struct rig r;
	struct rig_unit *u;
	struct unit_props want = {.mem_max = 1};

	rig_open(&r, rig_config("  - match: docker-*.scope\n"));
	u = rig_add(&r, SCOPE, 200, 64 * MIB);
	u->anon_bytes = 20 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 15, NULL);
	want = u->props;
	/* One is on its way, the next behind it. */
	r.silent = true;
	r.daemon->pid1.port.set(r.daemon->pid1.port.bus, SCOPE, &want, UNIT_PROP_MEM_MAX, true);
	rig_run(&r, 1, NULL);
	r.daemon->pid1.port.set(r.daemon->pid1.port.bus, SCOPE, &want, UNIT_PROP_MEM_MAX, true);
	rig_unit_stop(&r, u);
	rig_run(&r, 2, NULL);
	r.call_count = 0;
	unit_queue_done(r.queue, SCOPE, r.boot);
	CHECK(!unit_queue_pending(r.queue, SCOPE));
	r.silent = false;
	rig_unit_start(&r, u);
	u->active_enter_usec =
		r.daemon->wake.started_monotonic + (r.daemon->wake.now - r.daemon->wake.started_at);
	u->creating = true;
	rig_run(&r, 5, NULL);
	check_no_call(&r);
	rig_close(&r);
}

int main(void)
{
	test_held_size();
	test_api_is_silent();
	test_late(false);
	test_late(true);
	test_initial();
	test_successor_of_a_kill();
	test_growth_while_creating();
	test_restore_waits(NULL);
	test_restore_waits("default/web-0");
	test_hand_back_waits();
	test_scope_of_units();
	test_waiting_call_is_dropped();
	return check_result();
}
