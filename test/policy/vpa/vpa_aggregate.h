/* SPDX-License-Identifier: Apache-2.0 */
/* What VPA does with a container's aggregate and the agent, which has its own records, does not. */
#pragma once

#include "policy/history/vpa.h"
#include "test/policy/vpa/checkpoint_save.h"

/* Of what holds nothing: a new one, or one that was dropped. */
void vpa_aggregate_init(struct vpa_aggregate *a, const struct vpa_rules *rules);
void vpa_aggregate_drop(struct vpa_aggregate *a);
/* ret holds nothing. -ENOMEM: still nothing. */
int vpa_aggregate_copy(const struct vpa_aggregate *a, struct vpa_aggregate *ret);

/* The saved form, version "v3". */
struct vpa_checkpoint {
	char version[8];
	usec_t first_sample;
	usec_t last_sample;
	uint64_t samples;
	struct checkpoint cpu;
	struct checkpoint memory;
};

void vpa_aggregate_save(const struct vpa_aggregate *a, struct vpa_checkpoint *ret);
/* Adds to the histograms, takes the rest over. -EINVAL when c is not valid,
 * -ENOMEM; then a is untouched. */
int vpa_aggregate_load(struct vpa_aggregate *a, const struct vpa_checkpoint *c);
