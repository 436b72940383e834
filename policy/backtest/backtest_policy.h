/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K8s-CPU-Fast of Autothrottle's evaluation: every second the limit becomes twice the highest use
 * of 20 s, unless use is near half of it. Kubernetes' own tolerance; the target share of the limit
 * is the middle of those tried there.
 */
#pragma once

#include "policy/history/vpa.h"
#include <stdbool.h>
#include <stdint.h>

struct cpu_fast {
	uint64_t wanted_milli[20]; /* of the last 20 s */
	uint32_t next;
};

/* Nothing goes below this limit before 20 s have passed. */
void cpu_fast_init(struct cpu_fast *c, uint64_t limit_milli);
/* Every second: the new limit; 0: it stays. */
uint64_t cpu_fast_act(struct cpu_fast *c, uint64_t used_milli, uint64_t limit_milli);

/*
 * The law of Autothrottle's Captain (NSDI'24), from its published source: a sample every 100 ms, an
 * action every second. It stands here to be measured beside ours.
 *	r > 3 x target:	limit x (1 + r - 3 x target)
 *	else:		highest sample of 5 s + margin x their deviation, when that is at most 90 %
 *			of the limit; at most halved; taken back when r rises in the next second
 */

#define CAPTAIN_SAMPLES 50
/* The smallest target of its Tower that is not zero, and the one that the reflex goes by. */
#define CAPTAIN_TARGET 0.02

struct captain {
	double cores; /* the limit */
	double target;
	double margin;
	double before; /* a shrink just made; 0: none */
	double sample[CAPTAIN_SAMPLES];
	unsigned samples, next;
};

void captain_init(struct captain *c, double cores, double target);
/* Every 100 ms: what was used since the last one. */
void captain_sample(struct captain *c, double cores);
/* Every second: throttled periods of the ten since the last one. True: the limit has changed. */
bool captain_act(struct captain *c, uint64_t throttled);

/* VPA's decision when a running pod is changed. */

struct vpa_priority {
	bool outside_range;   /* a request lies outside its bounds, or is missing */
	bool scale_up;        /* a target is above its request */
	double resource_diff; /* relative change, summed over the resources */
};

/* What is known of a running pod besides its container. */
struct vpa_pod_run {
	usec_t age_usec;
	bool oom_killed;     /* the last termination of an observed container */
	usec_t oom_run_usec; /* how long that run lasted */
};

/* Of a pod of one container. */
struct vpa_priority vpa_update_priority(const int64_t request[RESOURCE_COUNT],
					const struct vpa_recommendation *rec);
bool vpa_update_accepted(const struct vpa_priority *p, const struct vpa_pod_run *run);

/*
 * VPA 1.8.0-dev (August 2026) as a policy with limit = request: its recommender sampled once a
 * minute, its updater changing the container in place as soon as it would evict it.
 */

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
/* True: the updater would act on these requests; ret: the new ones, within the maximum. */
bool backtest_vpa_update(struct backtest_vpa *v, const int64_t request[RESOURCE_COUNT],
			 const int64_t max[RESOURCE_COUNT], usec_t now,
			 int64_t ret[RESOURCE_COUNT]);
