// SPDX-License-Identifier: Apache-2.0
/* The pod's own limits: the sum of its containers' and what the kubelet had put on top (overhead,
 * an init container that needs more). One of spec.resources stays as it is, unless it follows them
 * too, or goes back. "max" is never replaced by a number, and the limits are never below those in
 * the containers' cgroups. */
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "cgroup/writer.h"
#include <errno.h>
#include <string.h>

/* What one container may use: now, after the current plan, or when it runs again. */
static uint64_t present_of(const struct pod *p, size_t i, enum resource r)
{
	const struct pod_member *member = &p->members[i];
	const struct managed *m = member->managed;
	const struct control *c = m != NULL ? &m->control : NULL;
	uint64_t spec = p->spec->containers[i].spec.limit[r], value;

	if (m == NULL || c->started_at == 0)
		return member->why != STATE_SIZING ? member->limit[r] : spec;
	if (m->hand_back.due)
		return MAX(limit_amount(&c->kernel, r), c->resource[r].original);
	if (m->cgroup.cg != NULL && r == RESOURCE_MEMORY && m->plan.echoed != 0)
		value = m->plan.echoed;
	else if (m->cgroup.cg != NULL)
		value = limit_amount(&c->kernel, r);
	else
		value = MAX(c->resource[r].limit, spec);
	return value == LIMIT_MAX ? value : MAX(value, m->plan.rising[r]);
}

static uint64_t original_of(const struct pod *p, size_t i, enum resource r)
{
	const struct managed *m = p->members[i].managed;

	return m != NULL && m->control.started_at != 0 ? m->control.resource[r].original
						       : p->spec->containers[i].spec.limit[r];
}

struct sum {
	uint64_t present;
	uint64_t original;
	bool endless; /* a container without a limit */
};

static struct sum sum_of(const struct pod *p, enum resource r)
{
	struct sum s = {0};
	uint64_t start = kube_pod_start(p->spec, r, KUBE_COUNT_LIMIT), raised = 0;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct kube_container *c = &p->spec->containers[i];
		uint64_t present = present_of(p, i, r);

		if (c->kind == CONTAINER_INIT && !c->running)
			continue;
		/* Under the pod's limit as it is: that one may only grow then. */
		if (present == LIMIT_MAX) {
			s.endless |= c->kind != CONTAINER_EPHEMERAL || c->running;
			continue;
		}
		s.present = add_sat(s.present, present);
		if (c->kind == CONTAINER_SIDECAR)
			raised = add_sat(raised, sub_sat(c->spec.limit[r], original_of(p, i, r)));
		if (c->kind != CONTAINER_INIT)
			s.original = add_sat(s.original, original_of(p, i, r));
	}
	s.present = MAX(s.present, start);
	s.original = MAX(s.original, sub_sat(start, raised));
	return s;
}

/* What the level should be; its present value where that is to stay. */
static uint64_t wanted(const struct pod *p, enum resource r)
{
	const struct control *c = &p->level->control;
	uint64_t stands = limit_amount(&c->kernel, r), original = c->resource[r].original;
	struct sum s = sum_of(p, r);
	uint64_t value = s.present;

	if (stands == LIMIT_MAX || pod_level_stays(p, r))
		return stands;
	if (p->follows & (1u << r))
		value = add_sat(value, p->spec->overhead[r]);
	else if (p->spec->level_limit[r] != 0)
		value = MAX(original,
			    MIN(stands, add_sat(original, sub_sat(s.present, s.original))));
	else if (original != LIMIT_MAX && s.original < original)
		value = add_sat(value, original - s.original);
	value = round_up(value, quantum_of(r, c->page_bytes));
	return s.endless ? MAX(value, stands) : value;
}

static struct change step_to(const struct managed *m, enum resource r, uint64_t to,
			     enum reason reason)
{
	const struct limits *k = &m->control.kernel;
	struct change step = {
		.target = m->control.target,
		.knob = r == RESOURCE_CPU ? KNOB_CPU_MAX : KNOB_MEM_MAX,
		.depth = m->control.depth,
		.from = r == RESOURCE_CPU ? k->cpu_quota_usec : k->mem_max,
		.to = r == RESOURCE_CPU ? cpu_quota_of(to, k->cpu_period_usec) : to,
		.period_usec = k->cpu_period_usec,
		.reason = reason,
	};

	if (r == RESOURCE_MEMORY)
		step.margin_bytes = mem_write_margin(&m->config->tuning.memory, step.to);
	return step;
}

/* Adds the step to the plan. */
static void decide(const struct pod *p, enum resource r, uint64_t to, enum reason reason,
		   struct plan *plan)
{
	struct managed *m = p->level;
	const struct change step = step_to(m, r, to, reason);

	control_set_decision(&m->control, r,
			     &(struct decision){
				     .at_real = m->wake->now_real,
				     .from = limit_amount(&m->control.kernel, r),
				     .to = to,
				     .reason = REASON_POD_LEVEL,
			     });
	plan_add(plan, &step);
}

/* Its originals are on disk, and a container of it may be written to. */
static bool may_write(const struct pod *p)
{
	if (p->level == NULL || p->level->cgroup.cg == NULL || !p->level->originals.saved ||
	    managed_state(p->level) == UNIT_UNMANAGED)
		return false;
	POD_FOREACH (m, p)
		if (m->hand_back.due || m->originals.touched || m->plan.rising[RESOURCE_CPU] != 0 ||
		    m->plan.rising[RESOURCE_MEMORY] != 0 || memory_property_due(m))
			return true;
	return p->level->originals.touched;
}

/* --- growing --- */

static void note_rising(struct unit_table *t, const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct change *s = &plan->steps[i];
		struct managed *m = managed_by_id(t, s->target);
		enum resource r = knobs[s->knob].resource;
		uint64_t to;

		if (m->kind != UNIT_KIND_CONTAINER ||
		    (s->knob != KNOB_CPU_MAX && s->knob != KNOB_MEM_MAX))
			continue;
		m->pod->concerned = true;
		to = r == RESOURCE_CPU ? cpu_milli_of(s->to, s->period_usec) : s->to;
		if (s->knob == KNOB_MEM_MAX && s->reason == REASON_DRIFT && change_lowers(s))
			m->plan.echoed = to;
		if (!change_lowers(s) && to != LIMIT_MAX)
			m->plan.rising[r] = MAX(m->plan.rising[r], to);
	}
}

static void forget_rising(struct unit_table *t, const struct plan *plan, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct managed *m = managed_by_id(t, plan->steps[i].target);

		memset(m->plan.rising, 0, sizeof m->plan.rising);
		m->plan.echoed = 0;
	}
}

static void raise_level(struct pod *p, struct plan *plan)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t to = wanted(p, r);

		if (to != LIMIT_MAX && to > limit_amount(&p->level->control.kernel, r))
			decide(p, r, to, REASON_POD_LEVEL, plan);
	}
}

void pod_levels_raise(struct unit_table *t, struct plan *plan)
{
	size_t count = plan->count;

	note_rising(t, plan);
	PODS_FOREACH (p, t->pods)
		if (p->concerned && may_write(p))
			raise_level(p, plan);
	forget_rising(t, plan, count);
}

void pod_level_reserve(struct managed *m, bool reserve)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t original = m->control.resource[r].original;

		m->plan.rising[r] = reserve && original != LIMIT_MAX ? original : 0;
	}
	m->pod->concerned |= reserve;
}

/* --- shrinking --- */

/* systemd has written the headroom that it stores: taking it back is not reported as a change. */
static bool is_headroom(const struct managed *m, enum resource r)
{
	return r == RESOURCE_MEMORY && (m->properties.sent_mask & UNIT_PROP_MEM_MAX) &&
	       m->control.kernel.mem_max == cg_mem_kept(m->properties.sent.mem_max);
}

void pod_level_lower(struct pod *p, struct plan *plan)
{
	bool concerned = p->concerned;

	p->concerned = false;
	/* Paused: the containers have had their raises, and nothing is lowered. */
	if (!concerned || !may_write(p) || p->level->control.paused)
		return;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t to = wanted(p, r);
		enum reason reason = is_headroom(p->level, r) ? REASON_DRIFT : REASON_POD_LEVEL;

		if (to < limit_amount(&p->level->control.kernel, r))
			decide(p, r, to, reason, plan);
	}
}

void pod_levels_review(struct unit_table *t)
{
	PODS_FOREACH (p, t->pods) {
		struct managed *level = p->level;

		p->concerned = level != NULL;
		/* External writes are not reported without inotify. */
		if (level != NULL && t->inotify->incomplete)
			drift_request_check(level);
	}
}

/* --- others --- */

void pod_level_check(struct managed *m)
{
	struct usage u = {0};
	int r = cg_read(m->cgroup.cg, LIMITS_USAGE, &u);

	if (r == -ENODEV)
		managed_lost(m);
	if (r < 0)
		return;
	unit_fill_absent(m, &u);
	POD_FOREACH (c, m->pod)
		oom_lowered(c, m, u.limits.mem_max);
	control_set_kernel(&m->control, &u.limits);
	m->pod->concerned = true;
	pod_level_follow(m, &u.limits);
}

void pod_level_follow(struct managed *m, const struct limits *now)
{
	const struct kube_container *c = pod_spec_of(m);

	for (enum resource r = 0; m->pod != NULL && r < RESOURCE_COUNT; r++) {
		if (!pod_level_stays(m->pod, r) || (m->kind == UNIT_KIND_CONTAINER &&
						    (c == NULL || c->spec.limit[r] != LIMIT_MAX)))
			continue;
		if (m->control.started_at != 0)
			control_set_original(&m->control, r, limit_amount(now, r));
		if (m->record != NULL &&
		    limit_amount(&m->record->limits, r) != limit_amount(now, r))
			persist_owners(m, r, now);
	}
}

void pod_level_adopt(struct pod *p, enum resource r, uint64_t from, uint64_t to)
{
	struct managed *m = p->level;

	if (m == NULL || m->control.started_at == 0 || from == LIMIT_MAX || to == LIMIT_MAX ||
	    m->control.resource[r].original == LIMIT_MAX || p->spec->level_limit[r] != 0)
		return;
	control_shift_original(&m->control, r, from, to);
	persist_adopted(m, r);
	p->concerned = true;
}

/* --- systemd --- */

/* The sum of what systemd is to hold for the containers, and not less than what stands. */
static uint64_t memory_sum(const struct managed *m)
{
	const struct pod *p = m->pod;
	uint64_t sum = 0;

	if (pod_has_budget(p))
		return m->control.kernel.mem_max;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *c = p->members[i].managed;
		uint64_t value = present_of(p, i, RESOURCE_MEMORY);

		if (c != NULL && (c->properties.sent_mask & UNIT_PROP_MEM_MAX) &&
		    c->cgroup.cg != NULL)
			value = MAX(value, c->properties.sent.mem_max);
		/* The pod first, as in the files. */
		if (c != NULL && c->cgroup.cg != NULL && memory_property_due(c))
			value = MAX(value, memory_property(c));
		if (value != LIMIT_MAX && p->spec->containers[i].kind < CONTAINER_INIT)
			sum = add_sat(sum, value);
	}
	sum = MAX(sum, m->control.kernel.mem_max);
	return MAX(sum, m->control.resource[RESOURCE_MEMORY].original);
}

struct unit_props pod_level_props(const struct managed *m, uint32_t *ret_mask)
{
	const struct limits *k = &m->control.kernel;
	struct unit_props p = m->properties.stored;
	uint64_t milli = limit_amount(k, RESOURCE_CPU);

	*ret_mask = 0;
	if (milli != LIMIT_MAX) {
		*ret_mask |= UNIT_PROP_CPU_QUOTA;
		p.cpu_quota_per_sec_usec = milli * USEC_PER_MSEC;
	}
	if (k->mem_max != LIMIT_MAX) {
		*ret_mask |= UNIT_PROP_MEM_MAX;
		p.mem_max = memory_sum(m);
	}
	return p;
}

bool pod_level_short(const struct managed *m)
{
	uint64_t held = (m->properties.sent_mask & UNIT_PROP_MEM_MAX) && managed_call_pending(m)
				? m->properties.sent.mem_max
				: m->properties.stored.mem_max;

	return may_write(m->pod) && m->control.kernel.mem_max != LIMIT_MAX && held != UINT64_MAX &&
	       held < memory_sum(m);
}
