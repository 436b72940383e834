// SPDX-License-Identifier: Apache-2.0
/* Attaches a unit to a cgroup that appeared: from its files to limits that are held. */
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/recorder/recorder.h"
#include <errno.h>

/* --- startup boost */

/* Converts a wall-clock timestamp to boottime: never later than now. */
static usec_t stamped_at(const struct wakeup *w, usec_t stamp_real)
{
	usec_t ago = w->wall_now > stamp_real ? w->wall_now - stamp_real : 0;

	return w->now > ago ? w->now - ago : 1;
}

/* A container's readiness has no time of its own: counts from where vscaled saw it, or the pod's
 * condition says so (whole seconds), the earlier one. One that was Ready before vscaled started is
 * not boosted again. */
static usec_t ready_since(const struct managed *m, const struct kube_container *c, bool first)
{
	const struct startup_life *life = &m->control.life;
	usec_t stamp = m->pod->spec->containers_ready_real;
	usec_t since = life->ready_since != 0 ? life->ready_since : m->wake->now;

	if (!c->ready)
		return 0;
	if (stamp != 0)
		return MIN(since, MAX(stamped_at(m->wake, stamp), life->started_at));
	return first ? life->started_at : since;
}

void boost_changed(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	struct startup_life life = m->control.life;

	if (c == NULL || m->cgroup.cg == NULL || !scope_is_of(m, c))
		return;
	life.ready_since = ready_since(m, c, !m->plan.running_reported);
	life.probed = c->probed;
	m->plan.running_reported = true;
	control_set_life(&m->control, &life);
}

/* It was attached to its cgroup. */
static void boost_attached(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	struct startup_life life = {.started_at = m->wake->now};

	if (c == NULL)
		return;
	life.probed = c->probed;
	if (scope_is_of(m, c) && c->started_real != 0)
		life.started_at = stamped_at(m->wake, c->started_real);
	m->plan.running_reported = false;
	control_set_life(&m->control, &life);
	boost_changed(m);
}

void boost_update(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);
	bool changed = false;

	UNITS_FOREACH (m, t) {
		if (m->kind == UNIT_KIND_POD || m->cgroup.cg == NULL)
			continue;
		changed |= persist_boost_base(m, control_boost_prepare(&m->control, &x));
	}
	if (changed)
		persist_baselines(t->records);
	UNITS_FOREACH (m, t) {
		/* The limit to restore must be on disk before the boost. */
		if (control_boosts(&m->control) && managed_has_laws(m) &&
		    (m->control.boost.written || persist_has_boost_base(m)))
			recorded_call(m, &(struct flight_input){.kind = FLIGHT_BOOST}, &x);
	}
}

void boost_end(struct managed *m)
{
	struct control_context x;
	struct plan plan;

	if (m->cgroup.cg == NULL || !m->control.boost.written)
		return;
	plan_begin(m->table, &plan);
	x = daemon_context(m->table, &plan);
	control_boost_end(&m->control, &x);
	plan_apply(m->table, &plan);
}

void boost_forget(struct managed *m)
{
	control_boost_forget(&m->control, m->wake->now);
	persist_boost_base(m, 0);
}

/* --- release */

void unit_update_blocked(struct managed *m)
{
	control_set_paused(&m->control, m->paused || managed_state(m) == UNIT_RESTORED ||
						managed_state(m) == UNIT_UNMANAGED ||
						m->wake->now < m->hand_back.settling_until);
}

void lifecycle_release(struct managed *m, enum state_reason why)
{
	m->hand_back.due = true;
	m->hand_back.done = false;
	m->hand_back.reported = false;
	m->hand_back.why = why;
	m->hand_back.next_at = 0;
	managed_set_reason(m, why);
	unit_update_blocked(m);
	unit_brake_off(m);
}

/* The laws do not raise it from here on: up to what others hold for it. */
static void release_put_back(struct managed *m, enum resource r, uint64_t to, enum reason reason)
{
	struct control_context x;
	struct plan plan;

	plan_begin(m->table, &plan);
	node_memory_for(m);
	x = daemon_context(m->table, &plan);
	control_put_back(&m->control, r, to, reason, &x);
	plan_apply(m->table, &plan);
}

/* systemd holds the CPU limit of a unit as it is; memory that grows has its headroom already. */
static uint64_t held_beside(const struct managed *m, enum resource r)
{
	const struct kube_container *spec = pod_spec_of(m);

	if (spec != NULL)
		return kube_pod_limit_held(m->pod->spec, spec, r);
	return r == RESOURCE_MEMORY ? m->control.resource[r].original : 0;
}

void release_stopping(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if (managed_has_laws(m) && m->control.rule.mode == MODE_AUTO)
				release_put_back(m, r, held_beside(m, r), REASON_STOPPING);
}

/* --- attaching */

void managed_reattach(struct managed *m)
{
	unit_brake_off(m);
	message_summed(m, true);
	persist_keep_history(m);
	managed_detach(m);
	control_forget_start(&m->control);
	originals_forget(m);
	m->properties.sent_mask = 0;
}

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
	return cpu_quota_in_file(a) == cpu_quota_in_file(b) &&
	       a->cpu_period_usec == b->cpu_period_usec && a->cpu_burst_usec == b->cpu_burst_usec &&
	       a->mem_max == b->mem_max && a->mem_high == b->mem_high;
}

static bool sizes(const struct policy_rule *rule, uint32_t resources)
{
	return rule->mode != MODE_OFF && (rule->resources & resources);
}

/* An earlier run of vscaled had systemd store headroom, and wrote nothing. Of a pod systemd is
 * asked later (drift_events.c). */
static bool is_reported_more(const struct managed *m, const struct baseline *b,
			     const struct arrival *a)
{
	return m->kind == UNIT_KIND_UNIT && a->props.mem_max != b->props.mem_max;
}

/* Does the cgroup have a limit by vscaled that the rule does not allow? */
static bool narrower(const struct limits *original, const struct limits *now,
		     const struct policy_rule *rule)
{
	bool cpu = cpu_quota_in_file(original) != cpu_quota_in_file(now);
	bool memory = original->mem_max != now->mem_max || original->mem_high != now->mem_high;

	return (cpu && !sizes(rule, RESOURCES_CPU)) || (memory && !sizes(rule, RESOURCES_MEMORY));
}

/* The first time that this run of the daemon attaches it. */
static void begin(struct managed *m, const struct arrival *a, const struct limits *now)
{
	const struct policy_rule *rule = managed_rule(m);
	const struct baseline *b = m->record;
	uint32_t target = m->control.target;
	struct limits original = b != NULL ? b->limits : *now;
	struct policy_rule wider = *rule;

	if (b == NULL)
		limits_as_spec(&original, a->spec_milli);
	/* The kubelet may still carry out values that vscaled sent: they are not the owner's. */
	originals_begin(m, b,
			b != NULL && (!same_limits(&b->limits, now) || is_reported_more(m, b, a) ||
				      b->ratified != 0));
	control_drop(&m->control);
	control_init(&m->control, &m->config->tuning, rule, &original);
	control_set_target(&m->control, target);
	if (b != NULL && ((m->pod == NULL && rule->mode == MODE_OFF) ||
			  (m->originals.touched &&
			   (narrower(&b->limits, now, rule) ||
			    (is_reported_more(m, b, a) && !sizes(rule, RESOURCES_MEMORY)))))) {
		/* Sized by an earlier run of vscaled under a wider rule: rule_apply() follows. In
		 * mode Off a record would not follow its owner. */
		wider.resources = RESOURCES_BOTH;
		if (rule->mode != MODE_OFF)
			control_set_rule(&m->control, &wider);
		else
			lifecycle_release(m, m->pod ? STATE_NOT_ANNOTATED : STATE_NOT_SIZED);
	}
	if (m->pod != NULL)
		pod_set_bounds(m);
	persist_adopt_history(m);
	/* A boost was written, by an earlier run of vscaled or for the run of the unit before. */
	if (b != NULL && b->boost_base_milli != 0 && persist_has_boost_base(m))
		control_boost_resume(&m->control, b->boost_base_milli);
}

void managed_adopt_limits(struct managed *m)
{
	struct plan none = {0};
	struct control_context x = daemon_context(m->table, &none);
	struct usage u = {0};

	if (m->cgroup.cg == NULL || cg_read(m->cgroup.cg, LIMITS_USAGE, &u) < 0)
		return;
	unit_fill_absent(m, &u);
	control_set_kernel(&m->control, &u.limits);
	/* A limit that the owner removed meanwhile is adopted as no limit. */
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (m->control.resource[r].managed &&
		    (r == RESOURCE_CPU ? u.limits.cpu_quota_usec : u.limits.mem_max) == LIMIT_MAX)
			control_adopt(&m->control, &u.limits, r, &x);
	control_take_limits(&m->control, &u.limits);
	/* Else the next reload of PID 1 restores the former stored property. */
	if (m->originals.touched)
		property_request(m, false);
}

/* A successor whose files have less than the held limits starts with the held limits. */
static void resume_size(struct managed *m)
{
	struct plan plan;
	struct control_context x;
	struct limits kernel = m->control.kernel;

	if (m->control.rule.mode == MODE_INITIAL)
		control_take_limits(&m->control, &kernel); /* its size is decided again */
	if (!m->originals.touched || m->control.rule.mode != MODE_AUTO || m->control.paused)
		return;
	plan_begin(m->table, &plan);
	/* The ledger grants the predecessor's limits again. */
	node_memory_close(m->table->memory);
	node_memory_for(m);
	x = daemon_context(m->table, &plan);
	control_resume(&m->control, &kernel, &x);
	plan_apply(m->table, &plan);
}

/* The first write to a container does not wait for PID 1, which may be busy for seconds: the files
 * have what the runtime sent PID 1 a moment ago. PID 1's answer corrects the guess. */
static void guess_stored(struct managed *m, struct arrival *a)
{
	const struct unit_port *port = &m->pid1->port;
	struct usage u = {0};

	property_guessed(m, false);
	if (m->kind == UNIT_KIND_UNIT || m->unit == NULL ||
	    cg_read_outer(m->cgroup.cg, LIMITS_USAGE, &u) < 0)
		return;
	a->props = props_of_limits(&u.limits);
	property_guessed(m, port->get != NULL && port->get(port->bus, m->unit) == 0);
}

/* While it did not run, or vscaled did not, its owner set another limit: of a unit by systemd's
 * property; of a container in the spec, for what is sized pod_spec_first() follows. */
static bool is_owners(const struct managed *m, enum resource r, const struct limits *now)
{
	const struct kube_container *c = pod_spec_of(m);

	if (m->record == NULL)
		return false;
	if (m->pod == NULL)
		return persist_property_external(m, r, &m->properties.stored);
	return c != NULL && m->control.started_at == 0 && !sizes(managed_rule(m), 1u << r) &&
	       limit_same_file(r, c->spec.limit[r], limit_amount(now, r), now->cpu_period_usec) &&
	       !limit_same(r, c->spec.limit[r], limit_amount(&m->record->limits, r)) &&
	       !spec_sent_by_us(m, r, c->spec.limit[r]);
}

static void take_owners(struct managed *m, const struct limits *now, bool first)
{
	struct plan none = {0};
	struct control_context x = daemon_context(m->table, &none);

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct drift_facts f = {.observed = limit_amount(now, r)};

		if (!is_owners(m, r, now))
			continue;
		f.expected = limit_amount(&m->record->limits, r);
		message_drift(m, r, &f, EVENT_DRIFT_ADOPTED, NULL);
		if (m->pod != NULL)
			pod_level_adopt(m->pod, r, f.expected, f.observed);
		if (!first)
			control_adopt(&m->control, now, r, &x);
		persist_owners(m, r, now);
	}
}

void managed_start(struct managed *m, const struct arrival *given)
{
	/* A unit that was restored counts as new when it starts again. */
	bool first = m->control.started_at == 0 || managed_state(m) == UNIT_RESTORED;
	struct arrival a = *given;
	struct usage u = {0};
	int r = managed_attach(m, &a, &u);

	if (r == -EMFILE && m->pod != NULL)
		m->pod->scan = true;
	if (r < 0) {
		if (managed_state(m) == UNIT_WAITING)
			managed_set_reason(m, r == -EMFILE ? STATE_DESCRIPTORS
							   : STATE_CGROUP_NOT_READY);
		return;
	}
	a.cpu_stood_usec = u.limits.cpu_quota_usec;
	stuck_forget(m);
	persist_follow(m, u.limits.cpu_period_usec);
	pod_level_follow(m, &u.limits);
	property_stored(m, &a.props);
	take_owners(m, &u.limits, first);
	if (first)
		begin(m, &a, &u.limits);
	control_restarted(&m->control, &u.limits, m->wake->now);
	scope_started(m, a.active_enter_usec);
	managed_read_totals(m);
	boost_attached(m);
	control_set_depth(&m->control, depth_of(a.cgroup));
	guess_stored(m, &a);
	property_stored(m, &a.props);
	property_checked(m);
	property_read_dropins(m);
	if (managed_state(m) != UNIT_RESTORED && !m->hand_back.due) {
		managed_set_reason(m, STATE_SIZING);
		if (managed_rule(m)->mode != MODE_OFF)
			persist_baseline(m, &a);
		if (m->record != NULL)
			persist_external_high(m, m->record->limits.mem_high);
	}
	unit_update_blocked(m);
	/* Initial sizes a unit when the unit starts, not when vscaled does. */
	if (first && (m->cgroup.was_running || a.active_enter_usec <= m->wake->started_monotonic))
		control_set_sized(&m->control);
	managed_set_running(m);
	message_managed(m);
	if (!first) {
		resume_size(m);
	} else if (m->originals.touched) {
		/* What the daemon finds after its own restart is what it had set. */
		property_take_over(m, UNIT_PROP_ALL);
		control_take_over(&m->control, &u.limits);
	}
}

/* --- another rule: a configuration that was read again, unit by unit --- */

/* A resource that was managed is not managed by the new rule. */
static bool takes_away(const struct policy_rule *old, const struct policy_rule *rule)
{
	if (old->mode == MODE_OFF)
		return false;
	return rule->mode == MODE_OFF || (old->resources & ~rule->resources) != 0;
}

static enum state_reason takes_away_reason(const struct managed *m)
{
	if (m->pod == NULL)
		return STATE_NOT_SIZED;
	switch (m->container.rule.rollout) {
	case ROLLOUT_STOPPED:
		return STATE_ROLLOUT_STOPPED;
	case ROLLOUT_UNSIZED:
		return STATE_ROLLOUT_REST;
	default:
		return STATE_NOT_ANNOTATED;
	}
}

/* Memory that the rule leaves out, while its original limit is too low for what is in use. */
static uint32_t still_sized(const struct managed *m, const struct policy_rule *rule)
{
	const struct control *c = &m->control;
	uint64_t back = c->resource[RESOURCE_MEMORY].original;
	uint64_t least = mem_with_margin(&m->config->tuning.memory, mem_use(&c->last));

	return rule->mode != MODE_OFF && m->cgroup.cg != NULL && c->kernel.mem_max > back &&
			       (least > back || !(c->last.have & USAGE_MEM_STAT))
		       ? c->rule.resources & RESOURCES_MEMORY
		       : 0;
}

void rule_apply(struct managed *m)
{
	const struct policy_rule *rule = managed_rule(m);
	struct policy_rule old = m->control.rule, now;
	bool back = managed_state(m) == UNIT_UNMANAGED, waits;

	if (m->control.started_at == 0 || back) {
		m->hand_back.due = false;
		managed_set_reason(m, STATE_NO_CGROUP);
		managed_reattach(m);
		return;
	}
	/* What a restore left goes back with the rest. */
	if (managed_state(m) == UNIT_RESTORED && !(m->record != NULL && takes_away(&old, rule))) {
		control_set_rule(&m->control, rule);
		return;
	}
	now = *rule;
	now.resources |= still_sized(m, rule);
	waits = now.resources != rule->resources;
	if (waits && !m->hand_back.reported)
		event_tell(EVENT_RESTORE_LEFT, .who = message_who(m), .resource = RESOURCE_MEMORY,
			   .from = m->control.kernel.mem_max,
			   .to = m->control.resource[RESOURCE_MEMORY].original,
			   .detail = "still sized");
	m->hand_back.reported = waits;
	if (policy_rule_equal(&old, &now))
		return;
	if (managed_state(m) == UNIT_GAVE_WAY && !rule->freeze) {
		managed_set_reason(m, STATE_SIZING);
		control_end_suspension(&m->control);
		drift_forget_writers(m);
		persist_external_high(m, m->control.original.mem_high);
	}
	/* CPU does not wait for memory. */
	if (waits && takes_away(&old, &now))
		release_put_back(m, RESOURCE_CPU, m->control.resource[RESOURCE_CPU].original,
				 REASON_RESTORE);
	control_set_rule(&m->control, &now);
	if (rule->mode == MODE_INITIAL && old.mode != MODE_INITIAL)
		control_set_sized(&m->control);
	/* It must not stay below the owner's value. */
	if (old.mode == MODE_AUTO && rule->mode == MODE_INITIAL && m->cgroup.cg != NULL)
		release_put_back(m, RESOURCE_MEMORY, m->control.resource[RESOURCE_MEMORY].original,
				 REASON_RESTORE);
	if (takes_away(&old, &now) && !waits)
		lifecycle_release(m, takes_away_reason(m));
	else if (rule->mode != MODE_OFF && m->cgroup.cg != NULL &&
		 (!m->originals.saved || scope_out_of_reach(m->pid1, m->cgroup.path)))
		managed_reattach(m);
}
