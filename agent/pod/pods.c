// SPDX-License-Identifier: Apache-2.0
/* The table of pods: added, changed and removed. */
#include "agent/pod/pods.h"
#include "agent/annotation/annotation.h"
#include "agent/apply/apply.h"
#include "agent/base/process.h"
#include "agent/journal/event.h"
#include "agent/kube/report/reporter.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/pod/cluster.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- kubernetes.observe All: which pods without a mode are watched, in mode Off --- */

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

	PODS_FOREACH (p, pods)
		if (p->observed)
			n += containers_of(p->spec);
	return n;
}

static struct pod *youngest(const struct pods *pods)
{
	struct pod *ret = NULL;

	PODS_FOREACH (p, pods)
		if (p->observed && (ret == NULL || p->spec->created_real > ret->spec->created_real))
			ret = p;
	return ret;
}

/* Is this pod, which is not in the table, to be observed? Up to kubernetes.observedContainers the
 * oldest are: a younger one leaves for it. */
static bool pod_observe(struct pods *pods, const struct kube_pod *spec)
{
	const struct annotation_input input = pod_annotations(pods, spec);
	size_t max = pods->config->kubernetes.observed_containers, n = containers_of(spec);

	if (!annotation_observed(&input) || pod_excluded(pods->host, spec, true) != STATE_SIZING ||
	    n > max)
		return false;
	while (observed_containers(pods) + n > max) {
		struct pod *p = youngest(pods);

		if (!pods->observe_full)
			event_tell(EVENT_OBSERVATION_FULL, .count = max);
		pods->observe_full = true;
		if (p->spec->created_real <= spec->created_real)
			return false;
		/* It is known in history, and comes back when another one goes. */
		p->observed = false;
		pod_apply_rules(p);
	}
	return true;
}

/* --- entries: of all pods of the node --- */

/* One at a time they would leave holes between all that is allocated with them. */
#define GROW_BY 64

struct pod *pods_note(struct pods *pods, const char *uid)
{
	struct pod *p = pods_entry(pods, uid), **grown;

	if (p != NULL || strlen(uid) >= sizeof p->uid)
		return p;
	p = calloc(1, sizeof *p);
	grown = reallocarray(pods->entries, round_up(pods->entry_count + 1, GROW_BY),
			     sizeof(struct pod *));
	if (grown != NULL)
		pods->entries = grown;
	if (p == NULL || grown == NULL) {
		free(p);
		pods->missed = true;
		return NULL;
	}
	p->pods = pods;
	strcpy(p->uid, uid);
	pods->entries[pods->entry_count++] = p;
	return p;
}

static void entry_listed(struct pod *p)
{
	p->life.listed = true;
	p->life.absent = p->life.gone = false;
	p->life.lacking_since = 0;
}

/* Pods with records have an entry before they are listed; without memory for it the records stay.
 */
static void entries_of_records(struct pods *pods)
{
	for (size_t i = 0; i < pods->records->baselines.count; i++) {
		const char *pod = baseline_pod(&pods->records->baselines.items[i]);
		char uid[RECORD_NAME_MAX];

		if (pod == NULL)
			continue;
		snprintf(uid, sizeof uid, "%.*s", (int)strcspn(pod, "/"), pod);
		(void)pods_note(pods, uid);
	}
}

static void entries_list_end(struct pods *pods, bool whole)
{
	ENTRIES_FOREACH (p, pods) {
		struct pod_life *l = &p->life;

		l->absent = !l->listed;
		if (l->listed || !whole)
			continue; /* what could not be read may be it */
		if (l->lacking_since == 0)
			l->lacking_since = pods->wake->now;
		l->gone = pods->wake->now - l->lacking_since >= ABSENT_USEC;
		l->sized &= !l->gone;
	}
}

/* Deletes the records of pods that are gone, and the entries of which nothing is known any more. */
static void entries_sweep(struct pods *pods)
{
	for (size_t i = pods->entry_count; i > 0; i--) {
		struct pod *p = pods->entries[i - 1];
		const struct pod_life *l = &p->life;
		bool over = l->gone || (l->lacking_since != 0 &&
					pods->wake->now - l->lacking_since >= ABSENT_MAX_USEC);

		if (p->spec != NULL || l->listed || p->room.counted)
			continue;
		/* With a wrong name the lists belong to another node. */
		if (over && !pods->host->name_wrong && !pods_has_cgroup(pods, p->uid))
			persist_forget_pod(pods->records, p->uid);
		if (l->sized || persist_has_pod(pods->records, p->uid))
			continue;
		pods->entries[i - 1] = pods->entries[--pods->entry_count];
		free(p);
	}
}

bool pods_want_list(struct pods *pods)
{
	bool any = false;

	if (pods->list_due) {
		pods->list_due = false;
		return true;
	}
	if (pods->list_wanted_at != 0 && pods->wake->now - pods->list_wanted_at < ABSENT_USEC)
		return false;
	for (size_t i = 0; i < pods->entry_count && !any; i++) {
		const struct pod *p = pods->entries[i];
		const struct pod_life *l = &p->life;

		any = l->lacking_since != 0 && pods->wake->now - l->lacking_since >= ABSENT_USEC &&
		      (l->sized || (!l->gone && persist_has_pod(pods->records, p->uid) &&
				    !pods_has_cgroup(pods, p->uid)));
	}
	if (any)
		pods->list_wanted_at = pods->wake->now;
	return any;
}

/* --- one pod --- */

/* Its containers are to be looked after. */
static int pod_enter(struct pod *p)
{
	struct pods *pods = p->pods;
	void *grown =
		reallocarray(pods->items, round_up(pods->count + 1, GROW_BY), sizeof *pods->items);

	if (grown == NULL)
		return -1;
	pods->items = grown;
	p->serial = ++pods->last_serial;
	pods->items[pods->count++] = p;
	return 0;
}

/* Only what lists say of it stays. */
static void pod_clear(struct pod *p)
{
	struct pod kept = {.pods = p->pods, .life = p->life, .room = p->room};

	memcpy(kept.uid, p->uid, sizeof kept.uid);
	assert(p->report == NULL);
	kube_pod_free(p->spec);
	free(p->members);
	if (p->path != NULL)
		above_forget(&p->pods->units->memory->above, p->path);
	free(p->path);
	free(p->error);
	*p = kept;
}

/* It is no longer looked after. for_good: deletes its records, too. */
static void pod_drop(struct pod *p, bool for_good)
{
	size_t i = 0;

	/* It was handed back, or it is gone. */
	if (for_good && persist_has_pod(p->pods->records, p->uid))
		p->life.sized = false;
	pod_unwatch(p);
	/* One that had no place may take that of an observed pod. */
	if (p->observed && p->pods->observe_full) {
		p->pods->observe_full = false;
		p->pods->list_due = true;
	}
	for (size_t k = p->pods->units->count; k > 0; k--) {
		struct managed *m = p->pods->units->items[k - 1];

		if (m->pod != p)
			continue;
		managed_lost(m);
		/* The pod has no path any more if its cgroup went first. */
		if (m->kind == UNIT_KIND_POD && m->cgroup.path != NULL)
			above_forget(&p->pods->units->memory->above, m->cgroup.path);
		if (for_good)
			persist_forget(m);
		managed_remove(m);
	}
	reporter_forget(p->report);
	p->report = NULL;
	while (p->pods->items[i] != p)
		i++;
	p->pods->items[i] = p->pods->items[--p->pods->count];
	pod_clear(p);
}

void pods_free(struct pods *pods)
{
	pods_unwatch(pods);
	ENTRIES_FOREACH (p, pods) {
		pod_clear(p);
		free(p);
	}
	free(pods->entries);
	free(pods->items);
	pods_rollouts_free(pods);
	kube_namespaces_drop(&pods->namespaces);
	*pods = (struct pods){0};
}

/* Every container keeps what belongs to it; debug containers may have been added. */
static int pod_take(struct pod *p, struct kube_pod *spec)
{
	struct pod_member *members = calloc(spec->container_count + 1, sizeof *members);

	if (members == NULL || (p->spec == NULL && pod_enter(p) < 0)) {
		free(members);
		return -1;
	}
	for (size_t i = 0; i < spec->container_count; i++)
		for (size_t k = 0; p->spec != NULL && k < p->spec->container_count; k++)
			if (strcmp(p->spec->containers[k].name, spec->containers[i].name) == 0)
				members[i].managed = p->members[k].managed;
	free(p->members);
	p->members = members;
	p->spec = spec;
	return 0;
}

/* --- what the watch says --- */

/* A pod with another uid is another pod, even with the same name. */
static void drop_namesake(struct pods *pods, const struct kube_pod *spec)
{
	PODS_FOREACH (p, pods) {
		if (strcmp(p->spec->namespace, spec->namespace) != 0 ||
		    strcmp(p->spec->name, spec->name) != 0 || strcmp(p->spec->uid, spec->uid) == 0)
			continue;
		/* A list may be from the time of its predecessor. */
		pod_drop(p, !pods->listing);
		return;
	}
}

struct pod_report *pod_reported(struct pod *p)
{
	if (p->report == NULL && p->pods->reporter != NULL && !p->awaits)
		p->report = reporter_add(p->pods->reporter, p, p->uid);
	return p->report;
}

void pod_report(struct pod *p)
{
	if ((p->why == STATE_SIZING && !p->ending) || p->leaving)
		reporter_changed(pod_reported(p));
}

static bool same_id(const struct kube_container *a, const struct kube_container *b)
{
	return b != NULL &&
	       (a->id == b->id || (a->id != NULL && b->id != NULL && strcmp(a->id, b->id) == 0));
}

/* Nothing can have appeared that is not attached: most events are of that kind. */
static bool is_settled(const struct pod *p, const struct kube_pod *old)
{
	if (old == NULL || p->level == NULL || p->level->cgroup.cg == NULL)
		return false;
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct kube_container *c = &p->spec->containers[i];
		const struct managed *m = p->members[i].managed;

		if (!same_id(c, kube_pod_container(old, c->name)) ||
		    (m != NULL && m->container.annotated && m->cgroup.cg == NULL))
			return false;
	}
	return true;
}

/* Does a pod that is not in the table enter it? One without a mode does if it was sized before: its
 * originals go back; or to remove an annotation that has nothing more to say. Its
 * namespace's annotations may set the mode, or bounds. */
static bool pod_enters(const struct pods *pods, const struct kube_pod *spec, bool asked)
{
	return asked || persist_has_pod(pods->records, spec->uid) ||
	       (!pods->namespaces_awaited && kube_pod_annotation(spec, "status") != NULL &&
		(!pod_originals_lost(pods, spec) || pod_recoverable(spec)));
}

void pods_put(struct pods *pods, struct kube_pod *spec)
{
	const struct annotation_input input = pod_annotations(pods, spec);
	bool asked = annotation_opted_in(&input), observed = false, wanted = false, first;
	/* Its namespace may have sized one with records. */
	bool known = !pods->namespaces_awaited ||
		     (pods->namespaces_late && !persist_has_pod(pods->records, spec->uid));
	struct pod *p = pods_note(pods, spec->uid);
	struct kube_pod *old = p != NULL ? p->spec : NULL;

	daemon_wake(pods->wake);
	drop_namesake(pods, spec);
	if (p != NULL) {
		entry_listed(p);
		observed = known && !p->observed && pod_observe(pods, spec);
		wanted = old != NULL || observed || pod_enters(pods, spec, asked);
		pod_recover_listed(p, spec, wanted);
	}
	if (!wanted || pod_take(p, spec) < 0) {
		kube_pod_free(spec);
		return;
	}
	for (enum resource r = 0; old != NULL && r < RESOURCE_COUNT; r++)
		p->reshaped |= (old->level_limit[r] != 0) != (spec->level_limit[r] != 0) &&
			       persist_has_pod(pods->records, spec->uid);
	p->observed |= observed;
	first = old == NULL || p->awaits;
	p->awaits = pods->namespaces_awaited && !(asked && pods->namespaces_late);
	p->recovers |= first && !p->awaits && pod_originals_lost(pods, spec) &&
		       !persist_has_pod(pods->records, spec->uid) && pod_recoverable(spec);
	POD_FOREACH (m, p)
		boost_changed(m);
	pod_apply_rules(p);
	if (p->awaits) {
		kube_pod_free(old);
		return;
	}
	if (pods->host->unsupported != NULL) {
		kube_pod_free(old);
		pod_warn_unmanaged(p, "NodeUnsupported", p->why);
		return;
	}
	pod_recover(p);
	/* First, since it finds the values of external writers in the spec. */
	reporter_decide_now(pod_reported(p), pods->wake->now);
	if (pods->cluster != NULL)
		cluster_outcomes(pods->cluster);
	pod_spec_changed(p, old);
	pod_spec_settle(p);
	p->scan |= !is_settled(p, old);
	kube_pod_free(old);
	pod_report(p);
	/* Originals are on disk with the next tick, together with all others of a list. */
	if (p->scan)
		pod_scan(p);
	if (p->path == NULL || pods->parents[0] == NULL)
		pods_watch_parents(pods);
}

void pods_gone(struct pods *pods, const char *uid)
{
	struct pod *p = pods_entry(pods, uid);

	daemon_wake(pods->wake);
	if (p != NULL)
		p->life.listed = p->life.sized = false;
	if (p != NULL && p->spec != NULL)
		pod_drop(p, true);
	/* Containers that have ended are not in the table of units. */
	persist_forget_pod(pods->records, uid);
}

void pods_seen(struct pods *pods, const char *uid)
{
	struct pod *p = pods_entry(pods, uid);

	if (p != NULL)
		entry_listed(p);
}

void pods_list_begin(struct pods *pods)
{
	footprint_trim(); /* what connecting took: the list comes on top of it */
	pods->listing = true;
	pods->missed = false;
	entries_of_records(pods);
	ENTRIES_FOREACH (p, pods)
		p->life.listed = false;
}

/* What no list names leaves the table with its cgroup. */
static void drop_absent(struct pods *pods)
{
	for (size_t i = pods->count; i > 0; i--) {
		struct pod *p = pods->items[i - 1];

		if (p->life.absent && !pods_has_cgroup(pods, p->spec->cgroup_uid))
			pod_drop(p, false);
	}
}

void pods_list_end(struct pods *pods, bool whole)
{
	daemon_wake(pods->wake);
	entries_list_end(pods, whole);
	drop_absent(pods);
	pods->listing = false;
	pods->synced = true;
	if (pods->host->unsupported == NULL)
		pods_watch_parents(pods);
	footprint_trim(); /* what the list took */
}

/* --- what the daemon says --- */

void pods_apply_rules(struct pods *pods)
{
	PODS_FOREACH (p, pods) {
		pod_apply_rules(p);
		p->scan = true;
	}
	/* Pods that no rule named before are not in the table. */
	pods->observe_full = false;
	pods->list_due =
		pods->config->pod_rule_count > 0 || pods->config->kubernetes.observe == OBSERVE_ALL;
}

void pods_set_namespaces(struct pods *pods, struct kube_namespaces *to)
{
	bool first = pods->namespaces_awaited;

	pods->namespaces_awaited = false;
	if (!first && kube_namespaces_equal(&pods->namespaces, to))
		return;
	kube_namespaces_drop(&pods->namespaces);
	pods->namespaces = *to;
	*to = (struct kube_namespaces){0};
	pods_apply_rules(pods);
	/* Those that were not looked at, or waited for this. */
	pods->list_due = true;
}

void pods_scan(struct pods *pods)
{
	bool any = false;

	PODS_FOREACH (p, pods) {
		if (!p->scan)
			continue;
		any = true;
		pod_scan(p);
	}
	if (any)
		persist_baselines(pods->records);
}

bool pod_hand_back_due(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (m->hand_back.due)
			return true;
	return false;
}

/* An entry that was handed back and is not managed any more leaves the table. */
static void sweep(struct pod *p)
{
	/* What it was before stands in them, and is to go into the spec as well. */
	if (reporter_unsent(p->report))
		return;
	for (size_t i = 0; i < p->spec->container_count; i++) {
		struct managed *m = p->members[i].managed;

		if (m == NULL || m->container.annotated || m->hand_back.due || p->ending)
			continue;
		managed_lost(m);
		persist_forget(m);
		managed_remove(m);
		p->members[i].managed = NULL;
	}
}

void pods_tick(struct pods *pods, bool review)
{
	/* New cgroups are not reported without inotify. */
	if (pods->inotify->incomplete)
		pods_scan_again(pods);
	pods_scan(pods);
	persist_baselines(pods->records);
	pods_rollouts_tick(pods);
	for (size_t i = pods->count; i > 0; i--) {
		struct pod *p = pods->items[i - 1];

		pod_spec_settle(p);
		pod_set_follows(p);
		pod_check_found(p);
		if (p->recovers && pod_recovered(p)) {
			p->recovers = false;
			pod_apply_rules(p);
		}
		sweep(p);
		if (p->leaving && !pod_hand_back_due(p) && !reporter_unsent(p->report) &&
		    (p->level == NULL || !p->level->hand_back.due))
			pod_drop(p, true);
	}
	if (!review)
		return;
	drop_absent(pods);
	entries_sweep(pods);
	pod_recover_end(pods);
	if (pods->count > 0)
		pods_watch_parents(pods);
}

void pod_warn_unmanaged(struct pod *p, const char *reason, enum state_reason why)
{
	const struct annotation_input input = pod_annotations(p->pods, p->spec);

	if (why == STATE_SIZING || p->warned == why || !annotation_opted_in(&input))
		return;
	p->warned = why;
	pod_warn(p, reason, "Resize", "%s", state_rows[why].text);
}
