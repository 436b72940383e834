// SPDX-License-Identifier: Apache-2.0
/* The agent has no socket of PID 1 (overlay auto-cgroupfs, SELinux). Where PID 1 holds the limits
 * of a pod, the next daemon-reload would write them below the use: such a pod is not written to. */
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"

static char noted[256];
static unsigned notes;
static unsigned restored;             /* entries */
static char restored_app[128];        /* app's memory */
static char kept[EVENT_MESSAGE_SIZE]; /* app's memory */

static void take_entry(struct rig *, const struct event_record *e, const char *message)
{
	bool app = strstr(message, "default/web-0/app memory") != NULL;

	if (e->kind == EVENT_RESTORED)
		restored++;
	if (e->kind == EVENT_RESTORED && app)
		snprintf(restored_app, sizeof restored_app, "%s", message);
	if (e->kind == EVENT_RESTORE_LEFT && app)
		snprintf(kept, sizeof kept, "%s", message);
}

static void note(const struct pod *, const char *reason, const char *, const char *text)
{
	if (strcmp(reason, "SystemdUnreachable") != 0)
		return;
	notes++;
	snprintf(noted, sizeof noted, "%s", text);
}

static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver, const char *mode)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	notes = 0;
	r->daemon->pods.hooks.warn = note;
	r->daemon->pid1.absent = true;
	p->mode = mode;
	rig_pod_put(r, p);
	return p;
}

static void load(struct rig *r)
{
	pods_burn_800(r);
	rig_grow(r, r->pod[0].container[0].unit, 2 * MIB);
}

static void test_systemd(const char *mode)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_SYSTEMD, mode);
	struct managed *m;

	rig_run(&r, 28, load);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_bytes(&r, p->container[0].unit, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	m = pods_of(&r, "default/web-0/app");
	CHECK_EQ(managed_state(m), UNIT_UNMANAGED);
	CHECK(managed_reason_text(m) != NULL && strstr(managed_reason_text(m), "systemd") != NULL);
	/* Reported once for the pod, however often it is read. */
	rig_pod_run(&r, p, 30, NULL);
	CHECK_EQ(notes, 1);
	CHECK(strstr(noted, "/run/systemd") != NULL);
}

/* It is computed for as ever where nothing would be written. */
TEST_RIG(off)
{
	struct rig_pod *p = begin(r, DRIVER_SYSTEMD, "Off");

	rig_run(r, 30, pods_burn_20);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	CHECK_EQ(notes, 0);
	/* Turned on, and off again. */
	p->mode = "Auto";
	rig_pod_run(r, p, 10, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 200);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_UNMANAGED);
	p->mode = "Off";
	rig_pod_run(r, p, 10, pods_burn_20);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
}

/* An agent without the socket follows one that had it. The records stay, as with an API server. */
static void replace_agent(struct rig *r, struct rig_pod *p)
{
	rig_restart(r);
	CHECK_EQ(setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1", 1), 0);
	notes = 0;
	restored = 0;
	restored_app[0] = kept[0] = '\0';
	r->reported = take_entry;
	r->daemon->pods.hooks.warn = note;
	r->daemon->pid1.absent = true;
	rig_pod_put(r, p);
}

static void end(struct rig *r)
{
	CHECK_EQ(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	CHECK(!r->below);
	CHECK_EQ(r->kills, 0);
	rig_close(r);
}

/* The pod's own cgroup has its original limits, which are the sums of its containers'. */
static void end_with_level(struct rig *r, struct rig_pod *p)
{
	CHECK_EQ(rig_cpu_milli(r, p->level), 500);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 96 * MIB);
	end(r);
}

/* The files get the originals, once: the agent is not there to raise a limit that use outgrows. */
TEST(lowered_before)
{
	OWN(end) struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD,
				       rig_config("  - match: none.service\n"
						  "kubernetes: {startupTime: 0s}\n"));
	struct rig_unit *app = p->container[0].unit, *log = p->container[1].unit;
	const struct managed *m;
	uint64_t stored;

	p->container[0].spec.limit[RESOURCE_MEMORY] = 400 * MIB;
	p->container[1].spec.limit[RESOURCE_MEMORY] = 300 * MIB;
	rig_pod_realise(&r, p);
	app->anon_bytes = 50 * MIB;
	rig_pod_run(&r, p, 200, pods_burn_20);
	CHECK(rig_bytes(&r, app, "memory.max") < 200 * MIB);
	CHECK(rig_bytes(&r, log, "memory.max") < 200 * MIB);
	CHECK(rig_bytes(&r, p->level, "memory.max") < 400 * MIB);
	stored = app->props.mem_max;
	replace_agent(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), 400 * MIB);
	CHECK_EQ(rig_bytes(&r, log, "memory.max"), 300 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, app), 200);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), 700 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	/* CPU and memory of both containers, CPU of the pod, whose memory was raised for them. */
	CHECK_EQ(restored, 5);
	CHECK(strstr(restored_app, "-> 400.00Mi") != NULL);
	m = pods_of(&r, "default/web-0/app");
	CHECK_EQ(managed_state(m), UNIT_UNMANAGED);
	CHECK(managed_reason_text(m) != NULL &&
	      strstr(managed_reason_text(m), "/run/systemd") != NULL);
	CHECK(m->record != NULL);
	CHECK_EQ(r.restore_calls, 0);
	CHECK_EQ(app->props.mem_max, stored);
	/* It is left alone from then on. */
	rig_put(&r, app, "memory.max", "419426304\n");
	rig_put(&r, p->level, "memory.max", "734023680\n");
	rig_pod_run(&r, p, 130, pods_burn_20);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), 419426304);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), 734023680);
	CHECK_EQ(notes, 1);
}

/* The owner has changed the spec since: the record is old. It counts when the pod is taken out. */
TEST(changed_since)
{
	OWN(end) struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);

	p->container[0].spec.limit[RESOURCE_MEMORY] = 80 * MIB;
	replace_agent(&r, p);
	rig_run(&r, 10, pods_burn_800);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_UNMANAGED);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), had);
	p->mode = NULL;
	rig_pod_run(&r, p, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
}

/* The record is of its former run: it stays, as the spec may hold values of vscaled. */
TEST(restarted_since)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");

	pods_raise_app(&r, p);
	rig_container_stop(&r, &p->container[0]);
	rig_container_start(&r, p, &p->container[0], false);
	p->container[0].reported = true;
	replace_agent(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_UNMANAGED);
	CHECK(pods_of(&r, "default/web-0/app")->record != NULL);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	end_with_level(&r, p);
}

/* A container that its policy leaves out now does not keep the pod from its originals. */
TEST(one_off)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");

	pods_raise_app(&r, p);
	p->extra_key = "policy";
	p->extra_value = "{\"containerPolicies\":[{\"containerName\":\"log\",\"mode\":\"Off\"}]}";
	replace_agent(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->container[1].unit), 300);
	end_with_level(&r, p);
}

/* Taken out meanwhile: PID 1 keeps its values, which does not keep the others from their files. */
TEST(taken_out)
{
	OWN(end) struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");

	pods_raise_app(&r, p);
	rig_put(&r, p->container[1].unit, "cpu.max", "25000 100000\n");
	p->mode = NULL;
	r.silent = true;
	replace_agent(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->container[1].unit), 300);
}

/* There PID 1 holds nothing. */
TEST_RIG(cgroupfs)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS, "Auto");

	rig_run(r, 28, load);
	CHECK(rig_cpu_milli(r, p->container[0].unit) >= 800);
	CHECK(rig_bytes(r, p->container[0].unit, "memory.max") > 64 * MIB);
	CHECK_EQ(notes, 0);
}

TEST(with_parameters)
{
	test_systemd("Auto");
	test_systemd("Initial");
}
