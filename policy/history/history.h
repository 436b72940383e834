/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of one workload's container or unit, and the recommendation made from it.
 *
 * CPU: weights are seconds. The active part of a span goes to its demand, the idle rest to bucket
 * 0. lower, target, upper are percentiles of all time; peak is one of active time alone. Memory:
 * one peak per window, weight 1, at the window's end; target as VPA, peak = the decayed highest
 * windows. algorithm vpa feeds and reads the same histograms by VPA's rules instead
 * (policy/history/vpa.h). */
#pragma once

#include "policy/history/demand.h"
#include "policy/history/histogram.h"
#include "policy/types/profile.h"

/* The result of a failed shrink: a lower bound that decays over hours. */

/* Kept in the history file: realtime, survives restarts. */
struct shrink_floor {
	uint64_t value;    /* millicores or bytes; 0 = none */
	usec_t since_real; /* when it was learned */
};

/* The floor as of now: halves every half_life, linear in between (within 6 % of the exponential).
 */
uint64_t floor_value(const struct shrink_floor *f, usec_t half_life_usec, usec_t now_real);
/* Between what failed and what worked before, so that repeated trials close in on the need. */
void floor_learn(struct shrink_floor *f, uint64_t failed, uint64_t worked, usec_t now_real);

/* algorithm vpa: what is gathered for VPA's one sample a minute. Not kept on disk. */
struct vpa_minute {
	usec_t span_usec;
	uint64_t used_usec;
	usec_t last_memory_real;
};

/* Owns its histograms' weights: moved by assignment, never copied so. */
struct history {
	struct histogram cpu;    /* cores */
	struct histogram memory; /* bytes */
	usec_t first_real;       /* 0: no sample yet */
	usec_t last_real;
	/* Container time seen: gaps do not count. CPU's never vouches for memory's. */
	usec_t observed_usec[RESOURCE_COUNT];
	uint64_t samples;       /* of CPU */
	usec_t window_end_real; /* of the open memory window; 0: none */
	uint64_t window_peak;   /* bytes */
	uint64_t window_oom;    /* bytes: record of an OOM kill in it */
	struct vpa_minute vpa;
};

struct range_of {
	uint64_t lower;
	uint64_t target;
	uint64_t upper;
	uint64_t peak;
};

struct recommendation {
	struct range_of resource[RESOURCE_COUNT]; /* millicores, bytes; 0 = nothing known */
	/* 1000 and above: a full interval of history */
	uint32_t confidence_permille[RESOURCE_COUNT];
};

/* Of what holds nothing: a new one, or one that was dropped. */
void history_init(struct history *h, const struct tuning_history *t);
/* Frees what it owns. */
void history_drop(struct history *h);
/* ret holds nothing. -ENOMEM: still nothing. */
int history_copy(const struct history *h, struct history *ret);
/* A span of start-up: its age counts, its CPU demand does not. Returns how much was counted. */
usec_t history_add_startup(struct history *h, const struct cpu_rates *r, usec_t now_real);
/* The demand of one span. */
void history_add_cpu(struct history *h, const struct cpu_rates *r, usec_t now_real);
/* Memory needed at one moment; oom: the value comes from an OOM kill. */
void history_add_memory(struct history *h, const struct tuning_history *t, uint64_t bytes, bool oom,
			usec_t now_real);
/* Memory was read at both ends of this span. */
void history_observe_memory(struct history *h, usec_t span);
/* confidence = observed time / confidence_usec */
uint32_t history_confidence_permille(const struct history *h, const struct tuning_history *t,
				     enum resource r);
/* The lowest of the resources that are known. */
uint32_t recommendation_confidence(const struct recommendation *r);
/* Of the resource that less is known of. */
usec_t history_observed_least(const struct history *h);
/* containers: how many of its pod have a recommendation; VPA divides the pod's minimum among them.
 */
void history_recommend(const struct history *h, const struct tuning_history *t, uint32_t containers,
		       struct recommendation *ret);
/* Moves every time in it by step_usec, so that ages stay the same when the wall clock was set. */
void history_shift(struct history *h, int64_t step_usec);

/* algorithm vpa: once a minute, the average CPU and the memory of that moment, 0
 * where it could not be read. */
void history_vpa_observe(struct history *h, const struct tuning_history *t,
			 const struct cpu_rates *r, uint64_t memory_bytes, usec_t now_real);
void history_vpa_oom(struct history *h, const struct tuning_history *t, uint64_t request_bytes,
		     usec_t now_real);
void history_vpa_recommend(const struct history *h, const struct tuning_history *t,
			   uint32_t containers, struct recommendation *ret);
/* What VPA saved, for the algorithm of t; ret holds nothing. VPA's half life is that of its
 * default, since a checkpoint does not tell it. -EINVAL as checkpoint_load(), -ENOMEM: still
 * nothing. */
int history_vpa_load(const struct history_checkpoint *c, const struct tuning_history *t,
		     struct history *ret);

/* History that another program has recorded, at coarser intervals than our own. */
struct past_sample {
	usec_t at_real;
	double value; /* cores on average since the sample before, or bytes; >= 0 */
};

struct past_series {
	const struct past_sample *samples; /* in the order of time */
	size_t count;
	usec_t step_usec; /* a sample of CPU stands for so long */
};

/* Adds them as if they had been observed, beside what h has. CPU counts as wanted all the time: an
 * average does not tell how it was spread. cpu or memory may be empty. */
void history_add_past(struct history *h, const struct tuning_history *t,
		      const struct past_series *cpu, const struct past_series *memory);

/* What other pods of the same workload are known to need, for a container whose own history is
 * short. The part of the prior in a recommendation falls from all to nothing while the confidence
 * of the container's own history grows from 0 to 1000 permille. */

/* Of one list (agent/pod/cluster_kin.c). */
#define PRIOR_PODS_MAX 50

/* All 0: nothing is known. */
struct prior {
	struct recommendation of; /* confidence_permille: at most 1000 */
	uint32_t pods;            /* it was made from */
};

/* Is it possible as the recommendation of a container? 0 in all four: the resource is unknown. */
bool prior_is_possible(const struct recommendation *r);
/* Per value the median, weighted by confidence: one wrong pod among several changes little.
 * Confidence is their sum. count: at most PRIOR_PODS_MAX; each possible. */
void prior_merge(const struct recommendation *pods, size_t count, struct prior *ret);
/* No value above what this node has; 0: not known. */
void prior_bound(struct prior *p, const uint64_t most[RESOURCE_COUNT]);
/* No upper bound above what there is: with little confidence it is many times the target. */
void prior_bound_upper(struct recommendation *r, const uint64_t most[RESOURCE_COUNT]);
/* own: from the container's history alone. The peak is never below its own. ret may be own. */
void prior_blend(const struct prior *p, const struct recommendation *own,
		 struct recommendation *ret);
