// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster/cluster_lease.h"
#include "agent/kube/model/encode.h"
#include "agent/manage/host.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/base/text.h"
#include <stdio.h>
#include <string.h>

/* Of an agent that runs in no pod; agent/deploy makes it. */
#define NAMESPACE_DEFAULT "vscaled"

static void finish(struct cluster_lease *l, const struct kube_answer *a)
{
	struct kube_status status = {.message = ""};

	if (a->error != 0) {
		l->done(l->cluster, RECREATE_ANSWER_COUNT, 0, a->detail);
	} else if (a->status >= 200 && a->status < 300) {
		l->done(l->cluster, RECREATE_EVICT, a->status, "");
	} else if (a->status == 409) {
		l->done(l->cluster, RECREATE_LEASED, a->status, "");
	} else {
		kube_decode_status(a->body, a->len, &status);
		l->done(l->cluster, RECREATE_REFUSED, a->status, status.message);
	}
}

static void send(struct cluster_lease *l, const char *method, const char *body, kube_done_fn *done)
{
	const char *namespace = l->cluster->host->own_namespace;
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
		l->done(l->cluster, RECREATE_ANSWER_COUNT, 0, "the request could not be sent");
}

static void send_lease(struct cluster_lease *l, const char *method, kube_done_fn *done)
{
	OWN(drop_free)
	char *body = kube_encode_lease(l->name, l->workload, &l->want,
				       RECREATE_WORKLOAD_USEC / USEC_PER_SEC);

	if (body == NULL)
		l->done(l->cluster, RECREATE_ANSWER_COUNT, 0, "not enough memory");
	else
		send(l, method, body, done);
}

static void on_renewed(void *arg, const struct kube_answer *a)
{
	struct cluster_lease *l = arg;

	l->call = NULL;
	finish(l, a);
}

/* Renewed only as it was read: of two that read it, the API server refuses the second. */
static void on_read(void *arg, const struct kube_answer *a)
{
	struct cluster_lease *l = arg;
	struct kube_decode_error err = {.error = 0};
	struct kube_lease now;
	enum recreate_answer answer;

	l->call = NULL;
	if (a->error != 0 || a->status != 200) {
		finish(l, a);
		return;
	}
	if (kube_decode_lease(a->body, a->len, &now, &err) < 0) {
		l->done(l->cluster, RECREATE_ANSWER_COUNT, a->status, err.text);
		return;
	}
	answer = recreate_leased(strcmp(now.holder, l->want.holder) == 0, now.renewed_real,
				 l->want.renewed_real);
	if (answer != RECREATE_EVICT) {
		l->done(l->cluster, answer, a->status, "");
		return;
	}
	memcpy(l->want.version, now.version, sizeof l->want.version);
	send_lease(l, "PATCH", on_renewed);
}

static void on_created(void *arg, const struct kube_answer *a)
{
	struct cluster_lease *l = arg;

	l->call = NULL;
	if (a->error == 0 && a->status == 409)
		send(l, "GET", NULL, on_read);
	else
		finish(l, a);
}

void cluster_lease_take(struct cluster *c, struct cluster_lease *l, const struct pod *p,
			cluster_lease_fn *done)
{
	const struct kube_pod *s = p->spec;
	uint64_t hash = text_hash(TEXT_HASH_FIRST, s->namespace);

	hash = text_hash(text_hash(hash, s->owner), s->workload);
	*l = (struct cluster_lease){.cluster = c, .done = done};
	l->want.renewed_real = c->wake->wall_now;
	snprintf(l->want.holder, sizeof l->want.holder, "%s_%s", s->name, s->uid);
	snprintf(l->name, sizeof l->name, "vscaled-evict-%016llx", (unsigned long long)hash);
	snprintf(l->workload, sizeof l->workload, "%s/%s/%s", s->namespace, s->owner, s->workload);
	send_lease(l, "POST", on_created);
}

void cluster_lease_cancel(struct cluster_lease *l)
{
	if (l->call != NULL)
		l->cluster->port.cancel(l->cluster->port.ctx, l->call);
	l->call = NULL;
}
