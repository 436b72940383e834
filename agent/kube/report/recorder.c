// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/report/recorder.h"
#include "agent/kube/report/reporter_answer.h"
#include "policy/base/base.h"
#include "policy/base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* client-go, tools/events and tools/record. */
#define SERIES_REFRESH (30 * USEC_PER_MIN)
#define SERIES_OVER    (6 * USEC_PER_MIN)
#define TRIES_MAX      12
#define TRY_PAUSE      (10 * USEC_PER_SEC)
#define NOTE_SIZE      1025

/* One event, or a series. The note is owned, as what pod holds for regarding. */
struct entry {
	struct recorder *recorder;
	struct kube_pod pod;
	uint64_t space; /* text_hash() of its namespace */
	const char *type, *reason, *action;
	char *note;
	char name[300]; /* at the server; "": not there */
	uint32_t count;
	uint32_t reported;
	usec_t last, last_real, reported_at;
	usec_t not_before;
	uint32_t tries;
	struct kube_call *call; /* under way */
	bool renewed;           /* the note is newer than the one that was sent */
	uint32_t asked;         /* count in the request */
};

/* New Events, and repeated ones of a pod, have to fit into every budget. A Warning with the same
 * text for another pod of a workload is the same mistake: one in half an hour tells it. */
enum budget_kind { BUDGET_POD, BUDGET_WORKLOAD, BUDGET_NAMESPACE, BUDGET_MISTAKE, BUDGET_COUNT };
static const struct {
	uint32_t burst;
	usec_t refill_usec;
} budget_rates[BUDGET_COUNT] = {
	[BUDGET_POD] = {25, 300 * USEC_PER_SEC},
	[BUDGET_WORKLOAD] = {50, 60 * USEC_PER_SEC},
	[BUDGET_NAMESPACE] = {100, 20 * USEC_PER_SEC},
	[BUDGET_MISTAKE] = {1, SERIES_REFRESH},
};

struct budget {
	uint64_t key; /* hash of what it is for */
	uint64_t tokens_permille;
	usec_t at;
};
#define BUDGETS_MAX (2 * RECORDER_MAX)

struct recorder {
	struct kube_port port;
	char *instance;
	struct report_queue *queue; /* borrowed; NULL: none */
	struct entry *entries[RECORDER_MAX];
	size_t count;
	struct budget *budgets; /* BUDGETS_MAX of them, used from the front */
	size_t budget_count;
	struct holds held; /* after a 429, or without the right */
	uint64_t serial;
};

static void entry_drop(struct entry **at)
{
	struct entry *e = *at;

	if (e == NULL)
		return;
	if (e->call != NULL)
		e->recorder->port.cancel(e->recorder->port.ctx, e->call);
	free(e->pod.uid);
	free(e->pod.namespace);
	free(e->pod.name);
	free(e->pod.resource_version);
	free(e->note);
	free(e);
}

int recorder_new(const struct kube_port *port, const char *instance, struct recorder **ret)
{
	struct recorder *r = calloc(1, sizeof *r);

	if (r == NULL)
		return -ENOMEM;
	r->port = *port;
	r->instance = strdup(instance);
	r->budgets = calloc(BUDGETS_MAX, sizeof *r->budgets);
	if (r->instance == NULL || r->budgets == NULL) {
		recorder_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++)
		entry_drop(&r->entries[i]);
	free(r->budgets);
	free(r->instance);
	free(r);
}

void recorder_set_queue(struct recorder *r, struct report_queue *queue)
{
	r->queue = queue;
}

static void remove_at(struct recorder *r, size_t i)
{
	entry_drop(&r->entries[i]);
	r->entries[i] = r->entries[--r->count];
}

static void remove_entry(struct recorder *r, const struct entry *e)
{
	size_t i = 0;

	while (r->entries[i] != e)
		i++;
	remove_at(r, i);
}

static uint64_t budget_key(enum budget_kind kind, const struct kube_pod *pod, const char *reason,
			   const char *note)
{
	const char *workload = pod->workload != NULL ? pod->workload : pod->name;
	const char *const parts[BUDGET_COUNT][4] = {
		[BUDGET_POD] = {pod->uid},
		[BUDGET_WORKLOAD] = {pod->namespace, workload},
		[BUDGET_NAMESPACE] = {pod->namespace},
		[BUDGET_MISTAKE] = {pod->namespace, workload, reason, note},
	};
	uint64_t hash = kind + 1;

	for (size_t i = 0; i < ARRAY_SIZE(parts[kind]) && parts[kind][i] != NULL; i++)
		hash = text_hash(hash, parts[kind][i]);
	return hash;
}

/* A new one takes the place of the one that was used longest ago. */
static struct budget *budget_find(struct recorder *r, uint64_t key, enum budget_kind kind,
				  usec_t now)
{
	struct budget *b = NULL, *oldest = &r->budgets[0];
	uint64_t full = budget_rates[kind].burst * 1000ULL;

	for (size_t i = 0; i < r->budget_count && b == NULL; i++) {
		if (r->budgets[i].key == key)
			b = &r->budgets[i];
		else if (r->budgets[i].at < oldest->at)
			oldest = &r->budgets[i];
	}
	if (b == NULL) {
		b = r->budget_count < BUDGETS_MAX ? &r->budgets[r->budget_count++] : oldest;
		*b = (struct budget){.key = key, .tokens_permille = full, .at = now};
	}
	b->tokens_permille =
		MIN(add_sat(b->tokens_permille,
			    mul_div(now - b->at, 1000, budget_rates[kind].refill_usec)),
		    full);
	b->at = now;
	return b;
}

/* Do all budgets allow one more? mistake: that of the same mistake counts, too. */
static bool recorder_pass(struct recorder *r, const uint64_t keys[BUDGET_COUNT], bool mistake,
			  usec_t now)
{
	enum budget_kind kinds = mistake ? BUDGET_COUNT : BUDGET_MISTAKE;

	for (enum budget_kind k = 0; k < kinds; k++)
		if (budget_find(r, keys[k], k, now)->tokens_permille < 1000)
			return false;
	for (enum budget_kind k = 0; k < kinds; k++)
		budget_find(r, keys[k], k, now)->tokens_permille -= 1000;
	return true;
}

static struct entry *recorder_find(const struct recorder *r, const struct kube_pod *pod,
				   const char *type, const char *reason, const char *action)
{
	for (size_t i = 0; i < r->count; i++) {
		struct entry *e = r->entries[i];

		if (strcmp(e->pod.uid, pod->uid) == 0 && strcmp(e->type, type) == 0 &&
		    strcmp(e->reason, reason) == 0 && strcmp(e->action, action) == 0)
			return e;
	}
	return NULL;
}

static struct entry *entry_new(struct recorder *r, const struct kube_pod *pod, const char *type,
			       const char *reason, const char *action)
{
	OWN(entry_drop) struct entry *e = calloc(1, sizeof *e);

	if (e == NULL)
		return NULL;
	e->recorder = r;
	e->space = text_hash(TEXT_HASH_FIRST, pod->namespace);
	e->pod.uid = strdup(pod->uid);
	e->pod.namespace = strdup(pod->namespace);
	e->pod.name = strdup(pod->name);
	e->pod.resource_version = strdup(pod->resource_version ? pod->resource_version : "");
	e->type = type;
	e->reason = reason;
	e->action = action;
	if (!e->pod.uid || !e->pod.namespace || !e->pod.name || !e->pod.resource_version)
		return NULL;
	return STEAL(e);
}

static bool goes_first(const struct entry *a, const struct entry *b)
{
	bool sent_a = a->reported >= a->count, sent_b = b->reported >= b->count;

	return sent_a != sent_b ? sent_a : a->last < b->last;
}

/* Removes the one seen longest ago, of those that are sent if there is one. False: all have a
 * request under way. */
static bool make_room(struct recorder *r)
{
	size_t oldest = RECORDER_MAX;

	if (r->count < RECORDER_MAX)
		return true;
	for (size_t i = 0; i < r->count; i++)
		if (r->entries[i]->call == NULL &&
		    (oldest == RECORDER_MAX || goes_first(r->entries[i], r->entries[oldest])))
			oldest = i;
	if (oldest == RECORDER_MAX)
		return false;
	remove_at(r, oldest);
	return true;
}

/* Who, what, when in one line of the caller. NOLINTNEXTLINE(readability-function-size) */
void recorder_note(struct recorder *r, const struct kube_pod *pod, const char *type,
		   const char *reason, const char *action, const char *note, usec_t now,
		   usec_t now_real)
{
	struct entry *e = recorder_find(r, pod, type, reason, action);
	uint64_t keys[BUDGET_COUNT];
	bool is_new = e == NULL || (now - e->last >= SERIES_OVER && e->call == NULL);
	char *text;

	for (enum budget_kind k = 0; k < BUDGET_COUNT; k++)
		keys[k] = budget_key(k, pod, reason, note);
	if (!recorder_pass(r, keys, is_new && strcmp(type, "Warning") == 0, now))
		return;
	/* The former series is over: this Event begins a new one. */
	if (e != NULL && is_new) {
		remove_entry(r, e);
		e = NULL;
	}
	if (e == NULL) {
		e = make_room(r) ? entry_new(r, pod, type, reason, action) : NULL;
		if (e == NULL)
			return;
		r->entries[r->count++] = e;
	}
	e->count++;
	e->last = now;
	e->last_real = now_real;
	if (e->note != NULL && strcmp(e->note, note) == 0)
		return;
	text = strndup(note, NOTE_SIZE);
	if (text != NULL) {
		free(e->note);
		e->note = text;
		e->renewed = e->reported > 0 || e->call != NULL;
	}
}

/* When the entry has something to send; 0: it has not. */
static usec_t due_at(const struct recorder *r, const struct entry *e)
{
	usec_t at;

	if (e->call != NULL || e->reported >= e->count)
		return 0;
	if (e->reported <= 1)
		at = 1;
	else
		at = MIN(add_sat(e->reported_at, SERIES_REFRESH), add_sat(e->last, SERIES_OVER));
	return MAX(at, MAX(e->not_before, holds_until(&r->held, e->space)));
}

static bool is_warning(const struct entry *e)
{
	return strcmp(e->type, "Warning") == 0;
}

static struct entry *first_due(const struct recorder *r, usec_t now)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < r->count; i++) {
		struct entry *e = r->entries[i];
		usec_t at = due_at(r, e);

		if (at == 0 || at > now)
			continue;
		if (best == NULL || is_warning(e) > is_warning(best) ||
		    (is_warning(e) == is_warning(best) && e->last < best->last))
			best = e;
	}
	return best;
}

bool recorder_due(const struct recorder *r, bool warnings, usec_t now)
{
	const struct entry *e = first_due(r, now);

	return e != NULL && (!warnings || is_warning(e));
}

usec_t recorder_next(const struct recorder *r, usec_t now)
{
	usec_t next = 0;

	for (size_t i = 0; i < r->count; i++)
		next = sooner(next, due_at(r, r->entries[i]));
	return next ? MAX(next, now) : 0;
}

/* Removes series that are over and sent. */
static void recorder_sweep(struct recorder *r, usec_t now)
{
	for (size_t i = r->count; i-- > 0;) {
		const struct entry *e = r->entries[i];

		if (e->call == NULL && e->reported >= e->count && now - e->last >= SERIES_OVER)
			remove_at(r, i);
	}
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct entry *e = arg;
	struct recorder *r = e->recorder;
	struct kube_status status;
	struct report_answer answer = reporter_classify(a, &status);
	usec_t now = *r->port.now;

	e->call = NULL;
	if (r->queue != NULL && answer.kind != REPORT_ANSWER_SLOW_DOWN) /* that is of Events only */
		report_queue_answered(r->queue, &answer, true, now);
	/* 409 after a POST without an answer: the server has stored that POST. */
	if (answer.kind == REPORT_ANSWER_OK ||
	    (e->asked == 0 && answer.kind == REPORT_ANSWER_CONFLICT && e->tries > 0)) {
		e->reported = e->asked ? e->asked : 1;
		e->reported_at = now;
		e->tries = 0;
	} else if (e->asked != 0 && answer.kind == REPORT_ANSWER_GONE) {
		e->name[0] = '\0'; /* the server has removed it: POST a new one */
		e->reported = 0;
	} else if (e->asked == 0 && answer.kind == REPORT_ANSWER_CONFLICT) {
		e->name[0] = '\0'; /* the name is taken: another one */
		e->tries++;
	} else if ((answer.kind != REPORT_ANSWER_SLOW_DOWN &&
		    answer.kind != REPORT_ANSWER_FAILED) ||
		   ++e->tries >= TRIES_MAX) {
		if (answer.kind == REPORT_ANSWER_FORBIDDEN)
			holds_add(&r->held, e->space, add_sat(now, FORBIDDEN_FOR), now);
		remove_entry(r, e);
	} else {
		usec_t pause = MIN(answer.retry_after_usec, FORBIDDEN_FOR);

		e->not_before = add_sat(now, MAX(pause, TRY_PAUSE));
		if (answer.kind == REPORT_ANSWER_SLOW_DOWN)
			holds_add(&r->held, e->space, e->not_before, now);
	}
}

static char *body_of(struct recorder *r, struct entry *e, usec_t now_real)
{
	struct kube_event event = {
		.namespace = e->pod.namespace,
		.type = e->type,
		.reason = e->reason,
		.action = e->action,
		.note = e->note ? e->note : "",
		.instance = r->instance,
		.regarding = &e->pod,
		.at_real = e->last_real,
	};

	/* The note of a sent Event cannot be changed: the newest is that of a new one. */
	if (e->renewed) {
		e->name[0] = '\0';
		e->count -= MIN(e->reported, e->count - 1);
		e->reported = 0;
	}
	e->renewed = false;
	e->asked = e->reported > 0 ? MAX(e->count, 2u) : 0;
	if (e->asked)
		return kube_encode_event_series(e->asked, e->last_real);
	/* "web-0.17d2c0f1a2b3c4d5": the pod, and a number that no other of its Events has. */
	if (e->name[0] == '\0')
		snprintf(e->name, sizeof e->name, "%.230s.%llx", e->pod.name,
			 (unsigned long long)now_real * 1000 + r->serial++ % 1000);
	event.name = e->name;
	return kube_encode_event(&event);
}

int recorder_send(struct recorder *r, usec_t now, usec_t now_real)
{
	struct entry *e;
	OWN(drop_free) char *body = NULL;
	char path[512];
	struct kube_request request = {.path = path};
	int ret;

	recorder_sweep(r, now);
	e = first_due(r, now);
	if (e == NULL)
		return -EAGAIN;
	body = body_of(r, e, now_real);
	if (body == NULL) {
		e->not_before = add_sat(now, TRY_PAUSE);
		return -ENOMEM;
	}
	request.method = e->asked ? "PATCH" : "POST";
	request.content = e->asked ? KUBE_MERGE_PATCH : KUBE_JSON;
	request.body = body;
	snprintf(path, sizeof path, "/apis/events.k8s.io/v1/namespaces/%s/events%s%s",
		 e->pod.namespace, e->asked ? "/" : "", e->asked ? e->name : "");
	ret = r->port.start(r->port.ctx, &request, on_answer, e, &e->call);
	if (ret < 0)
		e->not_before = add_sat(now, TRY_PAUSE);
	return ret;
}

void recorder_forget(struct recorder *r, const char *uid)
{
	/* An Event that is not sent yet stays: it may be the reason why the pod is gone. */
	for (size_t i = r->count; i-- > 0;) {
		struct entry *e = r->entries[i];

		if (strcmp(e->pod.uid, uid) == 0 && e->reported > 0 && e->call == NULL)
			remove_at(r, i);
	}
}
