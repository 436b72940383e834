// SPDX-License-Identifier: Apache-2.0
#include "agent/pod/pod_guess.h"
#include "agent/apply/apply.h"
#include "agent/apply/properties.h"
#include "agent/apply/release.h"
#include "agent/config/config.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "agent/pod/pod_rule.h"
#include "cgroup/writer.h"
#include "policy/control/control.h"
#include <stdio.h>
#include <string.h>

const struct pod_child *pod_child_of_id(const struct pod_children *all, const char *id)
{
	for (size_t i = 0; id != NULL && i < all->count; i++)
		if (strcmp(all->item[i].name.id, id) == 0)
			return &all->item[i];
	return NULL;
}

/* --- before: what can it be? --- */

bool pod_child_is_unknown(const struct pod *p, const struct pod_child *c)
{
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *m = p->members[i].managed;

		if (p->spec->containers[i].id != NULL &&
		    strcmp(p->spec->containers[i].id, c->name.id) == 0)
			return false;
		if (m != NULL && m->cgroup.cg != NULL && strcmp(m->cgroup.path, c->path) == 0)
			return false;
	}
	return true;
}

/* An init or ephemeral container that ran to its end does not come back while its pod's sandbox
 * lives. Should the sandbox be made anew, the API server's report corrects the guess. */
static bool has_ended(const struct kube_container *c)
{
	return c->kind >= CONTAINER_INIT && c->id != NULL && !c->running;
}

static bool is_missing(const struct pod *p, size_t i, const struct pod_children *all)
{
	const struct managed *m = p->members[i].managed;
	const struct kube_container *c = &p->spec->containers[i];

	return (m == NULL || m->cgroup.cg == NULL) && !has_ended(c) &&
	       pod_child_of_id(all, c->id) == NULL;
}

const struct pod_member *pod_only_missing(const struct pod *p, const struct pod_children *all)
{
	const struct pod_member *found = NULL;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		if (!is_missing(p, i, all))
			continue;
		if (found != NULL)
			return NULL;
		found = &p->members[i];
	}
	return found;
}

/* The runtime creates it with what the kubelet admitted last: the spec, or the status. */
bool pod_has_limits_of(const struct kube_container *c, const struct limits *stands)
{
	const uint64_t now[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = cpu_milli_of(stands->cpu_quota_usec, stands->cpu_period_usec),
		[RESOURCE_MEMORY] = stands->mem_max,
	};

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (!limit_same_file(r, now[r], c->spec.limit[r], stands->cpu_period_usec) &&
		    !(c->has_status &&
		      limit_same_file(r, now[r], c->status.limit[r], stands->cpu_period_usec)))
			return false;
	return true;
}

/* --- after: it is another one's --- */

void pod_note_guess(struct managed *m, const struct limits *found)
{
	m->container.attach = persist_has(m) ? ATTACH_GUESSED : ATTACH_GUESSED_NEW;
	m->container.found = *found;
}

/* The index of the container whose cgroup this is; SIZE_MAX: of no other one. */
static size_t owner_of(const struct pod *p, size_t i, const struct pod_children *all)
{
	const struct managed *m = p->members[i].managed;
	const struct pod_child *own = pod_child_of_id(all, p->spec->containers[i].id);
	size_t found = SIZE_MAX;

	for (size_t k = 0; k < p->spec->container_count; k++) {
		const struct pod_child *named = pod_child_of_id(all, p->spec->containers[k].id);

		if (k != i && named != NULL && strcmp(named->path, m->cgroup.path) == 0)
			return k;
	}
	/* It has a cgroup of its own by now: this one is of the one that is missing. */
	if (own == NULL || strcmp(own->path, m->cgroup.path) == 0)
		return SIZE_MAX;
	for (size_t k = 0; k < p->spec->container_count; k++) {
		if (k == i || !is_missing(p, k, all))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = k;
	}
	return found;
}

/* Did vscaled write this value, to the file or through systemd? */
static bool is_ours(const struct managed *m, enum resource r, uint64_t value)
{
	uint32_t prop = r == RESOURCE_CPU ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX;
	uint64_t sent = r == RESOURCE_CPU ? cpu_milli_of(m->properties.sent.cpu_quota_per_sec_usec,
							 USEC_PER_SEC)
					  : m->properties.sent.mem_max;

	return limit_same(r, value, m->control.resource[r].limit) ||
	       ((m->properties.sent_mask & prop) && limit_same(r, value, sent));
}

/* The limits from before the first write; a later value of an external writer stays. */
static struct limits goes_back(const struct managed *m)
{
	struct limits l = m->container.found;
	struct usage u = {0};

	if (cg_read(m->cgroup.cg, USAGE_CPU_LIMIT | USAGE_MEM_LIMIT, &u) < 0)
		return l;
	unit_fill_absent(m, &u);
	if (!is_ours(m, RESOURCE_CPU,
		     cpu_milli_of(u.limits.cpu_quota_usec, u.limits.cpu_period_usec))) {
		l.cpu_quota_usec = u.limits.cpu_quota_usec;
		l.cpu_period_usec = u.limits.cpu_period_usec;
	}
	if (!is_ours(m, RESOURCE_MEMORY, u.limits.mem_max))
		l.mem_max = u.limits.mem_max;
	if (u.limits.mem_high != m->control.kernel.mem_high)
		l.mem_high = u.limits.mem_high;
	return l;
}

/* The values to restore are the owner's from before the first write, unless they are on record. */
static bool note_originals(struct pod *p, const struct managed *m, const struct kube_container *c,
			   const struct limits *l)
{
	char key[RECORD_NAME_MAX], shown[RECORD_NAME_MAX];
	const struct baseline b = {
		.key = key,
		.limits = *l,
		.props = m->unit != NULL ? props_of_limits(l) : PROPS_NONE,
		.high = BASELINE_HIGH_LOWERED,
		.high_before = l->mem_high,
		.cgroup_inode = cg_id(m->cgroup.cg),
		.saved_realtime_usec = p->pods->wake->now_real,
		.cgroup = m->cgroup.path,
		.unit = m->unit,
		.shown = shown,
	};

	pod_key(p->spec->uid, c->name, key);
	snprintf(shown, sizeof shown, "%s/%s/%s", p->spec->namespace, p->spec->name, c->name);
	if (baseline_find(&p->pods->records->baselines, key) != NULL)
		return true;
	if (persist_put(p->pods->records, &b) < 0)
		return false;
	persist_baselines(p->pods->records);
	return true;
}

/* Memory only as far as its use allows: cg_write() checks a lower limit. */
static void put_back(const struct managed *m, const struct limits *f)
{
	const struct tuning_memory *t = &m->config->tuning.memory;
	const struct change steps[] = {
		{.knob = KNOB_CPU_MAX,
		 .to = cpu_quota_in_file(f),
		 .period_usec = f->cpu_period_usec},
		{.knob = KNOB_MEM_HIGH, .to = f->mem_high, .margin_bytes = t->margin_min_bytes},
		{.knob = KNOB_MEM_MAX, .to = f->mem_max, .margin_bytes = t->margin_min_bytes},
	};

	/* What fails here is tried again from the record. */
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		(void)cg_write(m->cgroup.cg, &steps[i]);
}

/* It has not run in this cgroup: what was learned of it there is not its own. */
static void forget_guess(struct managed *m)
{
	bool first = m->container.attach == ATTACH_GUESSED_NEW;

	m->container.attach = ATTACH_CONFIRMED;
	if (first) {
		persist_forget(m);
		control_forget_start(&m->control);
		originals_forget(m);
	} else {
		persist_left_cgroup(m);
	}
	property_cancel(m);
}

/* The originals of the true owner are restored from its record, until that succeeds. */
static void give_to(struct pod *p, size_t k, char *unit)
{
	struct managed *owner = p->members[k].managed;

	if (owner == NULL)
		pod_apply_rules(p); /* it has a record now, so it is to be handed back */
	owner = p->members[k].managed;
	if (owner == NULL || owner->cgroup.cg != NULL) {
		free(unit);
		return;
	}
	managed_set_unit(owner, unit);
	/* A managed one is attached in this search and sized by its own laws. */
	if (owner->container.annotated)
		property_request(owner, false);
	else
		lifecycle_release(owner, "its cgroup was taken for that of another container");
}

static void release(struct pod *p, size_t i, size_t k)
{
	struct managed *m = p->members[i].managed;
	struct managed *owner = p->members[k].managed;
	const struct kube_container *c = &p->spec->containers[k];
	bool touched = m->originals.touched;
	struct limits back;

	unit_brake_off(m);
	back = goes_back(m);
	limits_as_spec(&back, c->spec.limit[RESOURCE_CPU]);
	if (touched && !note_originals(p, m, c, &back))
		return; /* no memory: the next search tries again */
	event_tell(EVENT_CGROUP_RELEASED, .who = message_who(m), .detail = c->name);
	if (touched)
		put_back(m, &back);
	/* What it ran in before does not exist any more: else it would not have been missing. */
	if (owner != NULL)
		managed_lost(owner);
	managed_lost(m);
	forget_guess(m);
	/* Where vscaled wrote nothing, nothing is to be restored. */
	if (touched)
		give_to(p, k, STEAL(m->unit));
	persist_baselines(p->pods->records);
}

void pod_check_guesses(struct pod *p, const struct pod_children *all)
{
	for (size_t i = 0; i < p->spec->container_count; i++) {
		struct managed *m = p->members[i].managed;
		const struct pod_child *own = pod_child_of_id(all, p->spec->containers[i].id);
		size_t k;

		if (m == NULL || m->cgroup.cg == NULL || m->container.attach == ATTACH_CONFIRMED)
			continue;
		if (own != NULL && strcmp(own->path, m->cgroup.path) == 0) {
			/* The API server reports the same. */
			m->container.attach = ATTACH_CONFIRMED;
			continue;
		}
		k = owner_of(p, i, all);
		if (k != SIZE_MAX)
			release(p, i, k);
	}
}
