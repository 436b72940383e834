// SPDX-License-Identifier: Apache-2.0
/* Mode InPlaceOrRecreate: evicts a pod that cannot be sized in place (policy/report/recreate.h).
 * First the pods of its workload are listed, then the workload's Lease is taken, then the eviction
 * is created; one pod at a time. */
#include "agent/config/config.h"
#include "agent/kube/model/encode.h"
#include "agent/kube/report/reporter_answer.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "policy/base/text.h"
#include "policy/report/recreate.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* Of one list; the token for the next one. */
#define PODS_MAX      100
#define TOKEN_MAX     1024
#define FAILED_USEC   USEC_PER_MIN
#define REFUSED_USEC  (10 * USEC_PER_MIN)
#define DENIED_USEC   USEC_PER_HOUR
#define NOTE_TEXT_MAX 320
/* Of an agent that runs in no pod; agent/deploy makes it. */
#define NAMESPACE_DEFAULT "vscaled"

/* Begins zeroed; does not move while a request is under way. */
struct lease {
	struct cluster *cluster;
	struct kube_call *call; /* NULL: none under way */
	struct kube_lease want;
	char name[40];
	char workload[600];
};

struct recreate {
	char uid[KUBEPODS_UID_MAX]; /* the pod that is being asked about */
	struct kube_call *call;     /* NULL: none under way */
	struct lease lease;
	struct recreate_workload workload; /* what was listed of it so far */
	const char *why;                   /* static text: it is to be evicted */
	usec_t evicted_at;                 /* the last one of this node, or the agent's start */
	usec_t next_at;                    /* nothing is sent before */
	bool denied;                       /* without the right, and that was reported */
};

/* The pod is asked about again after this time. p NULL: it is gone. */
static void put_off(const struct cluster *c, struct pod *p, usec_t wait)
{
	if (p != NULL)
		p->evict.retry_at = c->wake->now + wait;
}

static struct pod *asked(const struct cluster *c)
{
	struct pod *p = pods_entry(c->pods, c->recreate->uid);

	return p != NULL && p->spec != NULL ? p : NULL;
}

static bool is_replicated(const char *owner)
{
	static const char *const kinds[] = {"Deployment", "ReplicaSet", "StatefulSet",
					    "ReplicationController", "Rollout"};

	for (size_t i = 0; owner != NULL && i < ARRAY_SIZE(kinds); i++)
		if (strcmp(owner, kinds[i]) == 0)
			return true;
	return false;
}

static void fill(const struct cluster *c, const struct pod *p, struct recreate_pod *ret)
{
	usec_t lacking = 0;

	*ret = (struct recreate_pod){
		.replicated = is_replicated(p->spec->owner) && p->spec->labels != NULL &&
			      !p->spec->mirror,
		.infeasible_since = reporter_infeasible_since(p->report),
		.evicted_on_node = c->recreate->evicted_at,
		.retry_at = p->evict.retry_at,
	};
	POD_FOREACH (m, p) {
		if (!m->container.annotated || managed_state(m) != UNIT_MANAGED)
			continue;
		ret->wanted |= m->container.rule.in_place_or_recreate &&
			       m->control.rule.mode == MODE_AUTO && !m->control.paused;
		lacking = sooner(lacking, m->control.lacking_since);
		ret->oom_kills =
			MAX(ret->oom_kills, control_ceiling_kills(&m->control, c->wake->now));
	}
	/* A refusal counts only as long as the pod needs more than it has. */
	if (ret->infeasible_since != 0)
		ret->infeasible_since = lacking != 0 ? MAX(ret->infeasible_since, lacking) : 0;
}

/* Reported once per pod and reason. */
static void refused(struct cluster *c, struct pod *p, enum recreate_answer why, usec_t wait,
		    const char *detail)
{
	char text[NOTE_TEXT_MAX];

	put_off(c, p, wait);
	if (p->evict.told == why)
		return;
	p->evict.told = why;
	snprintf(text, sizeof text, "%s%s%s", recreate_texts[why], detail[0] != '\0' ? ": " : "",
		 detail);
	event_tell(EVENT_EVICTION_REFUSED, .who = message_pod(p->spec), .detail = text);
	pod_warn(p, "EvictionRefused", "Evict", "%s", text);
}

static void evicted(struct cluster *c, const struct pod *p)
{
	const char *why = c->recreate->why;

	event_tell(EVENT_POD_EVICTED, .who = message_pod(p->spec), .detail = why);
	recorder_note(c->recorder, p->spec, "Normal", "Evicted", "Evict", why, c->wake->now,
		      c->wake->now_real);
}

static void denied(struct cluster *c, usec_t pause)
{
	c->recreate->next_at = c->wake->now + pause;
	if (!c->recreate->denied)
		event_tell(EVENT_EVICTIONS_DENIED);
	c->recreate->denied = true;
}

static void on_evicted(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	struct recreate *r = c->recreate;
	struct kube_status status;
	struct report_answer answer = reporter_classify(a, &status);
	struct pod *p = asked(c);

	r->call = NULL;
	put_off(c, p, answer.kind == REPORT_ANSWER_FORBIDDEN ? DENIED_USEC : REFUSED_USEC);
	/* Without the answer it is not known whether the pod was evicted. */
	if (a->error != 0 || answer.kind == REPORT_ANSWER_OK)
		r->evicted_at = c->wake->now;
	if (a->error != 0 || p == NULL)
		return;
	if (answer.kind == REPORT_ANSWER_FORBIDDEN) {
		denied(c, 0); /* in this namespace */
		return;
	}
	r->denied = false;
	if (answer.kind == REPORT_ANSWER_OK)
		evicted(c, p);
	else if (answer.kind == REPORT_ANSWER_REFUSED || answer.kind == REPORT_ANSWER_SLOW_DOWN)
		refused(c, p, RECREATE_REFUSED, MAX(answer.retry_after_usec, REFUSED_USEC),
			status.message);
	/* 404, 409: it has gone by itself. */
}

static void evict(struct cluster *c, struct pod *p)
{
	OWN(drop_free) char *body = kube_encode_eviction(p->spec);
	char path[640];
	const struct kube_request request = {.method = "POST", .path = path, .body = body};

	snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s/eviction", p->spec->namespace,
		 p->spec->name);
	if (body == NULL ||
	    c->port.start(c->port.ctx, &request, on_evicted, c, &c->recreate->call) < 0)
		put_off(c, p, FAILED_USEC);
}

/* Its owner may have changed the mode since the list was sent, and its need may be gone. */
static bool is_still_needed(const struct cluster *c, const struct pod *p)
{
	struct recreate_pod facts;
	usec_t again;

	if (p->why != STATE_SIZING || p->ending || p->leaving)
		return false;
	fill(c, p, &facts);
	facts.retry_at = 0;
	return recreate_needed(&facts, c->wake->now, &again) == RECREATE_EVICT;
}

/* RECREATE_EVICT: taken; RECREATE_LEASED; RECREATE_REFUSED: by the API server, detail says why.
 * RECREATE_ANSWER_COUNT: nothing was sent, or there is no answer that can be read. */
static void on_leased(struct cluster *c, enum recreate_answer answer, bool no_right,
		      const char *detail)
{
	struct pod *p = asked(c);

	if (no_right)
		denied(c, DENIED_USEC);
	else if (p == NULL || answer == RECREATE_ANSWER_COUNT ||
		 (answer == RECREATE_EVICT && !is_still_needed(c, p)))
		put_off(c, p, FAILED_USEC);
	else if (answer == RECREATE_EVICT)
		evict(c, p);
	else
		refused(c, p, answer, REFUSED_USEC, detail);
}

/* --- the Lease. One eviction per workload and hour, by any node: the pod that is to be evicted
 * takes the Lease of its workload, in the agent's namespace. Agents that decide in the same moment
 * see the same pods; the API server gives the Lease to one of them. It is never released: it
 * expires. */

static void on_renewed(void *arg, const struct kube_answer *a)
{
	struct lease *l = arg;
	struct kube_status status;
	enum report_answer_kind kind = reporter_classify(a, &status).kind;
	enum recreate_answer answer = a->error != 0                    ? RECREATE_ANSWER_COUNT
				      : kind == REPORT_ANSWER_OK       ? RECREATE_EVICT
				      : kind == REPORT_ANSWER_CONFLICT ? RECREATE_LEASED
								       : RECREATE_REFUSED;

	l->call = NULL;
	on_leased(l->cluster, answer, kind == REPORT_ANSWER_FORBIDDEN, status.message);
}

static void send(struct lease *l, const char *method, const char *body, kube_done_fn *done)
{
	const char *namespace = l->cluster->units->host->own_namespace;
	char path[384];
	const struct kube_request request = {
		.method = method,
		.path = path,
		.body = body,
		.content = strcmp(method, "PATCH") == 0 ? KUBE_MERGE_PATCH : KUBE_JSON,
	};

	snprintf(path, sizeof path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
		 namespace[0] != '\0' ? namespace : NAMESPACE_DEFAULT,
		 strcmp(method, "POST") == 0 ? "" : "/",
		 strcmp(method, "POST") == 0 ? "" : l->name);
	if (l->cluster->port.start(l->cluster->port.ctx, &request, done, l, &l->call) < 0)
		on_leased(l->cluster, RECREATE_ANSWER_COUNT, false, "");
}

static void send_lease(struct lease *l, const char *method, kube_done_fn *done)
{
	OWN(drop_free)
	char *body = kube_encode_lease(l->name, l->workload, &l->want,
				       RECREATE_WORKLOAD_USEC / USEC_PER_SEC);

	if (body == NULL)
		on_leased(l->cluster, RECREATE_ANSWER_COUNT, false, "");
	else
		send(l, method, body, done);
}

/* Renewed only as it was read: of two that read it, the API server refuses the second. */
static void on_read(void *arg, const struct kube_answer *a)
{
	struct lease *l = arg;
	struct kube_decode_error err = {.error = 0};
	struct kube_lease now;
	enum recreate_answer answer;

	l->call = NULL;
	if (a->error != 0 || a->status != 200) {
		on_renewed(l, a);
		return;
	}
	if (kube_decode_lease(a->body, a->len, &now, &err) < 0) {
		on_leased(l->cluster, RECREATE_ANSWER_COUNT, false, "");
		return;
	}
	answer = recreate_leased(strcmp(now.holder, l->want.holder) == 0, now.renewed_real,
				 l->want.renewed_real);
	if (answer != RECREATE_EVICT) {
		on_leased(l->cluster, answer, false, "");
		return;
	}
	memcpy(l->want.version, now.version, sizeof l->want.version);
	send_lease(l, "PATCH", on_renewed);
}

static void on_created(void *arg, const struct kube_answer *a)
{
	struct lease *l = arg;

	l->call = NULL;
	if (a->error == 0 && a->status == 409)
		send(l, "GET", NULL, on_read);
	else
		on_renewed(l, a);
}

/* Nothing is under way. on_leased() is called once, maybe at once. */
static void take_lease(struct cluster *c, struct lease *l, const struct pod *p)
{
	const struct kube_pod *s = p->spec;
	uint64_t hash = text_hash(TEXT_HASH_FIRST, s->namespace);

	hash = text_hash(text_hash(hash, s->owner), s->workload);
	*l = (struct lease){.cluster = c};
	l->want.renewed_real = c->wake->wall_now;
	snprintf(l->want.holder, sizeof l->want.holder, "%s_%s", s->name, s->uid);
	snprintf(l->name, sizeof l->name, "vscaled-evict-%016llx", (unsigned long long)hash);
	snprintf(l->workload, sizeof l->workload, "%s/%s/%s", s->namespace, s->owner, s->workload);
	send_lease(l, "POST", on_created);
}

/* --- the workload */

struct seen {
	const struct kube_pod *pod;
	usec_t now_real;
	struct recreate_workload *workload;
};

static int see(void *arg, struct kube_pod *pod)
{
	OWN(drop_kube_pod) struct kube_pod *p = pod;
	struct seen *s = arg;
	usec_t age = s->now_real - MIN(p->created_real, s->now_real);

	if (!p->owned || strcmp(p->namespace, s->pod->namespace) != 0 ||
	    strcmp(p->workload, s->pod->workload) != 0 || strcmp(p->owner, s->pod->owner) != 0)
		return 0;
	s->workload->ready += p->ready && !p->deleting;
	s->workload->youngest_usec = MIN(s->workload->youngest_usec, age);
	return 0;
}

static void list(struct cluster *c, struct pod *p, const char *token);

/* Adds one list to the workload. ret: the token for the next one. */
static int take_list(struct cluster *c, const struct pod *p, const struct kube_answer *a,
		     char ret[static TOKEN_MAX])
{
	struct seen seen = {p->spec, c->wake->wall_now, &c->recreate->workload};
	struct kube_decode_error err;
	char version[128];
	size_t bad;
	int r = kube_decode_pods(a->body, a->len, see, &seen, version, sizeof version, &bad, &err);

	return r < 0 ? r : kube_decode_continue(a->body, a->len, ret, TOKEN_MAX, &err);
}

static void on_listed(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	struct recreate *r = c->recreate;
	struct pod *p = asked(c);
	enum recreate_answer answer;
	char token[TOKEN_MAX];

	r->call = NULL;
	put_off(c, p, FAILED_USEC);
	if (p == NULL || a->error != 0 || a->status != 200 || take_list(c, p, a, token) < 0)
		return;
	if (token[0] != '\0') {
		list(c, p, token);
		return;
	}
	answer = recreate_allowed(&r->workload);
	if (answer == RECREATE_EVICT)
		take_lease(c, &r->lease, p);
	else
		refused(c, p, answer, REFUSED_USEC, "");
}

/* token "": from the beginning. */
static void list(struct cluster *c, struct pod *p, const char *token)
{
	char selector[CLUSTER_SELECTOR_BYTES], path[CLUSTER_SELECTOR_BYTES + TOKEN_MAX + 384];
	const struct kube_request request = {.method = "GET", .path = path};

	cluster_selector(p->spec->labels, selector);
	if (selector[0] == '\0') {
		/* The list would be that of the namespace. */
		refused(c, p, RECREATE_NO_LABELS, DENIED_USEC, "");
		return;
	}
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods?labelSelector=%s&limit=%d%s%s",
		 p->spec->namespace, selector, PODS_MAX, token[0] != '\0' ? "&continue=" : "",
		 token);
	if (c->port.start(c->port.ctx, &request, on_listed, c, &c->recreate->call) < 0)
		put_off(c, p, FAILED_USEC);
}

void cluster_recreate_tick(struct cluster *c)
{
	struct recreate *r = c->recreate;
	struct pod *next = NULL;
	usec_t next_retry = 0;

	if (r == NULL) {
		r = c->recreate = calloc(1, sizeof *r);
		if (r == NULL)
			return;
		/* What an agent before this one has evicted is not known: as if it had just done
		 * so. */
		r->evicted_at = c->wake->now;
	}
	if (r->call != NULL || r->lease.call != NULL || c->wake->now < r->next_at ||
	    !kube_watch_state(c->watch)->healthy)
		return;
	PODS_FOREACH (p, c->pods) {
		struct recreate_pod facts;
		enum recreate_answer answer;
		usec_t again;

		if (p->why != STATE_SIZING || p->ending || p->leaving)
			continue;
		fill(c, p, &facts);
		answer = recreate_needed(&facts, c->wake->now, &again);
		/* What waits for longest: one that fails again and again stops no other. */
		if (answer != RECREATE_EVICT || (next != NULL && facts.retry_at >= next_retry))
			continue;
		r->why = recreate_why(&facts, c->wake->now);
		next_retry = facts.retry_at;
		next = p;
	}
	if (next == NULL)
		return;
	snprintf(r->uid, sizeof r->uid, "%s", next->uid);
	r->workload = (struct recreate_workload){0, UINT64_MAX};
	list(c, next, "");
}

void cluster_recreate_free(struct cluster *c)
{
	struct recreate *r = c->recreate;

	if (r == NULL)
		return;
	if (r->call != NULL)
		c->port.cancel(c->port.ctx, r->call);
	if (r->lease.call != NULL)
		c->port.cancel(c->port.ctx, r->lease.call);
	free(r);
	c->recreate = NULL;
}
