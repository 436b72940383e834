// SPDX-License-Identifier: Apache-2.0
/* A sample: observe, decide, apply, report. */
#include "agent/manage/shared.h"
#include "cgroup/levels.h"
#include "cgroup/writer.h"
#include "policy/types/bounds.h"
#include <errno.h>
#include <string.h>

/* Beside the CPU counters, which are read first. */
#define SAMPLE_USAGE (USAGE_MEM | USAGE_MEM_PEAK | USAGE_MEM_EVENTS | USAGE_PSI_CPU | USAGE_PSI_MEM)
#define LIMIT_USAGE  (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)
/* A step of every kind for every resource at most, and a failed step may ask for two more. */
#define STEPS_PER_UNIT 8

void plan_begin(struct daemon *d, struct plan *ret)
{
	size_t want = (d->unit_count + 1) * STEPS_PER_UNIT;

	if (want > d->step_capacity) {
		void *steps = malloc(want * sizeof *d->steps);

		/* Nothing in it is kept: what is not copied is not touched, and takes no memory. */
		if (steps != NULL) {
			free(d->steps);
			d->steps = steps;
			d->step_capacity = want;
		}
	}
	*ret = (struct plan){.steps = d->steps, .capacity = d->step_capacity};
}

static bool new_limit(const struct managed *m, enum resource r, uint64_t seen)
{
	return m->control.resource[r].original == LIMIT_MAX && seen != LIMIT_MAX;
}

/* What somebody else wrote is for guard.c to judge: until then the laws go by what we hold. */
static void keep_ours(struct managed *m, struct limits *seen)
{
	const struct limits *k = &m->control.kernel;

	m->control.frozen = 0;
	if (unit_moved(m, RESOURCE_CPU, seen)) {
		m->drift_check = true;
		/* A raise now would fight the writer without having looked at him. Memory goes on:
		 * not to raise it may kill. */
		m->control.frozen = m->touched ? RESOURCES_CPU : 0;
		seen->cpu_quota_usec = k->cpu_quota_usec;
		seen->cpu_period_usec = k->cpu_period_usec;
	}
	m->drift_check |= new_limit(m, RESOURCE_CPU, seen->cpu_quota_usec) ||
			  new_limit(m, RESOURCE_MEMORY, seen->mem_max);
	if (unit_moved(m, RESOURCE_MEMORY, seen)) {
		oom_lowered(m, m, seen->mem_max);
		m->drift_check = true;
		seen->mem_max = k->mem_max;
		seen->mem_high = k->mem_high;
	}
}

/*
 * inotify tells of every write to a limit, so the files are read with the review only, in case it
 * missed one. memory.stat costs as much as all the rest: what did not run has the old one.
 */
static int read_sample(struct managed *m, bool limits, const struct usage *first, struct usage *ret)
{
	struct control *c = &m->control;
	/* A value of somebody else's that waits for its verdict is looked at all the time. */
	bool known =
		c->last_at != 0 && !m->drift_check && !m->drift_asked && !managed_call_pending(m);
	struct usage u = *first, rest = {0}, stat = {0};
	int r = reader_read(m, SAMPLE_USAGE | (limits || !known ? LIMIT_USAGE : 0), 0, &rest);

	if (r < 0)
		return r;
	usage_merge(&u, &rest);
	if (!limits && known) {
		u.limits = c->kernel;
		u.have |= c->last.have & LIMIT_USAGE;
	}
	stat.limits = u.limits;
	if (control_stat_stands(c, &u)) {
		stat.have = USAGE_MEM_STAT;
		stat.stat = c->last.stat;
	} else {
		r = reader_read(m, USAGE_MEM_STAT, 0, &stat);
		stat.limits = u.limits;
	}
	usage_merge(&u, &stat);
	*ret = u;
	return r;
}

static void observe(struct managed *m, struct usage *first, struct plan *plan)
{
	struct daemon *d = m->daemon;
	struct control_context x;
	struct usage u = {0};
	int r = read_sample(m, d->now >= d->next_review, first, &u);

	if (r == -ENODEV) {
		managed_lost(m);
		return;
	}
	if (r < 0)
		return;
	unit_fill_absent(m, &u);
	keep_ours(m, &u.limits);
	pod_asked_full(m, &u);
	oom_look(m, &u);
	x = daemon_context(d, plan);
	control_observe(&m->control, &u, &x);
}

/* May it be written to? */
static bool controls(const struct managed *m)
{
	return m->cg != NULL && m->state != UNIT_UNMANAGED &&
	       (m->originals_saved || m->control.rule.mode == MODE_OFF);
}

/* A pod level has no laws of its own: it follows its containers. */
bool managed_has_laws(const struct managed *m)
{
	return m->kind != UNIT_KIND_POD && controls(m);
}

static void count_raise(struct daemon *d, usec_t ret_took[SINCE_COUNT])
{
	usec_t span = daemon_clock() - d->woke,
	       late = d->due != 0 ? d->now - MIN(d->due, d->now) : 0;

	ret_took[SINCE_WAKE] = span;
	ret_took[SINCE_DUE] = span + late;
	for (enum counters_since s = 0; s < SINCE_COUNT; s++)
		counters_took(&d->tally.raise[s], ret_took[s]);
}

static int carry_out(struct managed *m, const struct change *step, usec_t ret_took[SINCE_COUNT])
{
	usec_t begin;
	int r;

	if (m->cg == NULL)
		return APPLY_GONE;
	begin = daemon_clock();
	r = cg_write(m->cg, step);
	if (r == APPLY_DONE)
		counters_took(&m->daemon->tally.apply[BACKEND_CGROUP], daemon_clock() - begin);
	m->daemon->tally.apply_failed[BACKEND_CGROUP] += r < 0;
	if (r == APPLY_DONE && !change_lowers(step) &&
	    (step->knob == KNOB_CPU_MAX || step->knob == KNOB_MEM_MAX))
		count_raise(m->daemon, ret_took);
	/* The brake is none of systemd's business: it holds the owner's memory.high. */
	if (r == APPLY_DONE && knobs[step->knob].property != NULL && step->reason != REASON_BRAKE) {
		m->touched = true;
		m->property_due = true;
		m->property_urgent |= step->knob == KNOB_MEM_MAX && !change_lowers(step);
	}
	return r;
}

int step_apply(struct managed *m, const struct change *step, const struct control_context *x)
{
	usec_t took[SINCE_COUNT] = {0};
	int outcome = carry_out(m, step, took);

	if (outcome == APPLY_DONE && m->kind != UNIT_KIND_POD &&
	    (step->knob == KNOB_CPU_MAX || step->knob == KNOB_MEM_MAX))
		counters_change(&m->daemon->tally, knobs[step->knob].resource, step->from, step->to,
				(enum reason)step->reason);
	control_applied(&m->control, step, outcome, x);
	report_step(m, step, outcome, took);
	return outcome;
}

static void plan_step(struct daemon *d, const struct change *step)
{
	struct change follow[STEPS_PER_UNIT];
	struct managed *m = d->units[step->target];
	struct plan next = {.steps = follow, .capacity = ARRAY_SIZE(follow)};
	struct control_context x = daemon_context(d, &next);

	if (step_apply(m, step, &x) == APPLY_GONE)
		managed_lost(m);
	/* A trial that failed half-way asks for its values back: never more than once. */
	for (size_t f = 0; f < next.count; f++) {
		struct plan none = {0};

		x.plan = &none;
		step_apply(m, &follow[f], &x);
	}
}

bool plan_raise(struct daemon *d, struct plan *p, size_t from)
{
	struct plan part = {p->steps + from, p->count - from, p->capacity - from};
	size_t raises = 0;

	pod_levels_raise(d, &part);
	plan_sort(&part);
	/* What lowers stands behind it. */
	while (raises < part.count && !change_lowers(&part.steps[raises]))
		plan_step(d, &part.steps[raises++]);
	part.count -= raises;
	memmove(part.steps, part.steps + raises, part.count * sizeof *part.steps);
	p->count = from + part.count;
	return raises > 0;
}

void plan_apply(struct daemon *d, struct plan *p)
{
	pod_levels_raise(d, p);
	plan_sort(p);
	for (size_t i = 0; i < p->count; i++)
		plan_step(d, &p->steps[i]);
	pod_levels_lower(d);
	report_steps(d);
}

static uint64_t per_sec_of(const struct limits *l)
{
	uint64_t milli = cpu_milli_of(l->cpu_quota_usec, l->cpu_period_usec);

	return milli == LIMIT_MAX ? UINT64_MAX : milli * USEC_PER_MSEC;
}

/*
 * PID 1 is never asked to hold less than the original: while it lags, use may have passed a lower
 * value, and with nobody there to raise it the original is the safe one. The file is ours.
 */
uint64_t memory_property(const struct managed *m)
{
	const struct control *c = &m->control;
	uint64_t wanted = control_mem_property(c, &m->daemon->config.tuning);

	/* On a node that is short: every call brings what it carries into the file, and from there
	 * it goes back no further than to use and margin. */
	if (control_denied(c, m->daemon->now) && m->stored.mem_max != UINT64_MAX &&
	    m->stored.mem_max >= MAX(c->kernel.mem_max, c->resource[RESOURCE_MEMORY].limit))
		return m->stored.mem_max;
	return MAX(wanted, c->resource[RESOURCE_MEMORY].original);
}

struct unit_props unit_wanted_props(const struct managed *m, uint32_t *ret_mask)
{
	const struct control *c = &m->control;
	const struct limits *k = &c->kernel;
	bool memory = c->resource[RESOURCE_MEMORY].managed && !(c->gave_way & RESOURCES_MEMORY);
	struct unit_props p = m->stored;
	uint32_t mask = 0;

	if (m->kind == UNIT_KIND_POD)
		return pod_level_props(m, ret_mask);
	if (c->resource[RESOURCE_CPU].managed) {
		mask |= UNIT_PROP_CPU_QUOTA;
		p.cpu_quota_per_sec_usec = per_sec_of(k);
		p.cpu_quota_period_usec = k->cpu_period_usec == CPU_PERIOD_DEFAULT_USEC
						  ? m->stored.cpu_quota_period_usec
						  : k->cpu_period_usec;
	}
	/*
	 * Any property call makes systemd write all it stores. Memory that somebody set behind its
	 * back goes with every call of ours, or our CPU change would undo it.
	 */
	if (memory || round_down(m->stored.mem_max, MEM_PAGE_BYTES) != k->mem_max) {
		mask |= UNIT_PROP_MEM_MAX;
		p.mem_max = memory ? memory_property(m) : k->mem_max;
	}
	if (memory || round_down(m->stored.mem_high, MEM_PAGE_BYTES) != k->mem_high) {
		mask |= UNIT_PROP_MEM_HIGH;
		p.mem_high = memory ? control_mem_high(c, p.mem_max) : k->mem_high;
	}
	*ret_mask = mask & managed_props_mask(m);
	return p;
}

static bool writes(const struct managed *m)
{
	return m->control.rule.mode != MODE_OFF && !m->control.paused;
}

/* Growth eats the headroom that systemd holds for us, or would before it could be told: what may
 * grow has the first one before anything was written to it. */
bool memory_property_due(const struct managed *m)
{
	const struct control *c = &m->control;

	if (m->kind == UNIT_KIND_POD)
		return writes(m) && pod_level_short(m);
	if (m->unit == NULL || !(m->touched || c->rule.mode == MODE_AUTO) || !writes(m) ||
	    !c->resource[RESOURCE_MEMORY].managed || (c->gave_way & RESOURCES_MEMORY) ||
	    m->stored.mem_max == UINT64_MAX)
		return false;
	/* Less than the file holds: a reload would take it back. */
	if (m->touched && round_down(m->stored.mem_max, MEM_PAGE_BYTES) < c->kernel.mem_max &&
	    !managed_call_pending(m))
		return true;
	return memory_property(m) > m->stored.mem_max &&
	       control_mem_property_short(c, &m->daemon->config.tuning, m->stored.mem_max);
}

/* Before the call: a reload may come at any time after it. */
static void keep_files(struct managed *m, const struct unit_props *want, uint32_t mask)
{
	const struct unit_port *port = &m->daemon->port;
	int r = port->keep(port->ctx, m->unit, want, mask);

	if (r < 0 && !m->property_failed)
		report_property_failed(m, r, 0);
	m->property_failed |= r < 0;
}

/* Memory that is not ours may have moved since the last look, and goes along with our call. */
static void refresh_unmanaged(struct managed *m)
{
	struct usage u = {0};

	if (m->control.resource[RESOURCE_MEMORY].managed ||
	    cg_read(m->cg, USAGE_MEM_LIMIT, &u) < 0 || !(u.have & USAGE_MEM_LIMIT))
		return;
	m->control.kernel.mem_max = u.limits.mem_max;
	m->control.kernel.mem_high = u.limits.mem_high;
}

/* systemd holds it, or will when the call that is under way or waits has been carried out. */
static bool is_told(const struct managed *m, const struct unit_props *want, uint32_t mask)
{
	bool pending = managed_call_pending(m);

	/* What waits is to go first now. */
	if ((m->sent_mask & mask) != mask || (pending && m->property_urgent && !m->sent_urgent))
		return false;
	return unit_props_equal(want, pending ? &m->sent : &m->stored, mask);
}

/* More for growth than the cgroup has. Pressing for the same again is not told again. */
static bool is_new_headroom(const struct managed *m, const struct unit_props *want, uint32_t mask)
{
	bool again = (m->sent_mask & UNIT_PROP_MEM_MAX) && m->sent.mem_max == want->mem_max;

	return (mask & UNIT_PROP_MEM_MAX) && !again && m->control.mem.slope_bps > 0 &&
	       want->mem_max > m->control.kernel.mem_max;
}

static void property_send(struct managed *m)
{
	struct daemon *d = m->daemon;
	struct unit_props want;
	uint32_t mask;

	refresh_unmanaged(m);
	want = unit_wanted_props(m, &mask);
	m->property_due = false;
	if (mask == 0 || d->port.set == NULL || !writes(m))
		return;
	if (m->beaten)
		keep_files(m, &want, mask);
	/* Nothing new: a call would only bring the headroom that systemd holds into the file. */
	if (is_told(m, &want, mask)) {
		m->property_urgent = false;
		return;
	}
	if (d->port.set(d->port.ctx, m->unit, &want, mask, m->property_urgent) < 0) {
		m->property_due = true; /* again when PID 1 is back */
		return;
	}
	m->sent_urgent = m->property_urgent;
	m->property_urgent = false;
	m->touched = true; /* PID 1 writes what it is told into the files */
	if (is_new_headroom(m, &want, mask))
		report_headroom(m, want.mem_max);
	unit_props_merge(&m->sent, &want, mask);
	m->sent_mask |= mask;
}

static void property_check(struct managed *m)
{
	if (!controls(m) || m->unit == NULL) {
		m->property_due = false;
		return;
	}
	if (memory_property_due(m)) {
		m->property_due = true;
		m->property_urgent = true;
	}
	if (m->property_due && !scope_is_creating(m))
		property_send(m);
}

void properties_send(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		property_check(d->units[i]);
}

bool properties_pending(const struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		if (d->units[i]->property_due || managed_call_pending(d->units[i]))
			return true;
	return false;
}

/* What stands still has the headroom that it had. */
void properties_look(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++) {
		struct managed *m = d->units[i];

		if (m->property_due || m->kind == UNIT_KIND_POD || control_hot(&m->control))
			property_check(m);
	}
}

void tell_states_of(struct managed *m)
{
	uint64_t kills = m->control.resource[RESOURCE_MEMORY].counters.oom_kills;

	if (kills > m->oom_told)
		report_oom(m, kills - m->oom_told);
	m->oom_told = kills;
	denied_tell(m);
	report_summed(m, false);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		bool at = m->control.resource[r].at_ceiling;

		if (at && !m->ceiling_told[r])
			report_ceiling(m, r);
		m->ceiling_told[r] = at;
	}
}

void tell_states(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		tell_states_of(d->units[i]);
}

static void count_holds(struct managed *m)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct control_resource *res = &m->control.resource[r];

		if (!res->managed)
			continue;
		counters_hold(&m->daemon->tally, m->hold_counted[r], res->hold);
		m->hold_counted[r] = res->hold;
	}
}

static void review(struct daemon *d, struct plan *plan)
{
	struct control_context x = daemon_context(d, plan);

	for (size_t i = 0; i < d->unit_count; i++) {
		managed_look_levels(d->units[i]);
		if (!managed_has_laws(d->units[i]))
			continue;
		control_review(&d->units[i]->control, &x);
		count_holds(d->units[i]);
	}
}

/* The limit files of a level appear without an event. */
static void look_levels(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		if (d->units[i]->cg != NULL && cg_levels_due(d->units[i]->cg))
			managed_look_levels(d->units[i]);
}

bool tick(struct daemon *d)
{
	struct plan plan;
	usec_t begin = daemon_clock();
	bool due = d->now >= d->next_review;

	look_levels(d);
	plan_begin(d, &plan);
	boost_look(d, &plan);
	node_memory_expect(d, false);
	sweep_units(d, READER_SAMPLE, observe, &plan);
	d->counters.scan_usec = daemon_clock() - begin;
	counters_took(&d->tally.scan[SCAN_SAMPLE], d->counters.scan_usec);
	if (due) {
		d->next_review = d->now + d->config.clocks.review_usec;
		review(d, &plan);
		pod_levels_review(d);
	}
	node_memory_balance(d, &plan);
	plan_apply(d, &plan);
	guard_check(d);
	properties_send(d);
	tell_states(d);
	return due;
}
