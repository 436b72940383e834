// SPDX-License-Identifier: Apache-2.0
/* The room on the node, decided from the objects of the API server alone, so that a restart forgets
 * nothing. The kubelet admits a resize beside what it has allocated to the other pods; the
 * scheduler places pods beside the highest of spec, allocated and actual, and may preempt others
 * for a resize that the kubelet defers (KEP-5836). A request is raised only if both have room.
 * A resize that the kubelet had deferred all the same is tried again when others have given up as
 * much as it lacked. */
#include "agent/kube/model/pod.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "policy/base/base.h"

/* A request without an answer may be stored as late as this, or be on its way to the watch. */
#define SENT_USEC USEC_PER_MIN

static void drop(struct cluster *c, struct pod_room *room)
{
	c->room_changed |= room->counted;
	*room = (struct pod_room){.counted = false};
}

static uint64_t others_of(const struct cluster *c, const struct pod_room *own, enum resource r)
{
	uint64_t sum = 0;

	ENTRIES_FOREACH (p, c->pods)
		if (&p->room != own)
			sum = add_sat(sum, p->room.allocated[r]);
	return sum;
}

/* The message keeps its numbers until the kubelet tries again. */
static void note_lack(const struct cluster *c, struct pod_room *p, const struct kube_pod *pod)
{
	enum resource lacking;
	uint64_t lack;

	if (pod->pending != RESIZE_DEFERRED ||
	    !kube_parse_lack(pod->resize_message, &lacking, &lack) ||
	    (lack == p->lack && lacking == p->lacking))
		return;
	p->lacking = lacking;
	p->lack = lack;
	p->others = others_of(c, p, lacking);
}

/* It is there; NULL: no memory. */
static struct pod_room *note(struct cluster *c, const char *uid)
{
	struct pod *p = pods_note(c->pods, uid);

	if (p == NULL)
		return NULL;
	p->room.counted = true;
	return &p->room;
}

void cluster_room_skipped(struct cluster *c, const char *uid)
{
	(void)note(c, uid);
}

void cluster_room_put(struct cluster *c, const struct kube_pod *pod)
{
	struct pod_room *p = note(c, pod->uid);

	if (p == NULL)
		return;
	p->known = true;
	p->deferred = 0;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t allocated = kube_pod_request(pod, r, KUBE_COUNT_ALLOCATED);

		c->room_changed |= allocated < p->allocated[r];
		p->allocated[r] = allocated;
		p->scheduled[r] = kube_pod_request(pod, r, KUBE_COUNT_SCHEDULED);
		if (pod->pending == RESIZE_DEFERRED && p->scheduled[r] > allocated)
			p->deferred |= 1u << r;
	}
	note_lack(c, p, pod);
}

void cluster_room_sent(const struct cluster *c, struct pod *p, const struct report_patch *patch)
{
	p->room.sent_until = c->wake->now + SENT_USEC;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t *sent = &p->room.sent[r];

		*sent = kube_pod_request(p->spec, r, KUBE_COUNT_SCHEDULED);
		for (size_t i = 0; i < patch->count; i++) {
			const struct report_item *item = &patch->item[i];
			uint64_t spec = p->spec->containers[item->container].spec.request[r];

			if ((item->requests & (1u << r)) && item->request[r] > spec)
				*sent = add_sat(*sent, item->request[r] - spec);
		}
		if (patch->level.requests & (1u << r))
			*sent = MAX(*sent, add_sat(patch->level.request[r], p->spec->overhead[r]));
	}
}

/* What the other pods leave of the node; 0: less than nothing, one of them waits for it, or what it
 * has is not known. */
static uint64_t left_by_others(const struct cluster *c, const struct pod_room *own, enum resource r)
{
	uint64_t allocated = 0, scheduled = 0, all = c->node_object.allocatable[r], used;

	for (size_t i = 0; i < c->pods->entry_count; i++) {
		const struct pod_room *p = &c->pods->entries[i]->room;
		uint64_t sent = c->wake->now < p->sent_until ? p->sent[r] : 0;

		if (p == own || !p->counted)
			continue;
		if (!p->known || (p->deferred & (1u << r)))
			return 0;
		allocated = add_sat(allocated, MAX(p->allocated[r], sent));
		scheduled = add_sat(scheduled, MAX(p->scheduled[r], sent));
	}
	used = MAX(allocated, scheduled);
	return all - MIN(all, used);
}

uint64_t cluster_room_left(const struct cluster *c, const struct pod *p, enum resource r)
{
	uint64_t left, has = kube_pod_request(p->spec, r, KUBE_COUNT_SPEC);

	if (!p->room.counted || cluster_node_of(c) == NULL)
		return 0;
	left = left_by_others(c, &p->room, r);
	return add_sat(left - MIN(left, has), kube_pod_slack(p->spec, r));
}

void cluster_room_gone(struct cluster *c, const char *uid)
{
	struct pod *p = pods_entry(c->pods, uid);

	if (p != NULL)
		drop(c, &p->room);
}

void cluster_room_list_end(struct cluster *c)
{
	ENTRIES_FOREACH (p, c->pods)
		if (!p->life.listed)
			drop(c, &p->room);
}

void cluster_room_tick(struct cluster *c)
{
	if (!c->room_changed)
		return;
	c->room_changed = false;
	ENTRIES_FOREACH (p, c->pods) {
		struct pod_room *r = &p->room;

		if (r->lack == 0 || add_sat(others_of(c, r, r->lacking), r->lack) > r->others)
			continue;
		r->lack = 0;
		if (p->spec != NULL && reporter_retry(p->report, c->wake->now))
			pod_bound_all(p);
	}
}
