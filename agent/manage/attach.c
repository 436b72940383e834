// SPDX-License-Identifier: Apache-2.0
/* The cgroup of an entry, which comes and goes. */
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "cgroup/kubepods.h"
#include "cgroup/levels.h"
#include "policy/base/text.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* --- the start of a container ---
 * PID 1 may not be called while its runtime creates it. Files may be written at any time; the
 * runtime's own Set replaces them once, and is corrected like any echo. */

/* Beyond UNIT_CREATING_USEC. */
#define LATE_USEC (50 * USEC_PER_SEC)

bool scope_is_of(const struct managed *m, const struct kube_container *c)
{
	struct kubepods_name name;

	return c->id != NULL && m->cgroup.path != NULL &&
	       kubepods_parse(m->cgroup.path, &name) == 0 && strcmp(name.id, c->id) == 0;
}

/* systemd reports the age of a unit; a container is at least as old as when it was first seen. */
void scope_started(struct managed *m, usec_t active_enter_usec)
{
	usec_t monotonic = m->wake->started_monotonic + (m->wake->now - m->wake->started_at);
	usec_t age = m->kind == UNIT_KIND_UNIT ? sub_sat(monotonic, active_enter_usec) : 0;

	m->cgroup.created_by = m->wake->now + UNIT_CREATING_USEC - MIN(age, UNIT_CREATING_USEC);
}

static bool is_reported_running(const struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);

	return c != NULL && c->running && scope_is_of(m, c);
}

/* PID 1 takes tens of seconds for a call on a busy node, and the runtime with it. Where the
 * kubelet's reports come in, that is waited for, but not with a use that a reload of PID 1 could
 * cut. */
static bool is_late(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER && m->pod->pods->live &&
	       m->wake->now < m->cgroup.created_by + LATE_USEC &&
	       mem_use(&m->control.last) < m->properties.stored.mem_max / 2;
}

bool scope_is_creating(const struct managed *m)
{
	return m->cgroup.cg != NULL && m->unit != NULL && text_is_container_scope(m->unit) &&
	       (m->wake->now < m->cgroup.created_by || is_late(m)) && !is_reported_running(m);
}

bool scope_out_of_reach(const struct pid1 *pid1, const char *path)
{
	struct kubepods_name name;

	return pid1->absent && kubepods_parse(path, &name) == 0 && name.unit[0] != '\0';
}

static int on_memory_events(sd_event_source *, int, uint32_t, void *userdata)
{
	struct managed *m = userdata;

	m->table->on_memory_event(m);
	return 0;
}

/* After that time, a missing limit was removed by an external writer and not by systemd. */
#define STARTING_USEC (10 * USEC_PER_SEC)

/* While systemd sets a unit up, its files show defaults: not the originals. */
static bool still_starting(const struct limits *l, const struct unit_props *p)
{
	return (p->cpu_quota_per_sec_usec != UINT64_MAX && l->cpu_quota_usec == LIMIT_MAX) ||
	       (p->mem_max != UINT64_MAX && l->mem_max == LIMIT_MAX);
}

/* memory.stat says how much of the peak is page cache. */
#define TOTAL_USAGE (USAGE_CPU | USAGE_THROTTLE | USAGE_MEM | USAGE_MEM_PEAK | USAGE_MEM_STAT)

void managed_read_totals(struct managed *m)
{
	struct usage u = {0};

	if (m->kind == UNIT_KIND_CONTAINER && m->control.last_at == 0 &&
	    cg_read(m->cgroup.cg, TOTAL_USAGE | LIMITS_USAGE, &u) == 0)
		control_note_totals(&m->control, &u);
}

/* A Job may restart its containers (OnFailure), but only until they succeed. */
static bool runs_to_end(const struct kube_pod *s)
{
	return s->once || (s->owner != NULL &&
			   (strcmp(s->owner, "Job") == 0 || strcmp(s->owner, "CronJob") == 0));
}

/* What the cgroup still says; when it is removed, what was last read. */
static void count_end(struct managed *m)
{
	struct control_context x = daemon_context(m->table, NULL);
	const struct control *c = &m->control;
	const struct usage *last = c->last_at != 0 ? &c->last : &c->sample;
	struct usage u = {0};

	if (m->kind != UNIT_KIND_CONTAINER)
		return;
	if (cg_read(m->cgroup.cg, TOTAL_USAGE, &u) == 0)
		u.limits = last->limits;
	else
		u = *last;
	u.have |= last->have & LIMITS_USAGE;
	control_end(&m->control, &u, runs_to_end(m->pod->spec), m->wake->started_at, &x);
}

void managed_close(struct managed *m)
{
	if (m->cgroup.cg == NULL)
		return;
	control_note_totals(&m->control, &(struct usage){0});
	sd_event_source_disable_unref(m->cgroup.events);
	m->cgroup.events = NULL;

	cg_watch_forget(m->table->inotify->watch, managed_cookie(m));
	reader_detach(m);
	cg_close(m->cgroup.cg);
	m->cgroup.cg = NULL;
	drift_end_early(m);
}

/* A new descriptor has the lowest free number: those below it are open. */
static bool descriptors_low(struct unit_table *t, int newest)
{
	struct rlimit files;
	bool low = getrlimit(RLIMIT_NOFILE, &files) == 0 &&
		   (rlim_t)newest + 1 > files.rlim_cur / 5 * 4;

	if (low && !t->files_low)
		event_tell(EVENT_DESCRIPTORS_LOW, .count = files.rlim_cur);
	t->files_low = low;
	return low;
}

static void say_lacks(struct unit_table *t, const struct cg *cg)
{
	char text[256];

	if (t->lacks_said)
		return;
	cg_lacks(cg_dirfd(cg), text, sizeof text);
	t->lacks_said = text[0] != '\0';
	if (t->lacks_said)
		event_tell(EVENT_KERNEL_LACKS, .detail = text);
}

void managed_find_above(struct managed *m)
{
	/* A pod with a limit of its own bounds its containers; else that is their sum. */
	m->cgroup.above = above_find(&m->table->memory->above,
				     m->pod != NULL && !pod_has_budget(m->pod) ? m->pod->path
									       : m->cgroup.path);
}

bool managed_moved(struct managed *m, const char *path)
{
	char *copy = strdup(path);

	if (copy == NULL)
		return false;
	free(m->cgroup.path);
	m->cgroup.path = copy;
	return true;
}

int managed_attach(struct managed *m, const struct arrival *a, struct usage *ret)
{
	int fd, r;

	if (!managed_moved(m, a->cgroup))
		return -ENOMEM;
	r = cg_open(m->host->root, a->cgroup, &m->cgroup.cg);
	if (r < 0)
		return r;
	if (descriptors_low(m->table, cg_dirfd(m->cgroup.cg))) {
		managed_close(m);
		return -EMFILE;
	}
	r = cg_read(m->cgroup.cg, LIMITS_USAGE, ret);
	managed_attach_tried(m);
	if (r == 0 && still_starting(&ret->limits, &a->props) &&
	    m->wake->now - m->cgroup.attach_tried_at < STARTING_USEC)
		r = -EAGAIN;
	if (r < 0) {
		managed_close(m);
		return r;
	}
	m->cgroup.attach_tried_at = 0;
	managed_find_above(m);
	oom_seen_begin(m->cgroup.cg, &m->reported.ooms);
	say_lacks(m->table, m->cgroup.cg);
	reader_attach(m);
	cg_watch_limits(m->table->inotify->watch, m->cgroup.cg, managed_cookie(m));
	fd = cg_events_fd(m->cgroup.cg);
	if (fd >= 0 && sd_event_add_io(m->wake->event, &m->cgroup.events, fd, EPOLLPRI,
				       on_memory_events, m) >= 0)
		sd_event_source_set_priority(m->cgroup.events, DAEMON_PRIORITY_REFLEX);
	return 0;
}

void managed_attach_tried(struct managed *m)
{
	if (m->cgroup.attach_tried_at == 0)
		m->cgroup.attach_tried_at = m->wake->now;
}

void managed_set_running(struct managed *m)
{
	m->cgroup.lost_at = 0;
	m->cgroup.was_running = false;
}

void managed_detach(struct managed *m)
{
	m->cgroup.was_running = m->cgroup.cg != NULL;
	managed_close(m);
	m->cgroup.reattached_at = m->cgroup.lost_at = m->wake->now;
}

void managed_check_again(struct managed *m)
{
	if (m->kind == UNIT_KIND_UNIT)
		m->pid1->list_due = true;
	else
		m->pod->scan = true;
}

void managed_lost(struct managed *m)
{
	const struct unit_port *port = &m->pid1->port;

	if (m->cgroup.cg == NULL)
		return;
	count_end(m);
	persist_keep_history(m);
	message_summed(m, true);
	managed_close(m);
	/* A waiting call would be sent for a successor of the same name, while that one is
	 * created. */
	if (m->unit != NULL && port->forget != NULL)
		port->forget(port->bus, m->unit);
	m->cgroup.lost_at = m->wake->now;
	control_lost(&m->control, m->wake->now);
	if (managed_state(m) == UNIT_MANAGED || managed_state(m) == UNIT_GAVE_WAY) {
		/* What was written to it was written before. */
		message_steps(m->table);
		if (m->kind != UNIT_KIND_POD)
			event_tell(EVENT_UNIT_GONE, .who = message_who(m));
		managed_set_reason(m, STATE_NOT_RUNNING);
	}
	managed_check_again(m);
}

void managed_check_levels(struct managed *m)
{
	int r = m->cgroup.cg != NULL ? cg_levels_check(m->cgroup.cg) : 0;

	if (r == -ENODEV)
		managed_lost(m);
	if (r <= 0)
		return;
	reader_detach(m);
	reader_attach(m);
	/* Watches of a level that is gone would never be removed. */
	if (cg_inner_id(m->cgroup.cg) == 0)
		cg_watch_forget(m->table->inotify->watch, managed_cookie(m));
	cg_watch_limits(m->table->inotify->watch, m->cgroup.cg, managed_cookie(m));
	drift_request_check(m);
}
