// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/report/reporter_impl.h"
#include "policy/base/arithmetic.h"
#include "policy/base/text.h"
#include <errno.h>
#include <string.h>

/* Requests of pods under way at a time; one while the server is away. Leads have places of their
 * own. */
#define IN_FLIGHT_MAX   4
#define IN_FLIGHT_LEADS 8
/* While reports wait that raise no memory, one write in this many is a Warning, or an Event of type
 * Normal. */
#define WARNING_TURN 2
#define EVENT_TURN   4

int reporter_new(const struct kube_port *port, struct recorder *recorder,
		 const struct reporter_options *o, const struct reporter_events *events,
		 struct reporter **ret)
{
	struct reporter *r = calloc(1, sizeof *r);
	usec_t now, now_real;

	if (r == NULL)
		return -ENOMEM;
	r->port = *port;
	r->recorder = recorder;
	r->options = *o;
	r->tuning = o->tuning;
	r->events = *events;
	events->clock(events->ctx, &now, &now_real);
	report_queue_init(&r->queue, &o->rate, o->seed, now);
	if (recorder != NULL)
		recorder_on_answer(recorder, reporter_recorded, r);
	*ret = r;
	return 0;
}

static void tracked_free(struct tracked *t)
{
	reporter_cancel(t->reporter, &t->resize);
	reporter_cancel(t->reporter, &t->patch);
	free(t->state);
	free(t->status);
	free(t->asked);
	free(t->refusal);
	free(t);
}

void reporter_free(struct reporter *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++)
		tracked_free(r->pods[i]);
	if (r->discovery != NULL)
		r->port.cancel(r->port.ctx, r->discovery);
	if (r->recorder != NULL)
		recorder_on_answer(r->recorder, NULL, NULL);
	report_queue_free(&r->queue);
	free(r->pods);
	free(r);
}

/* Is a request of the pod under way? */
static bool is_busy(const struct tracked *t)
{
	return t->resize.under_way || t->patch.under_way;
}

struct tracked *reporter_find(const struct reporter *r, const char *uid)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->pods[i]->uid, uid) == 0)
			return r->pods[i];
	return NULL;
}

static struct tracked *track(struct reporter *r, const char *uid)
{
	struct tracked *t, **pods;

	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 32;

		pods = reallocarray(r->pods, capacity, sizeof(struct tracked *));
		if (pods == NULL)
			return NULL;
		r->pods = pods;
		r->capacity = capacity;
	}
	t = calloc(1, sizeof *t);
	if (t == NULL)
		return NULL;
	t->reporter = r;
	strcpy(t->uid, uid);
	r->pods[r->count++] = t;
	return t;
}

int reporter_changed(struct reporter *r, const char *uid, usec_t)
{
	struct tracked *t = reporter_find(r, uid);

	if (uid[0] == '\0' || strlen(uid) >= REPORT_UID_MAX)
		return -EINVAL;
	if (t == NULL)
		t = track(r, uid);
	if (t == NULL)
		return -ENOMEM;
	t->dirty = true;
	return 0;
}

void reporter_hurry(struct reporter *r, const char *uid)
{
	struct tracked *t = reporter_find(r, uid);

	if (t != NULL)
		t->hurry = t->dirty = true;
}

void reporter_forget(struct reporter *r, const char *uid)
{
	struct tracked *t = reporter_find(r, uid);

	if (t == NULL)
		return;
	report_queue_drop(&r->queue, uid);
	for (size_t i = 0; i < r->count; i++)
		if (r->pods[i] == t) {
			r->pods[i] = r->pods[--r->count];
			break;
		}
	tracked_free(t);
}

void reporter_changes(struct tracked *t, const struct reporter_view *v, uint32_t changes,
		      const char *text, usec_t now)
{
	const struct reporter_events *e = &t->reporter->events;

	if (changes & REPORT_CHANGE_GONE) {
		reporter_forget(t->reporter, t->uid);
		return;
	}
	if (changes & REPORT_CHANGE_REFUSED) {
		reporter_set_refusal(t, text);
		t->hurry = true;
		reporter_show_refusal(t, text, now);
	}
	if (changes & REPORT_CHANGE_FOREIGN) {
		reporter_set_refusal(t, NULL);
		for (size_t i = 0; i < t->state->count; i++)
			if (e->foreign != NULL && report_foreign(t->state, i))
				e->foreign(e->ctx, t->uid, i, report_foreign(t->state, i));
	}
	if (changes & REPORT_CHANGE_RATIFIED) {
		t->ratified = v->facts.generation;
		if (!reporter_is_bound(t, now) && !report_lead_denied(t->state, now))
			reporter_set_refusal(t, NULL);
		e->ratified(e->ctx, t->uid, t->ratified);
	}
	if (changes & REPORT_CHANGE_VERIFY)
		e->verify(e->ctx, t->uid);
	if (changes & REPORT_CHANGE_RETRY)
		t->dirty = true;
}

/* What the daemon does not know. */
static void fill_rights(struct tracked *t, struct reporter_view *v)
{
	t->space = text_hash(TEXT_HASH_FIRST, v->pod->namespace);
	v->facts.offered = t->reporter->offered;
	v->facts.forbidden_until = holds_until(&t->reporter->denied[RIGHT_RESIZE], t->space);
}

bool reporter_check(struct tracked *t, usec_t now)
{
	struct reporter *r = t->reporter;
	struct reporter_view *v = &r->view;
	const char *why;
	uint32_t changes;
	bool denied;

	if (r->events.facts(r->events.ctx, t->uid, v) < 0) {
		reporter_forget(r, t->uid);
		return false;
	}
	if (v->facts.container_count > REPORT_CONTAINERS_MAX)
		return false;
	if (t->state != NULL && t->state->count != v->facts.container_count) {
		free(t->state);
		t->state = NULL;
	}
	if (t->state == NULL)
		t->state = report_state_new(v->facts.container_count);
	if (t->state == NULL)
		return false;
	fill_rights(t, v);
	reporter_learn_status(t, v->pod);
	reporter_refusal_ends(t, &v->facts, now);
	why = v->pod->resize_message ? v->pod->resize_message : "the kubelet cannot do the resize";
	denied = report_lead_denied(t->state, now);
	report_node_learn(&r->node, t->state, now);
	r->tuning = report_tuned(&r->options.tuning, &r->node, now);
	changes = report_observed(&r->tuning, t->state, &v->facts, now);
	if (changes & REPORT_CHANGE_REFUSED)
		r->tally.answers[REPORT_ANSWER_REFUSED]++;
	if (changes != 0)
		reporter_changes(t, v, changes, why, now);
	if (report_lead_denied(t->state, now) && (!denied || (changes & REPORT_CHANGE_FOREIGN)))
		reporter_show_denied(t, changes, why, now);
	/* The callbacks may have changed the sources of the facts. */
	if (changes != 0 && r->events.facts(r->events.ctx, t->uid, v) < 0) {
		reporter_forget(r, t->uid);
		return false;
	}
	fill_rights(t, v);
	return true;
}

static void report_traps(struct tracked *t, const struct report_decision *d)
{
	const struct reporter_events *e = &t->reporter->events;

	for (size_t r = 0; r < RESOURCE_COUNT; r++)
		for (size_t i = 0; i < t->state->count; i++)
			if (d->write[r] & (1ULL << i))
				e->write(e->ctx, t->uid, i, (enum resource)r);
}

/* Does the spec, or the cgroup, hold values of vscaled that must be restored? */
static bool has_our_values(const struct report_facts *f)
{
	bool any = false;

	for (size_t i = 0; i < f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &f->containers[i].resource[r];

			any |= x->limit_stays || ((f->restoring || x->back) && x->managed &&
						  (x->spec_limit != x->original_limit ||
						   x->spec_request != x->original_request));
		}
	return any;
}

static void note_room(struct tracked *t, const struct report_decision *d, usec_t now)
{
	if (!d->drafted)
		return;
	if (d->short_of_room && t->room_since == 0)
		t->reporter->tally.room_waits++;
	t->room_since = !d->short_of_room ? 0 : t->room_since != 0 ? t->room_since : now;
}

static void reporter_decide(struct tracked *t, usec_t now, struct report_decision *ret)
{
	struct reporter *r = t->reporter;

	report_decide(&r->tuning, &r->node, t->state, &r->view.facts, now, ret);
	if (ret->moot)
		report_cut_moot(t->state, now);
	t->block = ret->block;
	t->blocked = ret->blocked;
	note_room(t, ret, now);
	reporter_report_bounds(t, now);
	t->again = ret->again;
	/* The annotation says until then that it is refused. */
	if (t->refusal != NULL)
		t->again = sooner(t->again, reporter_bound_until(t, now));
	t->going_back = has_our_values(&r->view.facts);
	/* A pod that is no longer managed stays tracked until the kubelet has carried out the
	 * resize, or its end would not be seen. */
	t->unsent =
		t->going_back ||
		(r->view.mode == NULL &&
		 (t->state->phase == REPORT_WAITING ||
		  (t->status != NULL && now >= holds_until(&r->denied[RIGHT_STATUS], t->space) &&
		   now >= t->status_refused_until)));
}

/* A request is under way: is there a lead that does not wait for its answer? */
static bool lead_beside(struct tracked *t, usec_t now, struct report_decision *d)
{
	reporter_decide(t, now, d);
	if (t->resize.under_way)
		return d->overtakes;
	return d->send && d->urgency == REPORT_LEADS;
}

/* Puts the pod into the queue, or takes it out. */
static void reporter_examine(struct tracked *t, usec_t now)
{
	struct reporter *r = t->reporter;
	struct report_decision d;
	bool status;

	t->dirty = false;
	t->again = 0;
	t->unsent = false;
	if (!reporter_check(t, now))
		return;
	if (is_busy(t)) {
		if (lead_beside(t, now, &d))
			report_queue_mark(&r->queue, t->uid, REPORT_LEADS, now);
		return;
	}
	reporter_decide(t, now, &d);
	report_traps(t, &d);
	free(reporter_status_due(t, now, &status));
	if (!d.send && !status)
		report_queue_drop(&r->queue, t->uid);
	else
		report_queue_mark(&r->queue, t->uid,
				  d.send                 ? d.urgency
				  : t->hurry             ? REPORT_AT_ONCE
				  : r->view.mode == NULL ? REPORT_ORDINARY /* its last write */
							 : REPORT_ANNOTATION,
				  now);
}

/* The next write of a pod, from its newest state. */
static void send_of(struct tracked *t, usec_t now)
{
	struct reporter *r = t->reporter;
	struct report_decision d;
	bool status;
	char *text;

	report_queue_drop(&r->queue, t->uid);
	if (!reporter_check(t, now))
		return;
	if (!is_busy(t))
		reporter_decide(t, now, &d);
	else if (!lead_beside(t, now, &d))
		return;
	/* Only now: until its turn the lead would wait as long as the request that it replaces. */
	if (t->resize.under_way) {
		reporter_abandon(t, now);
		reporter_decide(t, now, &d);
	}
	if (d.send) {
		if (reporter_send_resize(t, &d, now) < 0)
			t->again = add_sat(now, USEC_PER_SEC);
		return;
	}
	if (is_busy(t))
		return;
	text = reporter_status_due(t, now, &status);
	if (status && reporter_send_status(t, text, now) < 0)
		t->status_again = add_sat(now, USEC_PER_SEC);
}

static bool may_send(const struct reporter *r, enum report_urgency urgency)
{
	if (urgency == REPORT_LEADS)
		return r->in_flight < IN_FLIGHT_MAX + IN_FLIGHT_LEADS;
	return r->in_flight < (r->queue.outage ? 1 : IN_FLIGHT_MAX);
}

/* An Event now, rather than the report that is first in the queue? */
static bool event_first(struct reporter *r, const struct report_slot *slot, usec_t now)
{
	bool turn;

	if (r->recorder == NULL || !recorder_due(r->recorder, false, now))
		return false;
	if (slot == NULL)
		return report_queue_opens_event(&r->queue, false, now) <= now;
	if (slot->urgency < REPORT_ORDINARY)
		return false;
	turn = ++r->turn % (recorder_due(r->recorder, true, now) ? WARNING_TURN : EVENT_TURN) == 0;
	return turn && report_queue_opens_event(&r->queue, true, now) <= now;
}

static void send_all(struct reporter *r, usec_t now, usec_t now_real)
{
	for (;;) {
		const struct report_slot *slot = report_queue_next(&r->queue, now);

		if (!may_send(r, slot ? slot->urgency : REPORT_ORDINARY))
			return;
		if (event_first(r, slot, now)) {
			if (recorder_send(r->recorder, now, now_real) < 0)
				return;
			report_queue_take(&r->queue, REPORT_ORDINARY, now);
		} else if (slot == NULL) {
			return;
		} else {
			struct tracked *t = reporter_find(r, slot->uid);

			if (t != NULL)
				send_of(t, now);
			else
				report_queue_drop(&r->queue, slot->uid);
		}
	}
}

static bool is_due(usec_t at, usec_t now)
{
	return at != 0 && at <= now;
}

void reporter_step(struct reporter *r, usec_t now, usec_t now_real)
{
	reporter_discover(r, now);
	/* From the end: a pod that is gone is replaced by the last one. */
	for (size_t i = r->count; i-- > 0;) {
		struct tracked *t = r->pods[i];

		if (t->dirty || is_due(t->again, now) ||
		    (!is_busy(t) && is_due(t->status_again, now)))
			reporter_examine(t, now);
	}
	send_all(r, now, now_real);
}

usec_t reporter_due(const struct reporter *r, usec_t now)
{
	usec_t due = r->discovering ? 0 : MAX(r->discover_at, now);

	for (size_t i = 0; i < r->count; i++) {
		const struct tracked *t = r->pods[i];

		due = sooner(due, t->dirty ? now : t->again);
		if (!is_busy(t) && !t->dirty)
			due = sooner(due, t->status_again);
	}
	if (may_send(r, REPORT_LEADS))
		due = sooner(due, report_queue_due(&r->queue, REPORT_LEADS, now));
	if (may_send(r, REPORT_ORDINARY)) {
		usec_t event = r->recorder ? recorder_next(r->recorder, now) : 0;

		due = sooner(due, report_queue_due(&r->queue, REPORT_ANNOTATION, now));
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

void reporter_decide_now(struct reporter *r, const char *uid, usec_t now)
{
	struct tracked *t;

	if (reporter_changed(r, uid, now) < 0)
		return;
	t = reporter_find(r, uid);
	reporter_check(t, now);
}
