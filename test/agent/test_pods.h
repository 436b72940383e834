/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of pods share: a pod of two containers, loads, and finding what is managed. */
#pragma once

#include "test/agent/daemon_rig.h"
#include "test/check.h"

static inline void pods_burn(struct rig *r, uint64_t milli)
{
	for (size_t i = 0; i < r->pod_count; i++)
		if (r->pod[i].count > 0 && r->pod[i].container[0].unit->running)
			rig_burn(r, r->pod[i].container[0].unit, milli);
}

static inline void pods_burn_800(struct rig *r)
{
	pods_burn(r, 800);
}

static inline void pods_burn_20(struct rig *r)
{
	pods_burn(r, 20);
}

/* default/web-0 with app (200m, 64Mi) and log (300m, 32Mi), mode Auto; the daemon runs. */
static inline struct rig_pod *pods_start(struct rig *r, enum cgroup_driver driver)
{
	struct rig_pod *p = rig_pod_add(r, driver, "web-0");

	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_add(r, p, "log", 300, 32 * MIB);
	p->mode = "Auto";
	CHECK_EQ(rig_start(r), 0);
	return p;
}

static inline struct rig_pod *pods_begin(struct rig *r, enum cgroup_driver driver,
					 const char *config)
{
	rig_open(r, config);
	return pods_start(r, driver);
}

/* The API server reports the pod, and app is throttled until its limit has been raised, which is
 * returned. */
static inline uint64_t pods_raise_app(struct rig *r, struct rig_pod *p)
{
	rig_pod_put(r, p);
	rig_run(r, 15, pods_burn_800);
	CHECK(rig_cpu_milli(r, p->container[0].unit) >= 800);
	return rig_cpu_milli(r, p->container[0].unit);
}

/* Ends the test where there is none. */
static inline struct managed *pods_of(struct rig *r, const char *name)
{
	struct managed *m = managed_find(&r->daemon->units, name);

	CHECK(m != NULL);
	if (m == NULL)
		exit(EXIT_FAILURE);
	return m;
}

/* app and the pod have what they had before us, systemd too. */
static inline void pods_check_originals(struct rig *r, struct rig_pod *p)
{
	struct rig_unit *app = p->container[0].unit;

	CHECK_EQ(rig_cpu_milli(r, app), 200);
	CHECK_EQ(rig_bytes(r, app, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(r, p->level), 500);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 96 * MIB);
	if (p->driver == DRIVER_SYSTEMD) {
		CHECK_EQ(app->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
		CHECK_EQ(p->level->props.cpu_quota_per_sec_usec, 500 * USEC_PER_MSEC);
	}
}
