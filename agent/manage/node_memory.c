// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/node_memory.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "cgroup/kubepods.h"
#include "policy/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/proc"
/* Growth between two reads is covered by the reserve; memory.stat of so many cgroups takes long. */
#define STAT_USEC USEC_PER_SEC
/* Of a slice that may be full: what can be reclaimed is used up sooner. */
#define GROUP_STAT_USEC (100 * USEC_PER_MSEC)

static void report_unread(struct node_memory *n, int error)
{
	if (!n->reported)
		event_tell(EVENT_NODE_MEMORY_UNREAD, .error = error);
	n->reported = true;
}

void node_memory_start(struct node_memory *n, const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/meminfo", root != NULL ? root : ROOT);
	n->fd = open(path, O_RDONLY | O_CLOEXEC);
	n->above.root = n->units->host->root;
	n->reads.base = n->pods_reads.base = LIMIT_MAX;
	if (n->fd < 0 && root == NULL)
		report_unread(n, -errno);
}

void node_memory_stop(struct node_memory *n)
{
	if (n->fd >= 0)
		close(n->fd);
	free(n->entries);
	free(n->groups);
	above_drop(&n->above);
}

uint64_t node_memory_kubelet(const struct node_memory *n)
{
	return MIN(n->to.available, n->to.pods_available);
}

void node_memory_close(struct node_memory *n)
{
	n->opened = 0;
}

bool node_memory_is_open(const struct node_memory *n)
{
	return n->opened != 0 && n->opened == n->units->wake->count;
}

void node_memory_forget(struct node_memory *n, uint32_t id)
{
	node_memory_close(n);
	UNITS_FOREACH (m, n->units) {
		struct ledger_verdict *v = &m->control.denial.verdict;

		if (v->kept_for == id)
			v->kept_for = LEDGER_NO_ENTRY;
		if (v->holder == id)
			v->holder = LEDGER_NO_ENTRY;
	}
}

static bool has_ended(const struct managed *m)
{
	const struct kube_container *c;

	if (m->cgroup.cg != NULL || m->pod == NULL || !m->pod->spec->once)
		return false;
	c = pod_spec_of(m);
	return c == NULL || c->kind != CONTAINER_SIDECAR;
}

static void fill_entry(const struct managed *m, struct ledger_entry *ret)
{
	/* Nothing to grant: no entry has this id, a pod level is the sum of its containers, and a
	 * container that has ended for good needs nothing for a successor. */
	if (m == NULL || m->kind == UNIT_KIND_POD || has_ended(m)) {
		*ret = (struct ledger_entry){.limit = LIMIT_MAX, .original = LIMIT_MAX};
		return;
	}
	if (m->cgroup.cg == NULL)
		control_ledger_waiting(&m->control, m->wake->now, ret);
	else
		control_ledger_entry(&m->control, &m->config->tuning, m->wake->now, ret);
	ret->pod = m->pod != NULL;
	ret->above = m->cgroup.above;
}

static bool fill_entries(struct node_memory *n)
{
	if (n->capacity < n->units->id_count) {
		size_t want = MAX(2 * n->capacity, n->units->id_count);
		void *grown = reallocarray(n->entries, want, sizeof *n->entries);

		if (grown == NULL)
			return false;
		n->entries = grown;
		n->capacity = want;
	}
	for (uint32_t i = 0; i < n->units->id_count; i++)
		fill_entry(managed_by_id(n->units, i), &n->entries[i]);
	return true;
}

/* The kubelet's allocatableMemory.available: the limit of all pods less their working set. The
 * folder appears with the kubelet's start, and may be another one when that is set up anew. */
static uint64_t pods_available(struct node_memory *n)
{
	const struct host *host = n->units->host;
	char path[KUBEPODS_PATH_MAX + 2];
	const struct above *a = &n->above.items[n->pods];

	if ((n->pods == 0 || a->cg == NULL) &&
	    kubepods_top(host->root, host->kubelet_root, path, KUBEPODS_PATH_MAX) == 0)
		n->pods = above_find(&n->above, strcat(path, "/."));
	if (n->pods == 0)
		return LIMIT_MAX;
	a = above_read(&n->above, n->pods, n->units->wake->now, STAT_USEC);
	return a->limit == LIMIT_MAX ? LIMIT_MAX
				     : sub_sat(a->limit, sub_sat(a->current, a->inactive));
}

/* In a container, the root of the tree has a limit that /proc/meminfo does not show. */
static void bound_by_root(struct node_memory *n, struct meminfo *read)
{
	const struct above *root;

	if (n->above.count == 0)
		return;
	root = above_read(&n->above, 0, n->units->wake->now, STAT_USEC);
	read->total = MIN(read->total, root->limit);
	read->available = MIN(read->available, above_room(root));
}

static bool read_node(struct node_memory *n)
{
	struct meminfo read = {.total = LIMIT_MAX, .available = LIMIT_MAX};
	int r;

	/* Then only the limits above bind, that of all pods like the others. */
	if (!n->units->config->tuning.node.count) {
		bound_by_root(n, &read);
		n->pods = 0;
		n->supply = (struct ledger_node){
			.total = read.total, .available = read.available, .pods = LIMIT_MAX};
		return true;
	}
	/* That there is none was reported. */
	if (n->fd < 0)
		return false;
	r = meminfo_read(n->fd, &read);
	if (r < 0) {
		report_unread(n, r);
		return false;
	}
	n->reported = false;
	bound_by_root(n, &read);
	n->read = read;
	n->to.available = n->kubelet ? read.kubelet_available : LIMIT_MAX;
	n->to.pods_available = n->kubelet ? pods_available(n) : LIMIT_MAX;
	ledger_supply(&n->units->config->tuning.node, read.total, read.available, &n->to,
		      &n->supply);
	return true;
}

/* What is left of the budget to the limits that vscaled sets, beside other limits and what is used
 * without one. 0: their owner has given out more than there is, so that only use bounds them. */
static uint64_t budget_of(const struct pod *p, uint64_t limit)
{
	uint64_t limits = 0, ours = 0, used = 0;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct pod_member *member = &p->members[i];
		const struct control *c = member->managed ? &member->managed->control : NULL;

		if (p->spec->containers[i].kind >= CONTAINER_INIT)
			continue;
		if (c != NULL && c->resource[RESOURCE_MEMORY].managed)
			ours = add_sat(ours, c->resource[RESOURCE_MEMORY].original);
		else if (p->spec->containers[i].spec.limit[RESOURCE_MEMORY] != LIMIT_MAX)
			limits = add_sat(limits, member->limit[RESOURCE_MEMORY]);
		else
			used = add_sat(used, c != NULL ? mem_use(&c->last) : 0);
	}
	return add_sat(limits, ours) <= limit ? MAX(sub_sat(limit, add_sat(limits, used)), ours)
					      : 0;
}

/* Attached before its pod had a limit, it counts in what the pod is in. */
static bool is_above(const struct node_memory *n, const struct managed *m, const char *pod_path)
{
	const char *above = n->above.items[m->cgroup.above].path;

	return above != NULL && pod_path != NULL &&
	       strcmp(above, pod_path + strspn(pod_path, "/")) == 0;
}

static void fill_budgets(struct node_memory *n)
{
	PODS_FOREACH (p, n->units->pods) {
		struct managed *m = pod_has_budget(p) ? pod_next(p, NULL) : NULL;

		while (m != NULL && m->cgroup.cg == NULL)
			m = pod_next(p, m);
		if (m == NULL || !is_above(n, m, p->path))
			continue;
		n->groups[m->cgroup.above].budget =
			budget_of(p, sub_sat(n->above.items[m->cgroup.above].limit,
					     p->spec->overhead[RESOURCE_MEMORY]));
	}
}

static bool fill_groups(struct node_memory *n)
{
	if (n->group_count < n->above.count) {
		void *grown = reallocarray(n->groups, n->above.count, sizeof *n->groups);

		if (grown == NULL)
			return false;
		n->groups = grown;
	}
	for (uint32_t i = 1; i < n->above.count; i++) {
		/* The folder of all pods bounds them by pods_available(). */
		struct above *a = i == n->pods ? &n->above.items[i]
					       : above_read(&n->above, i, n->units->wake->now,
							    GROUP_STAT_USEC);
		uint64_t left = i < n->group_count ? n->groups[i].available : LIMIT_MAX;

		n->groups[i] = (struct ledger_group){
			.available = i == n->pods ? LIMIT_MAX
						  : ledger_read(&a->reads, left, above_room(a)),
			.above = a->above,
		};
	}
	n->group_count = n->above.count;
	fill_budgets(n);
	return true;
}

static struct ledger *open_ledger(struct node_memory *n)
{
	struct ledger_node figures;

	if (node_memory_is_open(n) && n->ledger.count == n->units->id_count)
		return &n->ledger;
	node_memory_close(n);
	if (!read_node(n) || !fill_entries(n) || !fill_groups(n))
		return NULL;
	n->opened = n->units->wake->count;
	figures = n->supply;
	figures.page_bytes = n->units->config->tuning.memory.page_bytes;
	figures.available = ledger_read(&n->reads, n->ledger.node.available, figures.available);
	figures.pods = ledger_read(&n->pods_reads, n->ledger.node.pods, figures.pods);
	figures.groups = n->groups;
	ledger_begin(&n->ledger, &figures, n->entries, n->units->id_count);
	return &n->ledger;
}

static bool can_grow(const struct managed *m)
{
	return m->kind != UNIT_KIND_POD && m->cgroup.cg != NULL &&
	       m->control.rule.mode != MODE_OFF && m->control.resource[RESOURCE_MEMORY].managed;
}

struct ledger *node_memory_for(const struct managed *m)
{
	return can_grow(m) ? open_ledger(m->table->memory) : NULL;
}

void node_memory_expect(struct node_memory *n, bool hot)
{
	for (size_t i = 0; i < n->units->count && !node_memory_is_open(n); i++)
		if (!hot || control_hot(&n->units->items[i]->control))
			node_memory_for(n->units->items[i]);
}

uint32_t node_memory_asks(struct node_memory *n, struct ledger_ask *ret, uint32_t max)
{
	if (!node_memory_is_open(n))
		return 0;
	ledger_passed(&n->reads, n->ledger.node.available, n->supply.available);
	ledger_passed(&n->pods_reads, n->ledger.node.pods, n->supply.pods);
	for (uint32_t i = 1; i < n->group_count; i++)
		ledger_passed(&n->above.items[i].reads, n->groups[i].available,
			      above_room(&n->above.items[i]));
	return ledger_cancel(&n->ledger, ret, max);
}

bool node_memory_take(const struct managed *m, uint64_t limit)
{
	struct ledger *l = node_memory_for(m);

	if (l == NULL)
		return true;
	if (ledger_most(l, m->control.target, limit) < limit)
		return false;
	ledger_grant(l, m->control.target, limit);
	return true;
}
