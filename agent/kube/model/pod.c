// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/pod.h"
#include "policy/base/text.h"

void kube_annotations_free(struct kube_annotation *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].key);
		free(list[i].value);
	}
	free(list);
}

const char *kube_annotation_find(const struct kube_annotation *list, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].key, key) == 0)
			return list[i].value;
	return NULL;
}

void kube_pod_free(struct kube_pod *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->container_count; i++) {
		free(p->containers[i].name);
		free(p->containers[i].id);
	}
	free(p->containers);
	kube_annotations_free(p->annotations, p->annotation_count);
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
	free(p->resize_message);
	free(p);
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

static uint64_t container_counts(const struct kube_pod *p, const struct kube_container *c,
				 enum resource r, enum kube_count how)
{
	uint64_t spec = c->spec.request[r], actual = c->has_status ? c->status.request[r] : 0;
	uint64_t allocated = c->has_allocated ? c->allocated[r] : 0;

	if (how == KUBE_COUNT_LIMIT)
		return c->spec.limit[r] != LIMIT_MAX ? c->spec.limit[r] : 0;
	if (how == KUBE_COUNT_SPEC || c->kind == CONTAINER_INIT ||
	    (!c->has_allocated && !c->has_status))
		return spec;
	/* A spec that will never be admitted takes nothing. */
	if (how == KUBE_COUNT_SCHEDULED)
		return highest(
			(uint64_t[]){allocated, actual, p->pending == RESIZE_INFEASIBLE ? 0 : spec},
			3);
	if (c->has_allocated)
		return allocated;
	return p->pending != RESIZE_NOT_PENDING ? actual : spec;
}

/* Of the containers that run together, and of the start: sidecars go on beside all that start after
 * them. */
struct request_sums {
	uint64_t running, sidecars, start;
};

static struct request_sums sums_of(const struct kube_pod *p, enum resource r, enum kube_count how)
{
	struct request_sums s = {0};

	for (size_t i = 0; i < p->container_count; i++) {
		const struct kube_container *c = &p->containers[i];
		uint64_t request = container_counts(p, c, r, how);
		uint64_t beside = add_sat(s.sidecars, request);

		if (c->kind == CONTAINER_EPHEMERAL)
			continue;
		if (c->kind == CONTAINER_INIT) {
			s.start = beside > s.start ? beside : s.start;
			continue;
		}
		s.running = add_sat(s.running, request);
		if (c->kind == CONTAINER_SIDECAR)
			s.sidecars = add_sat(s.sidecars, request);
	}
	return s;
}

uint64_t kube_pod_start(const struct kube_pod *p, enum resource r, enum kube_count how)
{
	return sums_of(p, r, how).start;
}

uint64_t kube_pod_slack(const struct kube_pod *p, enum resource r)
{
	const struct request_sums s = sums_of(p, r, KUBE_COUNT_SPEC);

	/* A sidecar's raise is one of the start too. */
	return s.sidecars == 0 && s.start > s.running ? s.start - s.running : 0;
}

uint64_t kube_pod_request(const struct kube_pod *p, enum resource r, enum kube_count how)
{
	const struct request_sums s = sums_of(p, r, how);
	uint64_t sum = MAX(s.running, s.start);

	if (strcmp(p->phase, "Succeeded") == 0 || strcmp(p->phase, "Failed") == 0)
		return 0;
	if (p->level_request[r] != 0)
		sum = how == KUBE_COUNT_ALLOCATED && p->level_allocated[r] != 0
			      ? p->level_allocated[r]
			      : MAX(p->level_request[r],
				    how == KUBE_COUNT_SCHEDULED ? p->level_allocated[r] : 0);
	return add_sat(sum, p->overhead[r]);
}

/* The text behind `word`, or NULL. */
static const char *after(const char *at, const char *word)
{
	size_t len = strlen(word);

	return at != NULL && strncmp(at, word, len) == 0 ? at + len : NULL;
}

static const char *read_number(const char *at, uint64_t *ret)
{
	at = at != NULL ? text_number(at, ret) : NULL;
	return at != NULL && *ret < LIMIT_MAX ? at : NULL;
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
