// SPDX-License-Identifier: Apache-2.0
/* The table of what is managed: from a cgroup that appeared to limits that are held, and back. */
#include "agent/manage/shared.h"
#include "cgroup/levels.h"
#include "cgroup/stuck.h"
#include <errno.h>
#include <string.h>

#define LIMITS_USAGE (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

struct managed *managed_find(const struct daemon *d, const char *name)
{
	for (size_t i = 0; i < d->unit_count; i++)
		if (strcmp(d->units[i]->name, name) == 0)
			return d->units[i];
	return NULL;
}

struct managed *managed_of_unit(const struct daemon *d, const char *unit)
{
	for (size_t i = 0; i < d->unit_count; i++)
		if (d->units[i]->unit != NULL && strcmp(d->units[i]->unit, unit) == 0)
			return d->units[i];
	return NULL;
}

const struct policy_rule *managed_rule(const struct managed *m)
{
	if (m->kind == UNIT_KIND_UNIT)
		return config_rule_for(&m->daemon->config, m->name);
	return m->ours ? &m->own.rule : NULL;
}

bool managed_call_pending(const struct managed *m)
{
	const struct unit_port *port = &m->daemon->port;

	return m->unit != NULL && port->pending != NULL && port->pending(port->ctx, m->unit);
}

static void managed_close(struct managed *m)
{
	if (m->cg == NULL)
		return;
	sd_event_source_disable_unref(m->events);
	m->events = NULL;
	m->events_muted = false;
	cg_watch_forget(m->daemon->watch, m->control.target + 1);
	reader_detach(m);
	cg_close(m->cg);
	m->cg = NULL;
	m->made_safe = false;
}

static void managed_free(struct managed *m)
{
	if (m == NULL)
		return;
	managed_close(m);
	control_drop(&m->control);
	free(m->name);
	free(m->unit);
	free(m->key);
	free(m->history_key);
	free(m->path);
	free(m);
}

void managed_free_all(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		managed_free(d->units[i]);
	free(d->units);
	d->units = NULL;
	d->unit_count = 0;
}

/* What waits would be made of the one that comes under the same name, while it is created. */
static void forget_call(struct managed *m)
{
	const struct unit_port *port = &m->daemon->port;

	if (m->unit != NULL && port->forget != NULL)
		port->forget(port->ctx, m->unit);
}

void managed_lost(struct managed *m)
{
	if (m->cg == NULL)
		return;
	persist_keep_history(m->daemon, m);
	report_summed(m, true);
	managed_close(m);
	forget_call(m);
	m->lost_at = m->daemon->now;
	control_lost(&m->control, m->daemon->now);
	if (m->state == UNIT_MANAGED || m->state == UNIT_GAVE_WAY) {
		report_gone(m);
		m->state = UNIT_WAITING;
		m->state_reason = "it does not run";
	}
	managed_look_again(m);
}

void managed_look_again(struct managed *m)
{
	if (m->kind == UNIT_KIND_UNIT)
		m->daemon->list_due = true;
	else
		pod_look_again(m->pod);
}

void managed_reattach(struct managed *m)
{
	unit_brake_off(m);
	report_summed(m, true);
	m->was_running = m->cg != NULL;
	persist_keep_history(m->daemon, m);
	managed_close(m);
	m->reattached_at = m->lost_at = m->daemon->now;
	m->control.started_at = 0;
	m->originals_saved = false;
	m->touched = false;
	m->sent_mask = 0;
}

/* NULL stays NULL. */
static int copy(const char *from, char **ret)
{
	*ret = from != NULL ? strdup(from) : NULL;
	return from != NULL && *ret == NULL ? -ENOMEM : 0;
}

struct managed *managed_new(struct daemon *d, const struct managed_names *names)
{
	struct managed *m = calloc(1, sizeof *m);
	void *grown;

	if (m == NULL)
		return NULL;
	/* It has an entry for each of those that there were. */
	node_memory_close(d);
	m->daemon = d;
	m->slots = (struct cg_scan_slots){READER_NO_SLOT, READER_NO_SLOT};
	m->kind = names->kind;
	m->paused = d->paused;
	m->lost_at = d->now;
	m->state = UNIT_WAITING;
	grown = reallocarray(d->units, d->unit_count + 1, sizeof *d->units);
	if (grown != NULL)
		d->units = grown;
	if (copy(names->name, &m->name) < 0 || copy(names->unit, &m->unit) < 0 ||
	    copy(names->key, &m->key) < 0 || copy(names->history_key, &m->history_key) < 0 ||
	    grown == NULL) {
		managed_free(m);
		return NULL;
	}
	m->control.target = (uint32_t)d->unit_count;
	d->units[d->unit_count++] = m;
	return m;
}

static int on_memory_events(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct managed *m = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	tick_unit(m);
	return 0;
}

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

/* Longer than that, somebody took the limit away behind systemd's back. */
#define STARTING_USEC (10 * USEC_PER_SEC)

/* While systemd sets a unit up, its files show defaults: not the originals. */
static bool still_starting(const struct limits *l, const struct unit_props *p)
{
	return (p->cpu_quota_per_sec_usec != UINT64_MAX && l->cpu_quota_usec == LIMIT_MAX) ||
	       (p->mem_max != UINT64_MAX && l->mem_max == LIMIT_MAX);
}

/* Files and wake-ups of a cgroup that is to be managed. A pod level has no use of its own. */
static int attach(struct managed *m, const struct arrival *a, struct usage *ret)
{
	struct daemon *d = m->daemon;
	int fd, r;

	free(m->path);
	m->path = strdup(a->cgroup);
	if (m->path == NULL)
		return -ENOMEM;
	r = cg_open(d->root, a->cgroup, &m->cg);
	if (r < 0)
		return r;
	r = cg_read(m->cg, LIMITS_USAGE, ret);
	if (m->attach_tried_at == 0)
		m->attach_tried_at = d->now;
	if (r == 0 && still_starting(&ret->limits, &a->props) &&
	    d->now - m->attach_tried_at < STARTING_USEC)
		r = -EAGAIN;
	if (r < 0) {
		managed_close(m);
		return r;
	}
	m->attach_tried_at = 0;
	reader_attach(m);
	cg_watch_limits(d->watch, m->cg, m->control.target + 1);
	stuck_forget(m);
	if (m->kind == UNIT_KIND_POD)
		cg_oom_looks(m->cg, &m->pod_ooms);
	fd = cg_events_fd(m->cg);
	if (fd >= 0 &&
	    sd_event_add_io(d->event, &m->events, fd, EPOLLPRI, on_memory_events, m) >= 0)
		sd_event_source_set_priority(m->events, DAEMON_PRIORITY_REFLEX);
	return 0;
}

void managed_look_levels(struct managed *m)
{
	int r = m->cg != NULL ? cg_levels_look(m->cg) : 0;

	if (r == -ENODEV)
		managed_lost(m);
	if (r <= 0)
		return;
	reader_detach(m);
	reader_attach(m);
	/* Those of a level that is gone would stay for ever. */
	if (cg_inner_id(m->cg) == 0)
		cg_watch_forget(m->daemon->watch, m->control.target + 1);
	cg_watch_limits(m->daemon->watch, m->cg, m->control.target + 1);
	m->drift_check = true;
}

/*
 * Of a scope with a second level systemd holds what the runtime told it, which may be nothing. A
 * limit that the scope does not have is not given to it.
 */
uint32_t managed_props_mask(const struct managed *m)
{
	const struct unit_props *p = &m->stored;
	uint32_t mask = m->sent_mask;

	if (m->cg == NULL || cg_inner_id(m->cg) == 0)
		return UNIT_PROP_ALL;
	if (p->cpu_quota_per_sec_usec != UINT64_MAX)
		mask |= UNIT_PROP_CPU_QUOTA;
	if (p->mem_max != UINT64_MAX)
		mask |= UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH;
	return mask;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
	return a->cpu_quota_usec == b->cpu_quota_usec && a->cpu_period_usec == b->cpu_period_usec &&
	       a->cpu_burst_usec == b->cpu_burst_usec && a->mem_max == b->mem_max &&
	       a->mem_high == b->mem_high;
}

static bool sizes(const struct policy_rule *rule, uint32_t resources)
{
	return rule->mode != MODE_OFF && (rule->resources & resources);
}

/* An earlier life of ours had systemd store headroom, and wrote nothing. Of a pod systemd is asked
 * later (guard.c). */
static bool is_told_more(const struct managed *m, const struct baseline *b, const struct arrival *a)
{
	return m->kind == UNIT_KIND_UNIT && a->props.mem_max != b->props.mem_max;
}

/* Does something of ours stand that the rule does not let us have? */
static bool narrower(const struct limits *original, const struct limits *now,
		     const struct policy_rule *rule)
{
	bool cpu = original->cpu_quota_usec != now->cpu_quota_usec;
	bool memory = original->mem_max != now->mem_max || original->mem_high != now->mem_high;

	return (cpu && !sizes(rule, RESOURCES_CPU)) || (memory && !sizes(rule, RESOURCES_MEMORY));
}

/* First sight of it in this life of the daemon. */
static void begin(struct managed *m, const struct policy_rule *rule, const struct arrival *a,
		  const struct limits *now)
{
	struct daemon *d = m->daemon;
	const struct baseline *b = baseline_find(&d->baselines, m->key);
	uint32_t target = m->control.target;

	m->originals_saved = b != NULL && !d->baselines_dirty;
	m->recorded = b != NULL;
	/* With the spec ours, the kubelet may still carry it out: that is no owner's value. */
	m->touched = b != NULL &&
		     (!same_limits(&b->limits, now) || is_told_more(m, b, a) || b->ratified != 0);
	control_drop(&m->control);
	control_init(&m->control, &d->config.tuning, rule, b != NULL ? &b->limits : now);
	m->control.target = target;
	if (m->pod != NULL)
		pod_set_bounds(m);
	if (b != NULL && m->touched &&
	    (narrower(&b->limits, now, rule) ||
	     (is_told_more(m, b, a) && !sizes(rule, RESOURCES_MEMORY)))) {
		/* Sized by an earlier life of ours under a wider rule. */
		hold_release(m, m->pod != NULL ? "its annotations take it away"
					       : "the configuration takes it away");
	}
	persist_adopt_history(d, m);
	/* More was lent to it in an earlier life of ours. */
	m->lent_milli = b != NULL ? b->lent_milli : 0;
	if (m->lent_milli != 0)
		m->control.boost = (struct boost){.base_milli = m->lent_milli, .written = true};
}

/* What stands is what we hold from now on. */
static void hold_what_stands(struct control *c, const struct limits *now)
{
	if (c->resource[RESOURCE_CPU].managed && now->cpu_quota_usec != LIMIT_MAX)
		c->resource[RESOURCE_CPU].limit =
			cpu_milli_of(now->cpu_quota_usec, now->cpu_period_usec);
	if (c->resource[RESOURCE_MEMORY].managed && now->mem_max != LIMIT_MAX)
		c->resource[RESOURCE_MEMORY].limit = now->mem_max;
}

static bool is_unlimited(const struct limits *l, enum resource r)
{
	return (r == RESOURCE_CPU ? l->cpu_quota_usec : l->mem_max) == LIMIT_MAX;
}

void managed_hold_what_stands(struct managed *m)
{
	struct plan none = {0};
	struct control_context x = daemon_context(m->daemon, &none);
	struct usage u = {0};

	if (m->cg == NULL || cg_read(m->cg, LIMITS_USAGE, &u) < 0)
		return;
	m->control.kernel = u.limits;
	/* An owner who took a limit away meanwhile has none now. */
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (m->control.resource[r].managed && is_unlimited(&u.limits, r))
			control_adopt(&m->control, &u.limits, r, &x);
	hold_what_stands(&m->control, &u.limits);
	/* Or the next reload brings back what systemd was told before. */
	m->property_due = m->touched;
}

/* A successor whose files are below what we held starts with what we held. */
static void resume_size(struct managed *m)
{
	struct daemon *d = m->daemon;
	struct plan plan;
	struct control_context x;
	struct limits kernel = m->control.kernel;

	if (m->control.rule.mode == MODE_INITIAL)
		hold_what_stands(&m->control, &kernel); /* it is sized anew */
	if (!m->touched || m->control.rule.mode != MODE_AUTO || m->control.paused)
		return;
	plan_begin(d, &plan);
	/* What its predecessor held is granted anew. */
	node_memory_close(d);
	node_memory_for(m);
	x = daemon_context(d, &plan);
	control_resume(&m->control, &kernel, &x);
	plan_apply(d, &plan);
}

/* What the daemon finds after its own restart is what it had set. */
static void take_over(struct managed *m, const struct limits *now)
{
	struct control *c = &m->control;

	if (!m->touched)
		return;
	m->sent = m->stored;
	m->sent_mask = UNIT_PROP_ALL;
	hold_what_stands(c, now);
	c->grant_ended = false;
	c->initial_done = true; /* in an earlier life of ours, which is no start of the unit */
}

/* Limits without systemd's word on them: what it was told when they were written. */
struct unit_props props_of_limits(const struct limits *l)
{
	uint64_t milli = cpu_milli_of(l->cpu_quota_usec, l->cpu_period_usec);

	return (struct unit_props){
		.cpu_quota_per_sec_usec = milli == LIMIT_MAX ? UINT64_MAX : milli * USEC_PER_MSEC,
		.cpu_quota_period_usec = UINT64_MAX,
		.mem_max = l->mem_max,
		.mem_high = l->mem_high,
	};
}

/*
 * The first write to a container does not wait for PID 1, who may be busy for seconds: what the
 * runtime told it a moment ago stands in the files. The answer corrects that.
 */
static void guess_stored(struct managed *m, struct arrival *a)
{
	const struct unit_port *port = &m->daemon->port;
	struct usage u = {0};

	m->stored_guessed = false;
	if (m->kind == UNIT_KIND_UNIT || m->unit == NULL ||
	    cg_read_outer(m->cg, LIMITS_USAGE, &u) < 0)
		return;
	a->props = props_of_limits(&u.limits);
	m->stored_guessed = port->get != NULL && port->get(port->ctx, m->unit) == 0;
}

void managed_start(struct managed *m, const struct policy_rule *rule, const struct arrival *given)
{
	struct daemon *d = m->daemon;
	/* What was given back is new when it starts again. */
	bool first = m->control.started_at == 0 || m->state == UNIT_RESTORED;
	struct arrival a = *given;
	struct usage u = {0};

	if (attach(m, &a, &u) < 0) {
		m->state_reason = "its cgroup is not ready";
		return;
	}
	if (first)
		begin(m, rule, &a, &u.limits);
	persist_follow(d, m);
	control_restarted(&m->control, &u.limits, d->now);
	scope_born(m, a.active_enter_usec);
	boost_born(m);
	m->control.depth = depth_of(a.cgroup);
	guess_stored(m, &a);
	m->stored = a.props;
	m->stored_check = false;
	guard_beaten(m);
	m->lost_at = 0;
	if (m->state != UNIT_RESTORED && !m->hand_back_due) {
		m->state = UNIT_MANAGED;
		m->state_reason = NULL;
		if (rule->mode != MODE_OFF)
			persist_baseline(d, m, &a);
	}
	unit_update_hold(m);
	/* Initial sizes a unit when it starts, not when we do. */
	if (first && (m->was_running || a.active_enter_usec <= d->started_monotonic))
		m->control.initial_done = true;
	m->was_running = false;
	report_managed(m);
	if (first)
		take_over(m, &u.limits);
	else
		resume_size(m);
}

/* The last one moves into the gap, and its watches and steps follow its new number. */
void managed_remove(struct managed *m)
{
	struct daemon *d = m->daemon;
	size_t i = m->control.target;
	struct managed *last = d->units[d->unit_count - 1];

	managed_close(m);
	node_memory_renumber(d);
	d->units[i] = last;
	d->unit_count--;
	if (last != m && last->cg != NULL)
		cg_watch_forget(d->watch, last->control.target + 1);
	last->control.target = (uint32_t)i;
	if (last != m && last->cg != NULL)
		cg_watch_limits(d->watch, last->cg, i + 1);
	last->drift_check = true;
	managed_free(m);
}
