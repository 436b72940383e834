// SPDX-License-Identifier: Apache-2.0
/* The agent has no socket of PID 1 (overlay auto-cgroupfs, SELinux). Where PID 1 holds the limits
 * of a pod, the next daemon-reload would write them below the use: such a pod is not written to. */
#include "agent/manage/pid1.h"
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"
#include <string.h>

static char noted[256];
static unsigned notes;

static void note(void *, const struct kube_pod *, const char *, const char *reason, const char *,
		 const char *text)
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
	pods_set_hooks(&r->daemon->pods, &(struct pod_hooks){.note = note});
	pid1_set_absent(&r->daemon->pid1);
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
	struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_SYSTEMD, mode);
	struct managed *m;

	rig_run(&r, 28, load);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_bytes(&r, p->container[0].unit, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	m = pods_of(&r, "default/web-0/app");
	CHECK_EQ(m->state, UNIT_UNMANAGED);
	CHECK(m->state_reason != NULL && strstr(m->state_reason, "systemd") != NULL);
	/* Once for the pod, however often it is looked at. */
	rig_pod_put(&r, p);
	rig_run(&r, 30, NULL);
	CHECK_EQ(notes, 1);
	CHECK(strstr(noted, "/run/systemd") != NULL);
	rig_close(&r);
}

/* It is computed for as ever where nothing would be written. */
static void test_off(void)
{
	struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_SYSTEMD, "Off");

	rig_run(&r, 30, pods_burn_20);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->state, UNIT_MANAGED);
	CHECK_EQ(notes, 0);
	/* Turned on, and off again. */
	p->mode = "Auto";
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->state, UNIT_UNMANAGED);
	p->mode = "Off";
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->state, UNIT_MANAGED);
	rig_close(&r);
}

/* An agent that could call PID 1 has sized it: the originals are put back when it is taken out. */
static void test_sized_before(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	uint64_t had = pods_raise_app(&r, p);

	rig_stop(&r);
	CHECK_EQ(rig_start(&r), 0);
	pid1_set_absent(&r.daemon->pid1);
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_800);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->state, UNIT_UNMANAGED);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), had);
	p->mode = NULL;
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	rig_close(&r);
}

/* There PID 1 holds nothing. */
static void test_cgroupfs(void)
{
	struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_CGROUPFS, "Auto");

	rig_run(&r, 28, load);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= 800);
	CHECK(rig_bytes(&r, p->container[0].unit, "memory.max") > 64 * MIB);
	CHECK_EQ(notes, 0);
	rig_close(&r);
}

int main(void)
{
	test_systemd("Auto");
	test_systemd("Initial");
	test_off();
	test_sized_before();
	test_cgroupfs();
	return check_result();
}
