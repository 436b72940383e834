// SPDX-License-Identifier: Apache-2.0
/* kubernetes.observe All: which pods without a mode are watched, in mode Off. */
#include "agent/pod/pod_observe.h"
#include "agent/annotation/annotation.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/pod_find.h"
#include "agent/pod/pod_rule.h"

static size_t containers_of(const struct kube_pod *spec)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->container_count; i++)
		n += spec->containers[i].kind == CONTAINER_APP ||
		     spec->containers[i].kind == CONTAINER_SIDECAR;
	return n;
}

static size_t observed_containers(const struct pods *pods)
{
	size_t n = 0;

	for (size_t i = 0; i < pods->count; i++)
		if (pods->items[i]->observed)
			n += containers_of(pods->items[i]->spec);
	return n;
}

static struct pod *youngest(const struct pods *pods)
{
	struct pod *ret = NULL;

	for (size_t i = 0; i < pods->count; i++) {
		struct pod *p = pods->items[i];

		if (p->observed && (ret == NULL || p->spec->created_real > ret->spec->created_real))
			ret = p;
	}
	return ret;
}

static void note_full(struct pods *pods)
{
	if (!pods->observe_full)
		event_tell(EVENT_OBSERVATION_FULL,
			   .count = pods->config->kubernetes.observed_containers);
	pods->observe_full = true;
}

bool pod_observe(struct pods *pods, const struct kube_pod *spec)
{
	const struct annotation_input input = pod_annotations(pods, spec);
	size_t max = pods->config->kubernetes.observed_containers, n = containers_of(spec);

	if (!annotation_observed(&input) || pod_excluded(pods->host, spec, true) != NULL || n > max)
		return false;
	while (observed_containers(pods) + n > max) {
		struct pod *p = youngest(pods);

		note_full(pods);
		if (p->spec->created_real <= spec->created_real)
			return false;
		/* It is known in history, and comes back when another one goes. */
		p->observed = false;
		pod_apply_rules(p);
	}
	return true;
}

void pod_observe_ended(struct pods *pods, const struct pod *p)
{
	if (!p->observed || !pods->observe_full)
		return;
	pods->observe_full = false;
	pods->list_due = true;
}
