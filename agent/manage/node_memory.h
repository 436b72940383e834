/* SPDX-License-Identifier: Apache-2.0 */
/* The node's memory: what is left to grant, read at most once in a wake-up. */
#pragma once

#include "agent/manage/above.h"
#include "cgroup/meminfo.h"

struct managed;
struct unit_table;

/* Begins with the table, no descriptor and no figures of the kubelet: not counted. */
struct node_memory {
	struct unit_table *units;
	int fd;          /* /proc/meminfo; -1: there is none */
	bool reported;   /* reported that it cannot be read */
	uint64_t opened; /* number of the wake-up that it was read in; 0: to be read again */
	struct ledger ledger;
	struct ledger_reads reads, pods_reads;
	struct ledger_entry *entries; /* owned, one per id */
	size_t capacity;
	struct above_table above;
	struct ledger_group *groups; /* owned, one for each of them */
	uint32_t group_count;
	bool kubelet;              /* there is a kubelet, which evicts by figures of its own */
	uint32_t pods;             /* the folder above all pods; 0: not found */
	struct meminfo read;       /* as of the last time; total 0: never */
	struct ledger_kubelet to;  /* likewise */
	struct ledger_node supply; /* with it */
};

/* root NULL: the host's own. No file: growth is not counted, and that is reported. */
void node_memory_start(struct node_memory *n, const char *root);
void node_memory_stop(struct node_memory *n);
/* The lower of the two figures by which the kubelet evicts; LIMIT_MAX: none. */
uint64_t node_memory_kubelet(const struct node_memory *n);
/* What was read in this wake-up is out of date. */
void node_memory_close(struct node_memory *n);
/* Was it read in this wake-up? */
bool node_memory_is_open(const struct node_memory *n);
/* The entry of this id is removed, and another may get the id: no verdict names it any more. */
void node_memory_forget(struct node_memory *n, uint32_t id);
/* Before memory is raised: reads the file, once in a wake-up. NULL: nothing is counted. */
struct ledger *node_memory_for(const struct managed *m);
/* The same before a pass over all, when one of them can grow; hot: only when one of them grows. */
void node_memory_expect(struct node_memory *n, bool hot);
/* After the pass over all: which unused grants others need; returns their number. */
uint32_t node_memory_asks(struct node_memory *n, struct ledger_ask *ret, uint32_t max);
/* Grants a limit that an external writer has written; false: the node lacks the memory. */
bool node_memory_take(const struct managed *m, uint64_t limit);
