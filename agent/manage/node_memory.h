/* SPDX-License-Identifier: Apache-2.0 */
/* The node's memory: what is left of it to grant, opened once in a wake-up that may need it. */
#pragma once

#include "cgroup/meminfo.h"
#include "policy/laws/ledger.h"

struct daemon;
struct managed;
struct plan;

/* Zeroed but for the descriptor: not counted. */
struct node_memory {
	int fd;    /* /proc/meminfo; -1: there is none */
	bool open; /* in this wake-up */
	bool told; /* that it cannot be read */
	struct ledger ledger;
	struct ledger_reads reads;
	struct ledger_entry *entries; /* owned, one per target */
	size_t capacity;
	bool kubelet;              /* there is one, which evicts by a figure of its own */
	struct meminfo read;       /* as of the last time; total 0: never */
	struct ledger_node supply; /* with it */
};

/* root NULL: the host's own. No file: growth is not counted, and that is told. */
void node_memory_start(struct daemon *d, const char *root);
void node_memory_stop(struct daemon *d);
/* A wake-up begins: what was read is of the past. */
void node_memory_close(struct daemon *d);
/* Units are about to have other numbers. */
void node_memory_renumber(struct daemon *d);
/* Its memory may be raised: reads the file, once in a wake-up, and the ledger is open from then on.
 * NULL: nothing is counted. */
struct ledger *node_memory_for(const struct managed *m);
/* The same before all are looked at, where one of them can grow; hot: where one of them does. */
void node_memory_expect(struct daemon *d, bool hot);
/* All have been looked at in this wake-up: unused grants that others need go back. */
void node_memory_balance(struct daemon *d, struct plan *plan);
/* Grants it a limit that somebody else has written already; false: the node does not have it. */
bool node_memory_take(const struct managed *m, uint64_t limit);

/* A memory limit above what is held, which nobody has judged yet, goes back as far as use allows.
 */
void judge_take_back(struct managed *m);
