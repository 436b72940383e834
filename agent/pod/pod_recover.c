// SPDX-License-Identifier: Apache-2.0
/* The originals are lost and the spec holds limits that vscaled sent: taken for the originals,
 * every such loss would multiply the ceiling. They come from the status annotation where that is
 * valid; else the container is not written to. */
#include "agent/apply/apply.h"
#include "agent/base/escape.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/kube/model/published.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/pods.h"
#include "policy/base/base.h"

#define CPU_PERIOD_USEC 100000ULL

/* Any client may have written the annotation. Above the spec it counts as far as vscaled would
 * raise the limit that the spec has: a forged value gains nothing. */
static uint64_t original_limit(const struct managed *m, const struct kube_container *c,
			       const struct kube_originals *o, enum resource r)
{
	struct control as_spec = {.rule = m->container.rule.rule,
				  .pod = m->control.pod,
				  .page_bytes = m->control.page_bytes};
	uint64_t spec = c->spec.limit[r];

	if (spec == LIMIT_MAX || o->limit[r] <= spec)
		return o->limit[r] != 0 ? MIN(o->limit[r], spec) : spec;
	as_spec.resource[r].original = spec;
	return MIN(o->limit[r],
		   MAX(spec, control_ceiling(&as_spec, &m->config->tuning, r, m->host->cpu_milli)));
}

/* Without a limit only the administrator's maximum bounds what the annotation says. */
static uint64_t original_request(const struct managed *m, const struct kube_container *c,
				 const struct kube_originals *o, enum resource r)
{
	const struct config_kubernetes *k = &m->config->kubernetes;
	uint64_t most = r == RESOURCE_CPU ? k->cpu_milli.max : k->mem_bytes.max;

	if (o->request[r] == 0)
		return c->spec.request[r];
	return most != 0 ? MIN(o->request[r], MAX(most, c->spec.request[r])) : o->request[r];
}

static int put_record(struct managed *m, const struct kube_container *c,
		      const struct kube_originals *o)
{
	struct baseline b = {
		.key = m->key,
		.limits = {.cpu_quota_usec = LIMIT_MAX,
			   .cpu_period_usec = CPU_PERIOD_USEC,
			   .mem_max = LIMIT_MAX,
			   .mem_high = LIMIT_MAX},
		.shown = m->name,
		.ratified = 1,
		.holder = &m->record,
	};
	uint64_t limit[RESOURCE_COUNT];

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		limit[r] = original_limit(m, c, o, r);
		b.request[r] = MIN(original_request(m, c, o, r), limit[r]);
		b.sent[r] = c->spec.limit[r] != LIMIT_MAX ? c->spec.limit[r] : 0;
		b.sent_over[r] = b.sent[r];
	}
	if (limit[RESOURCE_CPU] != LIMIT_MAX)
		b.limits.cpu_quota_usec = cpu_quota_exact(limit[RESOURCE_CPU], CPU_PERIOD_USEC);
	b.limits.mem_max = limit[RESOURCE_MEMORY];
	b.props = props_of_limits(&b.limits);
	return persist_put(m->records, &b);
}

static bool above_spec(const struct kube_originals *o, const struct kube_container *c)
{
	return o->limit[RESOURCE_CPU] > c->spec.limit[RESOURCE_CPU] ||
	       o->limit[RESOURCE_MEMORY] > c->spec.limit[RESOURCE_MEMORY];
}

static void recover(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	const char *text = kube_pod_annotation(m->pod->spec, "status");
	enum state_reason why = STATE_ORIGINALS_UNKNOWN;
	struct kube_originals o;
	char detail[400];
	bool known =
		text != NULL && kube_originals_read(text, c->name, &o) == 0 &&
		kube_originals_fit(
			&o, c, m->container.rule.rule.resources | m->container.rule.rule.requests);

	if (known && m->control.pod.ranges_unknown && above_spec(&o, c)) {
		why = STATE_RANGES_UNREAD;
	} else if (known && put_record(m, c, &o) == 0) {
		originals_set_trust(m, ORIGINALS_TRUSTED);
		managed_set_reason(m, STATE_NO_CGROUP);
		escape_copy(text, detail, sizeof detail);
		event_tell(EVENT_ORIGINALS_RECOVERED, .who = message_who(m), .detail = detail);
		return;
	}
	if (why == STATE_ORIGINALS_UNKNOWN && m->reason != why) {
		event_tell(EVENT_ORIGINALS_UNKNOWN, .who = message_who(m),
			   .detail = state_rows[why].text);
		pod_warn(m->pod, "OriginalsUnknown", "ReadStatus", "%s is not managed: %s",
			 pod_container_of(m), state_rows[why].text);
	}
	originals_set_trust(m, ORIGINALS_UNKNOWN);
	managed_set_reason(m, why);
}

bool pod_originals_lost(const struct pods *pods, const struct kube_pod *s)
{
	return pods->records->originals_lost && s->resize_ours;
}

bool pod_recoverable(const struct kube_pod *s)
{
	const char *text = kube_pod_annotation(s, "status");
	struct kube_originals o;

	for (size_t i = 0; text != NULL && i < s->container_count; i++)
		if (kube_originals_read(text, s->containers[i].name, &o) == 0)
			return true;
	return false;
}

bool pod_recovered(const struct pod *p)
{
	bool any = false;

	POD_FOREACH (m, p) {
		bool attached = m->control.started_at != 0;

		if (m->record != NULL && !attached)
			return false;
		any |= attached;
	}
	return any;
}

void pod_recover(struct pod *p)
{
	if (!pod_originals_lost(p->pods, p->spec))
		return;
	/* Mode Off too: it is to be handed back, or may be turned on later. */
	POD_FOREACH (m, p)
		if (m->container.annotated && m->control.started_at == 0 &&
		    m->originals.trust != ORIGINALS_ACCEPTED && m->record == NULL)
			recover(m);
}

/* --- pods whose spec holds limits that vscaled sent --- */

void pod_recover_listed(struct pod *p, const struct kube_pod *s, bool in_table)
{
	if (!pod_originals_lost(p->pods, s))
		return;
	if (!p->life.sized && !in_table)
		event_tell(EVENT_ORIGINALS_UNKNOWN, .who = message_pod(s),
			   .detail = "it is not annotated, but its spec has values of vscaled, and "
				     "the saved originals are lost: compare its limits with those "
				     "of its workload");
	p->life.sized = true;
}

static uint64_t recorded(const struct pod *p, const struct kube_container *c, enum resource r)
{
	const struct baseline *b = persist_container(p, c);
	uint64_t limit = b != NULL ? limit_amount(&b->limits, r) : LIMIT_MAX;

	return limit != LIMIT_MAX ? limit : c->spec.limit[r];
}

/* What the kubelet gives a pod's level, by the spec and by the originals. */
struct level_sums {
	uint64_t spec, original;
};

static struct level_sums sums_of(const struct pod *p, enum resource r)
{
	struct level_sums s = {0};
	uint64_t beside = 0, start = 0; /* by the originals */

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct kube_container *c = &p->spec->containers[i];
		uint64_t limit = c->spec.limit[r];

		if (c->kind == CONTAINER_INIT && limit != LIMIT_MAX)
			start = MAX(start, add_sat(beside, limit));
		if (c->kind >= CONTAINER_INIT)
			continue;
		s.spec = add_sat(s.spec, limit);
		s.original = add_sat(s.original, recorded(p, c, r));
		if (c->kind == CONTAINER_SIDECAR)
			beside = add_sat(beside, recorded(p, c, r));
	}
	s.spec = MAX(s.spec, kube_pod_start(p->spec, r, KUBE_COUNT_LIMIT));
	s.original = MAX(s.original, start);
	return s;
}

/* Its own limit in the spec, likewise as far as vscaled would raise it; 0: it stays. */
static uint64_t level_told(const struct pod *p, enum resource r)
{
	const char *text = kube_pod_annotation(p->spec, "status");
	struct kube_originals o = {0};

	if (!pod_originals_lost(p->pods, p->spec) || p->spec->level_limit[r] == 0 || text == NULL ||
	    kube_originals_read(text, NULL, &o) < 0)
		return 0;
	return MIN(o.limit[r], 4 * p->spec->level_limit[r]);
}

/* What the level was: the originals of its containers, and what it has above the spec's (overhead).
 * What stands may also be less than the spec: then nothing is known to be on top. */
static uint64_t level_of(const struct pod *p, enum resource r, uint64_t stands)
{
	struct level_sums sums = sums_of(p, r);
	uint64_t told = level_told(p, r);

	if (stands != LIMIT_MAX && told != 0 && told != p->spec->level_limit[r])
		return add_sat(told, p->spec->overhead[r]);
	if (stands == LIMIT_MAX || p->spec->level_limit[r] != 0 || sums.spec == LIMIT_MAX ||
	    sums.original == sums.spec)
		return stands;
	return add_sat(sums.original, sub_sat(stands, sums.spec));
}

void pod_recover_level(struct managed *m, const struct limits *stands)
{
	const struct pod *p = m->pod;
	uint64_t cpu = cpu_milli_of(stands->cpu_quota_usec, stands->cpu_period_usec), cpu_was;
	struct limits was = *stands;

	if (m->record != NULL)
		return;
	cpu_was = level_of(p, RESOURCE_CPU, cpu);
	was.mem_max = level_of(p, RESOURCE_MEMORY, stands->mem_max);
	if (cpu_was == cpu && was.mem_max == stands->mem_max)
		return;
	if (cpu_was != cpu)
		was.cpu_quota_usec = cpu_quota_exact(cpu_was, stands->cpu_period_usec);
	persist_level(m, &was);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (level_told(p, r) != 0)
			persist_sent(m, r, p->spec->level_limit[r], level_told(p, r));
}

void pod_level_keep(struct pod *p)
{
	const struct baseline *b = p->level != NULL ? p->level->record : NULL;

	for (enum resource r = 0; b != NULL && r < RESOURCE_COUNT; r++) {
		uint64_t has = limit_amount(&b->limits, r);
		uint64_t least = add_sat(sums_of(p, r).original, p->spec->overhead[r]);

		if (p->spec->level_limit[r] == 0 && has < least)
			pod_level_adopt(p, r, has, least);
	}
}

bool pod_in_doubt(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (m->originals.trust == ORIGINALS_UNKNOWN)
			return true;
	return false;
}

void pod_recover_end(struct pods *pods)
{
	bool in_doubt = false;

	if (!pods->records->originals_lost || !pods->synced || pods->missed)
		return;
	PODS_FOREACH (p, pods)
		if (pod_in_doubt(p))
			in_doubt = p->scan = true;
	if (in_doubt)
		return;
	ENTRIES_FOREACH (p, pods)
		if (p->life.sized && !persist_has_pod(pods->records, p->uid))
			return;
	persist_originals_found(pods->records);
}
