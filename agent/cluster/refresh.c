// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster/refresh.h"
#include "agent/cluster/cluster.h"
#include "agent/journal/event.h"
#include "agent/manage/wake.h"

#define RETRY_USEC USEC_PER_MIN
/* A role may be on its way until then; afterwards it is asked for this seldom. */
#define DOUBT_USEC  (5 * USEC_PER_MIN)
#define DENIED_USEC (10 * USEC_PER_MIN)

/* clang-format off */
static const struct {
	usec_t fresh_usec;
	enum event_kind event;
	const char *detail;
} kinds[REFRESH_KIND_COUNT] = {
	[REFRESH_AUTOSCALERS] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"HorizontalPodAutoscalers (role vscaled-autoscalers): those that were not read before are not respected"},
	[REFRESH_RANGES] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"LimitRanges (role vscaled-read): those that were not read before are not respected"},
	[REFRESH_NAMESPACES] = {5 * USEC_PER_MIN, EVENT_NAMESPACES_DENIED, NULL},
	/* Changes when the kubelet restarts with another configuration or release; what is outdated
	 * costs one refusal by the kubelet. */
	[REFRESH_NODE] = {USEC_PER_HOUR, EVENT_LIST_DENIED,
		"its Node (nodes: get): no request is raised unless it was read before"},
};
/* clang-format on */

static void report_denied(struct cluster *c, enum refresh_kind kind)
{
	if (c->denied & (1u << kind))
		return;
	c->denied |= 1u << kind;
	event_daemon(kinds[kind].event, &(struct daemon_event){.detail = kinds[kind].detail});
}

bool refresh_answered(struct cluster *c, enum refresh_kind kind, struct refresh *r,
		      const struct kube_answer *a, bool read)
{
	bool denied = a->error == 0 && (a->status == 403 || a->status == 404), before = r->known;
	usec_t now = c->wake->now;

	if (read) {
		*r = (struct refresh){
			.ask_at = now + kinds[kind].fresh_usec, .read = true, .known = true};
		return true;
	}
	r->ask_at = now + MAX(a->retry_after_usec, RETRY_USEC);
	if (!denied)
		r->denied_since = 0;
	else if (r->denied_since == 0)
		r->denied_since = now;
	if (!denied || now - r->denied_since < DOUBT_USEC)
		return false;
	r->ask_at = now + DENIED_USEC;
	r->known = true;
	report_denied(c, kind);
	return !before;
}

void refresh_cancel(struct cluster *c, struct refresh *r)
{
	if (r->call != NULL)
		c->port.cancel(c->port.ctx, r->call);
	r->call = NULL;
}
