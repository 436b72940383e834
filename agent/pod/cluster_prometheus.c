// SPDX-License-Identifier: Apache-2.0
/* A container of which neither this node nor the workload's other pods know anything starts from
 * what a Prometheus server has recorded. Two range queries for each workload's container, one at a
 * time; nothing waits for them. */
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/prometheus/prometheus.h"
#include "policy/base/backoff.h"
#include "policy/control/control.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Its own history is too short to do without. */
#define OWN_USEC     USEC_PER_HOUR
#define TIMEOUT_USEC (30 * USEC_PER_SEC)
/* A server gives at most 11,000 samples. cJSON takes seven times the text. */
#define BODY_MAX   (512 * KIB)
#define USER_AGENT "vscaled/" VSCALED_VERSION

/* One container of a workload, by the key of its history; the same for all its pods of this node.
 */
struct past {
	struct ask ask;
	enum resource asked;                         /* now, or next */
	struct past_sample *samples[RESOURCE_COUNT]; /* owned */
	size_t sample_count[RESOURCE_COUNT];
};

struct cluster_prometheus {
	struct ask_table table;
	struct kube_client *client;
	struct kube_port port; /* to client */
	/* After a failure there is no query for a while. */
	struct backoff backoff;
	usec_t quiet_until;
	int trouble; /* that was reported: -errno or an HTTP status; 0: none */
};

/* ---- which containers ---- */

static bool needs(const struct cluster *c, const struct managed *m)
{
	if (m->kind != UNIT_KIND_CONTAINER || m->cgroup.cg == NULL || !m->pod->spec->owned ||
	    history_observed_least(&m->control.history) >= OWN_USEC)
		return false;
	/* The other pods come first. */
	return !c->config->kubernetes.workload_history ||
	       (m->control.prior_known && m->control.prior.pods == 0);
}

/* A random part of the jitter: after a roll-out all nodes ask. */
static void mark(struct ask_table *t)
{
	const struct cluster *c = t->cluster;

	UNITS_FOREACH (m, c->units)
		if (needs(c, m))
			ask_use(t, m->history_key, c->config->kubernetes.start_jitter_usec);
}

/* ---- the requests ---- */

static void clear(struct ask *a)
{
	struct past *e = (struct past *)a;

	for (int r = 0; r < RESOURCE_COUNT; r++) {
		free(e->samples[r]);
		e->samples[r] = NULL;
		e->sample_count[r] = 0;
	}
	e->asked = RESOURCE_CPU;
}

/* Reported again when it is another kind of failure. */
static void failed(struct ask *a, int kind, const char *what)
{
	struct cluster_prometheus *p = a->table->cluster->past;
	usec_t now = a->table->cluster->wake->now;

	a->ask_at = now; /* behind the others */
	p->quiet_until = now + backoff_next(&p->backoff, now);
	clear(a);
	if (p->trouble == kind)
		return;
	p->trouble = kind;
	event_tell(EVENT_PAST_FAILED, .file = kube_client_server(p->client), .detail = what);
}

/* To every container that still needs it. */
static void give(const struct past *e)
{
	const struct cluster *c = e->ask.table->cluster;

	UNITS_FOREACH (m, c->units) {
		struct past_series own[RESOURCE_COUNT] = {0};
		char detail[96];

		if (!needs(c, m) || strcmp(m->history_key, e->ask.key) != 0)
			continue;
		for (int r = 0; r < RESOURCE_COUNT; r++)
			if (m->control.history.observed_usec[r] < OWN_USEC)
				own[r] = (struct past_series){e->samples[r], e->sample_count[r],
							      c->config->prometheus.step_usec};
		if (own[RESOURCE_CPU].count + own[RESOURCE_MEMORY].count == 0)
			continue;
		control_add_past(&m->control, &c->config->tuning, &own[RESOURCE_CPU],
				 &own[RESOURCE_MEMORY]);
		snprintf(detail, sizeof detail, "%zu samples of CPU and %zu of memory",
			 own[RESOURCE_CPU].count, own[RESOURCE_MEMORY].count);
		event_tell(EVENT_PAST_ADDED, .who = message_who(m), .detail = detail);
	}
}

static void send_query(struct ask *a);

static void on_answer(struct ask *ask, const struct kube_answer *a)
{
	struct cluster_prometheus *p = ask->table->cluster->past;
	struct past *e = (struct past *)ask;
	struct prometheus_error err = {""};
	char text[300];
	int r;

	if (a->error != 0) {
		failed(ask, a->error, a->detail);
		return;
	}
	if (a->status != 200) {
		prometheus_refusal(a->body, a->len, &err);
		snprintf(text, sizeof text, "HTTP status %u%s%s", a->status,
			 err.text[0] != '\0' ? ": " : "", err.text);
		failed(ask, (int)a->status, text);
		return;
	}
	r = prometheus_parse(a->body, a->len, &e->samples[e->asked], &e->sample_count[e->asked],
			     &err);
	if (r < 0) {
		failed(ask, r, err.text[0] != '\0' ? err.text : strerror(-r));
		return;
	}
	p->trouble = 0;
	p->backoff.wait_usec = 0;
	if (e->asked == RESOURCE_CPU) {
		e->asked = RESOURCE_MEMORY;
		send_query(ask);
		return;
	}
	ask_known(ask);
	give(e);
	clear(ask);
}

static const struct managed *any_of(const struct cluster *c, const char *key)
{
	UNITS_FOREACH (m, c->units)
		if (m->kind == UNIT_KIND_CONTAINER && needs(c, m) &&
		    strcmp(m->history_key, key) == 0)
			return m;
	return NULL;
}

static void send_query(struct ask *a)
{
	const struct cluster *c = a->table->cluster;
	const struct config_prometheus *config = &c->config->prometheus;
	const struct managed *m = any_of(c, a->key);
	char path[PROMETHEUS_PATH_BYTES];
	struct prometheus_query query;
	int r;

	if (m == NULL) {
		clear(a);
		return;
	}
	query = (struct prometheus_query){
		.namespace = m->pod->spec->namespace,
		.owner = m->pod->spec->owner,
		.workload = m->pod->spec->workload,
		.container = pod_container_of(m),
		.matchers = config->matchers != NULL ? config->matchers : "",
		.end_real = c->wake->now_real,
		.range_usec = config->range_usec,
		.step_usec = config->step_usec,
	};
	r = prometheus_path(&query, ((struct past *)a)->asked, path);
	if (r == 0)
		r = ask_send(a, path);
	if (r < 0)
		failed(a, r, strerror(-r));
}

static const struct ask_kind kind = {
	.bytes = sizeof(struct past),
	.request = {.body_max = BODY_MAX, .timeout_usec = TIMEOUT_USEC},
	.fresh_usec = LIMIT_MAX,
	.elsewhere = true,
	.mark = mark,
	.send = send_query,
	.answered = on_answer,
	.drop = clear,
};

void cluster_prometheus_tick(struct cluster *c)
{
	if (c->past != NULL && c->wake->now >= c->past->quiet_until)
		ask_tick(&c->past->table);
}

/* Owned; without the slashes at its end. */
static char *server_of(const char *url)
{
	size_t length = strlen(url);

	while (length > 0 && url[length - 1] == '/')
		length--;
	return strndup(url, length);
}

void cluster_prometheus_start(struct cluster *c)
{
	const struct config_prometheus *from = &c->config->prometheus;
	OWN(drop_free) char *url = from->url != NULL ? server_of(from->url) : NULL;
	struct kube_config server = {
		.server = url,
		.ca_file = from->ca_file,
		.token_file = from->token_file,
	};
	struct cluster_prometheus *p;
	int r;

	if (from->url == NULL)
		return;
	p = calloc(1, sizeof *p);
	r = p == NULL || url == NULL
		    ? -ENOMEM
		    : kube_client_new(c->wake->event, &server, USER_AGENT, &p->client);
	if (r < 0) {
		event_tell(EVENT_PAST_FAILED, .file = from->url, .detail = strerror(-r));
		free(p);
		return;
	}
	p->table = (struct ask_table){.kind = &kind, .cluster = c, .port = &p->port};
	p->port = c->port;
	p->port.ctx = p->client;
	p->backoff.random = random_next(&c->random);
	c->past = p;
}

void cluster_prometheus_free(struct cluster *c)
{
	struct cluster_prometheus *p = c->past;

	if (p == NULL)
		return;
	ask_free(&p->table);
	kube_client_free(p->client);
	free(p);
	c->past = NULL;
}
