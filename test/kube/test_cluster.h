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

/* crig_until() with an expression. */
#define UNTIL(seconds, load, condition)                                                            \
	({                                                                                         \
		bool holds_ = (condition);                                                         \
		for (unsigned i_ = 0; !holds_ && i_ < (seconds); i_++) {                           \
			rig_run(&c.rig, 1, load);                                                  \
			holds_ = (condition);                                                      \
		}                                                                                  \
		holds_;                                                                            \
	})

static inline bool metrics_have(const char *text)
{
	OWN(drop_free) char *page = NULL;

	return crig_http(&c, "/metrics", &page) == 200 && strstr(page, text) != NULL;
}

static inline bool control_has(const char *path, const char *text)
{
	OWN(drop_free) char *page = NULL;

	return crig_control(&c, path, &page) == 200 && strstr(page, text) != NULL;
}

static inline bool explains(const char *text)
{
	return control_has("/v1/units/default/web-0/app", text);
}

static inline uint64_t memory_of(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY);
}

static inline bool has_headroom(struct crig *x)
{
	return memory_of(x) > 100 * MIB;
}

static inline bool memory_is_original(struct crig *x)
{
	return memory_of(x) == 64 * MIB;
}

static inline bool cgroup_is_original(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max") == 64 * MIB;
}

static inline bool memory_is_raised(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY) > 64 * MIB;
}

static inline bool has_700(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 700;
}

static inline bool has_200(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 200;
}

static inline bool is_refused(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_REFUSED] > 0;
}

static inline void burn_300(struct rig *r)
{
	burn_all(r, 300);
}

static inline void burn_900(struct rig *r)
{
	burn_all(r, 900);
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

	crig_open(&c, options, NULL);
	p = crig_pod(&c, driver, "web-0", annotations);
	crig_start(&c);
	return p;
}
