/* SPDX-License-Identifier: Apache-2.0 */
/* A node and its containers for the tests of the ledger. Numbers are MiB unless they say otherwise.
 */
#pragma once

#include "policy/laws/ledger.h"
#include "test/check.h"

#define ENTRIES 8

struct world {
	struct ledger l;
	struct ledger_node node;
	struct ledger_entry e[ENTRIES];
	uint32_t count;
};

/* A node of 10 GiB with a reserve of 512: `available` is what MemAvailable says. */
static struct world world(uint64_t available)
{
	return (struct world){
		.node = {.total = 10240 * MIB, .available = available * MIB, .reserve = 512 * MIB}};
}

static struct ledger_entry *add(struct world *w, uint64_t original, uint64_t limit, uint64_t use)
{
	struct ledger_entry *e = &w->e[w->count++];

	*e = (struct ledger_entry){.limit = limit * MIB,
				   .original = original * MIB,
				   .use = use * MIB,
				   .min_limit = use * MIB,
				   .qos = 1};
	return e;
}

static void begin(struct world *w)
{
	w->node.page_bytes = PAGE_DEFAULT_BYTES;
	ledger_begin(&w->l, &w->node, w->e, w->count);
}

static uint64_t grant(struct world *w, uint32_t entry, uint64_t desired)
{
	return ledger_grant(&w->l, entry, desired * MIB) / MIB;
}
