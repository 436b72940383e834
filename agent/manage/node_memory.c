// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/node_memory.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "cgroup/kubepods.h"
#include "cgroup/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define ROOT "/proc"
/* memory.stat of all pods sums up all of their cgroups. */
#define PODS_STAT_USEC USEC_PER_SEC

static void report_unread(struct node_memory *n, int error)
{
	if (!n->reported)
		event_daemon(EVENT_NODE_MEMORY_UNREAD, &(struct daemon_event){.error = error});
	n->reported = true;
}

void node_memory_init(struct node_memory *n, struct unit_table *units)
{
	*n = (struct node_memory){.units = units, .fd = -1, .to = {LIMIT_MAX, LIMIT_MAX}};
}

void node_memory_set_kubelet(struct node_memory *n)
{
	n->kubelet = true;
}

void node_memory_start(struct node_memory *n, const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/meminfo", root != NULL ? root : ROOT);
	n->fd = open(path, O_RDONLY | O_CLOEXEC);
	n->reads.base = n->pods_reads.base = LIMIT_MAX;
	if (n->fd < 0 && root == NULL)
		report_unread(n, -errno);
}

void node_memory_stop(struct node_memory *n)
{
	if (n->fd >= 0)
		close(n->fd);
	free(n->entries);
	cg_close(n->pods);
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
	for (size_t i = 0; i < n->units->count; i++) {
		struct ledger_verdict *v = &n->units->items[i]->control.denial.verdict;

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

/* Nothing to grant: no entry has this id, a pod level is the sum of its containers, and a container
 * that has ended for good needs nothing for a successor. */
static bool is_out(const struct managed *m)
{
	return m == NULL || m->kind == UNIT_KIND_POD || has_ended(m);
}

static void fill_entry(const struct managed *m, struct ledger_entry *ret)
{

	if (is_out(m)) {
		*ret = (struct ledger_entry){.limit = LIMIT_MAX, .original = LIMIT_MAX};
		return;
	}
	if (m->cgroup.cg == NULL)
		control_ledger_waiting(&m->control, m->wake->now, ret);
	else
		control_ledger_entry(&m->control, &m->config->tuning, m->wake->now, ret);
	ret->pod = m->pod != NULL;
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

/* The folder appears with the kubelet's start, and is another one when that is set up anew. */
static void open_pods(struct node_memory *n)
{
	const struct host *host = n->units->host;
	char path[KUBEPODS_PATH_MAX];

	if (n->pods == NULL && kubepods_top(host->root, host->kubelet_root, path, sizeof path) == 0)
		cg_open(host->root, path, &n->pods);
}

/* The kubelet's allocatableMemory.available: the limit of all pods less their working set. What
 * memory.stat tells may be a second old: between two samples the ledger follows growth by itself.
 */
static uint64_t pods_available(struct node_memory *n)
{
	usec_t now = n->units->wake->now;
	bool stat = n->pods_at == 0 || now - n->pods_at >= PODS_STAT_USEC;
	struct usage u = {0};
	uint64_t used;

	if (stat) {
		n->pods_at = now;
		open_pods(n);
	}
	if (n->pods == NULL)
		return LIMIT_MAX;
	if (cg_read_outer(n->pods, USAGE_MEM | USAGE_MEM_LIMIT | (stat ? USAGE_MEM_STAT : 0), &u) <
	    0) {
		cg_close(n->pods);
		n->pods = NULL;
		return LIMIT_MAX;
	}
	if (u.have & USAGE_MEM_STAT)
		n->pods_inactive = u.stat.inactive_file;
	if (!(u.have & USAGE_MEM) || u.limits.mem_max == LIMIT_MAX)
		return LIMIT_MAX;
	used = u.mem_current - MIN(n->pods_inactive, u.mem_current);
	return u.limits.mem_max - MIN(used, u.limits.mem_max);
}

static bool read_node(struct node_memory *n)
{
	struct meminfo read;
	int r = n->fd < 0 ? -EBADF : meminfo_read(n->fd, &read);

	if (r < 0) {
		if (n->fd >= 0)
			report_unread(n, r);
		return false;
	}
	n->reported = false;
	n->read = read;
	n->to.available = n->kubelet ? read.kubelet_available : LIMIT_MAX;
	n->to.pods_available = n->kubelet ? pods_available(n) : LIMIT_MAX;
	ledger_supply(&n->units->config->tuning.node, read.total, read.available, &n->to,
		      &n->supply);
	return true;
}

static struct ledger *open_ledger(struct node_memory *n)
{
	struct ledger_node figures;

	if (node_memory_is_open(n) && n->ledger.count == n->units->id_count)
		return &n->ledger;
	node_memory_close(n);
	if (!read_node(n) || !fill_entries(n))
		return NULL;
	n->opened = n->units->wake->count;
	figures = n->supply;
	figures.available = ledger_read(&n->reads, n->ledger.node.available, figures.available);
	figures.pods = ledger_read(&n->pods_reads, n->ledger.node.pods, figures.pods);
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

	return m->config->tuning.node.count && can_grow(m) ? open_ledger(m->table->memory) : NULL;
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
