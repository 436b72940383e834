// SPDX-License-Identifier: Apache-2.0
/* The records of original values: made, changed, removed; persist_baselines() saves them. */
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "systemd/unit_dropin.h"
#include <stdio.h>
#include <string.h>

/* The kubelet's present cpuCFSQuotaPeriod. */
static void follow_period(struct baseline *b, uint64_t period_usec)
{
	struct unit_props p;

	if (b->limits.cpu_period_usec == period_usec)
		return;
	b->limits.cpu_quota_usec =
		cpu_quota_exact(limit_amount(&b->limits, RESOURCE_CPU), period_usec);
	b->limits.cpu_period_usec = period_usec;
	p = props_of_limits(&b->limits);
	unit_props_merge(&b->props, &p, UNIT_PROP_CPU_QUOTA);
}

/* Where a container runs now, for a restore without the daemon. */
static void follow_cgroup(const struct managed *m, struct baseline *old, uint64_t period_usec)
{
	struct baseline b = *old;

	if (m->pod == NULL || (b.cgroup != NULL && strcmp(b.cgroup, m->cgroup.path) == 0 &&
			       b.cgroup_inode == cg_id(m->cgroup.cg)))
		return;
	follow_period(&b, period_usec);
	b.cgroup = m->cgroup.path;
	b.unit = m->unit;
	b.shown = m->name;
	b.cgroup_inode = cg_id(m->cgroup.cg);
	if (baseline_put(&m->records->baselines, &b) == 0)
		persist_changed(m->records);
}

void persist_follow(const struct managed *m, uint64_t period_usec)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b != NULL)
		follow_cgroup(m, b, period_usec);
}

void persist_baseline(struct managed *m, const struct arrival *a)
{
	struct baseline *old = baseline_find(&m->records->baselines, m->key);
	struct baseline b = {0};
	int r;

	if (old != NULL) {
		if (old->high != BASELINE_HIGH_LOWERED)
			persist_changed(m->records);
		old->high = BASELINE_HIGH_LOWERED;
		follow_cgroup(m, old, m->control.kernel.cpu_period_usec);
		return;
	}
	b = (struct baseline){
		.key = m->key,
		.limits = m->control.original,
		.props = a->props,
		/* A trial may lower it at any time: any process that finds this record may lift
		 * it. */
		.high = BASELINE_HIGH_LOWERED,
		.high_before = m->control.original.mem_high,
		.cgroup_inode = cg_id(m->cgroup.cg),
		.saved_realtime_usec = m->wake->now_real,
		.cgroup = m->pod != NULL ? m->cgroup.path : NULL,
		.unit = m->pod != NULL ? m->unit : NULL,
		.shown = m->pod != NULL ? m->name : NULL,
	};
	if (m->kind == UNIT_KIND_CONTAINER)
		memcpy(b.request, pod_spec_of(m)->spec.request, sizeof b.request);
	snprintf(b.invocation_id, sizeof b.invocation_id, "%s", a->invocation_id);
	if (m->unit != NULL)
		unit_dropin_find("", m->unit, &b.dropins);
	m->originals.boost_base_milli = 0;
	r = baseline_put(&m->records->baselines, &b);
	if (r < 0)
		message_unsaved_baseline(m->table, r);
	else
		persist_changed(m->records);
	m->originals.change = m->records->changes;
}

void persist_level(const struct managed *m, const struct limits *was)
{
	const struct baseline b = {
		.key = m->key,
		.limits = *was,
		.props = m->unit != NULL ? props_of_limits(was) : PROPS_NONE,
		.high = BASELINE_HIGH_LOWERED,
		.high_before = was->mem_high,
		.saved_realtime_usec = m->wake->now_real,
		.shown = m->name,
	};

	if (baseline_put(&m->records->baselines, &b) == 0)
		persist_changed(m->records);
}

bool persist_has(const struct managed *m)
{
	return baseline_find(&m->records->baselines, m->key) != NULL;
}

void persist_forget(const struct managed *m)
{
	if (baseline_remove(&m->records->baselines, m->key))
		persist_changed(m->records);
}

void persist_left_cgroup(const struct managed *m)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL)
		return;
	free(STEAL(b->cgroup));
	free(STEAL(b->unit));
	b->cgroup_inode = 0;
	persist_changed(m->records);
}

void persist_external_high(const struct managed *m, uint64_t mem_high)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || b->high_before == mem_high)
		return;
	b->high_before = mem_high;
	persist_changed(m->records);
}

bool persist_boost_base(struct managed *m, uint64_t milli)
{
	struct baseline *b;

	if (m->originals.boost_base_milli == milli)
		return false;
	b = baseline_find(&m->records->baselines, m->key);
	if (b == NULL)
		return false;
	b->boost_base_milli = m->originals.boost_base_milli = milli;
	persist_changed(m->records);
	m->originals.boost_change = m->records->changes;
	return milli != 0;
}

bool persist_has_boost_base(const struct managed *m)
{
	return m->originals.boost_change <= m->records->on_disk;
}

void persist_adopted(const struct managed *m, enum resource r)
{
	const struct limits *o = &m->control.original;
	/* A pod's owner changes the spec, and the runtime sends systemd the same value. */
	struct unit_props stored = m->pod != NULL ? props_of_limits(o) : m->properties.stored;
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL)
		return;
	if (r == RESOURCE_CPU) {
		b->limits.cpu_quota_usec = o->cpu_quota_usec;
		b->limits.cpu_period_usec = o->cpu_period_usec;
		unit_props_merge(&b->props, &stored, UNIT_PROP_CPU_QUOTA);
	} else {
		b->limits.mem_max = o->mem_max;
		b->limits.mem_high = o->mem_high;
		b->high_before = o->mem_high;
		unit_props_merge(&b->props, &stored, UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH);
	}
	/* The owner's drop-ins replaced vscaled's: a restore leaves them where they are. */
	b->dropins |=
		r == RESOURCE_CPU ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH;
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_adopted_request(const struct managed *m, enum resource r, uint64_t value)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || b->request[r] == value)
		return;
	b->request[r] = value;
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_stored(const struct managed *m)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || m->originals.touched ||
	    unit_props_equal(&b->props, &m->properties.stored, UNIT_PROP_ALL))
		return;
	b->props = m->properties.stored;
	persist_changed(m->records);
	persist_baselines(m->records);
}

void persist_ratified(const struct managed *m, bool ratified)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || b->ratified == ratified)
		return;
	b->ratified = ratified;
	persist_changed(m->records);
}

void persist_sent(const struct managed *m, const uint64_t sent[RESOURCE_COUNT],
		  const uint64_t over[RESOURCE_COUNT])
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL || (memcmp(b->sent, sent, sizeof b->sent) == 0 &&
			  memcmp(b->sent_over, over, sizeof b->sent_over) == 0))
		return;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (sent[r] != b->sent[r])
			b->sent_before[r] = b->sent[r];
	memcpy(b->sent, sent, sizeof b->sent);
	memcpy(b->sent_over, over, sizeof b->sent_over);
	persist_changed(m->records);
}

void persist_none_late(const struct managed *m)
{
	struct baseline *b = baseline_find(&m->records->baselines, m->key);

	for (enum resource r = 0; b != NULL && r < RESOURCE_COUNT; r++)
		if (b->sent_before[r] != 0 && b->sent[r] == b->sent_over[r]) {
			b->sent_before[r] = 0;
			persist_changed(m->records);
		}
}

void persist_last_sent(const struct managed *m, enum resource r, uint64_t *ret_sent,
		       uint64_t *ret_over)
{
	const struct baseline *b = baseline_find(&m->records->baselines, m->key);

	*ret_sent = b != NULL ? b->sent[r] : 0;
	*ret_over = b != NULL ? b->sent_over[r] : 0;
}

bool persist_is_ratified(const struct managed *m)
{
	const struct baseline *b = baseline_find(&m->records->baselines, m->key);

	return b != NULL && b->ratified;
}

uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = baseline_find(&m->records->baselines, m->key);

	return b != NULL && b->request[r] != 0 ? b->request[r] : present;
}

uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present)
{
	const struct baseline *b = baseline_find(&m->records->baselines, m->key);

	if (b == NULL)
		return present;
	return limit_amount(&b->limits, r);
}

bool persist_has_pod(const struct records *records, const char *uid)
{
	char prefix[RECORD_NAME_MAX];
	size_t len;

	pod_key(uid, NULL, prefix);
	len = strlen(prefix);
	for (size_t i = 0; i < records->baselines.count; i++)
		if (strncmp(records->baselines.items[i].key, prefix, len) == 0 &&
		    strchr("/", records->baselines.items[i].key[len]) != NULL)
			return true;
	return false;
}

void persist_forget_pod(struct records *records, const char *uid)
{
	char key[RECORD_NAME_MAX];
	size_t len;

	pod_key(uid, NULL, key);
	len = strlen(key);
	for (size_t i = records->baselines.count; i > 0; i--) {
		char copy[RECORD_NAME_MAX];

		snprintf(copy, sizeof copy, "%s", records->baselines.items[i - 1].key);
		if (strncmp(copy, key, len) == 0 && strchr("/", copy[len]) != NULL &&
		    baseline_remove(&records->baselines, copy))
			persist_changed(records);
	}
}
