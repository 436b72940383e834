// SPDX-License-Identifier: Apache-2.0
/* The room on the node, decided from the objects of the API server alone, so that a restart forgets
 * nothing. The kubelet admits a resize beside what it has allocated to the other pods; the
 * scheduler places pods beside the highest of spec, allocated and actual, and may preempt others
 * for a resize that the kubelet defers (KEP-5836). A request is raised only if both have room.
 * A resize that the kubelet had deferred all the same is tried again when others have given up as
 * much as it lacked. */
#include "agent/cluster/cluster.h"
#include "agent/kube/model/pod.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"
#include "policy/base/arithmetic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request without an answer may be stored as late as this, or be on its way to the watch. */
#define SENT_USEC USEC_PER_MIN

struct room_pod {
	char uid[REPORT_UID_MAX];
	uint64_t allocated[RESOURCE_COUNT]; /* KUBE_COUNT_ALLOCATED */
	uint64_t scheduled[RESOURCE_COUNT]; /* KUBE_COUNT_SCHEDULED */
	uint64_t sent[RESOURCE_COUNT];      /* in a request of vscaled's ... */
	usec_t sent_until;                  /* ... which counts until then */
	uint32_t deferred;                  /* RESOURCES_*: waits for more than it has allocated */
	bool listed;
	bool known; /* else it could not be read: it may have all there is */
	/* Of a resize that was deferred. */
	enum resource lacking;
	uint64_t lack;   /* 0: nothing */
	uint64_t others; /* allocated to the other pods at that time */
};

struct room {
	struct room_pod *pods; /* owned, in no order */
	size_t count;
	bool changed; /* requests have ended */
};

static struct room_pod *find(const struct room *room, const char *uid)
{
	for (size_t i = 0; i < room->count; i++)
		if (strcmp(room->pods[i].uid, uid) == 0)
			return &room->pods[i];
	return NULL;
}

static struct room_pod *add(struct room *room, const char *uid)
{
	struct room_pod *p =
		reallocarray(room->pods, room->count + 1, sizeof *p); /* a node has 250 */

	if (p == NULL)
		return NULL;
	room->pods = p;
	p += room->count++;
	*p = (struct room_pod){0};
	snprintf(p->uid, sizeof p->uid, "%s", uid);
	return p;
}

static void drop(struct room *room, struct room_pod *p)
{
	*p = room->pods[--room->count];
	room->changed = true;
}

static uint64_t others_of(const struct room *room, const struct room_pod *p, enum resource r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < room->count; i++)
		if (&room->pods[i] != p)
			sum = add_sat(sum, room->pods[i].allocated[r]);
	return sum;
}

/* The message keeps its numbers until the kubelet tries again. */
static void note_lack(struct room *room, struct room_pod *p, const struct kube_pod *pod)
{
	enum resource lacking;
	uint64_t lack;

	if (pod->pending != RESIZE_DEFERRED ||
	    !kube_parse_lack(pod->resize_message, &lacking, &lack) ||
	    (lack == p->lack && lacking == p->lacking))
		return;
	p->lacking = lacking;
	p->lack = lack;
	p->others = others_of(room, p, lacking);
}

/* It is there; NULL: no memory. */
static struct room_pod *note(struct cluster *c, const char *uid)
{
	struct room *room = c->room != NULL ? c->room : calloc(1, sizeof *room);
	struct room_pod *p = room != NULL ? find(room, uid) : NULL;

	c->room = room;
	if (room != NULL && p == NULL)
		p = add(room, uid);
	if (p != NULL)
		p->listed = true;
	return p;
}

void cluster_room_skipped(struct cluster *c, const char *uid)
{
	(void)note(c, uid);
}

void cluster_room_put(struct cluster *c, const struct kube_pod *pod)
{
	struct room_pod *p = note(c, pod->uid);
	struct room *room = c->room;

	if (p == NULL)
		return;
	p->known = true;
	p->deferred = 0;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t allocated = kube_pod_request(pod, r, KUBE_COUNT_ALLOCATED);

		room->changed |= allocated < p->allocated[r];
		p->allocated[r] = allocated;
		p->scheduled[r] = kube_pod_request(pod, r, KUBE_COUNT_SCHEDULED);
		if (pod->pending == RESIZE_DEFERRED && p->scheduled[r] > allocated)
			p->deferred |= 1u << r;
	}
	note_lack(room, p, pod);
}

void cluster_room_sent(struct cluster *c, const struct kube_pod *pod,
		       const struct report_patch *patch)
{
	struct room_pod *p = c->room != NULL ? find(c->room, pod->uid) : NULL;

	if (p == NULL)
		return;
	p->sent_until = c->wake->now + SENT_USEC;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		p->sent[r] = kube_pod_request(pod, r, KUBE_COUNT_SCHEDULED);
		for (size_t i = 0; i < patch->count; i++) {
			const struct report_item *item = &patch->item[i];
			uint64_t spec = pod->containers[item->container].spec.request[r];

			if ((item->requests & (1u << r)) && item->request[r] > spec)
				p->sent[r] = add_sat(p->sent[r], item->request[r] - spec);
		}
	}
}

/* What the other pods leave of the node; 0: less than nothing, one of them waits for it, or what it
 * has is not known. */
static uint64_t left_by_others(const struct cluster *c, const struct room_pod *own, enum resource r)
{
	uint64_t allocated = 0, scheduled = 0, all = c->node_object.allocatable[r], used;

	for (size_t i = 0; i < c->room->count; i++) {
		const struct room_pod *p = &c->room->pods[i];
		uint64_t sent = c->wake->now < p->sent_until ? p->sent[r] : 0;

		if (p == own)
			continue;
		if (!p->known || (p->deferred & (1u << r)))
			return 0;
		allocated = add_sat(allocated, MAX(p->allocated[r], sent));
		scheduled = add_sat(scheduled, MAX(p->scheduled[r], sent));
	}
	used = MAX(allocated, scheduled);
	return all - MIN(all, used);
}

uint64_t cluster_room_left(const struct cluster *c, const struct kube_pod *pod, enum resource r)
{
	const struct room_pod *own = c->room != NULL ? find(c->room, pod->uid) : NULL;
	uint64_t left, has = kube_pod_request(pod, r, KUBE_COUNT_SPEC);

	if (own == NULL || cluster_node_of(c) == NULL)
		return 0;
	left = left_by_others(c, own, r);
	return add_sat(left - MIN(left, has), kube_pod_slack(pod, r));
}

void cluster_room_gone(struct cluster *c, const char *uid)
{
	struct room_pod *p = c->room != NULL ? find(c->room, uid) : NULL;

	if (p != NULL)
		drop(c->room, p);
}

void cluster_room_list(struct cluster *c, bool end)
{
	struct room *room = c->room;

	for (size_t i = room != NULL ? room->count : 0; i-- > 0;)
		if (!end)
			room->pods[i].listed = false;
		else if (!room->pods[i].listed)
			drop(room, &room->pods[i]);
}

static void retry(struct cluster *c, struct room_pod *r)
{
	const struct pod *p = pods_find(c->pods, r->uid);

	r->lack = 0;
	if (p == NULL || !reporter_retry(c->reporter, r->uid, c->wake->now))
		return;
	pod_bound_all(p);
}

void cluster_room_tick(struct cluster *c)
{
	struct room *room = c->room;

	if (room == NULL || !room->changed)
		return;
	room->changed = false;
	for (size_t i = 0; i < room->count; i++) {
		struct room_pod *p = &room->pods[i];

		if (p->lack != 0 && add_sat(others_of(room, p, p->lacking), p->lack) <= p->others)
			retry(c, p);
	}
}

void cluster_room_free(struct cluster *c)
{
	if (c->room != NULL)
		free(c->room->pods);
	free(c->room);
	c->room = NULL;
}
