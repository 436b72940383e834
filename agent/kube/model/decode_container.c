// SPDX-License-Identifier: Apache-2.0
/* Containers of a Pod: their spec and their status. */
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include "policy/types/profile.h"
#include <errno.h>
#include <string.h>

/* Bounds the quadratic comparison of names. More than REPORT_CONTAINERS_MAX are decoded, as the
 * requests of such a pod count in the node's room. */
#define CONTAINERS_MAX 1000

/* Errors are those of a field: {"limits": ..., "requests": ...}; absent: no
 * limit, no request. */
static void decode_resources(const struct field *n, const char *key, struct kube_resources *ret)
{
	struct field resources = field_object(n, key);
	struct field limits = field_object(&resources, "limits");
	struct field requests = field_object(&resources, "requests");

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		ret->limit[i] = field_quantity(&limits, resource_names[i], i);
		ret->request[i] = field_quantity(&requests, resource_names[i], i);
		/* A limit of 0 is none: the kubelet writes no quota and no memory.max for it. */
		if (ret->limit[i] == 0)
			ret->limit[i] = LIMIT_MAX;
	}
}

/* Guaranteed: every container has both limits, and requests what it is limited to. */
enum qos_class decode_qos(const struct kube_pod *p)
{
	bool any = false, all = true;

	/* Those of the pod take the place of its containers'. */
	for (int r = 0; p->pod_resources && r < RESOURCE_COUNT; r++) {
		any = true;
		all = all && p->level_limit[r] != 0 && p->level_request[r] == p->level_limit[r];
	}
	for (size_t i = 0; !p->pod_resources && i < p->container_count; i++) {
		const struct kube_resources *s = &p->containers[i].spec;

		if (p->containers[i].kind == CONTAINER_EPHEMERAL)
			continue;
		for (int r = 0; r < RESOURCE_COUNT; r++) {
			any = any || s->limit[r] != LIMIT_MAX || s->request[r] > 0;
			all = all && s->limit[r] != LIMIT_MAX && s->request[r] == s->limit[r];
		}
	}
	if (!any)
		return QOS_BEST_EFFORT;
	return all ? QOS_GUARANTEED : QOS_BURSTABLE;
}

struct group {
	const char *spec;
	const char *status;
	enum container_kind kind;
};

static const struct group groups[] = {
	{"initContainers", "initContainerStatuses", CONTAINER_INIT},
	{"containers", "containerStatuses", CONTAINER_APP},
	{"ephemeralContainers", "ephemeralContainerStatuses", CONTAINER_EPHEMERAL},
};

/* Resources for which a resize restarts the container. */
static uint32_t read_resize_policy(const struct field *n)
{
	struct field list = field_array(n, "resizePolicy"), item = {0};
	uint32_t resources = 0;

	while (field_next(&list, &item)) {
		bool cpu = field_text_is(&item, "resourceName", "cpu");
		bool memory = field_text_is(&item, "resourceName", "memory");

		if (field_text_is(&item, "restartPolicy", "RestartContainer"))
			resources |= (cpu ? RESOURCES_CPU : 0) | (memory ? RESOURCES_MEMORY : 0);
	}
	return resources;
}

/* From the begin of a probe that is not answered until the last one that may fail. */
static usec_t read_probe(const struct field *n, const char *key)
{
	struct field probe = field_object(n, key);
	int64_t timeout = field_int(&probe, "timeoutSeconds", 0, INT32_MAX);
	int64_t period = field_int(&probe, "periodSeconds", 0, INT32_MAX);
	int64_t failures = field_int(&probe, "failureThreshold", 0, INT32_MAX);

	if (probe.json == NULL)
		return UINT64_MAX;
	/* The API server's defaults, for an object that did not pass it. */
	timeout = timeout != 0 ? timeout : 1;
	period = period != 0 ? period : 10;
	failures = failures != 0 ? failures : 3;
	return mul_div((usec_t)((failures - 1) * period + MIN(timeout, period)), USEC_PER_SEC, 1);
}

static int read_spec(const struct field *n, enum container_kind kind, struct kube_container *c)
{
	c->name = field_name(n, "name", kube_is_label);
	if (c->name == NULL)
		return field_bad(n, "name", "missing");
	c->kind = kind;
	if (field_text_is(n, "restartPolicy", "Always") && kind == CONTAINER_INIT)
		c->kind = CONTAINER_SIDECAR;
	decode_resources(n, "resources", &c->spec);
	c->restart_on_resize = read_resize_policy(n);
	c->probed = field_object(n, "readinessProbe").json != NULL ||
		    field_object(n, "startupProbe").json != NULL;
	c->probe_usec = MIN(read_probe(n, "livenessProbe"), read_probe(n, "startupProbe"));
	if (c->probe_usec == UINT64_MAX)
		c->probe_usec = 0;
	decode_heap(n, c);
	return field_error(n);
}

static int add_specs(const struct field *list, enum container_kind kind, struct kube_pod *p)
{
	struct field item = {0};

	while (field_next(list, &item)) {
		struct kube_container *c = &p->containers[p->container_count++];
		int r = read_spec(&item, kind, c);

		if (r < 0)
			return r;
		if (kube_pod_container(p, c->name) != c)
			return field_bad(&item, "name", "\"%s\" twice", c->name);
	}
	return field_error(list);
}

/* "containerd://3f4e..." */
static int read_id(const struct field *n, char **ret)
{
	const char *s = field_text(n, "containerID"), *id;

	if (s == NULL || s[0] == '\0')
		return field_error(n);
	id = strstr(s, "://");
	if (id == NULL || !kube_is_container_id(id + strlen("://")))
		return field_bad(n, "containerID", "not a runtime's name and an id");
	*ret = strdup(id + strlen("://"));
	return *ret != NULL ? 0 : -ENOMEM;
}

/* lastState is of the run before the one that state shows. While the container waits, state shows
 * none, and lastState is of the run that restartCount counts to. */
static void read_oom(const struct field *n, struct kube_container *c)
{
	struct field state = field_object(n, "state"), last = field_object(n, "lastState");
	struct field now = field_object(&state, "terminated");
	struct field before = field_object(&last, "terminated");

	if (field_text_is(&now, "reason", "OOMKilled"))
		c->oom_run = c->restarts + 1;
	else if (field_text_is(&before, "reason", "OOMKilled"))
		c->oom_run = c->restarts + !(c->running || now.json != NULL);
}

static int read_status(const struct field *n, struct kube_container *c)
{
	struct field state = field_object(n, "state"), running = field_object(&state, "running");
	struct field allocated;
	int r;

	c->started_real = field_time(&running, "startedAt");
	c->running = running.json != NULL;
	r = read_id(n, &c->id);
	if (r < 0)
		return r;
	c->ready = field_bool(n, "ready");
	c->restarts = (uint32_t)field_int(n, "restartCount", 0, INT32_MAX);
	read_oom(n, c);
	decode_resources(n, "resources", &c->status);
	c->has_status = field_has(n, "resources");
	allocated = field_object(n, "allocatedResources");
	c->has_allocated = allocated.json != NULL;
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		c->allocated[i] = field_quantity(&allocated, resource_names[i], i);
	return field_error(n);
}

/* A status without its container, or a second one for it, is ignored. */
static int add_statuses(const struct field *list, struct kube_pod *p, bool *seen)
{
	struct field item = {0};

	while (field_next(list, &item)) {
		const char *name = field_text(&item, "name");
		const struct kube_container *c = name != NULL ? kube_pod_container(p, name) : NULL;
		int r;

		if (c == NULL || seen[c - p->containers])
			continue;
		seen[c - p->containers] = true;
		r = read_status(&item, &p->containers[c - p->containers]);
		if (r < 0)
			return r;
	}
	return field_error(list);
}

int decode_containers(const struct field *spec, const struct field *status, struct kube_pod *p)
{
	OWN(drop_free) bool *seen = NULL;
	struct field list[ARRAY_SIZE(groups)], statuses;
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		list[i] = field_array(spec, groups[i].spec);
		count += (size_t)cJSON_GetArraySize(list[i].json);
	}
	if (field_error(spec) < 0)
		return field_error(spec);
	if (count == 0 || count > CONTAINERS_MAX)
		return field_bad(spec, NULL, "%zu containers; allowed: 1 to %d", count,
				 CONTAINERS_MAX);
	p->containers = calloc(count, sizeof *p->containers);
	seen = calloc(count, sizeof *seen);
	if (p->containers == NULL || seen == NULL)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(groups); i++)
		r = add_specs(&list[i], groups[i].kind, p);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(groups); i++) {
		statuses = field_array(status, groups[i].status);
		r = add_statuses(&statuses, p, seen);
	}
	return r;
}
