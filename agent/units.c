// SPDX-License-Identifier: Apache-2.0
/* Which units are ours: from PID 1's list to open cgroups, and back. */
#include "agent/daemon.h"
#include <errno.h>
#include <string.h>

/* The bus gives up a call after as long. */
#define LIST_DEADLINE_USEC (30 * USEC_PER_SEC)
#define LIMITS_USAGE       (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

struct managed *units_find(const struct daemon *d, const char *name)
{
	for (size_t i = 0; i < d->unit_count; i++)
		if (strcmp(d->units[i]->name, name) == 0)
			return d->units[i];
	return NULL;
}

static void unit_close(struct managed *m)
{
	if (m->cg == NULL)
		return;
	sd_event_source_disable_unref(m->events);
	m->events = NULL;
	cg_watch_forget(m->daemon->watch, m->control.target + 1);
	cg_close(m->cg);
	m->cg = NULL;
	m->made_safe = false;
}

static void unit_free(struct managed *m)
{
	if (m == NULL)
		return;
	unit_close(m);
	free(m->name);
	free(m->path);
	free(m);
}

void units_free(struct daemon *d)
{
	for (size_t i = 0; i < d->unit_count; i++)
		unit_free(d->units[i]);
	free(d->units);
	d->units = NULL;
	d->unit_count = 0;
}

void unit_lost(struct managed *m)
{
	if (m->cg == NULL)
		return;
	persist_keep_history(m->daemon, m);
	unit_close(m);
	m->lost_at = m->daemon->now;
	if (m->state == UNIT_MANAGED || m->state == UNIT_GAVE_WAY) {
		report_gone(m);
		m->state = UNIT_WAITING;
		m->state_reason = "it does not run";
	}
	m->daemon->list_due = true;
}

void unit_reattach(struct managed *m)
{
	m->was_running = m->cg != NULL;
	persist_keep_history(m->daemon, m);
	unit_close(m);
	m->reattached_at = m->lost_at = m->daemon->now;
	m->control.started_at = 0;
	m->originals_saved = false;
	m->touched = false;
	m->sent_mask = 0;
}

static struct managed *unit_new(struct daemon *d, const char *name)
{
	struct managed *m = calloc(1, sizeof *m);
	void *grown;

	if (m == NULL)
		return NULL;
	m->daemon = d;
	m->paused = d->paused;
	m->lost_at = d->now;
	m->name = strdup(name);
	m->state = UNIT_WAITING;
	grown = reallocarray(d->units, d->unit_count + 1, sizeof *d->units);
	if (grown != NULL)
		d->units = grown;
	if (m->name == NULL || grown == NULL) {
		unit_free(m);
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

/* Files and wake-ups of a cgroup that is to be managed. */
static int unit_attach(struct managed *m, const struct unit_info *info, struct usage *ret)
{
	struct daemon *d = m->daemon;
	int fd, r;

	free(m->path);
	m->path = strdup(info->cgroup);
	if (m->path == NULL)
		return -ENOMEM;
	r = cg_open(d->root, info->cgroup, &m->cg);
	if (r < 0)
		return r;
	r = cg_read(m->cg, LIMITS_USAGE, ret);
	if (m->attach_tried_at == 0)
		m->attach_tried_at = d->now;
	if (r == 0 && still_starting(&ret->limits, &info->props) &&
	    d->now - m->attach_tried_at < STARTING_USEC)
		r = -EAGAIN;
	if (r < 0) {
		unit_close(m);
		return r;
	}
	m->attach_tried_at = 0;
	cg_watch_limits(d->watch, m->cg, m->control.target + 1);
	fd = cg_events_fd(m->cg);
	if (fd >= 0)
		sd_event_add_io(d->event, &m->events, fd, EPOLLPRI, on_memory_events, m);
	return 0;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
	return a->cpu_quota_usec == b->cpu_quota_usec && a->cpu_period_usec == b->cpu_period_usec &&
	       a->cpu_burst_usec == b->cpu_burst_usec && a->mem_max == b->mem_max &&
	       a->mem_high == b->mem_high;
}

/* Does something of ours stand that the rule does not let us have? */
static bool narrower(const struct limits *original, const struct limits *now,
		     const struct policy_rule *rule)
{
	bool cpu = original->cpu_quota_usec != now->cpu_quota_usec;
	bool memory = original->mem_max != now->mem_max || original->mem_high != now->mem_high;

	return (cpu && (rule->mode == MODE_OFF || !(rule->resources & RESOURCES_CPU))) ||
	       (memory && (rule->mode == MODE_OFF || !(rule->resources & RESOURCES_MEMORY)));
}

/* First sight of a unit in this life of the daemon. */
static void unit_begin(struct managed *m, const struct policy_rule *rule, const struct limits *now)
{
	struct daemon *d = m->daemon;
	uint32_t target = m->control.target;
	char key[RECORD_NAME_MAX];
	const struct baseline *b;

	snprintf(key, sizeof key, "unit:%s", m->name);
	b = baseline_find(&d->baselines, key);
	m->originals_saved = b != NULL && !d->baselines_dirty;
	m->touched = b != NULL && !same_limits(&b->limits, now);
	control_init(&m->control, &d->config.tuning, rule, b != NULL ? &b->limits : now);
	m->control.target = target;
	if (b != NULL && m->touched && narrower(&b->limits, now, rule)) {
		/* Sized by an earlier life of ours under a wider rule. */
		hold_release(m, "the configuration takes it away");
	}
	persist_adopt_history(d, m);
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

void unit_hold_what_stands(struct managed *m)
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
static void unit_resume_size(struct managed *m)
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
	x = daemon_context(d, &plan);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (m->control.resource[r].managed)
			control_reassert(&m->control, &kernel, r, &x);
	plan_apply(d, &plan);
}

/* What the daemon finds after its own restart is what it had set. */
static void unit_take_over(struct managed *m, const struct limits *now)
{
	struct control *c = &m->control;

	if (!m->touched)
		return;
	m->sent = m->stored;
	m->sent_mask = UNIT_PROP_ALL;
	hold_what_stands(c, now);
	c->initial_done = true; /* in an earlier life of ours, which is no start of the unit */
}

static void unit_start(struct managed *m, const struct policy_rule *rule,
		       const struct unit_info *info)
{
	struct daemon *d = m->daemon;
	/* A unit that was given back is a new one when it starts again. */
	bool first = m->control.started_at == 0 || m->state == UNIT_RESTORED;
	struct usage u = {0};

	if (unit_attach(m, info, &u) < 0) {
		m->state_reason = "its cgroup is not ready";
		return;
	}
	if (first)
		unit_begin(m, rule, &u.limits);
	control_restarted(&m->control, &u.limits, d->now);
	m->control.depth = depth_of(info->cgroup);
	m->stored = info->props;
	m->stored_check = false;
	guard_beaten(m);
	m->lost_at = 0;
	if (m->state != UNIT_RESTORED && !m->hand_back_due) {
		m->state = UNIT_MANAGED;
		m->state_reason = NULL;
		if (rule->mode != MODE_OFF)
			persist_baseline(d, m, info);
	}
	unit_update_hold(m);
	/* Initial sizes a unit when it starts, not when we do. */
	if (first && (m->was_running || info->active_enter_usec <= d->started_monotonic))
		m->control.initial_done = true;
	m->was_running = false;
	report_managed(m);
	if (first)
		unit_take_over(m, &u.limits);
	else
		unit_resume_size(m);
}

/* A limit of ours on ourselves could stop the one who would raise it. */
static bool holds_us(const struct daemon *d, const char *cgroup)
{
	size_t len = strlen(cgroup);

	return strncmp(d->own_cgroup, cgroup, len) == 0 &&
	       (d->own_cgroup[len] == '/' || d->own_cgroup[len] == '\0');
}

static void unit_listed(struct daemon *d, const struct unit_info *info)
{
	const struct policy_rule *rule = config_rule_for(&d->config, info->name);
	struct managed *m = units_find(d, info->name);

	if (rule == NULL || info->cgroup[0] == '\0' || holds_us(d, info->cgroup))
		return;
	if (m == NULL)
		m = unit_new(d, info->name);
	if (m == NULL)
		return;
	m->listed = true;
	if (m->reattached_at != 0 && m->reattached_at >= d->list_asked_at) {
		d->list_due = true;
		return;
	}
	if (m->cg != NULL && cg_same(m->cg, d->root, info->cgroup) != 1)
		unit_lost(m);
	if (m->cg != NULL) {
		guard_stored(m, &info->props);
		return;
	}
	unit_start(m, rule, info);
}

void units_listed(struct daemon *d, const struct unit_info *units, size_t count)
{
	for (size_t i = 0; i < d->unit_count; i++)
		d->units[i]->listed = false;
	for (size_t i = 0; i < count; i++)
		unit_listed(d, &units[i]);
	for (size_t i = 0; i < d->unit_count; i++)
		if (!d->units[i]->listed)
			unit_lost(d->units[i]);
	persist_baselines(d);
}

static bool is_scope(const struct managed *m)
{
	const char *dot = strrchr(m->name, '.');

	return dot != NULL && strcmp(dot, ".scope") == 0;
}

/* A scope never comes back under its name; a service may, within what the history keeps. */
static bool unseen_for_good(const struct managed *m)
{
	usec_t keep = is_scope(m) ? 0 : HISTORY_UNSEEN_USEC;

	return m->cg == NULL && m->lost_at != 0 && !m->hand_back_due &&
	       m->daemon->now - m->lost_at >= keep;
}

/* The last one moves into the gap, and its watches and steps follow its new number. */
static void unit_forget(struct daemon *d, size_t i)
{
	struct managed *last = d->units[d->unit_count - 1];
	struct managed *gone = d->units[i];

	persist_forget(d, gone);
	d->units[i] = last;
	d->unit_count--;
	if (last != gone && last->cg != NULL)
		cg_watch_forget(d->watch, last->control.target + 1);
	last->control.target = (uint32_t)i;
	if (last != gone && last->cg != NULL)
		cg_watch_limits(d->watch, last->cg, i + 1);
	last->drift_check = true;
	unit_free(gone);
}

void units_forget(struct daemon *d)
{
	for (size_t i = d->unit_count; i > 0; i--) {
		struct managed *m = d->units[i - 1];

		if (!unseen_for_good(m))
			continue;
		/* systemd may still hold our values for the next start of a service. */
		if (!is_scope(m) && persist_has(d, m))
			hold_release(m, "not seen for days");
		else
			unit_forget(d, i - 1);
	}
}

void units_request_list(struct daemon *d)
{
	const char **globs;
	size_t count = 0, n = 0;

	/* Asking anew would drop the list on its way, and a slow PID 1 would never deliver one. */
	if (d->list_pending && d->now - d->list_asked_at < LIST_DEADLINE_USEC) {
		d->list_due = true;
		return;
	}
	d->list_due = false;
	d->list_asked_at = d->now;
	for (size_t i = 0; i < d->config.unit_count; i++)
		count += d->config.units[i].glob_count;
	if (count == 0) {
		units_listed(d, NULL, 0);
		return;
	}
	globs = calloc(count, sizeof *globs);
	if (globs == NULL)
		return;
	for (size_t i = 0; i < d->config.unit_count; i++)
		for (size_t g = 0; g < d->config.units[i].glob_count; g++)
			globs[n++] = d->config.units[i].globs[g];
	d->list_pending = true;
	if (d->port.list(d->port.ctx, globs, n) < 0) {
		d->list_pending = false;
		d->list_due = true;
	}
	free(globs);
}
