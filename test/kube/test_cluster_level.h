/* SPDX-License-Identifier: Apache-2.0 */
/* A pod whose own limits in spec.resources follow those of its containers. */
#pragma once

#include "test/kube/test_cluster.h"

#define RESIZE                                                                                     \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/max-cpu\":\"700m\",\"vscaled.dev/pod-budget\":\"Resize\"}"
/* app and log have 500m and 96Mi together. */
#define BURSTABLE "\"resources\":{\"limits\":{\"cpu\":\"600m\",\"memory\":\"128Mi\"}}"
#define GUARANTEED                                                                                 \
	"\"resources\":{\"limits\":{\"cpu\":\"600m\",\"memory\":\"128Mi\"},"                       \
	"\"requests\":{\"cpu\":\"600m\",\"memory\":\"128Mi\"}}"

/* Use is forgotten within minutes, and shrinks take seconds. */
#define QUICK                                                                                      \
	"history: {confidenceAfter: 20s, halfLife: 1m, memoryWindow: 10s}\n"                       \
	"memory: {shrinkHistory: 5s, shrinkQuiet: 5s, shrinkInterval: 4s, shrinkStep: 30%,\n"      \
	"  highWatch: 1s, verdictWindow: 3s, settleAfter: 5s}\n"

static inline uint64_t level(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return pod->level_limit[r];
}

static inline uint64_t level_request(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return pod->level_request[r];
}

static inline bool is_sum(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return pod->level_limit[r] ==
	       pod->containers[0].spec.limit[r] + pod->containers[1].spec.limit[r];
}

static inline bool told(void)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);
	const char *status = kube_pod_annotation(pod, "status");

	return status != NULL &&
	       strstr(status, "\"podLevel\":{\"cpu\":\"600m\",\"memory\":\"128Mi\"}") != NULL;
}

static inline void node(const char *release, const char *cpu, const char *memory)
{
	char body[512];

	snprintf(body, sizeof body,
		 "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"%s\"},\"declaredFeatures\":["
		 "\"InPlacePodLevelResourcesVerticalScaling\"],\"allocatable\":{\"cpu\":\"%s\","
		 "\"memory\":\"%s\",\"pods\":\"110\"}}}",
		 release, cpu, memory);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/nodes/node-1/status", body));
}

static inline struct rig_pod *begin_level(enum cgroup_driver driver, const char *annotations,
					  const char *spec, const char *extra)
{
	struct rig_pod *p;

	crig_open(&c, NULL, extra);
	p = crig_pod_with(&c, driver, "web-0", annotations, spec);
	node("v1.36.3", "4", "8Gi");
	crig_start(&c);
	return p;
}

/* One second of load; the kubelet carries out a new spec within five. */
static inline void turn(uint64_t milli)
{
	static unsigned second;
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;

	burn_all(&c.rig, milli);
	if (++second % 5 != 0)
		return;
	pod = crig_read(&c, &c.rig.pod[0]);
	if (pod->observed_generation != pod->generation)
		crig_kubelet(&c, &c.rig.pod[0], NULL);
}

static inline void busy(struct rig *)
{
	turn(699);
}

static inline void idle(struct rig *)
{
	turn(50);
}

/* The spec's and the cgroup's. */
static inline void check_level(const struct rig_pod *p, uint64_t milli, uint64_t bytes)
{
	CHECK_EQ(level(RESOURCE_CPU), milli);
	CHECK_EQ(level(RESOURCE_MEMORY), bytes);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), milli);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), bytes);
}

static inline void check_originals(const struct rig_pod *p)
{
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	check_level(p, 600, 128 * MIB);
}
