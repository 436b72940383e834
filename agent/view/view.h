/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state as its clients see it. Borrowed for one call; a NULL string is "not known".
 * Amounts are millicores or bytes; LIMIT_MAX: no limit, VIEW_NONE: not known or not set. */
#pragma once

#include "agent/base/json.h"
#include "policy/control/control.h"
#include "policy/types/reason.h"

#define VIEW_NONE (UINT64_MAX - 1)

enum unit_kind { UNIT_KIND_UNIT, UNIT_KIND_POD, UNIT_KIND_CONTAINER, UNIT_KIND_COUNT };

extern const char *const unit_kind_names[UNIT_KIND_COUNT];

/* The API server as seen from this node. */
struct cluster_view {
	const char *server; /* NULL: operation is standalone, and nothing else counts */
	const char *node;
	const char *cgroup_driver; /* systemd, cgroupfs */
	bool synced;               /* the list of pods was complete once */
	bool healthy;              /* and the last request or event was good */
	const char *trouble;       /* in words, while it is not */
	usec_t last_event_realtime_usec;
	bool resize_offered; /* pods/resize exists and vscaled may use it */
	uint64_t pod_count;  /* those with an annotation of ours */
	uint64_t writes_waiting;
	uint64_t refused_count; /* pods with a refusal that still holds */
	uint64_t requests;      /* since the start */
	uint64_t failures;
};

/* Where the report of a container's pod to the API server stands. */
enum report_view_state {
	REPORT_VIEW_NONE,     /* nothing to report: the spec has what the cgroup has */
	REPORT_VIEW_LEASE,    /* the cgroup has a value that has not held for long enough */
	REPORT_VIEW_WAITING,  /* to be sent: its turn, the end of growth, the server */
	REPORT_VIEW_SENT,     /* the kubelet has not carried it out yet */
	REPORT_VIEW_DEFERRED, /* the kubelet waits for room */
	REPORT_VIEW_REFUSED,
	REPORT_VIEW_CGROUP_ONLY, /* the API server does not accept such a value: it stays in the
				    cgroup */
	REPORT_VIEW_STATE_COUNT,
};
extern const char *const report_view_state_names[REPORT_VIEW_STATE_COUNT];

struct report_view {
	enum report_view_state state;
	const char *detail;        /* in words: what it waits for, what was refused */
	usec_t sent_realtime_usec; /* the last one; 0: none yet */
	bool ratified;             /* the API server accepted the limits of the spec from vscaled */
	const char *autoscaler[RESOURCE_COUNT]; /* depends on the request; NULL: none is known */
	uint64_t ahead_usec; /* memory: the time of growth that a limit covers when it is sent;
				VIEW_NONE: as usual */
};

/* What the control API is written with. The keys are a contract (docs/control-api.md): a test
 * compares the documentation with the answers. */

cJSON *view_amount(uint64_t amount);    /* VIEW_NONE: null, LIMIT_MAX: "max" */
cJSON *view_time(usec_t realtime_usec); /* 0: null, else RFC 3339 in UTC */

/* Owned by the caller; NULL when memory is short. */
cJSON *view_cluster(const struct cluster_view *v);

/* Of the answer of GET /v1/report. */
#define REPORT_JSON_VERSION 1

/* A time as view_time() writes it: RFC 3339 with six decimals. */
int view_time_parse(const char *text, usec_t *ret);

/* The result of restoring one unit or container. */

enum restore_outcome {
	RESTORE_RESTORED, /* everything is as it was, and was read back */
	RESTORE_LEFT,     /* a memory value below use + margin was not written */
	RESTORE_GONE,     /* it does not run any more; what remained of it was removed */
	RESTORE_FAILED,   /* a step was refused; the record is kept */
	RESTORE_PENDING,  /* not tried: it is being started, or systemd has not answered yet */
	RESTORE_OUTCOME_COUNT,
};

struct baseline;
struct restore_result {
	const char *unit; /* or NAMESPACE/POD[/CONTAINER]; several records may have it: */
	const struct baseline *record;
	enum restore_outcome outcome;
	char detail[320]; /* in words; "" when there is nothing to add */
	/* What stood before the first write, and the originals; equal where nothing was read. */
	struct limits from, to;
};

/* "restored", "left", "gone", "failed", "pending". */
extern const char *const restore_outcome_names[RESTORE_OUTCOME_COUNT];

/* Numbers as people read them: VIEW_NONE is "-", LIMIT_MAX is "max". */

#define HUMAN_SIZE 32

/* Both return their buffer. */
const char *human_amount(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE]);
const char *human_span(usec_t span_usec, char ret[static HUMAN_SIZE]);

/* The numbers behind a decision, in words: "throttled 43 % of the last second". */

#define DECISION_TEXT_BYTES 160

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES]);
