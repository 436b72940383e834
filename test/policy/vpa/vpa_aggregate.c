// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/vpa_aggregate.h"
#include <errno.h>
#include <string.h>

#define CHECKPOINT_VERSION "v3"

void vpa_aggregate_init(struct vpa_aggregate *a, const struct vpa_rules *rules)
{
	*a = (struct vpa_aggregate){0};
	histogram_init(&a->cpu, &histogram_cpu, rules->half_life_usec);
	histogram_init(&a->memory, &histogram_memory, rules->half_life_usec);
}

void vpa_aggregate_drop(struct vpa_aggregate *a)
{
	histogram_drop(&a->cpu);
	histogram_drop(&a->memory);
}

int vpa_aggregate_copy(const struct vpa_aggregate *a, struct vpa_aggregate *ret)
{
	struct vpa_aggregate copy = *a;
	int r = histogram_copy(&a->cpu, &copy.cpu);

	if (r < 0)
		return r;
	r = histogram_copy(&a->memory, &copy.memory);
	if (r < 0) {
		histogram_drop(&copy.cpu);
		return r;
	}
	*ret = copy;
	return 0;
}

void vpa_aggregate_save(const struct vpa_aggregate *a, struct vpa_checkpoint *ret)
{
	memset(ret, 0, sizeof *ret);
	memcpy(ret->version, CHECKPOINT_VERSION, sizeof CHECKPOINT_VERSION);
	ret->first_sample = a->first_sample;
	ret->last_sample = a->last_sample;
	ret->samples = a->samples;
	checkpoint_save(&a->cpu, &ret->cpu);
	checkpoint_save(&a->memory, &ret->memory);
}

int vpa_aggregate_load(struct vpa_aggregate *a, const struct vpa_checkpoint *c)
{
	struct vpa_aggregate loaded;
	int r;

	if (strncmp(c->version, CHECKPOINT_VERSION, sizeof c->version) != 0)
		return -EINVAL;
	r = vpa_aggregate_copy(a, &loaded);
	if (r < 0)
		return r;
	r = checkpoint_load(&loaded.cpu, &c->cpu);
	if (r == 0)
		r = checkpoint_load(&loaded.memory, &c->memory);
	if (r < 0) {
		vpa_aggregate_drop(&loaded);
		return r;
	}
	loaded.first_sample = c->first_sample;
	loaded.last_sample = c->last_sample;
	loaded.samples = c->samples;
	vpa_aggregate_drop(a);
	*a = loaded;
	return 0;
}
