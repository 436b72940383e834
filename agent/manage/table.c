// SPDX-License-Identifier: Apache-2.0
/* The table of what is managed: an entry is added and removed; its id, its state, and queries. */
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "policy/control/control.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void managed_free(struct managed *m)
{
	if (m == NULL)
		return;
	managed_close(m);
	if (m->record != NULL)
		m->record->holder = NULL;
	control_drop(&m->control);
	free(m->name);
	free(m->unit);
	free(m->key);
	free(m->history_key);
	free(m->cgroup.path);
	drift_forget_writers(m);
	free(m);
}

void managed_free_all(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		managed_free(m);
	free(t->items);
	free(t->by_id);
	free(t->plans.steps);
	t->items = t->by_id = NULL;
	t->count = t->id_count = 0;
}

/* NULL stays NULL. */
static int copy(const char *from, char **ret)
{
	*ret = from != NULL ? strdup(from) : NULL;
	return from != NULL && *ret == NULL ? -ENOMEM : 0;
}

/* Entries: one at a time they would leave holes between all that is allocated with them. */
#define GROW_BY 256

/* Both arrays have room for one more before anything is changed. */
static int table_add(struct unit_table *t, struct managed *m)
{
	struct managed **items =
		reallocarray(t->items, round_up(t->count + 1, GROW_BY), sizeof *items);
	struct managed **by_id;
	uint32_t id = 0;

	if (items == NULL)
		return -ENOMEM;
	t->items = items;
	while (id < t->id_count && t->by_id[id] != NULL)
		id++;
	if (id == t->id_count) {
		by_id = reallocarray(t->by_id, round_up((uint64_t)id + 1, GROW_BY), sizeof *by_id);
		if (by_id == NULL)
			return -ENOMEM;
		t->by_id = by_id;
		t->id_count++;
	}
	control_set_target(&m->control, id);
	control_set_page(&m->control, m->config->tuning.memory.page_bytes);
	t->by_id[id] = m;
	t->items[t->count++] = m;
	return 0;
}

struct managed *managed_new(struct unit_table *t, const struct managed_names *names)
{
	struct managed *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	/* The ledger's entries do not include the new unit. */
	node_memory_close(t->memory);
	m->table = t;
	m->records = t->records;
	m->pid1 = t->pid1;
	m->wake = t->wake;
	m->config = t->config;
	m->host = t->host;
	m->cgroup.slots = (struct cg_scan_slots){READER_NO_SLOT, READER_NO_SLOT};
	m->kind = names->kind;
	m->paused = t->paused;
	m->cgroup.lost_at = t->wake->now;
	m->reason = STATE_NO_CGROUP;

	if (copy(names->name, &m->name) < 0 || copy(names->unit, &m->unit) < 0 ||
	    copy(names->key, &m->key) < 0 || copy(names->history_key, &m->history_key) < 0 ||
	    table_add(t, m) < 0) {
		managed_free(m);
		return NULL;
	}
	m->record = baseline_find(&t->records->baselines, m->key);
	if (m->record != NULL) {
		assert(m->record->holder == NULL);
		m->record->holder = &m->record;
	}
	return m;
}

void managed_remove(struct managed *m)
{
	struct unit_table *t = m->table;
	size_t i = 0;

	managed_close(m);
	node_memory_forget(m->table->memory, m->control.target);
	while (t->items[i] != m)
		i++;
	t->items[i] = t->items[--t->count];
	t->by_id[m->control.target] = NULL;
	managed_free(m);
}

void managed_set_reason(struct managed *m, enum state_reason reason)
{
	m->reason = reason;
}

enum unit_state managed_state(const struct managed *m)
{
	return state_rows[m->reason].state;
}

enum state_reason managed_reason(const struct managed *m)
{
	const struct kube_container *spec = pod_spec_of(m);
	bool runs = m->cgroup.cg != NULL;

	if (m->pod != NULL && m->pod->ending && !runs)
		return m->pod->spec->deleting ? STATE_DELETING : STATE_FINISHED;
	if (managed_state(m) == UNIT_RESTORED || managed_state(m) == UNIT_UNMANAGED)
		return m->reason;
	if (m->paused)
		return STATE_OPERATOR;
	if (runs && !m->host->cg.writable && m->control.rule.mode != MODE_OFF)
		return STATE_CGROUP_READ_ONLY;
	if (runs && !m->originals.saved && m->control.rule.mode != MODE_OFF)
		return STATE_NOT_RECORDED;
	if (m->pod != NULL && m->pod->error != NULL && m->container.annotated)
		return STATE_ANNOTATION_INVALID;
	/* The API server knows which of the two it is. */
	if (spec != NULL && (m->reason == STATE_NO_CGROUP || m->reason == STATE_NOT_RUNNING))
		return spec->running ? STATE_NO_CGROUP : STATE_NOT_RUNNING;
	return m->reason;
}

const char *managed_reason_text(const struct managed *m)
{
	enum state_reason reason = managed_reason(m);

	return reason == STATE_ANNOTATION_INVALID ? m->pod->error : state_rows[reason].text;
}

void managed_set_unit(struct managed *m, char *unit)
{
	free(m->unit);
	m->unit = unit;
}

struct managed *managed_by_id(const struct unit_table *t, uint32_t id)
{
	return id < t->id_count ? t->by_id[id] : NULL;
}

/* 0 is no cookie. */
uint64_t managed_cookie(const struct managed *m)
{
	return (uint64_t)m->control.target + 1;
}

struct managed *managed_by_cookie(const struct unit_table *t, uint64_t cookie)
{
	return cookie != 0 && cookie <= UINT32_MAX ? managed_by_id(t, (uint32_t)(cookie - 1))
						   : NULL;
}

/* --- what the laws get with a wake-up --- */

void plan_begin(struct unit_table *t, struct plan *ret)
{
	struct plan_storage *s = &t->plans;
	size_t want = (t->count + 1) * PLAN_STEPS_PER_UNIT;

	if (want > s->capacity) {
		void *steps = malloc(want * sizeof *s->steps);

		/* Not reallocated: no content is kept, and untouched pages take no memory. */
		if (steps != NULL) {
			free(s->steps);
			s->steps = steps;
			s->capacity = want;
		}
	}
	*ret = (struct plan){.steps = s->steps, .capacity = s->capacity};
}

struct control_context daemon_context(struct unit_table *t, struct plan *plan)
{
	return (struct control_context){
		.tuning = &t->config->tuning,
		.node_milli = t->host->cpu_milli,
		.tick_usec = MIN(t->config->clocks.reflex_usec, t->config->clocks.sample_usec),
		.now = t->wake->now,
		.now_real = t->wake->now_real,
		.plan = plan,
		.ledger = node_memory_is_open(t->memory) ? &t->memory->ledger : NULL,
	};
}

/* --- queries on one entry --- */

struct managed *managed_find(const struct unit_table *t, const char *name)
{
	UNITS_FOREACH (m, t)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

enum mode managed_mode(const struct managed *m)
{
	const struct policy_rule *rule =
		m->control.started_at != 0 ? &m->control.rule : managed_rule(m);

	return rule != NULL ? rule->mode : MODE_OFF;
}

const char *managed_mode_name(const struct managed *m)
{
	enum mode mode = managed_mode(m);
	bool recreate = mode == MODE_AUTO && m->container.rule.in_place_or_recreate;

	return recreate ? "InPlaceOrRecreate" : mode_name(mode);
}

struct managed *managed_of_unit(const struct unit_table *t, const char *unit)
{
	UNITS_FOREACH (m, t)
		if (m->unit != NULL && strcmp(m->unit, unit) == 0)
			return m;
	return NULL;
}

const struct policy_rule *managed_rule(const struct managed *m)
{
	if (m->kind == UNIT_KIND_UNIT)
		return config_rule_for(m->config, m->name);
	return m->container.annotated ? &m->container.rule.rule : NULL;
}

bool managed_call_pending(const struct managed *m)
{
	const struct unit_port *port = &m->pid1->port;

	return m->unit != NULL && port->pending != NULL && port->pending(port->bus, m->unit);
}

/* Where systemd has not reported its properties: what it was sent. */
struct unit_props props_of_limits(const struct limits *l)
{
	uint64_t milli = cpu_milli_of(cpu_quota_in_file(l), l->cpu_period_usec);

	return (struct unit_props){
		.cpu_quota_per_sec_usec = milli == LIMIT_MAX ? UINT64_MAX : milli * USEC_PER_MSEC,
		.cpu_quota_period_usec = UINT64_MAX,
		.mem_max = l->mem_max,
		.mem_high = l->mem_high,
	};
}

bool managed_is_controlled(const struct managed *m)
{
	return m->cgroup.cg != NULL && managed_state(m) != UNIT_UNMANAGED &&
	       (m->originals.saved || m->control.rule.mode == MODE_OFF);
}

bool managed_has_laws(const struct managed *m)
{
	return m->kind != UNIT_KIND_POD && managed_is_controlled(m);
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

void unit_fill_absent(const struct managed *m, struct usage *u)
{
	const struct limits *k = &m->control.kernel;

	if (!(u->have & USAGE_CPU_LIMIT)) {
		u->limits.cpu_quota_usec = k->cpu_quota_usec;
		u->limits.cpu_period_usec = k->cpu_period_usec;
		u->limits.cpu_burst_usec = k->cpu_burst_usec;
	}
	if (!(u->have & USAGE_MEM_LIMIT)) {
		u->limits.mem_max = k->mem_max;
		u->limits.mem_high = k->mem_high;
	}
}

uint64_t props_milli(const struct unit_props *p)
{
	return p->cpu_quota_per_sec_usec == UINT64_MAX ? LIMIT_MAX
						       : p->cpu_quota_per_sec_usec / USEC_PER_MSEC;
}
