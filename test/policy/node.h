/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node in virtual time: several rigs over one ledger, driven as the daemon drives them. What is
 * read is true at once: MemAvailable is the node without what the rigs and everything else use.
 */
#pragma once

#include "test/policy/rig.h"

#define NODE_RIGS 8

struct node {
	struct rig rig[NODE_RIGS];
	uint32_t count;
	struct ledger ledger;
	struct ledger_entry entry[NODE_RIGS];
	uint64_t total;
	uint64_t reserve;
	uint64_t system;  /* used by everything else */
	usec_t down_usec; /* between an end and the successor */
	struct ledger_reads reads;
	uint64_t lowest; /* MemAvailable, at any tick */
	uint32_t gave_back;
	struct {
		usec_t back_at; /* it has ended: its successor starts then; 0: it runs */
		uint64_t kills_seen;
		uint32_t kills;
		usec_t first_kill;
		usec_t full_at; /* its goal was reached; 0: not yet */
	} life[NODE_RIGS];
};

void node_init(struct node *n, uint64_t total, uint64_t system);
/* The next rig: its limits are its originals. */
struct rig *node_add(struct node *n, uint64_t mem_max, uint64_t use);
/* Ends by itself or is killed: nothing is left of it until its successor starts. */
void node_end(struct node *n, uint32_t i);
uint64_t node_available(const struct node *n);
/* What is left above the reserve when all that was granted is used; may be negative. */
int64_t node_slack(const struct node *n);
void node_begin(struct node *n);
/* A tick of the reflex clock: the load of all advances, each one is read, in order, and what the
 * ledger asks for is given back. */
void node_tick(struct node *n);
void node_run(struct node *n, usec_t span);
