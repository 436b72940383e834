// SPDX-License-Identifier: Apache-2.0
/* What others write: limit files, reloads of PID 1, and what systemd says it stores. */
#include "agent/daemon.h"
#include "cgroup/writer.h"
#include "policy/bounds.h"
#include <errno.h>

/* Rewrites of a reload come before it is announced as ended, or right after (252). */
#define RELOAD_ECHO_USEC (5 * USEC_PER_SEC)
/* systemd writes our property right before it answers. */
#define OWN_ECHO_USEC (2 * USEC_PER_SEC)
#define GUARD_USAGE   (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT | USAGE_MEM)

static void on_watch_event(void *ctx, const struct cg_watch_event *e)
{
	struct daemon *d = ctx;

	if (e->what == CG_WATCH_OVERFLOW) {
		for (size_t i = 0; i < d->unit_count; i++)
			d->units[i]->drift_check = true;
		return;
	}
	if (e->what == CG_WATCH_LIMIT && e->cookie > 0 && e->cookie <= d->unit_count)
		d->units[e->cookie - 1]->drift_check = true;
}

static int on_watch(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct daemon *d = userdata;

	(void)s;
	(void)fd;
	(void)revents;
	daemon_wake(d);
	cg_watch_drain(d->watch, on_watch_event, d);
	guard_check(d);
	return 0;
}

int guard_start(struct daemon *d)
{
	int r = cg_watch_new(&d->watch);

	if (r < 0)
		return r;
	return sd_event_add_io(d->event, NULL, cg_watch_fd(d->watch), EPOLLIN, on_watch, d);
}

static bool reloaded(const struct daemon *d)
{
	return d->reloading ||
	       (d->reload_ended != 0 && d->now - d->reload_ended < RELOAD_ECHO_USEC);
}

bool unit_moved(const struct managed *m, enum resource r, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;

	if (!m->control.resource[r].managed)
		return false;
	if (r == RESOURCE_CPU)
		return seen->cpu_quota_usec != k->cpu_quota_usec ||
		       seen->cpu_period_usec != k->cpu_period_usec;
	return seen->mem_max != k->mem_max || seen->mem_high != k->mem_high;
}

/* What the kernel shows for a property that systemd applies. */
static uint64_t quota_of_property(uint64_t per_sec_usec, uint64_t period_usec)
{
	if (per_sec_usec == UINT64_MAX)
		return LIMIT_MAX;
	return (uint64_t)((unsigned __int128)per_sec_usec * period_usec / USEC_PER_SEC);
}

static struct drift_facts facts_cpu(const struct managed *m, const struct limits *seen)
{
	return (struct drift_facts){
		.expected = m->control.kernel.cpu_quota_usec,
		.observed = seen->cpu_quota_usec,
		.property =
			quota_of_property(m->sent.cpu_quota_per_sec_usec, seen->cpu_period_usec),
		.stored =
			quota_of_property(m->stored.cpu_quota_per_sec_usec, seen->cpu_period_usec),
		.has_property = m->sent_mask & UNIT_PROP_CPU_QUOTA,
	};
}

/* memory.max speaks for the pair: who writes memory.high alone is a case of its own. */
static struct drift_facts facts_memory(const struct managed *m, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;
	bool high = seen->mem_max == k->mem_max;

	return (struct drift_facts){
		.expected = high ? k->mem_high : k->mem_max,
		.observed = high ? seen->mem_high : seen->mem_max,
		.property = round_down(high ? m->sent.mem_high : m->sent.mem_max, MEM_PAGE_BYTES),
		.stored = round_down(high ? m->stored.mem_high : m->stored.mem_max, MEM_PAGE_BYTES),
		.has_property = m->sent_mask & (high ? UNIT_PROP_MEM_HIGH : UNIT_PROP_MEM_MAX),
	};
}

/* Lower than a moment ago, and nobody knows yet by whom: first make it safe. */
static void make_safe(struct managed *m, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;
	struct change raise = {
		.target = m->control.target,
		.knob = KNOB_MEM_MAX,
		.from = seen->mem_max,
		.to = k->mem_max,
	};

	if (m->control.resource[RESOURCE_MEMORY].managed && seen->mem_max < k->mem_max)
		cg_write(m->cg, &raise);
}

static void give_way(struct managed *m, enum resource r, const struct drift_facts *f)
{
	m->state = UNIT_GAVE_WAY;
	m->state_reason = "another writer insists";
	m->control.gave_way = true;
	m->control.resource[r].limit =
		r == RESOURCE_CPU ? m->control.resource[r].limit : f->observed;
	report_drift(m, r, f, DRIFT_GIVE_WAY, NULL);
}

static void adopt(struct managed *m, enum resource r, const struct limits *seen,
		  const struct drift_facts *f, const struct control_context *x)
{
	struct daemon *d = m->daemon;

	control_adopt(&m->control, seen, r, x);
	m->sent_mask &= r == RESOURCE_CPU ? ~(uint32_t)UNIT_PROP_CPU_QUOTA
					  : ~(uint32_t)(UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH);
	persist_adopted(d, m, r);
	report_drift(m, r, f, DRIFT_ADOPT, NULL);
}

/* Before our first write what the owner sets is the original: nothing of ours is at stake. */
static void follow_owner(struct managed *m, const struct limits *seen,
			 const struct control_context *x)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		if (!unit_moved(m, r, seen))
			continue;
		control_adopt(&m->control, seen, r, x);
		persist_adopted(m->daemon, m, r);
	}
}

/* An echo, or a value to be replaced: ours again. */
static void reassert(struct managed *m, enum resource r, const struct limits *seen,
		     const struct drift_facts *f, const struct control_context *x)
{
	bool own_echo = f->set_pending || m->daemon->now - m->set_done_at < OWN_ECHO_USEC;
	const char *by = f->reloaded                                 ? "daemon-reload"
			 : f->has_stored && f->observed == f->stored ? "systemd"
								     : "another writer";

	control_reassert(&m->control, seen, r, x);
	if (!own_echo)
		report_drift(m, r, f, DRIFT_REASSERT, by);
}

static void judge(struct managed *m, enum resource r, const struct limits *seen, bool has_stored,
		  const struct control_context *x)
{
	struct daemon *d = m->daemon;
	struct drift_facts f = r == RESOURCE_CPU ? facts_cpu(m, seen) : facts_memory(m, seen);

	f.has_stored = has_stored;
	f.set_pending = d->port.pending(d->port.ctx, m->name);
	/* With PID 1 silent nobody can be named: not counted against anybody. */
	f.reloaded = reloaded(d) || !has_stored;
	switch (drift_classify(&d->config.tuning.common, &m->drift[r], &f, d->now)) {
	case DRIFT_NONE:
	case DRIFT_COUNT:
		return;
	case DRIFT_ADOPT:
		adopt(m, r, seen, &f, x);
		return;
	case DRIFT_GIVE_WAY:
		give_way(m, r, &f);
		return;
	case DRIFT_ECHO:
		/* systemd carries headroom for growth: while it is needed, it stays in the file. */
		if (r == RESOURCE_MEMORY && f.observed > f.expected &&
		    m->control.mem.slope_bps > 0) {
			m->control.kernel.mem_max = seen->mem_max;
			return;
		}
		reassert(m, r, seen, &f, x);
		return;
	case DRIFT_REASSERT:
	case DRIFT_COUNTED:
		reassert(m, r, seen, &f, x);
		return;
	}
}

enum answer { NOT_ASKED, STORED_KNOWN, STORED_UNKNOWN };

static void guard_unit(struct managed *m, enum answer answer, struct plan *plan)
{
	struct daemon *d = m->daemon;
	struct control_context x = daemon_context(d, plan);
	struct usage u = {0};
	int r = cg_read(m->cg, GUARD_USAGE, &u);

	if (r == -ENODEV)
		unit_lost(m);
	if (r < 0)
		return;
	if (!unit_moved(m, RESOURCE_CPU, &u.limits) && !unit_moved(m, RESOURCE_MEMORY, &u.limits))
		return;
	if (m->state != UNIT_MANAGED)
		return;
	if (!m->touched) {
		follow_owner(m, &u.limits, &x);
		return;
	}
	if (answer == NOT_ASKED) {
		make_safe(m, &u.limits);
		m->drift_asked = m->drift_asked || d->port.get(d->port.ctx, m->name) == 0;
		if (m->drift_asked)
			return;
		answer = STORED_UNKNOWN;
	}
	for (enum resource k = 0; k < RESOURCE_COUNT; k++)
		if (unit_moved(m, k, &u.limits))
			judge(m, k, &u.limits, answer == STORED_KNOWN, &x);
}

void guard_check(struct daemon *d)
{
	struct plan plan;

	plan_begin(d, &plan);
	for (size_t i = 0; i < d->unit_count; i++) {
		struct managed *m = d->units[i];

		if (!m->drift_check)
			continue;
		m->drift_check = false;
		if (m->cg != NULL)
			guard_unit(m, NOT_ASKED, &plan);
	}
	plan_apply(d, &plan);
	properties_send(d);
}

void guard_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct daemon *d = ctx;

	daemon_wake(d);
	if (error < 0) {
		d->list_due = true;
		return;
	}
	units_listed(d, units, count);
	if (!d->ready_told)
		event_ready(&(struct daemon_event){.count = d->unit_count});
	d->ready_told = true;
}

/* Outcomes that concern one unit end in one look at it. */
static void look_again(struct managed *m, enum answer answer)
{
	struct daemon *d = m->daemon;
	struct plan plan;

	if (m->cg == NULL)
		return;
	plan_begin(d, &plan);
	guard_unit(m, answer, &plan);
	plan_apply(d, &plan);
	properties_send(d);
}

void guard_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
		    usec_t lag)
{
	struct daemon *d = ctx;
	struct managed *m = units_find(d, unit);

	daemon_wake(d);
	if (m == NULL)
		return;
	if (error < 0) {
		/* Due again: the next wake-up tries with the values of that time. */
		m->property_due = error != -ENOENT;
		if (!m->property_failed)
			report_property_failed(m, error, lag);
		m->property_failed = true;
		return;
	}
	m->property_failed = false;
	m->stored = *stored;
	m->set_done_at = d->now;
	look_again(m, STORED_KNOWN);
}

void guard_got(void *ctx, const char *unit, int error, const struct unit_props *stored)
{
	struct daemon *d = ctx;
	struct managed *m = units_find(d, unit);

	daemon_wake(d);
	if (m == NULL)
		return;
	m->drift_asked = false;
	if (error == 0)
		m->stored = *stored;
	look_again(m, error == 0 ? STORED_KNOWN : STORED_UNKNOWN);
}

void guard_reloading(void *ctx, bool active)
{
	struct daemon *d = ctx;

	daemon_wake(d);
	d->reloading = active;
	if (active)
		return;
	d->reload_ended = d->now;
	for (size_t i = 0; i < d->unit_count; i++)
		d->units[i]->drift_check = true;
	guard_check(d);
	d->list_due = true;
}
