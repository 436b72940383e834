// SPDX-License-Identifier: Apache-2.0
#include "agent/base/json.h"
#include "agent/config/config.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "agent/serve/serve.h"
#include "agent/serve/show.h"
#include "policy/history/history.h"
#include <errno.h>
#include <stdio.h>

struct known {
	struct recommendation of;
	uint64_t samples;
	const char *source;
	bool pending;
};

/* Pods of the workload on other nodes. */
static struct known kin_of(const struct serve *s, const struct kube_pod *p, const char *container)
{
	struct known k = {.source = "none"};
	struct prior prior;
	int r = -ENOENT;

	if (*s->cluster != NULL)
		r = cluster_kin_describe(*s->cluster, p, container, &prior);
	if (r == 0)
		k = (struct known){.of = prior.of, .source = "kin"};
	k.pending = r == -EAGAIN;
	return k;
}

/* Running pods of the workload first, then what is left of earlier ones. */
static struct known known_of(const struct serve *s, const struct kube_pod *p, const char *container)
{
	struct known k = {.source = "history"};
	char history_key[RECORD_NAME_MAX];
	const struct managed *m;

	persist_history_key(p, container, history_key);
	m = persist_best_live(s->units, history_key, NULL);
	if (m != NULL && m->control.recommendation.confidence_permille[RESOURCE_CPU] > 0)
		return (struct known){.of = m->control.recommendation,
				      .samples = m->control.history.samples,
				      .source = "running"};
	if (persist_recommend(s->units->records, history_key, &k.of, &k.samples) == 0)
		return k;
	return kin_of(s, p, container);
}

#define AMOUNT(number) cJSON_CreateNumber((double)(number))

/* Requests follow the target; a limit stays absent where there is none. */
static cJSON *resource_json(const struct kube_container *c, const struct known *k, enum resource r)
{
	const struct range_of *range = &k->of.resource[r];
	struct view_json o = {0};

	if (range->target == 0)
		return cJSON_CreateNull();
	o.json = cJSON_CreateObject();
	view_put(&o, "request", AMOUNT(range->target));
	if (c->spec.limit[r] != LIMIT_MAX)
		view_put(&o, "limit", AMOUNT(MAX(range->peak, range->target)));
	view_put(&o, "lower", AMOUNT(range->lower));
	view_put(&o, "target", AMOUNT(range->target));
	view_put(&o, "upper", AMOUNT(range->upper));
	view_put(&o, "peak", AMOUNT(range->peak));
	return view_end(&o);
}

/* As list and explain show it; of a pod that is not here what it would be. */
static void put_state(struct view_json *o, const struct serve *s, const struct kube_pod *p,
		      size_t i)
{
	struct annotation_error error = {""};
	char name[RECORD_NAME_MAX];
	enum state_reason reason;
	struct shown x;
	const char *text;

	snprintf(name, sizeof name, "%s/%s/%s", p->namespace, p->name, p->containers[i].name);
	if (serve_named(s, name, &x) == 0) {
		reason = shown_reason(&x);
		text = shown_reason_text(&x);
	} else {
		reason = pod_described(s->pods, p, i, &error);
		text = error.text[0] != '\0' ? error.text : state_rows[reason].text;
	}
	view_put(o, "state", view_text(unit_state_names[state_rows[reason].state]));
	view_put(o, "reason", view_text(state_rows[reason].name));
	if (text != NULL)
		view_put(o, "state_reason", view_text(text));
}

static cJSON *container_json(const struct serve *s, const struct kube_pod *p, size_t i,
			     bool *pending)
{
	const struct kube_container *c = &p->containers[i];
	struct view_json o = {.json = cJSON_CreateObject()};
	const uint64_t node[RESOURCE_COUNT] = {s->host->cpu_milli, s->units->memory->read.total};
	struct known k = known_of(s, p, c->name);

	prior_bound_upper(&k.of, node);
	*pending |= k.pending;
	view_put(&o, "name", view_text(c->name));
	put_state(&o, s, p, i);
	view_put(&o, "source", view_text(k.source));
	view_put(&o, "samples", AMOUNT(k.samples));
	view_put(&o, "confidence_permille", AMOUNT(recommendation_confidence(&k.of)));
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		view_put(&o, resource_names[r], resource_json(c, &k, r));
	return view_end(&o);
}

cJSON *serve_recommend(void *ctx, const char *text, size_t len, char *ret_why, size_t why_size)
{
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	struct view_json root = {0}, list = {0};
	struct kube_decode_error err = {.text = ""};
	int r = kube_decode_described(text, len, &p, &err);
	bool pending = false;

	snprintf(ret_why, why_size, "%s", r == -EBADMSG ? err.text : "");
	if (r < 0)
		return NULL;
	root.json = cJSON_CreateObject();
	list.json = cJSON_CreateArray();
	for (size_t i = 0; i < p->container_count; i++)
		if (p->containers[i].kind == CONTAINER_APP ||
		    p->containers[i].kind == CONTAINER_SIDECAR)
			view_put(&list, NULL, container_json(ctx, p, i, &pending));
	view_put(&root, "containers", view_end(&list));
	view_put(&root, "workload", view_text(p->workload));
	view_put(&root, "pending", cJSON_CreateBool(pending));
	return view_end(&root);
}
