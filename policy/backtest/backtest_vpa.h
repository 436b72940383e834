/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VPA 1.8 as a policy with limit = request: its recommender sampled once a minute, its updater
 * changing the container in place as soon as it would evict it.
 */
#pragma once

#include "policy/backtest/vpa_update.h"
#include <stdbool.h>

struct backtest_vpa {
	struct vpa_aggregate aggregate;
	struct vpa_container container; /* points into this struct: it is not moved */
	uint32_t resources;             /* bits of what is sized */
	usec_t changed;                 /* realtime of the last change or start */
	uint64_t kills;
	bool oom_killed;
	usec_t oom_run_usec;
};

void backtest_vpa_init(struct backtest_vpa *v, uint32_t resources, usec_t now);
void backtest_vpa_drop(struct backtest_vpa *v);
/* The container was killed under this memory request. */
enum vpa_sample backtest_vpa_killed(struct backtest_vpa *v, int64_t request_bytes, usec_t now);
/* The recommender's word, for one of so many containers of a pod. */
void backtest_vpa_estimate(const struct backtest_vpa *v, uint32_t containers,
			   struct vpa_recommendation *ret);
/* True: the updater would act on these requests; ret: the new ones, within the maximum. */
bool backtest_vpa_update(struct backtest_vpa *v, const int64_t request[RESOURCE_COUNT],
			 const int64_t max[RESOURCE_COUNT], usec_t now,
			 int64_t ret[RESOURCE_COUNT]);
