/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the pods of this node to the API server: resizes (policy/report/report.h), the status
 * annotation, and the recorder's Events, at the node's rate (policy/report/report_queue.h). Keeps
 * no values of its own: it asks for the newest facts each time. What the daemon is to do it takes
 * as outcomes, with reporter_next(). */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/decode.h"
#include "agent/kube/model/published.h"
#include "agent/kube/report/recorder.h"
#include "policy/report/report_queue.h"

struct pod; /* the daemon's: not looked into */

/* The newest state of one pod, filled by the daemon. */
struct reporter_view {
	const struct kube_pod *pod; /* borrowed until the next call of anything of the daemon's */
	struct report_facts facts;  /* its containers are those below */
	struct report_container containers[REPORT_CONTAINERS_MAX];
	/* For the status annotation. */
	const char *mode; /* "Auto", "InPlaceOrRecreate"; NULL: no longer managed, the annotation is
			     removed */
	const char *invalid; /* what is wrong with its annotations; NULL: nothing */
	uint64_t target[REPORT_CONTAINERS_MAX][RESOURCE_COUNT]; /* recommended; 0: none */
	uint32_t level; /* RESOURCES_*: with the pod's own values */
	struct kube_published published[REPORT_CONTAINERS_MAX];
	usec_t changed_real; /* the last change of a limit; 0: none */
};

/* Fills view->facts and view->containers from the object: spec, originals = spec, generation,
 * conditions. The daemon adds what it knows: managed, held, use, originals ... Containers that are
 * never sized count as having no limit. */
void reporter_fill(const struct kube_pod *pod, struct reporter_view *view);

/* Beside REPORT_CHANGE_*. */
enum reporter_change {
	REPORTER_UNDONE = 1 << 8,  /* the answer proves that the request changed nothing */
	REPORTER_SENDING = 1 << 9, /* values are to be put on record, then reporter_send() */
	/* What reporter_ratifies() or report_lead_tried() says has changed. */
	REPORTER_BOUNDS = 1 << 10,
};

struct report_outcome {
	struct pod *pod;  /* of reporter_add(); NULL: reporter_trouble() has changed */
	uint32_t changes; /* REPORT_CHANGE_*, REPORTER_* */
	/* The values that a refusal bounds, by container: CPU is to be lowered at once, memory by a
	 * shrink trial. All 0: it is not due to a value. */
	uint64_t refused[RESOURCE_COUNT];
	/* Owned by the caller: why, of REFUSED and CONTESTED. NULL: no memory for it. */
	char *text;
	uint64_t generation;              /* of RATIFIED */
	const struct report_patch *patch; /* of SENDING */
};

struct reporter_options {
	/* pod: of reporter_add(). 0: *ret is set; -ENOENT: nothing is to be reported of it, and
	 * what was is forgotten. */
	int (*facts)(void *ctx, struct pod *pod, struct reporter_view *ret);
	void *ctx;
	struct report_tuning tuning;
	struct report_rate rate;
	usec_t status_interval_usec;
	uint64_t seed;
	struct report_tally *tally; /* counted here; borrowed */
};

struct reporter;
/* What the reporter keeps of one pod. */
struct pod_report;

/* The recorder must live as long as the reporter. */
int reporter_new(const struct kube_port *port, struct recorder *recorder,
		 const struct reporter_options *o, struct reporter **ret);
/* Requests under way are cancelled. */
void reporter_free(struct reporter *r);

/* A pod: pod and uid are borrowed until reporter_forget(). NULL: no memory. */
struct pod_report *reporter_add(struct reporter *r, struct pod *pod, const char *uid);
/* t NULL, here and below: the pod was not added. Requests under way are cancelled. */
void reporter_forget(struct pod_report *t);
/* Something that its report depends on has changed. */
void reporter_changed(struct pod_report *t);
/* Sends the status annotation soon, after a refusal or a new mode. */
void reporter_hurry(struct pod_report *t);
/* Looks at the pods that are due, and sends. True: there are outcomes, to be acted upon before it
 * is called again for the rest of the step. */
bool reporter_step(struct reporter *r, usec_t now, usec_t now_real);
/* The next outcome of the step, of an answer or of reporter_decide_now(). False: there is none. */
bool reporter_next(struct reporter *r, struct report_outcome *ret);
/* After an outcome with REPORTER_SENDING, before anything else of the reporter is called. */
void reporter_send(struct pod_report *t);
/* 0: nothing to wait for. */
usec_t reporter_due(const struct reporter *r, usec_t now);
void reporter_alive(struct reporter *r, usec_t now);

/* The pod's object has changed: reads it now, before the daemon classifies the change. */
void reporter_decide_now(struct pod_report *t, usec_t now);
/* Of a pod that is unknown, or was not looked at yet: one that nothing was ever sent of. */
const struct report_state *reporter_state(const struct pod_report *t);
/* RESOURCES_* of the container that an external writer set, at the last change of the spec. */
uint32_t reporter_foreign(const struct pod_report *t, size_t container);
/* May a resize of vscaled's that had no answer still be stored? True of a pod that was not looked
 * at yet. */
bool reporter_late(const struct pod_report *t, usec_t now);
/* Is a resize of vscaled's under way, to the API server or to the kubelet? */
bool reporter_pending(const struct pod_report *t);
/* Is there still something to report of this pod? */
bool reporter_unsent(const struct pod_report *t);
/* The text of the refusal of the last resize; NULL: it was not refused. */
const char *reporter_refusal(const struct pod_report *t);
/* Can a resize of this pod be accepted, as far as is known? The server offers it, it is allowed,
 * the last one did not fail, and no refusal stands that is not due to a value. Refusals of values
 * are in report_allows(). */
bool reporter_ratifies(const struct reporter *r, const struct pod_report *t, usec_t now);
/* Why nothing is sent now; REPORT_BLOCK_NONE for one that was not looked at yet. */
enum report_block reporter_block(const struct pod_report *t);
/* Since when the kubelet has had no room for a resize of the pod (boottime); 0: it has. */
usec_t reporter_infeasible_since(const struct pod_report *t);
/* The node has room for what the kubelet had deferred: it is sent again. False: nothing waits. */
bool reporter_retry(struct pod_report *t, usec_t now);
/* The time of growth that a memory limit of this pod covers when it is sent. no_decrease: as in
 * report_facts. */
usec_t reporter_ahead(const struct reporter *r, const struct kube_pod *pod, bool no_decrease,
		      usec_t now);
/* Does this server offer pods/resize? Unknown yet: false. */
bool reporter_offered(const struct reporter *r);
/* A failure that is not about one pod; "": none. */
const char *reporter_trouble(const struct reporter *r);
/* Pods with something to report. */
size_t reporter_waiting(const struct reporter *r);
/* Pods whose last refusal still holds. */
size_t reporter_refused(const struct reporter *r);

/* The text of vscaled.dev/status, owned by the caller; NULL: no memory. ratified: generation, 0:
 * none; refusal: NULL or its text. Recommendations of the last containers are left out where the
 * text would be longer than REPORTER_STATUS_MAX. */
#define REPORTER_STATUS_MAX 1024
char *reporter_status_text(const struct reporter_view *v, uint64_t ratified, const char *refusal);
/* Replaces the recommendations in v by those of the former text where none differs by more than a
 * tenth and the confidence has not doubled. */
void reporter_status_keep(const char *former, struct reporter_view *v);
