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

/* One container of a workload; the same for all its pods of this node. */
struct past_entry {
	char *key; /* of its history */
	usec_t ask_at;
	bool answered;
	bool used; /* a container needs it */
};

struct cluster_prometheus {
	struct cluster *cluster;
	struct kube_client *client;
	struct kube_call *call; /* NULL: none under way */
	struct past_entry *entries;
	size_t count;
	/* The request under way. */
	char *key;
	enum resource asked;
	struct past_sample *samples[RESOURCE_COUNT]; /* owned */
	size_t sample_count[RESOURCE_COUNT];
	/* After a failure there is no query for a while. */
	struct backoff backoff;
	usec_t quiet_until;
	int trouble; /* that was reported: -errno or an HTTP status; 0: none */
};

/* ---- which containers ---- */

static struct past_entry *find(const struct cluster_prometheus *p, const char *key)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->entries[i].key, key) == 0)
			return &p->entries[i];
	return NULL;
}

/* A random part of the jitter: after a roll-out all nodes ask. */
static struct past_entry *add(struct cluster_prometheus *p, const char *key)
{
	struct cluster *c = p->cluster;
	usec_t most = c->config->kubernetes.start_jitter_usec;
	struct past_entry *e = reallocarray(p->entries, p->count + 1, sizeof *e);

	if (e == NULL)
		return NULL;
	p->entries = e;
	e += p->count;
	*e = (struct past_entry){
		.key = strdup(key),
		.ask_at = c->wake->now + (most != 0 ? random_next(&c->random) % most : 0),
	};
	if (e->key == NULL)
		return NULL;
	p->count++;
	return e;
}

static bool needs(const struct cluster *c, const struct managed *m)
{
	if (m->kind != UNIT_KIND_CONTAINER || m->cgroup.cg == NULL || !m->pod->spec->owned ||
	    history_observed_least(&m->control.history) >= OWN_USEC)
		return false;
	/* The other pods come first. */
	return !c->config->kubernetes.workload_history ||
	       (m->control.prior_known && m->control.prior.pods == 0);
}

static void note_needs(struct cluster_prometheus *p)
{
	struct cluster *c = p->cluster;

	for (size_t i = 0; i < p->count; i++)
		p->entries[i].used = false;
	UNITS_FOREACH (m, c->units) {
		struct past_entry *e;

		if (!needs(c, m))
			continue;
		e = find(p, m->history_key);
		if (e == NULL)
			e = add(p, m->history_key);
		if (e != NULL)
			e->used = true;
	}
}

static void forget_unused(struct cluster_prometheus *p)
{
	for (size_t i = p->count; i > 0; i--) {
		if (p->entries[i - 1].used)
			continue;
		free(p->entries[i - 1].key);
		p->entries[i - 1] = p->entries[--p->count];
	}
}

/* ---- the requests ---- */

static void clear(struct cluster_prometheus *p)
{
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		free(p->samples[r]);
		p->samples[r] = NULL;
		p->sample_count[r] = 0;
	}
	free(p->key);
	p->key = NULL;
}

/* Reported again when it is another kind of failure. */
static void failed(struct cluster_prometheus *p, int kind, const char *what)
{
	struct cluster *c = p->cluster;
	struct past_entry *e = p->key != NULL ? find(p, p->key) : NULL;

	if (e != NULL)
		e->ask_at = c->wake->now; /* behind the others */
	p->quiet_until = c->wake->now + backoff_next(&p->backoff, c->wake->now);
	clear(p);
	if (p->trouble == kind)
		return;
	p->trouble = kind;
	event_tell(EVENT_PAST_FAILED, .file = kube_client_server(p->client), .detail = what);
}

/* To every container that still needs it. */
static void give(struct cluster_prometheus *p)
{
	struct cluster *c = p->cluster;
	UNITS_FOREACH (m, c->units) {
		struct past_series own[RESOURCE_COUNT] = {0};
		char detail[96];

		if (!needs(c, m) || strcmp(m->history_key, p->key) != 0)
			continue;
		for (int r = 0; r < RESOURCE_COUNT; r++)
			if (m->control.history.observed_usec[r] < OWN_USEC)
				own[r] = (struct past_series){p->samples[r], p->sample_count[r],
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

static void ask(struct cluster_prometheus *p);

static void answered(struct cluster_prometheus *p)
{
	struct past_entry *e = find(p, p->key);

	p->trouble = 0;
	p->backoff.wait_usec = 0;
	if (p->asked == RESOURCE_CPU) {
		p->asked = RESOURCE_MEMORY;
		ask(p);
		return;
	}
	if (e != NULL)
		e->answered = true;
	give(p);
	clear(p);
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster_prometheus *p = arg;
	struct prometheus_error err = {""};
	char text[300];
	int r;

	p->call = NULL;
	daemon_wake(p->cluster->wake);
	if (a->error != 0) {
		failed(p, a->error, a->detail);
		return;
	}
	if (a->status != 200) {
		prometheus_refusal(a->body, a->len, &err);
		snprintf(text, sizeof text, "HTTP status %u%s%s", a->status,
			 err.text[0] != '\0' ? ": " : "", err.text);
		failed(p, (int)a->status, text);
		return;
	}
	r = prometheus_parse(a->body, a->len, &p->samples[p->asked], &p->sample_count[p->asked],
			     &err);
	if (r < 0)
		failed(p, r, err.text[0] != '\0' ? err.text : strerror(-r));
	else
		answered(p);
}

static const struct managed *any_of(const struct cluster *c, const char *key)
{
	UNITS_FOREACH (m, c->units)
		if (m->kind == UNIT_KIND_CONTAINER && needs(c, m) &&
		    strcmp(m->history_key, key) == 0)
			return m;
	return NULL;
}

static void ask(struct cluster_prometheus *p)
{
	const struct config_prometheus *config = &p->cluster->config->prometheus;
	const struct managed *m = any_of(p->cluster, p->key);
	char path[PROMETHEUS_PATH_BYTES];
	struct kube_request request = {
		.method = "GET", .path = path, .body_max = BODY_MAX, .timeout_usec = TIMEOUT_USEC};
	struct prometheus_query query;
	int r;

	if (m == NULL) {
		clear(p);
		return;
	}
	query = (struct prometheus_query){
		.namespace = m->pod->spec->namespace,
		.owner = m->pod->spec->owner,
		.workload = m->pod->spec->workload,
		.container = pod_container_of(m),
		.matchers = config->matchers != NULL ? config->matchers : "",
		.end_real = p->cluster->wake->now_real,
		.range_usec = config->range_usec,
		.step_usec = config->step_usec,
	};
	r = prometheus_path(&query, p->asked, path);
	if (r == 0)
		r = kube_client_start(p->client, &request, NULL, on_answer, p, &p->call);
	if (r < 0)
		failed(p, r, strerror(-r));
}

void cluster_prometheus_tick(struct cluster *c)
{
	struct cluster_prometheus *p = c->past;
	struct past_entry *next = NULL;

	if (p == NULL || p->call != NULL || c->wake->now < p->quiet_until)
		return;
	note_needs(p);
	forget_unused(p);
	for (size_t i = 0; i < p->count; i++) {
		struct past_entry *e = &p->entries[i];

		if (!e->answered && e->ask_at <= c->wake->now &&
		    (next == NULL || e->ask_at < next->ask_at))
			next = e;
	}
	if (next == NULL)
		return;
	p->key = strdup(next->key);
	p->asked = RESOURCE_CPU;
	if (p->key != NULL)
		ask(p);
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
	p->cluster = c;
	p->backoff.random = random_next(&c->random);
	c->past = p;
}

void cluster_prometheus_free(struct cluster *c)
{
	struct cluster_prometheus *p = c->past;

	if (p == NULL)
		return;
	kube_client_free(p->client);
	clear(p);
	for (size_t i = 0; i < p->count; i++)
		free(p->entries[i].key);
	free(p->entries);
	free(p);
	c->past = NULL;
}
