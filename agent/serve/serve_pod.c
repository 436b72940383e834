// SPDX-License-Identifier: Apache-2.0
/* The control API's view of pods: what the pod object adds, and containers that are not managed. */
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/pod/pod_rollout.h"
#include "agent/pod/pod_rule.h"
#include "agent/serve/serve.h"
#include <stdio.h>
#include <string.h>

static uint64_t set_or_none(uint64_t value)
{
	return value != 0 ? value : VIEW_NONE;
}

static const char *request_stays(const struct pod_bounds *b, enum resource r)
{
	if (b->requests_stay & (1u << r))
		return "a HorizontalPodAutoscaler scales by its utilisation";
	if (b->swaps && r == RESOURCE_MEMORY)
		return "the kubelet resizes no memory request of a container that may swap";
	return b->requests_unknown && !b->guaranteed ? "HorizontalPodAutoscalers or LimitRanges of "
						       "the namespace are not known yet"
						     : NULL;
}

static void view_bounds(struct pod_view *v, const struct managed *m)
{
	usec_t now = m->wake->now;
	const struct kube_container *c = pod_spec_of(m);
	uint32_t restart = c != NULL ? c->restart_on_resize : 0;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct pod_resource_bounds *b = &m->control.pod.resource[r];
		struct pod_resource_view *to = &v->resources[r];

		to->request_range = control_request_range(&m->control, r);
		to->admin_min = set_or_none(b->admin.min);
		to->admin_max = set_or_none(b->admin.max);
		to->range_min = set_or_none(b->namespace.min);
		to->range_max = set_or_none(b->namespace.max);
		to->ratio_permille = set_or_none(b->ratio_permille);
		if (restart & (1u << r))
			to->restart = r == RESOURCE_MEMORY && m->container.rule.allow_restart
					      ? "allowed"
					      : "never";
		if (r == RESOURCE_MEMORY && control_unratified(&m->control) != LIMIT_MAX)
			to->unratified_max = control_unratified(&m->control);
		to->request_stays = request_stays(&m->control.pod, r);
		if (b->refused == 0 || b->refused_until <= now)
			continue;
		to->refused = b->refused;
		to->refused_for_usec = b->refused_until - now;
	}
}

static void view_container(struct pod_view *v, const struct kube_container *c)
{
	v->container = c->name;
	v->ready = c->ready;
	v->restarts = c->restarts;
	v->heap_bytes = set_or_none(c->heap.bytes);
	v->heap_permille = set_or_none(c->heap.permille);
	if (c->heap.bytes > 0 || c->heap.permille > 0)
		v->heap_runtime = heap_runtime_names[c->heap.runtime];
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		v->resources[r].request = c->spec.request[r];
		v->resources[r].spec_limit = c->spec.limit[r];
	}
}

/* "PodResizePending Deferred: ..." */
static const char *condition_of(const struct kube_pod *s, char *ret, size_t size)
{
	static const char *const pending[] = {
		[RESIZE_DEFERRED] = "PodResizePending Deferred",
		[RESIZE_INFEASIBLE] = "PodResizePending Infeasible",
	};
	static const char *const progress[] = {
		[RESIZE_IN_PROGRESS] = "PodResizeInProgress",
		[RESIZE_ERROR] = "PodResizeInProgress Error",
	};
	const char *word = s->pending != RESIZE_NOT_PENDING ? pending[s->pending]
			   : s->progress != RESIZE_IDLE     ? progress[s->progress]
							    : NULL;

	if (word == NULL)
		return NULL;
	snprintf(ret, size, "%s%s%s", word, s->resize_message != NULL ? ": " : "",
		 s->resize_message != NULL ? s->resize_message : "");
	return ret;
}

/* All that a pod has from a rule is from the same one. */
static void view_annotations(const struct pod *p, struct serve_pod *ret)
{
	const struct config *config = p->pods->config;
	struct annotation_source all[SERVE_ANNOTATIONS_MAX];
	const struct annotation_input input = pod_annotations(p->pods, p->spec);
	size_t n = annotation_sources(&input, all, SERVE_ANNOTATIONS_MAX);

	ret->view.annotations = ret->annotations;
	ret->view.annotation_count = n;
	snprintf(ret->namespace, sizeof ret->namespace, "namespace %s", p->spec->namespace);
	for (size_t i = 0; i < n; i++) {
		const struct config_pod_rule *rule = all[i].rule;

		ret->annotations[i] = (struct annotation_view){.key = all[i].key,
							       .value = all[i].value,
							       .source = rule != NULL ? ret->source
									 : all[i].namespace != NULL
										 ? ret->namespace
										 : NULL};
		if (rule != NULL)
			snprintf(ret->source, sizeof ret->source, "pods[%zu], %s:%u",
				 (size_t)(rule - config->pods), rule->file, rule->line);
	}
}

static void view_rollout(struct pod_view *v, const struct managed *m, char *text, size_t size)
{
	const struct container_rule *rule = &m->container.rule;
	const struct pod_rollout *r = pod_rollout_of(m->pod, rule);

	if (!rule->has_rollout || rule->rollout == ROLLOUT_NONE || !m->container.annotated)
		return;
	if (rule->rollout == ROLLOUT_STOPPED)
		snprintf(text, size,
			 "%u %% of its workload's pods, stopped on this node: the "
			 "sized pods were %s",
			 rule->rollout_percent,
			 rollout_hurt_texts[r != NULL ? r->hurt : ROLLOUT_UNHURT]);
	else
		snprintf(text, size, "%u %% of its workload's pods are sized: this one is %s",
			 rule->rollout_percent,
			 rule->rollout == ROLLOUT_SIZED ? "sized" : "not sized");
	v->rollout = text;
	v->rollout_part = rollout_part_names[rule->rollout];
	v->rollout_percent = rule->rollout_percent;
}

static void view_recent(struct pod_view *v, const struct managed *m)
{
	const struct tally day = tally_sum(&m->container.day, TALLY_DAY_SLOT_USEC, m->wake->now);

	v->recent = (struct recent_view){
		.counted_usec = day.time_usec,
		.throttled_permille = tally_throttled_ppm(&day) / 1000,
		.oom_kills = day.kills,
		.undos = day.undos,
	};
}

void serve_pod_view(const struct pod *p, const struct kube_container *c, const struct managed *m,
		    struct serve_pod *ret)
{
	static const char *const qos[QOS_COUNT] = {"Guaranteed", "Burstable", "BestEffort"};
	static const char *const controlled[CONTROLLED_COUNT] = {"LimitsOnly", "RequestsAndLimits",
								 "RequestsOnly"};
	const struct pod_hooks *h = &p->pods->hooks;
	const struct kube_pod *s = p->spec;
	struct pod_view *v = &ret->view;

	pod_view_init(v);
	v->namespace = s->namespace;
	v->pod = s->name;
	v->uid = s->uid;
	v->workload = s->workload;
	v->owner = s->owner;
	v->qos_class = qos[s->qos];
	v->ready = s->ready;
	v->condition = condition_of(s, ret->condition, sizeof ret->condition);
	v->annotation_error = p->error[0] != '\0' ? p->error : NULL;
	view_annotations(p, ret);
	if (c != NULL)
		view_container(v, c);
	if (m != NULL && m->kind == UNIT_KIND_CONTAINER) {
		v->controlled_values = controlled[m->container.rule.controlled];
		view_bounds(v, m);
		view_rollout(v, m, ret->rollout, sizeof ret->rollout);
		view_recent(v, m);
		v->resources[RESOURCE_MEMORY].above_spec = set_or_none(above_spec_bytes(m));
	}
	if (h->view != NULL && c != NULL)
		h->view(h->ctx, s, c->name, v);
}

/* One that is in the spec and not in the table. */
static void show(const struct pod *p, size_t i, control_unit_fn *each, void *arg)
{
	const struct kube_container *c = &p->spec->containers[i];
	struct serve_pod more;
	struct unit_view v;
	char name[RECORD_NAME_MAX];

	snprintf(name, sizeof name, "%s/%s/%s", p->spec->namespace, p->spec->name, c->name);
	unit_view_init(&v);
	serve_pod_view(p, c, NULL, &more);
	v.name = name;
	v.kind = UNIT_KIND_CONTAINER;
	v.pod = &more.view;
	v.state = UNIT_UNMANAGED;
	v.state_reason = p->members[i].why;
	each(arg, &v);
}

void serve_unmanaged(const struct pods *pods, control_unit_fn *each, void *arg)
{
	for (size_t k = 0; k < pods->count; k++)
		for (size_t i = 0; i < pods->items[k]->spec->container_count; i++)
			if (pods->items[k]->members[i].managed == NULL)
				show(pods->items[k], i, each, arg);
}

bool serve_unmanaged_named(const struct pods *pods, const char *name, control_unit_fn *each,
			   void *arg)
{
	const char *slash = strrchr(name, '/');
	const struct pod *p = NULL;
	char pod[RECORD_NAME_MAX];

	if (slash != NULL && (size_t)(slash - name) < sizeof pod) {
		snprintf(pod, sizeof pod, "%.*s", (int)(slash - name), name);
		p = pods_named(pods, pod);
	}
	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++) {
		if (p->members[i].managed != NULL ||
		    strcmp(p->spec->containers[i].name, slash + 1) != 0)
			continue;
		show(p, i, each, arg);
		return true;
	}
	return false;
}
