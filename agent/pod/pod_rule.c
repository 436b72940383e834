// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "policy/report/report.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool finished(const struct kube_pod *s)
{
	return strcmp(s->phase, "Succeeded") == 0 || strcmp(s->phase, "Failed") == 0;
}

/* vscaled does not limit itself: such a limit could stop the process that has to raise it. */
static bool is_us(const struct host *host, const struct kube_pod *s)
{
	return host->own_pod[0] != '\0' && strcmp(host->own_pod, s->name) == 0 &&
	       strcmp(host->own_namespace, s->namespace) == 0;
}

/* More than a report can hold. Ephemeral containers are last in the list and do not count. */
static bool too_many(const struct kube_pod *s)
{
	return s->container_count > REPORT_CONTAINERS_MAX &&
	       s->containers[REPORT_CONTAINERS_MAX].kind != CONTAINER_EPHEMERAL;
}

/* A container has more than the whole pod: no API server takes a resize of that pod. */
static bool over_budget(const struct kube_pod *s)
{
	for (size_t i = 0; i < s->container_count; i++)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if (s->level_limit[r] != 0 && s->containers[i].spec.limit[r] != LIMIT_MAX &&
			    s->containers[i].spec.limit[r] > s->level_limit[r])
				return true;
	return false;
}

enum state_reason pod_excluded(const struct host *host, const struct kube_pod *s, bool opted_in)
{
	const struct {
		bool holds;
		enum state_reason why;
	} rows[] = {
		{!opted_in, STATE_NOT_OPTED_IN}, {host->unsupported != NULL, STATE_UNSUPPORTED},
		{is_us(host, s), STATE_SELF},    {finished(s), STATE_FINISHED},
		{s->mirror, STATE_MIRROR},       {s->windows, STATE_WINDOWS},
		{s->vpa, STATE_VPA_ANNOTATIONS}, {s->claims, STATE_CLAIMS},
		{too_many(s), STATE_CONTAINERS}, {over_budget(s), STATE_POD_BUDGET},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].holds)
			return rows[i].why;
	return STATE_SIZING;
}

static enum state_reason not_sized(const struct pod *p)
{
	enum state_reason why = pod_excluded(p->pods->host, p->spec, !p->leaving);

	return why == STATE_SIZING && p->reshaped ? STATE_POD_RESOURCES : why;
}

static const enum state_reason excluded_kinds[CONTAINER_KIND_COUNT] = {
	[CONTAINER_INIT] = STATE_INIT,
	[CONTAINER_EPHEMERAL] = STATE_EPHEMERAL,
};

/* --- bounds --- */

static bool in_sandbox(const struct managed *m)
{
	return m->container.unfound == STATE_SANDBOX ||
	       m->container.unfound == STATE_SANDBOX_RUNTIME;
}

bool pod_is_sized(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (m->container.annotated && !in_sandbox(m) &&
		    m->container.rule.rule.mode != MODE_OFF && managed_state(m) != UNIT_RESTORED)
			return true;
	return false;
}

/* --- rules --- */

static struct managed *container_new(struct pod *p, const struct kube_container *c)
{
	const struct kube_pod *s = p->spec;
	char name[RECORD_NAME_MAX], key[RECORD_NAME_MAX], history[RECORD_NAME_MAX];
	const struct managed_names names = {
		.kind = UNIT_KIND_CONTAINER,
		.name = name,
		.key = key,
		.history_key = history,
	};
	struct managed *m;

	snprintf(name, sizeof name, "%s/%s/%s", s->namespace, s->name, c->name);
	pod_key(s->uid, c->name, key);
	persist_history_key(s, c->name, history);
	m = managed_new(p->pods->units, &names);
	if (m != NULL)
		m->pod = p;
	return m;
}

/* It is not managed, or no longer: what vscaled wrote is handed back. */
static void not_ours(struct pod *p, size_t i, enum state_reason why)
{
	struct pod_member *member = &p->members[i];
	const struct kube_container *c = &p->spec->containers[i];
	bool was_ours;

	member->why = why;
	if (member->managed == NULL && !p->ending && persist_container(p, c) != NULL)
		member->managed = container_new(p, c);
	if (member->managed == NULL)
		return;
	was_ours = member->managed->container.annotated;
	member->managed->container.annotated = false;
	if (p->ending)
		unit_update_blocked(member->managed);
	else if (managed_state(member->managed) != UNIT_UNMANAGED ||
		 (was_ours && member->managed->record != NULL))
		/* Sized before it had to be left alone, or until now. */
		lifecycle_release(member->managed, why);
}

/* Without a limit of its own it has the pod's in its cgroup, which stays. With RequestsOnly no
 * limit is sized. */
static void leave_limits(const struct kube_pod *s, const struct kube_container *c,
			 struct container_rule *rule)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (s->pod_resources && c->spec.limit[r] == LIMIT_MAX)
			rule->rule.resources &= ~(1u << r);
	if (rule->controlled == CONTROLLED_REQUESTS) {
		rule->rule.requests |= rule->rule.resources;
		rule->rule.resources = 0;
	}
}

static void ours(struct pod *p, size_t i, const struct container_rule *rule)
{
	struct pod_member *member = &p->members[i];
	struct managed *m = member->managed;
	bool same;

	if (m == NULL)
		m = member->managed = container_new(p, &p->spec->containers[i]);
	if (m == NULL) {
		member->why = STATE_OUT_OF_MEMORY;
		return;
	}
	same = m->container.annotated && policy_rule_equal(&m->container.rule.rule, &rule->rule);
	m->container.rule = *rule;
	m->container.annotated = true;
	if (!same)
		rule_apply(m);
	unit_update_blocked(m);
}

/* A mistake: what is sized stays as it is, by the last rule without one, else (after a start) by
 * what can be read of this one; unless a valid annotation ends that. Nothing else is sized. */
static void freeze(const struct pod *p, size_t i, struct container_rule *rule)
{
	const struct managed *m = p->members[i].managed;
	enum mode mode = rule->frozen_mode;

	if (mode == MODE_OFF)
		return;
	if (m != NULL && m->container.annotated) {
		*rule = m->container.rule;
		mode = MIN(mode, rule->rule.mode);
	} else if (persist_container(p, &p->spec->containers[i]) == NULL &&
		   !pod_originals_lost(p->pods, p->spec)) {
		mode = MODE_OFF;
		rule->has_rollout = false;
	}
	rule->rule.mode = mode;
	rule->rule.freeze = true;
	rule->rule.scale_down = rule->allow_restart = rule->in_place_or_recreate = false;
}

/* Once for each that is new. */
static void report_error(struct pod *p, const struct annotation_error *error)
{
	if (strcmp(p->error != NULL ? p->error : "", error->text) == 0)
		return;
	free(p->error);
	p->error = error->text[0] != '\0' ? strdup(error->text) : NULL;
	if (error->text[0] == '\0')
		return;
	/* Without memory it is not shown until a list brings the pod again. */
	p->pods->list_due |= p->error == NULL;
	event_tell(EVENT_ANNOTATION_INVALID, .who = message_pod(p->spec), .detail = error->text);
	pod_warn(p, "InvalidAnnotation", "ReadAnnotations", "%s. Until it is corrected %s",
		 error->text,
		 pod_is_sized(p) ? "the limits stay as they are" : "the pod is not sized");
}

struct annotation_input pod_annotations(const struct pods *pods, const struct kube_pod *spec)
{
	return (struct annotation_input){
		.config = pods->config,
		.pod = spec,
		.namespace = kube_namespaces_find(&pods->namespaces, spec->namespace),
		.sized =
			persist_has_pod(pods->records, spec->uid) || pod_originals_lost(pods, spec),
	};
}

/* --- its own limits in spec.resources --- */

/* Resources of which it and each of its containers have a limit. */
static uint32_t may_resize(const struct pod *p)
{
	uint32_t resources = 0;

	if (p->error != NULL || kube_pod_annotation(p->spec, "pod-budget") == NULL)
		return 0;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		bool all = p->spec->level_limit[r] != 0;

		for (size_t i = 0; i < p->spec->container_count; i++)
			all &= p->spec->containers[i].kind == CONTAINER_EPHEMERAL ||
			       p->spec->containers[i].spec.limit[r] != LIMIT_MAX;
		resources |= all ? 1u << r : 0;
	}
	return resources;
}

void pod_set_follows(struct pod *p)
{
	const uint64_t *level = p->spec->level_limit;
	uint32_t follows = 0, backs = 0, resizes;
	bool may, told;
	const char *status;

	if ((level[RESOURCE_CPU] | level[RESOURCE_MEMORY]) == 0 || p->level == NULL ||
	    !p->level->originals.saved)
		return;
	status = kube_pod_annotation(p->spec, "status");
	/* The admission policy lets them go back where it says so. */
	told = status != NULL && strstr(status, "\"podLevel\":") != NULL;
	may = p->pods->cluster != NULL && cluster_resizes(p->pods->cluster, p->spec) &&
	      pod_is_sized(p);
	resizes = may_resize(p);
	if (resizes & ~p->resizes)
		reporter_hurry(p->report);
	p->resizes = resizes;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t original = pod_level_original(p, r);

		/* After a mistake in its annotations what was changed stays so. */
		if (may && (original != 0 ? p->error != NULL || (resizes & (1u << r))
					  : told && (resizes & (1u << r))))
			follows |= 1u << r;
		else if (original != 0 && original != p->spec->level_limit[r])
			backs |= 1u << r;
		else if (original != 0 && !reporter_late(p->report, p->pods->wake->now))
			persist_sent(p->level, r, 0, 0);
	}
	if (p->follows == follows && p->backs == backs)
		return;
	p->follows = follows;
	p->backs = backs;
	p->concerned = true;
	POD_FOREACH (m, p)
		if (m->cgroup.cg != NULL)
			managed_find_above(m);
	pod_bound_all(p);
	pod_report(p);
}

void pod_set_level_rule(struct pod *p)
{
	enum mode mode = pod_is_sized(p) ? MODE_AUTO : MODE_OFF;

	if (p->level == NULL || finished(p->spec) || p->level->container.rule.rule.mode == mode)
		return;
	p->level->container.rule.rule.mode = mode;
	rule_apply(p->level);
}

/* Why a container is not managed; STATE_SIZING: it is, by *rule. of_pod: why none is. */
static enum state_reason find_rule(enum state_reason of_pod, const struct kube_container *c,
				   const struct annotation_settings *settings,
				   struct container_rule *rule)
{
	if (of_pod != STATE_SIZING || excluded_kinds[c->kind] != STATE_SIZING)
		return of_pod != STATE_SIZING ? of_pod : excluded_kinds[c->kind];
	if (settings != NULL)
		annotation_apply(settings, c->name, rule);
	return rule->named ? STATE_SIZING : STATE_NOT_NAMED;
}

enum state_reason pod_described(const struct pods *pods, const struct kube_pod *s, size_t i,
				struct annotation_error *error)
{
	const struct annotation_input input = pod_annotations(pods, s);
	enum state_reason why = pod_excluded(pods->host, s, annotation_opted_in(&input));
	OWN(annotation_drop) struct annotation_settings *settings = NULL;
	struct container_rule rule = {.named = false};
	int r = why == STATE_SIZING ? annotation_read(&input, &settings, error) : 0;

	if (r < 0)
		return r == -EINVAL ? STATE_ANNOTATION_INVALID : STATE_OUT_OF_MEMORY;
	why = find_rule(why, &s->containers[i], settings, &rule);
	return why == STATE_SIZING ? STATE_NOT_RUNNING : why;
}

void pod_apply_rules(struct pod *p)
{
	const struct kube_pod *s = p->spec;
	bool autoscaled = p->pods->cluster != NULL && cluster_autoscaled(p);
	struct annotation_input input = pod_annotations(p->pods, s);
	OWN(annotation_drop) struct annotation_settings *settings = NULL;
	struct annotation_error error = {""};
	int r = 0;

	p->observed &= annotation_observed(&input);
	input.recovers = p->recovers;
	p->recovers &= !annotation_opted_in(&input);
	p->leaving = !p->observed && !p->recovers && !annotation_opted_in(&input);
	p->why = not_sized(p);
	for (size_t i = 0; i < s->container_count; i++)
		memcpy(p->members[i].limit, s->containers[i].spec.limit,
		       sizeof p->members[i].limit);
	p->ending = s->deleting || finished(s);
	if (p->awaits) {
		p->leaving = false;
		p->why = finished(s) ? STATE_FINISHED : STATE_NAMESPACES_UNREAD;
		for (size_t i = 0; i < s->container_count; i++)
			p->members[i].why = p->why;
		return;
	}
	if (p->why == STATE_SIZING)
		r = annotation_read(&input, &settings, &error);
	p->sizes = false;
	for (size_t i = 0; i < s->container_count; i++) {
		const struct kube_container *c = &s->containers[i];
		struct container_rule rule = {.named = false};
		enum state_reason why;

		if (r == -ENOMEM) {
			/* It stays as it is; a list brings the pod again. */
			p->pods->list_due = true;
			break;
		}
		why = find_rule(p->why, c, settings, &rule);
		if (why == STATE_SIZING && MAX(rule.rule.mode, rule.frozen_mode) != MODE_OFF) {
			p->sizes = true;
			if (autoscaled)
				why = STATE_VPA;
		}
		if (why != STATE_SIZING) {
			not_ours(p, i, why);
			continue;
		}
		if (r == -EINVAL)
			freeze(p, i, &rule);
		leave_limits(s, c, &rule);
		pod_rollout_apply(p, &rule);
		ours(p, i, &rule);
	}
	report_error(p, &error);
	pod_set_level_rule(p);
	/* One container's class depends on what is managed of the others. */
	pod_bound_all(p);
}
