// SPDX-License-Identifier: Apache-2.0
/* Without an inotify instance, changes are detected a little later. */
#include "agent/config/config_watch.h"
#include "test/agent/test_pods.h"
#include <errno.h>

int __wrap_inotify_init1(int flags);

int __wrap_inotify_init1(int)
{
	errno = EMFILE;
	return -1;
}

int __wrap_config_watch_new(sd_event *event, const char *file, config_watch_fn *fn, void *ctx,
			    struct config_watch **ret);
static int watch_error = -EMFILE;

int __wrap_config_watch_new(sd_event *event, const char *file, config_watch_fn *fn, void *ctx,
			    struct config_watch **ret)
{
	(void)event, (void)file, (void)fn, (void)ctx, (void)ret;
	return watch_error;
}

/* An error other than a lack of inotify instances ends the start. */
TEST_RIG(other_error)
{
	rig_open(r, "units:\n  - match: a.service\n");
	watch_error = -EACCES;
	CHECK_EQ(rig_start(r), -EACCES);
	watch_error = -EMFILE;
}

TEST_RIG(unit)
{
	struct rig_unit *u =
		rig_begin(r, "units:\n  - match: a.service\n", 100, 64 * MIB, 20 * MIB);

	CHECK(cg_watch_fd(r->daemon->inotify.watch) < 0);
	rig_run(r, 20, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	/* Without inotify, a review detects the external write. */
	rig_put(r, u, "cpu.max", "20000 100000\n");
	rig_run(r, 15, rig_busy);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 1);
	CHECK(rig_cpu_milli(r, u) >= 800);
	rig_reload(r, "units:\n  - {match: a.service, mode: Off}\n");
	rig_run(r, 2, NULL);
	CHECK_EQ(rig_cpu_milli(r, u), 100);
}

/* A container that the API server does not know yet. */
TEST_RIG_DRIVERS(container)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_container *app = &p->container[0];
	uint64_t had = pods_raise_app(r, p);

	rig_container_stop(r, app);
	rig_run(r, 2, NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_WAITING);
	rig_container_start(r, p, app, false);
	rig_run(r, 2, NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	CHECK_EQ(rig_cpu_milli(r, app->unit), had);
	CHECK(!r->below);
	/* The kubelet takes room from the pod. */
	rig_put(r, p->level, "memory.max", "50331648\n");
	rig_run(r, 15, pods_burn_20);
	CHECK(rig_bytes(r, p->level, "memory.max") >= 96 * MIB);
}
