// SPDX-License-Identifier: Apache-2.0
/* The room on the node: the requests of all its pods, as the API server shows them. A resize that
 * the kubelet had deferred is tried again when others have given up as much as it lacked. */
#include "agent/cluster/cluster.h"
#include "agent/kube/model/pod.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"
#include "policy/base/arithmetic.h"
#include <stdlib.h>
#include <string.h>

struct room_pod {
	char uid[REPORT_UID_MAX];
	uint64_t request[RESOURCE_COUNT];
	bool listed;
	/* Of a resize that was deferred. */
	enum resource lacking;
	uint64_t lack;   /* 0: nothing */
	uint64_t others; /* requests of the other pods at that time */
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

/* What the scheduler and the kubelet count of it: init containers run before the others. */
static uint64_t request_of(const struct kube_pod *pod, enum resource r)
{
	uint64_t sum = 0, start = 0;

	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kube_container *k = &pod->containers[i];

		if (k->kind == CONTAINER_INIT)
			start = MAX(start, add_sat(sum, k->spec.request[r]));
		else if (k->kind != CONTAINER_EPHEMERAL)
			sum = add_sat(sum, k->spec.request[r]);
	}
	return MAX(sum, start);
}

static bool has_ended(const struct kube_pod *pod)
{
	return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static uint64_t others_of(const struct room *room, const struct room_pod *p, enum resource r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < room->count; i++)
		if (&room->pods[i] != p)
			sum = add_sat(sum, room->pods[i].request[r]);
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

static struct room *room_of(struct cluster *c)
{
	if (c->room == NULL)
		c->room = calloc(1, sizeof *c->room);
	return c->room;
}

void cluster_room_put(struct cluster *c, const struct kube_pod *pod)
{
	struct room *room = room_of(c);
	struct room_pod *p = room != NULL ? find(room, pod->uid) : NULL;

	if (room != NULL && p == NULL)
		p = add(room, pod->uid);
	if (p == NULL)
		return;
	p->listed = true;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t request = has_ended(pod) ? 0 : request_of(pod, r);

		room->changed |= request < p->request[r];
		p->request[r] = request;
	}
	note_lack(room, p, pod);
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
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			pod_set_bounds(p->members[i].managed);
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
