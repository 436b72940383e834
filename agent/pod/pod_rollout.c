// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/pods.h"
#include <stdio.h>
#include <string.h>

/* A workload may be away from the node this long, while its pods are replaced. A stopped rollout is
 * remembered for longer: until its pods have another one, or too many are. */
#define AWAY_USEC USEC_PER_HOUR
/* After a save that failed, and while one is under way. */
#define SAVE_AGAIN_USEC USEC_PER_MIN

/* --- the rollouts of the node */

/* "shop/Deployment/web" */
static void name_of(const struct kube_pod *s, char ret[static RECORD_NAME_MAX])
{
	snprintf(ret, RECORD_NAME_MAX, "%s/%s/%s", s->namespace, kube_pod_kind(s), s->workload);
}

static bool is_of(const struct pod_rollout *r, const struct kube_pod *s)
{
	char name[RECORD_NAME_MAX];

	name_of(s, name);
	return strcmp(r->workload, name) == 0;
}

static struct pod_rollout *find(const struct pods *pods, const struct kube_pod *s, uint32_t percent)
{
	for (size_t i = 0; i < pods->rollout_count; i++)
		if (pods->rollouts[i].percent == percent && is_of(&pods->rollouts[i], s))
			return &pods->rollouts[i];
	return NULL;
}

static void forget(struct pods *pods, size_t i)
{
	if (pods->rollouts[i].hurt != ROLLOUT_UNHURT)
		pods->rollouts_save_at = pods->wake->now;
	free(pods->rollouts[i].workload);
	pods->rollouts[i] = pods->rollouts[--pods->rollout_count];
}

static void forget_oldest(struct pods *pods)
{
	size_t oldest = 0;

	for (size_t i = 1; i < pods->rollout_count; i++)
		if (pods->rollouts[i].seen_at < pods->rollouts[oldest].seen_at)
			oldest = i;
	forget(pods, oldest);
}

/* NULL: no memory. */
static struct pod_rollout *add(struct pods *pods, const char *workload, uint32_t percent)
{
	struct pod_rollout *grown, *r;

	if (pods->rollout_count == ROLLOUT_STOPS_MAX)
		forget_oldest(pods);
	grown = reallocarray(pods->rollouts, pods->rollout_count + 1, sizeof *grown);
	if (grown == NULL)
		return NULL;
	pods->rollouts = grown;
	r = &grown[pods->rollout_count];
	*r = (struct pod_rollout){.percent = percent};
	r->workload = strdup(workload);
	if (r->workload == NULL)
		return NULL;
	pods->rollout_count++;
	return r;
}

static struct pod_rollout *find_or_add(struct pods *pods, const struct kube_pod *s,
				       uint32_t percent)
{
	struct pod_rollout *r = find(pods, s, percent);
	char workload[RECORD_NAME_MAX];

	name_of(s, workload);
	return r != NULL ? r : add(pods, workload, percent);
}

const struct pod_rollout *pod_rollout_of(const struct pod *p, const struct container_rule *rule)
{
	return rule->has_rollout ? find(p->pods, p->spec, rule->rollout_percent) : NULL;
}

void pods_rollouts_free(struct pods *pods)
{
	while (pods->rollout_count > 0)
		forget(pods, 0);
	free(STEAL(pods->rollouts));
}

void pod_rollout_apply(const struct pod *p, struct container_rule *rule)
{
	const struct kube_pod *s = p->spec;
	const struct pod_rollout *r = pod_rollout_of(p, rule);

	if (!rule->has_rollout)
		return;
	if (!rollout_chooses(s->namespace, s->workload, s->name, rule->rollout_percent))
		rule->rollout = ROLLOUT_UNSIZED;
	else
		rule->rollout =
			r != NULL && r->hurt != ROLLOUT_UNHURT ? ROLLOUT_STOPPED : ROLLOUT_SIZED;
	/* Which share it belongs to may be what is wrong. */
	if (rule->rollout == ROLLOUT_STOPPED ||
	    (rule->rollout == ROLLOUT_UNSIZED && !rule->rule.freeze))
		rule->rule.mode = MODE_OFF;
}

/* --- counting */

/* Since the last time; counted from the first sample on. */
static struct tally counted(struct managed *m)
{
	const struct control *c = &m->control;
	struct tally_counters *before = &m->container.counters, now = *before;
	usec_t since = m->container.counted_at;
	struct tally more = {0};

	if (c->last_at == 0 || m->cgroup.cg == NULL) {
		if (since != 0)
			m->container.counted_at = m->wake->now;
		return more;
	}
	if (c->sample.have & USAGE_THROTTLE) {
		now.periods = c->sample.nr_periods;
		now.throttled = c->sample.nr_throttled;
	}
	now.kills = c->resource[RESOURCE_MEMORY].counters.oom_kills;
	now.undos = c->resource[RESOURCE_CPU].counters.undos +
		    c->resource[RESOURCE_MEMORY].counters.undos;
	if (since != 0)
		more = tally_between(before, &now, m->wake->now - since);
	*before = now;
	m->container.counted_at = m->wake->now;
	return more;
}

static void count_container(struct managed *m)
{
	const struct container_rule *rule = &m->container.rule;
	const struct tally more = counted(m);
	usec_t now = m->wake->now;
	struct pod_rollout *r;

	tally_add(&m->container.day, TALLY_DAY_SLOT_USEC, &more, now);
	if (!rule->has_rollout || !m->container.annotated)
		return;
	r = find_or_add(m->pod->pods, m->pod->spec, rule->rollout_percent);
	if (r == NULL)
		return;
	r->seen_at = now;
	rollout_count(&r->state, rule->rollout, &more, now);
}

/* --- harm */

static bool has_part(const struct pod *p, const struct pod_rollout *r, enum rollout_part part)
{
	if (!is_of(r, p->spec))
		return false;
	POD_FOREACH (m, p)
		if (m->container.rule.has_rollout &&
		    m->container.rule.rollout_percent == r->percent &&
		    m->container.rule.rollout == part)
			return true;
	return false;
}

static void report_stop(const struct pod *p, const struct pod_rollout *r)
{
	const struct tally s = tally_sum(&r->state.sized, ROLLOUT_SLOT_USEC, p->pods->wake->now);
	const struct tally u = tally_sum(&r->state.unsized, ROLLOUT_SLOT_USEC, p->pods->wake->now);
	char text[640];

	snprintf(text, sizeof text,
		 "%.63s/%.253s, %u %%: the sized pods were %s (within an hour %llu OOM kills, %llu "
		 "undone "
		 "decreases, throttled in %.1f %% of the periods; the others %llu, %llu, %.1f %%)",
		 p->spec->namespace, p->spec->workload, r->percent, rollout_hurt_texts[r->hurt],
		 (unsigned long long)s.kills, (unsigned long long)s.undos,
		 (double)tally_throttled_ppm(&s) / 10000, (unsigned long long)u.kills,
		 (unsigned long long)u.undos, (double)tally_throttled_ppm(&u) / 10000);
	event_tell(EVENT_ROLLOUT_STOPPED, .who = message_pod(p->spec), .detail = text);
	pod_warn(p, "RolloutStopped", "Rollout", "%s", text);
}

static void stop(struct pods *pods, struct pod_rollout *r, enum rollout_hurt hurt)
{
	bool reported = false;

	r->hurt = hurt;
	pods->rollouts_save_at = pods->wake->now;
	PODS_FOREACH (p, pods) {
		if (!has_part(p, r, ROLLOUT_SIZED))
			continue;
		if (!reported)
			report_stop(p, r);
		reported = true;
		pod_apply_rules(p);
	}
}

/* Its pods have another share now, and so a rollout that begins. */
static bool is_replaced(const struct pods *pods, const struct pod_rollout *r)
{
	bool replaced = false;

	PODS_FOREACH (p, pods) {
		if (!is_of(r, p->spec))
			continue;
		POD_FOREACH (m, p) {
			if (!m->container.annotated)
				continue;
			if (m->container.rule.has_rollout &&
			    m->container.rule.rollout_percent == r->percent)
				return false;
			replaced = true;
		}
	}
	return replaced;
}

static void forget_old(struct pods *pods)
{
	/* Without the annotations of namespaces the shares are not known. */
	if (pods->namespaces_awaited)
		return;
	for (size_t i = pods->rollout_count; i > 0; i--) {
		const struct pod_rollout *r = &pods->rollouts[i - 1];
		bool away = pods->wake->now - r->seen_at > AWAY_USEC;

		if (r->seen_at != pods->wake->now &&
		    ((away && r->hurt == ROLLOUT_UNHURT) || is_replaced(pods, r)))
			forget(pods, i - 1);
	}
}

/* --- on disk */

void pods_rollouts_load(struct pods *pods)
{
	OWN(rollout_stops_free) struct rollout_stops stops = {0};

	persist_load_rollouts(pods->records, &stops);
	for (size_t i = 0; i < stops.count; i++) {
		struct pod_rollout *r = add(pods, stops.items[i].workload, stops.items[i].percent);

		if (r != NULL)
			r->hurt = (enum rollout_hurt)stops.items[i].hurt;
	}
	pods->rollouts_save_at = 0;
}

static void save_stops(struct pods *pods)
{
	OWN(rollout_stops_free) struct rollout_stops stops = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < pods->rollout_count; i++)
		if (pods->rollouts[i].hurt != ROLLOUT_UNHURT)
			r = rollout_stops_add(&stops, pods->rollouts[i].workload,
					      pods->rollouts[i].percent, pods->rollouts[i].hurt);
	if (r == 0)
		r = persist_rollouts(pods->records, &stops);
	pods->rollouts_save_at = r < 0 ? pods->wake->now + SAVE_AGAIN_USEC : 0;
}

void pods_rollouts_tick(struct pods *pods)
{
	PODS_FOREACH (p, pods)
		POD_FOREACH (m, p)
			count_container(m);
	for (size_t i = 0; i < pods->rollout_count; i++) {
		struct pod_rollout *r = &pods->rollouts[i];
		enum rollout_hurt hurt = rollout_check(&r->state, pods->wake->now);

		if (r->hurt == ROLLOUT_UNHURT && hurt != ROLLOUT_UNHURT)
			stop(pods, r, hurt);
	}
	forget_old(pods);
	if (pods->rollouts_save_at == 0 && persist_rollouts_lost(pods->records))
		pods->rollouts_save_at = pods->wake->now + SAVE_AGAIN_USEC;
	if (pods->rollouts_save_at != 0 && pods->wake->now >= pods->rollouts_save_at)
		save_stops(pods);
}
