// SPDX-License-Identifier: Apache-2.0
/* Containers of a Pod: their spec and their status. */
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include "policy/report/report.h"
#include "policy/types/profile.h"
#include <errno.h>
#include <string.h>

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
static int read_resize_policy(const struct field *n, uint32_t *ret)
{
	struct field list, item = {0};
	const char *resource, *restart;
	int r = field_array(n, "resizePolicy", &list);

	while (r == 0 && (r = field_next(&list, &item)) > 0) {
		r = field_text(&item, "resourceName", &resource);
		if (r == 0)
			r = field_text(&item, "restartPolicy", &restart);
		if (r < 0 || resource == NULL || restart == NULL ||
		    strcmp(restart, "RestartContainer") != 0)
			continue;
		if (strcmp(resource, "cpu") == 0)
			*ret |= RESOURCES_CPU;
		else if (strcmp(resource, "memory") == 0)
			*ret |= RESOURCES_MEMORY;
	}
	return r;
}

static int read_spec(const struct field *n, enum container_kind kind, struct kube_container *c)
{
	const char *restart;
	int r = field_name(n, "name", kube_is_label, &c->name);

	if (r == 0 && c->name == NULL)
		r = field_bad(n, "name", "missing");
	if (r == 0)
		r = field_text(n, "restartPolicy", &restart);
	if (r == 0)
		r = decode_resources(n, "resources", &c->spec);
	if (r == 0)
		r = read_resize_policy(n, &c->restart_on_resize);
	if (r == 0)
		r = decode_heap(n, c);
	if (r < 0)
		return r;
	c->kind = kind;
	if (kind == CONTAINER_INIT && restart != NULL && strcmp(restart, "Always") == 0)
		c->kind = CONTAINER_SIDECAR;
	return 0;
}

static int add_specs(const struct field *list, enum container_kind kind, struct kube_pod *p)
{
	struct field item = {0};
	int r;

	while ((r = field_next(list, &item)) > 0) {
		struct kube_container *c = &p->containers[p->container_count++];

		r = read_spec(&item, kind, c);
		if (r < 0)
			return r;
		if (kube_pod_container(p, c->name) != c)
			return field_bad(&item, "name", "\"%s\" twice", c->name);
	}
	return r;
}

/* "containerd://3f4e..." */
static int read_id(const struct field *n, char **ret)
{
	const char *s, *id;
	int r = field_text(n, "containerID", &s);

	if (r < 0 || s == NULL || s[0] == '\0')
		return r;
	id = strstr(s, "://");
	if (id == NULL || !kube_is_container_id(id + strlen("://")))
		return field_bad(n, "containerID", "not a runtime's name and an id");
	*ret = strdup(id + strlen("://"));
	return *ret != NULL ? 0 : -ENOMEM;
}

static int read_oom(const struct field *n, const char *key, bool *ret)
{
	struct field state, terminated;
	const char *reason;
	int r = field_object(n, key, &state);

	if (r == 0)
		r = field_object(&state, "terminated", &terminated);
	if (r == 0)
		r = field_text(&terminated, "reason", &reason);
	if (r == 0 && reason != NULL && strcmp(reason, "OOMKilled") == 0)
		*ret = true;
	return r;
}

static int read_state(const struct field *n, struct kube_container *c)
{
	struct field state, running;
	int r = field_object(n, "state", &state);

	if (r == 0)
		r = field_object(&state, "running", &running);
	if (r == 0)
		r = field_time(&running, "startedAt", &c->started_real);
	if (r == 0)
		r = read_oom(n, "state", &c->oom_killed);
	if (r == 0)
		r = read_oom(n, "lastState", &c->oom_killed);
	c->running = r == 0 && running.json != NULL;
	return r;
}

static int read_status(const struct field *n, struct kube_container *c)
{
	int64_t restarts = 0;
	int r = read_state(n, c);

	if (r == 0)
		r = read_id(n, &c->id);
	if (r == 0)
		r = field_bool(n, "ready", &c->ready);
	if (r == 0)
		r = field_int(n, "restartCount", 0, INT32_MAX, &restarts);
	if (r == 0)
		r = decode_resources(n, "resources", &c->status);
	c->restarts = (uint32_t)restarts;
	c->has_status = field_has(n, "resources");
	return r;
}

/* A status without its container, or a second one for it, is ignored. */
static int add_statuses(const struct field *list, struct kube_pod *p, bool *seen)
{
	struct field item = {0};
	int r;

	while ((r = field_next(list, &item)) > 0) {
		const struct kube_container *c = NULL;
		const char *name = NULL;

		r = field_text(&item, "name", &name);
		if (r < 0)
			return r;
		if (name != NULL)
			c = kube_pod_container(p, name);
		if (c == NULL || seen[c - p->containers])
			continue;
		seen[c - p->containers] = true;
		r = read_status(&item, &p->containers[c - p->containers]);
		if (r < 0)
			return r;
	}
	return r;
}

int decode_containers(const struct field *spec, const struct field *status, struct kube_pod *p)
{
	bool seen[REPORT_CONTAINERS_MAX] = {false};
	struct field list[ARRAY_SIZE(groups)], statuses;
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		r = field_array(spec, groups[i].spec, &list[i]);
		if (r < 0)
			return r;
		count += (size_t)cJSON_GetArraySize(list[i].json);
	}
	if (count == 0 || count > REPORT_CONTAINERS_MAX)
		return field_bad(spec, NULL, "%zu containers; allowed: 1 to %d", count,
				 REPORT_CONTAINERS_MAX);
	p->containers = calloc(count, sizeof *p->containers);
	if (p->containers == NULL)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(groups); i++)
		r = add_specs(&list[i], groups[i].kind, p);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(groups); i++) {
		r = field_array(status, groups[i].status, &statuses);
		if (r == 0)
			r = add_statuses(&statuses, p, seen);
	}
	return r;
}
