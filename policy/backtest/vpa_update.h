/* SPDX-License-Identifier: Apache-2.0 */
/* VPA's decision when a running pod is changed. */
#pragma once

#include "policy/history/vpa.h"

/* Requests and limits of one container. */
struct vpa_resources {
	int64_t request[RESOURCE_COUNT];
	int64_t limit[RESOURCE_COUNT];
};

struct vpa_pod_container {
	struct vpa_resources now;
	bool recommended; /* otherwise its requests count in the sums of the pod */
	struct vpa_recommendation rec;
	/* Of the caps, which the backtest does not need: minAllowed and maxAllowed, RequestsOnly.
	 */
	int64_t min_allowed[RESOURCE_COUNT];
	int64_t max_allowed[RESOURCE_COUNT];
	bool requests_only;
};

struct vpa_update_rules {
	double min_change;     /* relative, summed over the resources */
	usec_t lifetime_usec;  /* a change within the bounds waits until the pod is this old */
	usec_t quick_oom_usec; /* a run that ends in an OOM kill sooner than this counts */
};

extern const struct vpa_update_rules vpa_update_rules_default;

struct vpa_priority {
	bool outside_range;   /* a request lies outside its bounds, or is missing */
	bool scale_up;        /* a target is above its request */
	double resource_diff; /* relative change of the pod, summed over the resources */
};

/* What is known of a running pod besides its containers. */
struct vpa_pod_run {
	usec_t age_usec;
	bool oom_killed;     /* the last termination of an observed container */
	usec_t oom_run_usec; /* how long that run lasted */
};

/* now.request as the container's status has it, else its spec; unrecommended ones are left out. */
struct vpa_priority vpa_update_priority(const struct vpa_pod_container *containers, size_t count);
bool vpa_update_accepted(const struct vpa_priority *p, const struct vpa_pod_run *run,
			 const struct vpa_update_rules *rules);
