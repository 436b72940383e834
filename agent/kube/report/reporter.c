// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/report/reporter.h"
#include "agent/base/file.h"
#include "agent/kube/model/encode.h"
#include "agent/kube/model/published.h"
#include "agent/kube/report/reporter_answer.h"
#include "policy/base/base.h"
#include "policy/base/text.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DISCOVER_EVERY (10 * USEC_PER_MIN)
#define DISCOVER_RETRY (10 * USEC_PER_SEC)
#define DISCOVER_SLOW  (60 * USEC_PER_SEC)
/* Conflicts in a row that are tried again without a pause. */
#define CONFLICTS_MAX 3
#define PATH_SIZE     512

/* Requests of pods under way at a time, twice as many as one namespace may take; one while the
 * server is away. Leads have places of their own. */
#define IN_FLIGHT_MAX   8
#define IN_FLIGHT_LEADS 24
/* While reports wait that raise no memory, one write in this many is a Warning, or an Event of type
 * Normal. */
#define WARNING_TURN 2
#define EVENT_TURN   4

enum right { RIGHT_RESIZE, RIGHT_STATUS, RIGHT_COUNT };

/* A request to the API server. */
struct flight {
	struct kube_call *call; /* NULL: none is under way */
	bool lead;
	bool in_turn; /* it waited for its turn; else it is a lead */
};

struct pod_report {
	struct reporter *reporter;
	struct pod_report *next;
	struct pod *pod;
	struct report_slot slot;
	struct report_outcome outcome; /* not taken yet; changes 0: there is none */
	uint64_t space;                /* text_hash() of its namespace; 0: not seen yet */
	struct report_state *state;    /* NULL: not seen yet */
	bool dirty;
	bool observed; /* its change is an outcome, and it is decided after that */
	usec_t again;  /* 0: when something changes */
	enum report_block block;
	bool blocked;      /* as the last decision says */
	usec_t room_since; /* since when a request waits for room; 0: none does */
	bool unratified;   /* as last said: not reporter_ratifies(), ... */
	bool tried;        /* ... report_lead_tried() */
	bool failing;      /* its last resize was, and no other pod's need be */
	bool going_back;   /* the originals are not in the spec yet */
	bool unsent; /* going_back; or the pod is no longer managed, and its resize is pending or
		      its annotation is still there */
	/* One at a time, but for a lead: it does not wait for the annotation. */
	struct flight resize, patch;
	char *status;         /* the annotation as the server has it; NULL: it has none */
	char *asked;          /* the value in the request under way; NULL: its removal */
	uint32_t status_seen; /* checksum of the annotation in the object seen last; 0: none */
	enum { HURRY_NONE, HURRY_SENT, HURRY_NEW } hurry; /* SENT: before the last write */
	uint32_t conflicts;
	usec_t status_at;            /* when it was last sent; 0: never */
	usec_t status_same;          /* when it was last found to be as it should be; 0: never */
	usec_t status_again;         /* 0: nothing waits for its interval */
	usec_t status_refused_until; /* the server refused the last write */
	char *refusal;
	uint64_t ratified; /* generation */
};

struct reporter {
	struct kube_port port;
	struct recorder *recorder;
	struct reporter_options options;
	struct report_queue queue;
	struct report_node node;
	struct report_tuning tuning; /* options.tuning for this node now */
	struct pod_report *first;
	uint32_t turn;
	bool offered;
	usec_t discover_at;
	usec_t discover_wait;
	struct kube_call *discovery; /* under way */
	struct holds denied[RIGHT_COUNT];
	usec_t missing[RIGHT_COUNT];     /* reported, and not held back after this; 0: it is not */
	char trouble[700];               /* "": none */
	bool trouble_new;                /* an outcome that was not taken */
	bool outcomes;                   /* a pod has one */
	struct report_decision decision; /* large: here, not on the stack */
	struct reporter_view view, answer; /* the same */
};

/* --- the pods */

static void reporter_cancel(struct reporter *r, struct flight *f)
{
	if (f->call != NULL)
		r->port.cancel(r->port.ctx, f->call);
	report_queue_release(&r->queue);
	*f = (struct flight){0};
}

/* As if nothing had been reported of the pod. */
static void reporter_reset(struct pod_report *t)
{
	struct reporter *r = t->reporter;

	report_queue_drop(&r->queue, &t->slot);
	reporter_cancel(r, &t->resize);
	reporter_cancel(r, &t->patch);
	free(t->state);
	free(t->status);
	free(t->asked);
	free(t->refusal);
	*t = (struct pod_report){.reporter = r,
				 .next = t->next,
				 .pod = t->pod,
				 .slot.uid = t->slot.uid,
				 .outcome = t->outcome};
}

struct pod_report *reporter_add(struct reporter *r, struct pod *pod, const char *uid)
{
	struct pod_report *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	*t = (struct pod_report){.reporter = r, .next = r->first, .pod = pod, .slot.uid = uid};
	r->first = t;
	return t;
}

void reporter_changed(struct pod_report *t)
{
	if (t != NULL)
		t->dirty = true;
}

void reporter_hurry(struct pod_report *t)
{
	reporter_changed(t);
	if (t != NULL)
		t->hurry = HURRY_NEW;
}

void reporter_forget(struct pod_report *t)
{
	struct pod_report **at;

	if (t == NULL)
		return;
	reporter_reset(t);
	at = &t->reporter->first;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t->outcome.text);
	free(t);
}

/* Is a request of the pod under way? */
static bool is_busy(const struct pod_report *t)
{
	return t->resize.call != NULL || t->patch.call != NULL;
}

/* --- outcomes: what the daemon is to do about a pod. They go with it. */

/* changes: REPORT_CHANGE_*, REPORTER_*. */
static void note(struct pod_report *t, uint32_t changes)
{
	t->outcome.changes |= changes;
	t->reporter->outcomes |= changes != 0;
}

static void note_text(struct pod_report *t, const char *text)
{
	free(t->outcome.text);
	t->outcome.text = strdup(text);
}

bool reporter_next(struct reporter *r, struct report_outcome *ret)
{
	*ret = (struct report_outcome){0};
	if (r->trouble_new) {
		r->trouble_new = false;
		return true;
	}
	for (struct pod_report *t = r->first; t != NULL && r->outcomes; t = t->next)
		if (t->outcome.changes != 0) {
			*ret = t->outcome;
			ret->pod = t->pod;
			t->outcome = (struct report_outcome){0};
			return true;
		}
	r->outcomes = false;
	return false;
}

/* --- refusals: kept for the annotation and explain, and reported to the daemon */

static void reporter_set_refusal(struct pod_report *t, const char *text)
{
	free(t->refusal);
	t->refusal = text ? strdup(text) : NULL;
}

/* Notes the values that a refusal bounds: none if it is not due to a value. */
static void note_refused(struct pod_report *t, const char *text, usec_t now)
{
	usec_t end = add_sat(now, t->reporter->options.tuning.refusal_usec);

	note_text(t, text);
	for (size_t i = 0; i < t->state->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			usec_t until;

			report_allows(t->state, i, (enum resource)r, now, &until);
			/* Else there was no refusal, or it has been reported. */
			if (until >= end)
				t->outcome.refused[r] |= UINT64_C(1) << i;
		}
}

/* When the last ceiling of a refusal ends; 0: none binds. */
static usec_t reporter_bound_until(const struct pod_report *t, usec_t now)
{
	usec_t last = 0, until;

	for (size_t i = 0; i < t->state->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			report_allows(t->state, i, (enum resource)r, now, &until);
			last = MAX(last, until);
		}
	return last;
}

/* A lead is denied, no value is refused: the text is shown in the annotation and in explain, and by
 * the daemon where an external writer is the cause. */
static void reporter_show_denied(struct pod_report *t, uint32_t changes, const char *why,
				 usec_t now)
{
	const char *text = report_contested(t->state, now)
				   ? "another writer lowers the memory limit again and again"
				   : why;

	reporter_set_refusal(t, text);
	t->hurry = HURRY_NEW;
	if (changes & REPORT_CHANGE_CONTESTED)
		note_text(t, text);
}

/* The text of a refusal that no longer binds is dropped. */
static void reporter_refusal_ends(struct pod_report *t, const struct report_facts *f, usec_t now)
{
	const struct report_state *s = t->state;
	bool condition = f->pending_deferred || f->pending_infeasible || f->progress_error;

	if (t->refusal == NULL || condition || s->back != BACK_NONE ||
	    now < report_refused_until(s) || reporter_bound_until(t, now) != 0 ||
	    report_lead_denied(s, now))
		return;
	reporter_set_refusal(t, NULL);
}

/* The first look at a pod: what an earlier agent was refused stays refused, and is reported. */
static void reporter_recall(struct pod_report *t, const struct report_facts *f, usec_t now)
{
	struct reporter *r = t->reporter;
	OWN(drop_free) char *text = t->status != NULL ? kube_refusal_read(t->status) : NULL;
	struct report_answer refusal;

	if (text == NULL)
		return;
	refusal = reporter_refusal_of(text);
	report_recall(&r->tuning, t->state, f, &refusal, now);
	if (reporter_bound_until(t, now) == 0)
		return;
	free(t->refusal);
	t->refusal = STEAL(text);
	note(t, REPORTER_BOUNDS);
}

/* --- the queries */

const struct report_state *reporter_state(const struct pod_report *t)
{
	static const struct report_state unseen;

	return t != NULL && t->state != NULL ? t->state : &unseen;
}

uint32_t reporter_foreign(const struct pod_report *t, size_t container)
{
	return report_foreign(reporter_state(t), container);
}

bool reporter_pending(const struct pod_report *t)
{
	return report_pending(reporter_state(t));
}

bool reporter_unsent(const struct pod_report *t)
{
	return t != NULL && (t->dirty || is_busy(t) || t->unsent || t->slot.waits);
}

enum report_block reporter_block(const struct pod_report *t)
{
	return t != NULL ? t->block : REPORT_BLOCK_NONE;
}

const char *reporter_refusal(const struct pod_report *t)
{
	return t != NULL ? t->refusal : NULL;
}

bool reporter_late(const struct pod_report *t, usec_t now)
{
	/* Not looked at yet, as after a restart: it may have been. */
	return reporter_state(t)->seen_at == 0 || report_late(reporter_state(t), now);
}

usec_t reporter_infeasible_since(const struct pod_report *t)
{
	return t != NULL ? sooner(reporter_state(t)->infeasible_since, t->room_since) : 0;
}

usec_t reporter_ahead(const struct reporter *r, const struct kube_pod *pod, bool no_decrease,
		      usec_t now)
{
	const struct report_facts f = {.observed_generation = pod->observed_generation,
				       .no_decrease = no_decrease};

	return report_ahead(&r->tuning, &r->node, &f, now);
}

bool reporter_offered(const struct reporter *r)
{
	return r->offered;
}

const char *reporter_trouble(const struct reporter *r)
{
	return r->trouble;
}

size_t reporter_waiting(const struct reporter *r)
{
	return r->queue.count;
}

size_t reporter_refused(const struct reporter *r)
{
	size_t n = 0;

	for (const struct pod_report *t = r->first; t != NULL; t = t->next)
		n += t->refusal != NULL;
	return n;
}

bool reporter_retry(struct pod_report *t, usec_t now)
{
	if (t == NULL || t->state == NULL || !report_retry(t->state, now))
		return false;
	reporter_set_refusal(t, NULL);
	reporter_hurry(t);
	return true;
}

bool reporter_ratifies(const struct reporter *r, const struct pod_report *t, usec_t now)
{
	if (!r->offered || (t != NULL && now < holds_until(&r->denied[RIGHT_RESIZE], t->space)))
		return false;
	return t == NULL || t->state == NULL || (!t->blocked && report_ratifies(t->state, now));
}

static void note_bounds(struct pod_report *t, usec_t now)
{
	bool unratified = !reporter_ratifies(t->reporter, t, now);
	bool tried = report_lead_tried(reporter_state(t), now);

	if (unratified == t->unratified && tried == t->tried)
		return;
	t->unratified = unratified;
	t->tried = tried;
	note(t, REPORTER_BOUNDS);
}

/* --- requests, and what their answers change */

static void reporter_changes(struct pod_report *t, const struct reporter_view *v, uint32_t changes,
			     const char *text, usec_t now)
{
	if (changes & REPORT_CHANGE_GONE) {
		reporter_reset(t);
		return;
	}
	if (changes & REPORT_CHANGE_LOWERED)
		text = "admission changes what vscaled sends: no more than a lower stored value is "
		       "sent before kubernetes.refusalTime has passed; a higher one stays for 10 "
		       "min";
	if (changes & REPORT_CHANGE_REFUSED) {
		reporter_set_refusal(t, text);
		t->hurry = HURRY_NEW;
		note_refused(t, text, now);
	}
	if (changes & REPORT_CHANGE_FOREIGN)
		reporter_set_refusal(t, NULL);
	if (changes & REPORT_CHANGE_RATIFIED) {
		t->ratified = v->facts.generation;
		if (reporter_bound_until(t, now) == 0 && !report_lead_denied(t->state, now))
			reporter_set_refusal(t, NULL);
		t->outcome.generation = t->ratified;
	}
	if (changes & REPORT_CHANGE_RETRY)
		t->dirty = true;
	note(t, changes);
}

/* The right is there again, in all namespaces. Another one that is missing is reported at its next
 * refusal. */
static void allowed(struct reporter *r, enum right right, usec_t now)
{
	if (r->missing[right] == 0 || now < r->missing[right])
		return;
	memset(r->missing, 0, sizeof r->missing);
	r->trouble[0] = '\0';
	r->trouble_new = true;
}

/* Nothing in a name is escaped: it is a DNS label or subdomain. */
static void path_of(const struct kube_pod *pod, const char *end, char path[static PATH_SIZE])
{
	/* The server ends what the client is about to give up (REQUEST_MSEC), and says so. */
	snprintf(path, PATH_SIZE,
		 "/api/v1/namespaces/%s/pods/%s%s?timeout=29s&fieldManager=vscaled", pod->namespace,
		 pod->name, end);
}

/* A pod whose requests fail leaves tokens to others. */
static enum report_urgency turn_of(const struct pod_report *t, enum report_urgency urgency)
{
	if (!t->failing)
		return urgency;
	return urgency == REPORT_LEADS ? REPORT_LEADS_AGAIN : REPORT_ANNOTATION;
}

/* f: of t. */
static int reporter_send_start(struct pod_report *t, struct flight *f,
			       const struct kube_request *request, kube_done_fn *done,
			       enum report_urgency urgency, usec_t now)
{
	struct reporter *r = t->reporter;
	int e = r->port.start(r->port.ctx, request, done, t, &f->call);

	if (e < 0) {
		report_queue_failed(&r->queue, now);
		return e;
	}
	f->lead = urgency == REPORT_LEADS;
	f->in_turn = report_queue_take(&r->queue, turn_of(t, urgency), now);
	return 0;
}

static void ended(struct pod_report *t, struct flight *f)
{
	f->call = NULL;
	t->dirty = true;
	report_queue_release(&t->reporter->queue);
}

/* A right is missing in the pod's namespace: nothing of the kind is sent there for a while. Said
 * once. */
static void forbidden(struct pod_report *t, enum right right, const char *what,
		      const struct kube_status *s, usec_t now)
{
	struct reporter *r = t->reporter;
	bool told = r->missing[right] != 0;

	r->missing[right] = add_sat(now, FORBIDDEN_FOR);
	holds_add(&r->denied[right], t->space, r->missing[right], now);
	if (told)
		return;
	snprintf(r->trouble, sizeof r->trouble, "%s: %.500s", what, s->message);
	r->trouble_new = true;
}

/* Reads the newest facts into r->view, with those that the daemon does not know. False: nothing is
 * to be reported of the pod, and what was is forgotten. */
static bool fill_view(struct pod_report *t)
{
	struct reporter *r = t->reporter;
	struct report_facts *f = &r->view.facts;

	if (r->options.facts(r->options.ctx, t->pod, &r->view) < 0) {
		reporter_reset(t);
		return false;
	}
	t->space = text_hash(TEXT_HASH_FIRST, r->view.pod->namespace);
	f->offered = r->offered && !f->not_resized;
	f->forbidden_until = holds_until(&r->denied[RIGHT_RESIZE], t->space);
	return true;
}

/* Fills r->answer with the facts of the pod in the answer. */
static bool take_pod(struct reporter *r, const struct kube_answer *a, struct kube_pod **ret)
{
	struct kube_decode_error err;

	if (kube_decode_pod(a->body, a->len, ret, &err) < 0)
		return false;
	reporter_fill(*ret, &r->answer);
	r->answer.facts.restoring = r->view.facts.restoring;
	return r->answer.facts.container_count <= REPORT_CONTAINERS_MAX;
}

static void on_resize(void *arg, const struct kube_answer *a)
{
	struct pod_report *t = arg;
	struct reporter *r = t->reporter;
	usec_t now = *r->port.now;
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;
	struct kube_status status;
	struct report_answer answer = reporter_classify(a, &status);
	const struct reporter_view *v = &r->view;
	uint32_t changes;

	ended(t, &t->resize);
	report_queue_answered(&r->queue, &answer, t->resize.in_turn, now);
	if (answer.no_path) {
		answer.kind = REPORT_ANSWER_UNSUPPORTED;
		r->discover_at = now;
	}
	/* The facts of this pod that are not in the answer. Another number of containers may have
	 * come in between, and there was no memory for it. */
	if (!fill_view(t) || t->state == NULL)
		return;
	if (answer.kind == REPORT_ANSWER_FORBIDDEN)
		forbidden(t, RIGHT_RESIZE, "resizes are not allowed (pods/resize, verb patch)",
			  &status, now);
	if (answer.kind == REPORT_ANSWER_OK) {
		allowed(r, RIGHT_RESIZE, now);
		if (take_pod(r, a, &pod))
			v = &r->answer;
		else
			answer.kind = REPORT_ANSWER_FAILED; /* the resize was accepted; the watch
							       brings the pod */
	}
	r->options.tally->answers[answer.kind]++;
	t->failing = answer.kind == REPORT_ANSWER_FAILED && answer.server_works;
	if (report_answer_undone(answer.kind))
		note(t, REPORTER_UNDONE);
	changes = report_answered(&r->tuning, &r->node, t->state, &v->facts, &answer, now);
	if (answer.kind == REPORT_ANSWER_UNSUPPORTED)
		changes |= REPORT_CHANGE_REFUSED;
	/* Only headroom was refused: shown; an event follows only if use gets above the spec. */
	if (answer.kind == REPORT_ANSWER_REFUSED && report_lead_denied(t->state, now))
		reporter_set_refusal(t, status.message);
	reporter_changes(t, v, changes, status.message, now);
}

void reporter_send(struct pod_report *t)
{
	struct reporter *r = t->reporter;
	const struct report_decision *d = &r->decision;
	usec_t now = *r->port.now;
	/* An external change that vscaled has not seen must not be undone: the server answers 409,
	 * and the pod is read again. A lead has no time for that: a conflict costs 0.3 to 0.6 s in
	 * the lab, and 50 MB/s fill 64 MiB in 1.2 s. It names only the memory limits that it
	 * raises. */
	OWN(drop_free) char *body = kube_encode_resize(r->view.pod, &d->patch, d->exact);
	char path[PATH_SIZE];
	struct kube_request request = {
		.method = "PATCH", .path = path, .body = body, .content = KUBE_STRATEGIC_PATCH};

	path_of(r->view.pod, "/resize", path);
	if (body == NULL ||
	    reporter_send_start(t, &t->resize, &request, on_resize, d->urgency, now) < 0) {
		t->again = add_sat(now, USEC_PER_SEC);
		return;
	}
	r->options.tally->sent++;
	report_sent(t->state, &r->view.facts, &d->patch, now);
	note_bounds(t, now);
}

static void on_status(void *arg, const struct kube_answer *a)
{
	struct pod_report *t = arg;
	struct reporter *r = t->reporter;
	usec_t now = *r->port.now;
	struct kube_status status;
	struct report_answer answer = reporter_classify(a, &status);

	ended(t, &t->patch);
	report_queue_answered(&r->queue, &answer, t->patch.in_turn, now);
	switch (answer.kind) {
	case REPORT_ANSWER_OK:
		free(t->status);
		t->status = STEAL(t->asked);
		t->status_at = now;
		t->hurry &= HURRY_NEW;
		t->conflicts = 0;
		allowed(r, RIGHT_STATUS, now);
		return;
	case REPORT_ANSWER_GONE:
		reporter_reset(t);
		return;
	case REPORT_ANSWER_CONFLICT:
		if (++t->conflicts <= CONFLICTS_MAX)
			return;
		break;
	case REPORT_ANSWER_FORBIDDEN:
		forbidden(t, RIGHT_STATUS,
			  "the status annotation is not allowed (pods, verb patch)", &status, now);
		return;
	case REPORT_ANSWER_SLOW_DOWN:
		return;
	default:
		if (!answer.server_works)
			return;
	}
	/* This text was refused: the next one is sent after the interval. */
	t->status_at = now;
	t->status_refused_until = add_sat(now, r->options.status_interval_usec);
	t->hurry &= HURRY_NEW;
	t->conflicts = 0;
}

static int reporter_send_status(struct pod_report *t, char *text, usec_t now)
{
	struct reporter *r = t->reporter;
	OWN(drop_free) char *body = kube_encode_annotation(r->view.pod, text);
	char path[PATH_SIZE];
	struct kube_request request = {
		.method = "PATCH", .path = path, .body = body, .content = KUBE_MERGE_PATCH};

	path_of(r->view.pod, "", path);
	free(t->asked);
	t->asked = text;
	t->hurry = t->hurry ? HURRY_SENT : HURRY_NONE;
	return body ? reporter_send_start(t, &t->patch, &request, on_status, REPORT_ANNOTATION, now)
		    : -ENOMEM;
}

static void on_discovery(void *arg, const struct kube_answer *a)
{
	struct reporter *r = arg;
	usec_t now = *r->port.now;
	struct kube_decode_error err;
	bool offered = r->offered;

	r->discovery = NULL;
	r->discover_wait = MIN(MAX(2 * r->discover_wait, DISCOVER_RETRY), DISCOVER_SLOW);
	r->discover_at = add_sat(now, r->discover_wait);
	if (a->status == 200 && kube_decode_resize_offered(a->body, a->len, &offered, &err) >= 0) {
		r->discover_at = add_sat(now, DISCOVER_EVERY);
		r->discover_wait = 0;
		report_queue_healthy(&r->queue, now);
		for (struct pod_report *t = r->first; t != NULL; t = t->next)
			t->dirty |= offered != r->offered;
		r->offered = offered;
	}
}

static void reporter_discover(struct reporter *r, usec_t now)
{
	struct kube_request request = {.method = "GET", .path = "/api/v1"};

	if (r->discovery != NULL || now < r->discover_at)
		return;
	if (r->port.start(r->port.ctx, &request, on_discovery, r, &r->discovery) < 0)
		r->discover_at = add_sat(now, DISCOVER_RETRY);
}

/* --- when the annotation is written; its text: status_annotation.c */

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Takes the annotation of the pod object: the first time, and when another writer has changed or
 * removed it, so that it is written again. An object from before the last write looks like that
 * too, and costs one more write. */
static void reporter_learn_status(struct pod_report *t, const struct kube_pod *pod)
{
	const char *have = kube_pod_annotation(pod, "status");
	uint32_t seen = have != NULL ? crc32c(0, have, strlen(have)) | 1u : 0;

	if (t->patch.call != NULL || seen == t->status_seen)
		return;
	t->status_seen = seen;
	if (is_same(have, t->status))
		return;
	free(t->status);
	t->status = have ? strdup(have) : NULL;
}

/* The text of the annotation as it should be, owned; NULL: none should be (or no memory). */
static char *reporter_status_due(struct pod_report *t, usec_t now, bool *ret_due)
{
	struct reporter *r = t->reporter;
	struct reporter_view *v = &r->view;
	usec_t at = t->status_at ? add_sat(t->status_at, r->options.status_interval_usec) : 0;
	char *text;

	*ret_due = false;
	t->status_again = 0;
	/* The annotation holds the originals: it is removed once they are in the spec again. */
	if (v->mode == NULL && t->going_back)
		return NULL;
	if (t->status_same != 0)
		at = MAX(at, add_sat(t->status_same, r->options.status_interval_usec / 10));
	if (t->hurry)
		at = 0;
	if (v->mode == NULL)
		at = t->status_refused_until;
	at = MAX(at, holds_until(&r->denied[RIGHT_STATUS], t->space));
	if (now < at) {
		t->status_again = at;
		return NULL;
	}
	if (v->mode != NULL && t->status != NULL)
		reporter_status_keep(t->status, v);
	text = v->mode ? reporter_status_text(v, t->ratified, t->refusal) : NULL;
	if (v->mode != NULL && text == NULL)
		return NULL; /* no memory: another time */
	if (is_same(text, t->status)) {
		free(text);
		t->hurry = HURRY_NONE;
		t->status_same = now;
		return NULL;
	}
	*ret_due = true;
	return text;
}

/* --- the reporter */

/* Observes the newest facts. False: nothing is reported of the pod; or it was observed, and is to
 * be decided once the daemon has acted upon what changed. */
static bool reporter_check(struct pod_report *t, usec_t now)
{
	struct reporter *r = t->reporter;
	struct reporter_view *v = &r->view;
	const char *why;
	bool denied, first = t->state == NULL, again = t->observed;
	uint32_t changes;

	t->observed = false;
	if (!fill_view(t) || v->facts.container_count > REPORT_CONTAINERS_MAX)
		return false;
	if (again)
		return true;
	if (t->state != NULL && t->state->count != v->facts.container_count) {
		free(t->state);
		t->state = NULL;
	}
	if (t->state == NULL)
		t->state = report_state_new(v->facts.container_count);
	if (t->state == NULL)
		return false;
	reporter_learn_status(t, v->pod);
	reporter_refusal_ends(t, &v->facts, now);
	why = v->pod->resize_message ? v->pod->resize_message : "the kubelet cannot do the resize";
	denied = report_lead_denied(t->state, now);
	report_node_learn(&r->node, t->state, now);
	r->tuning = report_tuned(&r->options.tuning, &r->node, now);
	changes = report_observed(&r->tuning, t->state, &v->facts, now);
	if (first)
		reporter_recall(t, &v->facts, now);
	if (changes & REPORT_CHANGE_REFUSED)
		r->options.tally->answers[REPORT_ANSWER_REFUSED]++;
	if (changes != 0)
		reporter_changes(t, v, changes, why, now);
	if (report_lead_denied(t->state, now) && (!denied || (changes & REPORT_CHANGE_FOREIGN)))
		reporter_show_denied(t, changes, why, now);
	t->observed = changes != 0;
	return changes == 0;
}

int reporter_new(const struct kube_port *port, struct recorder *recorder,
		 const struct reporter_options *o, struct reporter **ret)
{
	struct reporter *r = calloc(1, sizeof *r);

	if (r == NULL)
		return -ENOMEM;
	r->port = *port;
	r->recorder = recorder;
	r->options = *o;
	r->tuning = o->tuning;
	report_queue_init(&r->queue, &o->rate, o->seed, *port->now);
	recorder_set_queue(recorder, &r->queue);
	*ret = r;
	return 0;
}

void reporter_free(struct reporter *r)
{
	if (r == NULL)
		return;
	while (r->first != NULL)
		reporter_forget(r->first);
	if (r->discovery != NULL)
		r->port.cancel(r->port.ctx, r->discovery);
	recorder_set_queue(r->recorder, NULL);
	free(r);
}

/* Does the spec, or the cgroup, hold values of vscaled that must be restored? */
static bool has_our_values(const struct report_facts *f)
{
	bool any = f->restoring && f->level.backs != 0;

	for (size_t i = 0; i < f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &f->containers[i].resource[r];

			any |= x->limit_stays || ((f->restoring || x->back) && x->managed &&
						  (x->spec_limit != x->original_limit ||
						   x->spec_request != x->original_request));
		}
	return any;
}

static void note_room(struct pod_report *t, const struct report_decision *d, usec_t now)
{
	if (d->block == REPORT_BLOCK_INACTIVE)
		t->room_since = 0;
	if (!d->drafted)
		return;
	if (d->short_of_room && t->room_since == 0)
		t->reporter->options.tally->room_waits++;
	t->room_since = !d->short_of_room ? 0 : t->room_since != 0 ? t->room_since : now;
}

/* A refusal that has ended is no wait: a raise that is still needed is refused again. */
static bool any_lacks_room(const struct reporter *r, usec_t now)
{
	for (const struct pod_report *t = r->first; t != NULL; t = t->next)
		if (t->room_since != 0 ||
		    (reporter_state(t)->infeasible_since != 0 && reporter_bound_until(t, now) != 0))
			return true;
	return false;
}

/* To r->decision. */
static void reporter_decide(struct pod_report *t, usec_t now)
{
	struct reporter *r = t->reporter;
	struct report_decision *ret = &r->decision;

	report_decide(&r->tuning, &r->node, t->state, &r->view.facts, now, ret);
	if (ret->moot)
		report_cut_moot(t->state, now);
	t->block = ret->block;
	t->blocked = ret->blocked;
	note_room(t, ret, now);
	note_bounds(t, now);
	t->again = ret->again;
	/* The annotation says until then that it is refused. */
	if (t->refusal != NULL)
		t->again = sooner(t->again, reporter_bound_until(t, now));
	t->again = t->again != 0 ? MAX(t->again, now + 1) : 0; /* not again in this step */
	t->going_back = has_our_values(&r->view.facts);
	/* A pod that is no longer managed stays tracked until the kubelet has carried out the
	 * resize, or its end would not be seen. */
	t->unsent =
		t->going_back ||
		(r->view.mode == NULL &&
		 (report_pending(t->state) ||
		  (t->status != NULL && now >= holds_until(&r->denied[RIGHT_STATUS], t->space) &&
		   now >= t->status_refused_until)));
}

/* A request is under way: is there a lead that does not wait for its answer? */
static bool lead_beside(struct pod_report *t, usec_t now)
{
	const struct report_decision *d = &t->reporter->decision;

	reporter_decide(t, now);
	if (t->resize.call != NULL)
		return d->overtakes;
	return d->send && d->urgency == REPORT_LEADS;
}

/* Puts the pod into the queue, or takes it out. */
static void reporter_examine(struct pod_report *t, usec_t now)
{
	struct reporter *r = t->reporter;
	const struct report_decision *d = &r->decision;
	bool status;

	t->dirty = false;
	t->again = 0;
	t->unsent = false;
	if (!reporter_check(t, now))
		return;
	if (is_busy(t)) {
		if (lead_beside(t, now))
			report_queue_mark(&r->queue, &t->slot, turn_of(t, REPORT_LEADS), now);
		return;
	}
	reporter_decide(t, now);
	if (d->write)
		note(t, REPORT_CHANGE_VERIFY);
	free(reporter_status_due(t, now, &status));
	if (!d->send && !status)
		report_queue_drop(&r->queue, &t->slot);
	else
		report_queue_mark(&r->queue, &t->slot,
				  d->send                ? turn_of(t, d->urgency)
				  : t->hurry             ? REPORT_AT_ONCE
				  : r->view.mode == NULL ? REPORT_ORDINARY /* its last write */
							 : REPORT_ANNOTATION,
				  now);
}

/* The next write of a pod, from its newest state. */
static void send_of(struct pod_report *t, usec_t now)
{
	struct reporter *r = t->reporter;
	bool status, known = reporter_check(t, now);
	char *text;

	if (t->observed)
		return;
	report_queue_drop(&r->queue, &t->slot);
	if (!known)
		return;
	if (!is_busy(t))
		reporter_decide(t, now);
	else if (!lead_beside(t, now))
		return;
	/* Only now: until its turn the lead would wait as long as the request that it replaces. */
	if (t->resize.call != NULL) {
		reporter_cancel(r, &t->resize);
		r->options.tally->answers[REPORT_ANSWER_FAILED]++;
		report_abandoned(t->state, now);
		reporter_decide(t, now);
	}
	if (r->decision.send) {
		t->outcome.patch = &r->decision.patch;
		note(t, REPORTER_SENDING);
		return;
	}
	if (is_busy(t))
		return;
	text = reporter_status_due(t, now, &status);
	if (status && reporter_send_status(t, text, now) < 0)
		t->status_again = add_sat(now, USEC_PER_SEC);
}

/* May a request begin? A namespace leaves as many places free as it takes, so that one whose
 * admission webhook is slow does not have all of them. for_pod NULL: an Event. */
static bool may_send(const struct reporter *r, const struct pod_report *for_pod, bool lead)
{
	size_t places = lead ? IN_FLIGHT_LEADS : r->queue.outage ? 1 : IN_FLIGHT_MAX, taken = 0;

	for (const struct pod_report *t = r->first; t != NULL; t = t->next) {
		size_t count = (t->resize.call != NULL && t->resize.lead == lead) +
			       (t->patch.call != NULL && !lead);

		/* A lead takes the place of the pod's own request. */
		if (t != for_pod)
			taken += for_pod && t->space == for_pod->space ? 2 * count : count;
	}
	return taken < places;
}

/* An Event now, rather than the report that is first in the queue? */
static bool event_first(struct reporter *r, const struct report_slot *slot, usec_t now)
{
	bool turn;

	if (!recorder_due(r->recorder, false, now))
		return false;
	if (slot == NULL)
		return report_queue_opens_event(&r->queue, false, now) <= now;
	if (slot->urgency < REPORT_ORDINARY)
		return false;
	turn = ++r->turn % (recorder_due(r->recorder, true, now) ? WARNING_TURN : EVENT_TURN) == 0;
	return turn && report_queue_opens_event(&r->queue, true, now) <= now;
}

/* False: nothing more may be sent now. */
static bool send_next(struct reporter *r, usec_t now, usec_t now_real)
{
	struct report_slot *slot = report_queue_next(&r->queue, now);
	struct pod_report *t =
		slot ? (void *)((char *)slot - offsetof(struct pod_report, slot)) : NULL;

	if (!may_send(r, t, slot != NULL && slot->urgency <= REPORT_LEADS_AGAIN)) {
		if (slot == NULL)
			return false;
		slot->held = true;
	} else if (event_first(r, slot, now)) {
		if (recorder_send(r->recorder, now, now_real) < 0)
			return false;
		report_queue_take(&r->queue, REPORT_ORDINARY, now);
	} else if (slot == NULL) {
		return false;
	} else {
		send_of(t, now);
	}
	return true;
}

/* When it is to be looked at; 0: when something changes. */
static usec_t due_of(const struct pod_report *t, usec_t now)
{
	if (t->dirty || t->observed)
		return now;
	return is_busy(t) ? t->again : sooner(t->again, t->status_again);
}

bool reporter_step(struct reporter *r, usec_t now, usec_t now_real)
{
	reporter_discover(r, now);
	r->node.short_of_room = any_lacks_room(r, now);
	for (struct pod_report *t = r->first; t != NULL; t = t->next) {
		usec_t due = due_of(t, now);

		if (due != 0 && due <= now)
			reporter_examine(t, now);
	}
	while (!r->outcomes && send_next(r, now, now_real))
		;
	return r->outcomes;
}

usec_t reporter_due(const struct reporter *r, usec_t now)
{
	usec_t due = r->discovery != NULL ? 0 : MAX(r->discover_at, now);

	for (const struct pod_report *t = r->first; t != NULL; t = t->next)
		due = sooner(due, due_of(t, now));
	due = sooner(due, report_queue_due(&r->queue, now));
	if (may_send(r, NULL, false)) {
		usec_t event = recorder_next(r->recorder, now);

		if (event != 0)
			due = sooner(due,
				     MAX(event, report_queue_opens_event(&r->queue, false, now)));
	}
	return due ? MAX(due, now) : 0;
}

void reporter_alive(struct reporter *r, usec_t now)
{
	report_queue_healthy(&r->queue, now);
}

void reporter_decide_now(struct pod_report *t, usec_t now)
{
	if (t == NULL)
		return;
	reporter_check(t, now);
	t->observed = false;
	t->dirty = true;
}
