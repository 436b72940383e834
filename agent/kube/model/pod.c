// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/pod.h"
#include "policy/base/arithmetic.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void container_free(struct kube_container *c)
{
	free(c->name);
	free(c->id);
}

void kube_pod_free(struct kube_pod *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->container_count; i++)
		container_free(&p->containers[i]);
	for (size_t i = 0; i < p->annotation_count; i++) {
		free(p->annotations[i].key);
		free(p->annotations[i].value);
	}
	free(p->containers);
	free(p->annotations);
	free(p->uid);
	free(p->cgroup_uid);
	free(p->namespace);
	free(p->name);
	free(p->node);
	free(p->workload);
	free(p->owner);
	free(p->labels);
	free(p->resource_version);
	free(p->phase);
	free(p->priority_class);
	free(p->resize_message);
	free(p->resize_manager);
	free(p);
}

const char *kube_pod_annotation(const struct kube_pod *p, const char *key)
{
	for (size_t i = 0; i < p->annotation_count; i++)
		if (strcmp(p->annotations[i].key, key) == 0)
			return p->annotations[i].value;
	return NULL;
}

const struct kube_container *kube_pod_container(const struct kube_pod *p, const char *name)
{
	for (size_t i = 0; i < p->container_count; i++)
		if (strcmp(p->containers[i].name, name) == 0)
			return &p->containers[i];
	return NULL;
}

uint64_t kube_pod_limit_held(const struct kube_pod *p, const struct kube_container *c,
			     enum resource r)
{
	bool stands = p->pending != RESIZE_NOT_PENDING || p->progress == RESIZE_ERROR;

	return stands && c->has_status ? MIN(c->spec.limit[r], c->status.limit[r])
				       : c->spec.limit[r];
}

/* The text behind `word`, or NULL. */
static const char *after(const char *at, const char *word)
{
	size_t len = strlen(word);

	return at != NULL && strncmp(at, word, len) == 0 ? at + len : NULL;
}

static const char *read_number(const char *at, uint64_t *ret)
{
	char *end;

	if (at == NULL || *at < '0' || *at > '9')
		return NULL;
	errno = 0;
	*ret = strtoull(at, &end, 10);
	return errno == 0 && *ret < LIMIT_MAX ? end : NULL;
}

bool kube_parse_lack(const char *message, enum resource *ret, uint64_t *ret_amount)
{
	static const char *const names[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = "cpu, ", [RESOURCE_MEMORY] = "memory, "};
	const char *at = message != NULL ? strstr(message, "enough resource: ") : NULL;
	uint64_t requested, used, capacity, needed;

	at = after(at, "enough resource: ");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const char *rest = after(at, names[r]);

		rest = read_number(after(rest, "requested: "), &requested);
		rest = read_number(after(rest, ", used: "), &used);
		rest = read_number(after(rest, ", capacity: "), &capacity);
		if (rest == NULL)
			continue;
		needed = add_sat(requested, used);
		if (needed <= capacity)
			return false;
		*ret = r;
		*ret_amount = needed - capacity;
		return true;
	}
	return false;
}
