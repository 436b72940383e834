// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/vpa_aggregate.h"
#include "test/policy/vpa/histogram_vpa.h"
#include <errno.h>
#include <string.h>

#define CHECKPOINT_VERSION   "v3"
#define MEMORY_SAMPLE_WEIGHT 1.0

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

static bool mergeable(const struct histogram *a, const struct histogram *b)
{
	return a->options == b->options && a->half_life_usec == b->half_life_usec;
}

int vpa_aggregate_merge(struct vpa_aggregate *a, const struct vpa_aggregate *other)
{
	int r;

	if (!mergeable(&a->cpu, &other->cpu) || !mergeable(&a->memory, &other->memory))
		return -EINVAL;
	r = histogram_merge(&a->cpu, &other->cpu);
	if (r == 0)
		r = histogram_merge(&a->memory, &other->memory);
	if (r < 0)
		return r;
	if (a->first_sample == 0 ||
	    (other->first_sample > 0 && other->first_sample < a->first_sample))
		a->first_sample = other->first_sample;
	a->last_sample = MAX(a->last_sample, other->last_sample);
	a->samples += other->samples;
	return 0;
}

bool vpa_aggregate_expired(const struct vpa_aggregate *a, const struct vpa_rules *rules,
			   usec_t created, usec_t now)
{
	usec_t since = a->samples > 0 ? a->last_sample : created;

	return now >= since + rules->windows * rules->window_usec;
}

void vpa_exclude_running_peak(const struct vpa_container *c, usec_t now, struct vpa_aggregate *copy)
{
	int64_t peak = MAX(c->memory_peak, c->oom_peak);

	if (now < c->window_end)
		histogram_subtract(&copy->memory, (double)peak, MEMORY_SAMPLE_WEIGHT,
				   c->window_end);
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
