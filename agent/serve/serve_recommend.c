// SPDX-License-Identifier: Apache-2.0
#include "agent/base/json.h"
#include "agent/config/config.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pod_rule.h"
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

static bool add_amount(cJSON *o, const char *key, uint64_t amount)
{
	return cJSON_AddNumberToObject(o, key, (double)amount) != NULL;
}

/* Requests follow the target; a limit stays absent where there is none. */
static bool add_resource(cJSON *container, const struct kube_container *c, const struct known *k,
			 enum resource r)
{
	const struct range_of *range = &k->of.resource[r];
	cJSON *o;

	if (range->target == 0)
		return cJSON_AddNullToObject(container, resource_names[r]) != NULL;
	o = cJSON_AddObjectToObject(container, resource_names[r]);
	return o != NULL && add_amount(o, "request", range->target) &&
	       (c->spec.limit[r] == LIMIT_MAX ||
		add_amount(o, "limit", MAX(range->peak, range->target))) &&
	       add_amount(o, "lower", range->lower) && add_amount(o, "target", range->target) &&
	       add_amount(o, "upper", range->upper) && add_amount(o, "peak", range->peak);
}

/* As list and explain show it; of a pod that is not here what it would be. */
static bool add_state(cJSON *o, const struct serve *s, const struct kube_pod *p, size_t i)
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
	return cJSON_AddStringToObject(o, "state", unit_state_names[state_rows[reason].state]) &&
	       cJSON_AddStringToObject(o, "reason", state_rows[reason].name) &&
	       (text == NULL || cJSON_AddStringToObject(o, "state_reason", text) != NULL);
}

static bool add_container(cJSON *list, const struct serve *s, const struct kube_pod *p, size_t i,
			  bool *pending)
{
	const struct kube_container *c = &p->containers[i];
	cJSON *o = cJSON_CreateObject();
	const uint64_t node[RESOURCE_COUNT] = {s->host->cpu_milli, s->units->memory->read.total};
	struct known k = known_of(s, p, c->name);

	prior_bound_upper(&k.of, node);
	*pending |= k.pending;
	if (!cJSON_AddItemToArray(list, o))
		return false;
	return cJSON_AddStringToObject(o, "name", c->name) != NULL && add_state(o, s, p, i) &&
	       cJSON_AddStringToObject(o, "source", k.source) != NULL &&
	       add_amount(o, "samples", k.samples) &&
	       add_amount(o, "confidence_permille", recommendation_confidence(&k.of)) &&
	       add_resource(o, c, &k, RESOURCE_CPU) && add_resource(o, c, &k, RESOURCE_MEMORY);
}

cJSON *serve_recommend(void *ctx, const char *text, size_t len, char *ret_why, size_t why_size)
{
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(root, "containers");
	struct kube_decode_error err = {.text = ""};
	int r = kube_decode_described(text, len, &p, &err);
	bool ok = list != NULL, pending = false;

	snprintf(ret_why, why_size, "%s", r == -EBADMSG ? err.text : "");
	if (r < 0)
		return NULL;
	ok = ok && cJSON_AddStringToObject(root, "workload", p->workload) != NULL;
	for (size_t i = 0; ok && i < p->container_count; i++)
		if (p->containers[i].kind == CONTAINER_APP ||
		    p->containers[i].kind == CONTAINER_SIDECAR)
			ok = add_container(list, ctx, p, i, &pending);
	ok = ok && cJSON_AddBoolToObject(root, "pending", pending) != NULL;
	return ok ? STEAL(root) : NULL;
}
