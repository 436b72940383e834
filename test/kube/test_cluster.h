/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, and what most tests of the daemon in a cluster begin with. */
#pragma once

#include "test/check.h"
#include "test/kube/cluster_rig.h"

/* One container moves, and under burn_699 always to its ceiling: what is reported can be counted.
 */
#define AUTO                                                                                       \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/max-cpu\":\"700m\"}"

static struct crig c;

static inline struct rig_unit *app_of(const struct rig_pod *p)
{
	return p->container[0].unit;
}

static inline void burn_all(struct rig *r, uint64_t milli)
{
	for (size_t i = 0; i < r->pod_count; i++) {
		rig_burn(r, app_of(&r->pod[i]), milli);
		rig_burn(r, r->pod[i].container[1].unit, 250);
	}
}

static inline void burn_50(struct rig *r)
{
	burn_all(r, 50);
}

static inline void burn_699(struct rig *r)
{
	burn_all(r, 699);
}

static inline bool is_listed(struct crig *x)
{
	return x->rig.daemon->pods.synced;
}

static inline bool is_resized(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[x->rig.pod_count - 1], "app", RESOURCE_CPU) > 200;
}

static inline bool has_ratified(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_RATIFIED] > 0;
}

static inline bool is_put_back(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_CPU) == 200;
}

/* app grows to what 800m take, and the API server has it. */
static inline void ratify(struct rig_pod *p)
{
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	rig_run(&c.rig, 2, burn_699);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 20, burn_699, has_ratified));
}

static inline struct rig_pod *begin(enum cgroup_driver driver, const char *const *options,
				    const char *annotations)
{
	struct rig_pod *p;

	if (!crig_open(&c, options, NULL))
		exit(check_skip("no test API server: is there a python3?"));
	p = crig_pod(&c, driver, "web-0", annotations);
	crig_start(&c);
	return p;
}
