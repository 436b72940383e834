// SPDX-License-Identifier: Apache-2.0
/* Keeps connections to the API server open for resizes: the handshake of a new one runs in the loop
 * and holds up the raises of a growing container. */
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"

/* kube-apiserver closes a connection that had no request for 90 s. */
#define EVERY_USEC (75 * USEC_PER_SEC)
/* Where a proxy closes it earlier it is opened again after this time, doubled with each failure up
 * to EVERY_USEC: a thousand agents must not open connections to an overloaded server. */
#define AGAIN_USEC   (10 * USEC_PER_SEC)
#define TIMEOUT_USEC (10 * USEC_PER_SEC)
/* More pods than one may grow at the same time. */
#define CONNECTIONS_MAX 2

static bool may_lead(const struct pod *p)
{
	if (p->why != NULL || p->leaving || p->ending)
		return false;
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *m = p->members[i].managed;

		if (m != NULL && m->container.annotated && m->state == UNIT_MANAGED &&
		    m->control.rule.mode != MODE_OFF &&
		    m->control.resource[RESOURCE_MEMORY].managed)
			return true;
	}
	return false;
}

/* The pods whose memory limits may have to be sent at once, up to CONNECTIONS_MAX. */
static size_t needed(const struct cluster *c)
{
	size_t n = 0;

	if (c->units->paused || !reporter_offered(c->reporter))
		return 0;
	for (size_t i = 0; i < c->pods->count && n < CONNECTIONS_MAX; i++)
		n += may_lead(c->pods->items[i]);
	return n;
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;

	if (a->error != 0 || a->status / 100 != 2)
		c->warm_failed = true;
}

static usec_t next_wait(const struct cluster *c, bool closed)
{
	usec_t wait = MAX(c->warm_wait, AGAIN_USEC);
	bool soon = c->wake->now - c->warmed_at < wait + AGAIN_USEC / 2;

	return c->warm_failed || (closed && soon) ? MIN(2 * wait, EVERY_USEC) : AGAIN_USEC;
}

void cluster_warm_tick(struct cluster *c)
{
	/* From the server's memory, and without a right of the agent's. */
	const struct kube_request request = {
		.method = "GET", .path = "/version", .timeout_usec = TIMEOUT_USEC};
	usec_t now = c->wake->now, since = now - c->warmed_at;
	bool first = c->warmed_at == 0, closed;
	size_t count;

	if (!kube_watch_state(c->watch)->healthy ||
	    (!first && since < MAX(c->warm_wait, AGAIN_USEC)) || kube_client_requests(c->client))
		return;
	count = needed(c);
	closed = kube_client_idle(c->client) < count;
	if (count == 0 || (!first && since < EVERY_USEC && !closed && !c->warm_failed))
		return;
	c->warm_wait = first ? 0 : next_wait(c, closed);
	c->warm_failed = false;
	c->warmed_at = now;
	/* At the same time, each takes a connection of its own. */
	for (size_t i = 0; i < count; i++)
		if (c->port.start(c->port.ctx, &request, on_answer, c, NULL) < 0)
			return;
}
