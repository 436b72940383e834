// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/encode.h"
#include "agent/kube/report/reporter_answer.h"
#include "agent/kube/report/reporter_impl.h"
#include "policy/base/arithmetic.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DISCOVER_EVERY (10 * USEC_PER_MIN)
#define DISCOVER_RETRY (10 * USEC_PER_SEC)
#define DISCOVER_SLOW  (60 * USEC_PER_SEC)
/* Conflicts in a row that are tried again without a pause. */
#define CONFLICTS_MAX 3
#define PATH_SIZE     1600

static void on_resize(void *arg, const struct kube_answer *a);
static void on_status(void *arg, const struct kube_answer *a);

/* The right is there again, in all namespaces. Another one that is missing is reported at its next
 * refusal. */
static void allowed(struct reporter *r, enum right right, usec_t now)
{
	if (r->missing[right] == 0 || now < r->missing[right])
		return;
	memset(r->missing, 0, sizeof r->missing);
	r->events.trouble(r->events.ctx, NULL);
}

/* Updates the state of the API server from an answer. */
static void health(struct reporter *r, const struct kube_answer *a, bool in_turn, usec_t now)
{
	if (a->status == 429)
		report_queue_slow(&r->queue, a->retry_after_usec, now);
	else if (a->status != 0 && a->status != 401 && a->status < 500)
		report_queue_healthy(&r->queue, now);
	/* During an outage a failure counts only for a request that waited for its turn. */
	else if (in_turn || !r->queue.outage)
		report_queue_failed(&r->queue, now);
}

static usec_t clock_of(struct reporter *r)
{
	usec_t now, now_real;

	r->events.clock(r->events.ctx, &now, &now_real);
	return now;
}

void reporter_recorded(void *ctx, const struct kube_answer *a)
{
	struct reporter *r = ctx;

	health(r, a, true, clock_of(r));
	r->events.wake(r->events.ctx);
}

static int path_of(const struct kube_pod *pod, const char *end, char *path)
{
	char namespace[400], name[800];
	int r = kube_encode_segment(pod->namespace, namespace, sizeof namespace);

	if (r >= 0)
		r = kube_encode_segment(pod->name, name, sizeof name);
	if (r < 0)
		return r;
	/* The server ends what the client has given up (REQUEST_MSEC). */
	snprintf(path, PATH_SIZE,
		 "/api/v1/namespaces/%s/pods/%s%s?timeout=30s&fieldManager=vscaled", namespace,
		 name, end);
	return 0;
}

/* status: the annotation; else a resize. */
static int reporter_send_start(struct tracked *t, const struct kube_request *request, bool status,
			       enum report_urgency urgency, usec_t now)
{
	struct flight *f = status ? &t->patch : &t->resize;
	struct reporter *r = t->reporter;
	int e;

	f->under_way = true;
	e = r->port.start(r->port.ctx, request, status ? on_status : on_resize, t, &f->call);
	if (e < 0) {
		f->under_way = false;
		report_queue_failed(&r->queue, now);
		return e;
	}
	r->in_flight++;
	f->in_turn = report_queue_take(&r->queue, urgency, now);
	return 0;
}

static void ended(struct tracked *t, struct flight *f)
{
	f->under_way = false;
	f->call = NULL;
	t->dirty = true;
	t->reporter->in_flight--;
}

void reporter_cancel(struct reporter *r, struct flight *f)
{
	if (f->call != NULL)
		r->port.cancel(r->port.ctx, f->call);
	if (f->under_way)
		r->in_flight--;
	*f = (struct flight){0};
}

void reporter_abandon(struct tracked *t, usec_t now)
{
	struct reporter *r = t->reporter;

	reporter_cancel(r, &t->resize);
	r->tally.answers[REPORT_ANSWER_FAILED]++;
	report_abandoned(t->state, now);
}

/* A right is missing in the pod's namespace: nothing of the kind is sent there for a while. Said
 * once. */
static void forbidden(struct tracked *t, enum right right, const char *what,
		      const struct kube_status *s, usec_t now)
{
	struct reporter *r = t->reporter;
	char text[700];
	bool told = r->missing[right] != 0;

	r->missing[right] = add_sat(now, FORBIDDEN_FOR);
	holds_add(&r->denied[right], t->space, r->missing[right], now);
	if (told)
		return;
	snprintf(text, sizeof text, "%s: %.500s", what, s->message);
	r->events.trouble(r->events.ctx, text);
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
	struct tracked *t = arg;
	struct reporter *r = t->reporter;
	usec_t now = clock_of(r);
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;
	struct kube_status status;
	bool missing;
	struct report_answer answer = reporter_classify(a, &status, &missing);
	const struct reporter_view *v = &r->view;
	uint32_t changes;

	ended(t, &t->resize);
	health(r, a, t->resize.in_turn, now);
	r->events.wake(r->events.ctx);
	if (missing) {
		answer.kind = REPORT_ANSWER_UNSUPPORTED;
		r->discover_at = now;
	}
	/* The facts of this pod that are not in the answer. */
	if (r->events.facts(r->events.ctx, t->uid, &r->view) < 0) {
		reporter_forget(r, t->uid);
		return;
	}
	/* Another number of containers came in between, and there was no memory for it. */
	if (t->state == NULL)
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
	r->tally.answers[answer.kind]++;
	if (report_answer_undone(answer.kind) && r->events.unsent != NULL)
		r->events.unsent(r->events.ctx, t->uid);
	changes = report_answered(&r->tuning, &r->node, t->state, &v->facts, &answer, now);
	if (answer.kind == REPORT_ANSWER_UNSUPPORTED)
		changes |= REPORT_CHANGE_REFUSED;
	/* Only headroom was refused: shown; an event follows only if use gets above the spec. */
	if (answer.kind == REPORT_ANSWER_REFUSED && report_lead_denied(t->state, now))
		reporter_set_refusal(t, status.message);
	reporter_changes(t, v, changes, status.message, now);
}

int reporter_send_resize(struct tracked *t, const struct report_decision *d, usec_t now)
{
	struct reporter *r = t->reporter;
	/* An external change that vscaled has not seen must not be undone: the server answers 409,
	 * and the pod is read again. A lead has no time for that: a conflict costs 0.3 to 0.6 s in
	 * the lab, and 50 MB/s fill 64 MiB in 1.2 s. It names only the memory limits that it
	 * raises. */
	OWN(drop_free) char *body = kube_encode_resize(r->view.pod, &d->patch, d->exact);
	char path[PATH_SIZE];
	struct kube_request request = {
		.method = "PATCH", .path = path, .body = body, .content = KUBE_STRATEGIC_PATCH};
	int e = body ? path_of(r->view.pod, "/resize", path) : -ENOMEM;

	if (e >= 0 && r->events.sending != NULL)
		r->events.sending(r->events.ctx, t->uid, &d->patch);
	if (e >= 0)
		e = reporter_send_start(t, &request, false, d->urgency, now);
	if (e >= 0) {
		r->tally.sent++;
		report_sent(t->state, &r->view.facts, &d->patch, now);
		reporter_report_bounds(t, now);
	}
	return e;
}

static void status_written(struct tracked *t, usec_t now)
{
	free(t->status);
	t->status = STEAL(t->asked);
	t->status_at = now;
	t->hurry = false;
	t->conflicts = 0;
	allowed(t->reporter, RIGHT_STATUS, now);
}

static void on_status(void *arg, const struct kube_answer *a)
{
	struct tracked *t = arg;
	struct reporter *r = t->reporter;
	usec_t now = clock_of(r);
	struct kube_status status;
	bool missing;
	struct report_answer answer = reporter_classify(a, &status, &missing);

	ended(t, &t->patch);
	health(r, a, t->patch.in_turn, now);
	r->events.wake(r->events.ctx);
	switch (answer.kind) {
	case REPORT_ANSWER_OK:
		status_written(t, now);
		return;
	case REPORT_ANSWER_GONE:
		reporter_forget(r, t->uid);
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
	case REPORT_ANSWER_FAILED:
		return;
	default:
		break;
	}
	/* This text was refused: the next one is sent after the interval. */
	t->status_at = now;
	t->status_refused_until = add_sat(now, r->options.status_interval_usec);
	t->hurry = false;
	t->conflicts = 0;
}

int reporter_send_status(struct tracked *t, char *text, usec_t now)
{
	struct reporter *r = t->reporter;
	OWN(drop_free) char *body = kube_encode_annotation(r->view.pod, "status", text);
	char path[PATH_SIZE];
	struct kube_request request = {
		.method = "PATCH", .path = path, .body = body, .content = KUBE_MERGE_PATCH};
	int e = body ? path_of(r->view.pod, "", path) : -ENOMEM;

	free(t->asked);
	t->asked = text;
	if (e >= 0)
		e = reporter_send_start(t, &request, true, REPORT_ANNOTATION, now);
	return e;
}

static void on_discovery(void *arg, const struct kube_answer *a)
{
	struct reporter *r = arg;
	usec_t now = clock_of(r);
	struct kube_decode_error err;
	bool offered = r->offered;

	r->discovering = false;
	r->discovery = NULL;
	r->discover_wait = MIN(MAX(2 * r->discover_wait, DISCOVER_RETRY), DISCOVER_SLOW);
	r->discover_at = add_sat(now, r->discover_wait);
	if (a->status == 200 && kube_decode_resize_offered(a->body, a->len, &offered, &err) >= 0) {
		r->discover_at = add_sat(now, DISCOVER_EVERY);
		r->discover_wait = 0;
		report_queue_healthy(&r->queue, now);
		if (!r->offered_known || offered != r->offered)
			for (size_t i = 0; i < r->count; i++)
				r->pods[i]->dirty = true;
		r->offered = offered;
		r->offered_known = true;
	}
	r->events.wake(r->events.ctx);
}

void reporter_discover(struct reporter *r, usec_t now)
{
	struct kube_request request = {.method = "GET", .path = "/api/v1"};

	if (r->discovering || now < r->discover_at)
		return;
	r->discovering = true;
	if (r->port.start(r->port.ctx, &request, on_discovery, r, &r->discovery) < 0) {
		r->discovering = false;
		r->discover_at = add_sat(now, DISCOVER_RETRY);
	}
}
