/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller tells the laws of one unit besides its usage: what it found in the files, and
 * what it decided. Only policy/control/ writes struct control; test/lint/parts.sh checks that. */
#pragma once

#include "policy/control/control.h"
#include "policy/history/history.h"

/* --- what it is */
void control_set_target(struct control *c, uint32_t target);
void control_set_depth(struct control *c, uint32_t depth);
/* Of the node; control_init() sets it too. */
void control_set_page(struct control *c, uint64_t page_bytes);

/* --- the files */
/* The limits that the files have now. The held limits do not change. */
void control_set_kernel(struct control *c, const struct limits *kernel);
/* The same for memory alone. */
void control_set_kernel_memory(struct control *c, uint64_t mem_max, uint64_t mem_high);
/* The limits of managed resources that the files have become the held ones; none is removed. */
void control_take_limits(struct control *c, const struct limits *kernel);
/* A memory.max above the held limit whose writer is not known yet; 0: none. */
void control_set_unclassified(struct control *c, uint64_t bytes);

/* --- may the laws act? */
void control_set_paused(struct control *c, bool paused);
/* RESOURCES_*: an external write of them waits for its classification. */
void control_freeze(struct control *c, uint32_t resources);
/* An external writer keeps this limit. */
void control_suspend(struct control *c, enum resource r);
void control_end_suspension(struct control *c);

/* --- its life */
/* The next attachment is the first one: control_init() follows. */
void control_forget_start(struct control *c);
/* Mode Initial does not size it: it did not start now. */
void control_set_sized(struct control *c);
/* An earlier run of the agent sized it: the limits in the files are the held and granted ones. */
void control_take_over(struct control *c, const struct limits *kernel);
/* An earlier run of the agent has written a boost, and base_milli is to return. */
void control_boost_resume(struct control *c, uint64_t base_milli);
/* An external writer took the place of the boost. */
void control_boost_forget(struct control *c, usec_t now);

/* --- what is known of it */
/* How many containers of its pod have history. */
void control_set_containers(struct control *c, uint32_t containers);
/* Of an earlier run, or of another pod of its workload. */
struct control_past {
	struct history history;
	struct shrink_floor cpu_floor, mem_floor;
	usec_t backoff_usec, backoff_until; /* of memory's shrink trials */
};
/* Takes the history: it is owned by c afterwards. */
void control_set_past(struct control *c, const struct control_past *past);
/* What others have recorded of it, beside what it has seen itself. */
void control_add_past(struct control *c, const struct tuning *t, const struct past_series *cpu,
		      const struct past_series *memory);
/* What the API server says of its workload will follow: control_set_prior(), and pod_bounds without
 * requests_unknown. Mode Initial waits, until then at most. */
void control_await_facts(struct control *c, usec_t until);
/* All 0: nothing is known of them. */
void control_set_prior(struct control *c, const struct prior *prior);

/* --- the pod's own cgroup, which has no laws */
/* A container's original went from one value to another: so does their sum. */
void control_shift_original(struct control *c, enum resource r, uint64_t from, uint64_t to);
/* The decision behind the step that is about to be applied. */
void control_set_decision(struct control *c, enum resource r, const struct decision *d);
