// SPDX-License-Identifier: Apache-2.0
/*
 * The originals are lost (a new disk, a wiped folder, a file of a newer version), and the spec
 * holds sizes of ours. To take these for the originals would lose the true ones for good and let
 * every such loss multiply the ceiling. So they come from the pod's own status annotation where
 * that checks out; else the container is not written to, and that is told.
 */
#include "agent/daemon.h"
#include "agent/kube/originals.h"
#include <stdio.h>
#include <string.h>

#define CPU_PERIOD_USEC 100000ULL

static const char unknown_why[] =
	"its original limits are not known: the saved ones are lost, the "
	"spec holds sizes of vscaled, and vscaled.dev/status does not "
	"have them; vscalectl resume takes the present limits as original";

static void tell_unknown(struct managed *m)
{
	const struct pod_hooks *h = &m->daemon->hooks;
	char text[512];

	report_originals_unknown(m, unknown_why);
	if (h->note == NULL)
		return;
	snprintf(text, sizeof text, "%s is not managed: %s", pod_container_of(m), unknown_why);
	h->note(h->ctx, m->pod->spec, "Warning", "OriginalsUnknown", "ReadStatus", text);
}

static int put_record(struct managed *m, const struct kube_container *c,
		      const struct kube_originals *o)
{
	struct daemon *d = m->daemon;
	struct baseline b = {
		.key = m->key,
		.limits = {.cpu_quota_usec = LIMIT_MAX,
			   .cpu_period_usec = CPU_PERIOD_USEC,
			   .mem_max = LIMIT_MAX,
			   .mem_high = LIMIT_MAX},
		.high = BASELINE_HIGH_LOWERED,
		.high_before = LIMIT_MAX,
		.saved_realtime_usec = d->now_real,
		.shown = m->name,
		.ratified = 1,
	};
	uint64_t limit[RESOURCE_COUNT];

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		limit[r] = o->limit[r] != 0 ? o->limit[r] : c->spec.limit[r];
		b.request[r] = o->request[r] != 0 ? o->request[r] : c->spec.request[r];
		b.sent[r] = c->spec.limit[r] != LIMIT_MAX ? c->spec.limit[r] : 0;
		b.sent_over[r] = b.sent[r];
	}
	if (limit[RESOURCE_CPU] != LIMIT_MAX)
		b.limits.cpu_quota_usec = cpu_quota_of(limit[RESOURCE_CPU], CPU_PERIOD_USEC);
	b.limits.mem_max = limit[RESOURCE_MEMORY];
	b.props = props_of_limits(&b.limits);
	return baseline_put(&d->baselines, &b);
}

/* What the pod's own limits are above those that it had. */
static void note_excess(struct pod *p, const struct kube_container *c,
			const struct kube_originals *o)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (o->limit[r] != 0 && c->spec.limit[r] != LIMIT_MAX)
			p->excess[r] += c->spec.limit[r] - o->limit[r];
}

static void recover(struct pod *p, size_t i)
{
	const struct kube_container *c = &p->spec->containers[i];
	const char *text = kube_pod_annotation(p->spec, "status");
	struct managed *m = p->members[i].managed;
	struct kube_originals o;
	bool known = text != NULL && kube_originals_read(text, c->name, &o) == 0 &&
		     kube_originals_fit(&o, c, m->own.rule.resources);

	if (known && put_record(m, c, &o) == 0) {
		p->daemon->baselines_dirty = true;
		note_excess(p, c, &o);
		m->originals_unknown = false;
		m->state = UNIT_WAITING;
		m->state_reason = NULL;
		report_originals_recovered(m, text);
		return;
	}
	if (!m->originals_unknown)
		tell_unknown(m);
	m->originals_unknown = true;
	m->state = UNIT_UNMANAGED;
	m->state_reason = unknown_why;
}

void pod_recover(struct pod *p)
{
	const struct daemon *d = p->daemon;

	if (!d->originals_lost || !p->spec->resize_ours)
		return;
	for (size_t i = 0; i < p->spec->container_count; i++) {
		struct managed *m = p->members[i].managed;

		if (m != NULL && m->ours && m->own.rule.mode != MODE_OFF &&
		    m->control.started_at == 0 && !m->originals_accepted && !persist_has(d, m))
			recover(p, i);
	}
}

bool pod_recover_level(const struct pod *p, const struct limits *stands, struct limits *ret)
{
	struct limits l = *stands;

	if (p->excess[RESOURCE_CPU] == 0 && p->excess[RESOURCE_MEMORY] == 0)
		return false;
	if (l.cpu_quota_usec != LIMIT_MAX) {
		uint64_t milli = cpu_milli_of(l.cpu_quota_usec, l.cpu_period_usec);

		l.cpu_quota_usec = cpu_quota_of(milli - MIN(milli - 1, p->excess[RESOURCE_CPU]),
						l.cpu_period_usec);
	}
	if (l.mem_max != LIMIT_MAX)
		l.mem_max -= MIN(l.mem_max, p->excess[RESOURCE_MEMORY]);
	*ret = l;
	return true;
}

bool pod_in_doubt(const struct pod *p)
{
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL && p->members[i].managed->originals_unknown)
			return true;
	return false;
}

void pod_recover_end(struct daemon *d)
{
	if (!d->originals_lost || !d->pods.synced)
		return;
	for (size_t i = 0; i < d->pods.count; i++)
		if (pod_in_doubt(d->pods.items[i]))
			return;
	d->originals_lost = false;
	persist_originals_found(d);
}
