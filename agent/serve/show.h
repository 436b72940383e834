/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of an entry, read from the entry when it is asked for: the answers of the control
 * API, the report and the metrics. Amounts are millicores or bytes; LIMIT_MAX: no limit, VIEW_NONE:
 * not known or not set. */
#pragma once

#include "agent/manage/managed.h"
#include <cjson/cJSON.h>
#include <stdio.h>

struct kube_container;

/* An entry, or a container that is not managed. Borrowed for one call. */
struct shown {
	const struct managed *m;        /* NULL: not managed */
	const struct pod *pod;          /* NULL: a unit */
	const struct kube_container *c; /* NULL: a unit, or the pod itself */
	enum state_reason why;          /* why it is not managed */
};

typedef void shown_fn(void *arg, const struct shown *s);

struct shown shown_entry(const struct managed *m);
/* Container i of the spec, which is not managed. */
struct shown shown_unmanaged(const struct pod *p, size_t i);

enum state_reason shown_reason(const struct shown *s);
/* In words; NULL: nothing to add. */
const char *shown_reason_text(const struct shown *s);
bool shown_controlled(const struct shown *s, enum resource r);
struct range_of shown_range(const struct shown *s, enum resource r); /* the recommendation */

/* An amount; of one resource alone where a comment names it. */
typedef uint64_t shown_amount(const struct shown *s, enum resource r);
shown_amount shown_kernel; /* the limit in the cgroup */
shown_amount shown_ceiling, shown_use, shown_psi_some, shown_request;
shown_amount shown_spec_limit;         /* of the pod's spec, or that of systemd's property */
shown_amount shown_throttled_permille; /* CPU: of the last window's periods */
shown_amount shown_unreclaimable;      /* bytes of memory */
shown_amount shown_above_spec;         /* memory that cannot be reclaimed above the spec's limit */
shown_amount shown_drifts;             /* limits of others that were replaced by ours */
/* Is a startup boost in its cgroup? */
bool shown_boosted(const struct shown *s);

/* The object of the control API. brief: as in the list. Owned; NULL: memory is short. */
cJSON *shown_json(const struct shown *s, bool brief);

/* What `vscalectl report` is made of: the containers of a node, a short JSON object for each, with
 * commas between. docs/control-api.md has the keys. */
struct report_json {
	FILE *file;
	size_t count;
	bool failed;
};

/* A shown_fn, report is a struct report_json. What is no container is left out. */
void report_json_add(void *report, const struct shown *s);
