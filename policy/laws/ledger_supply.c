// SPDX-License-Identifier: Apache-2.0
/* What the node can grant, before any grant. */
#include "policy/base/arithmetic.h"
#include "policy/laws/ledger.h"

static uint64_t reserve_of(const struct tuning_node *t, uint64_t total)
{
	return MAX(scale_permille(total, t->reserve_permille), t->reserve_min_bytes);
}

uint64_t ledger_eviction(const struct tuning_node *t, uint64_t total)
{
	return t->eviction & AMOUNT_SHARE ? scale_permille(total, t->eviction & ~AMOUNT_SHARE)
					  : t->eviction;
}

uint64_t ledger_reserve(const struct tuning_node *t, uint64_t total)
{
	return MAX(reserve_of(t, total), ledger_eviction(t, total));
}

/* Covers growth that no read shows yet, as the reserve does. Half as much: page cache that the
 * kubelet counts as used can still be reclaimed. */
static uint64_t eviction_margin(const struct tuning_node *t, uint64_t total)
{
	return reserve_of(t, total) / 2;
}

void ledger_supply(const struct tuning_node *t, uint64_t total, uint64_t available,
		   const struct ledger_kubelet *k, struct ledger_node *ret)
{
	uint64_t reserve = ledger_reserve(t, total);
	uint64_t eviction = add_sat(ledger_eviction(t, total), eviction_margin(t, total));
	/* The MemAvailable that would leave the same room. */
	uint64_t same = sub_sat(add_sat(k->available, reserve), eviction);
	bool kubelet = k->available != LIMIT_MAX && same < available;

	*ret = (struct ledger_node){
		.total = total,
		.available = kubelet ? same : available,
		.reserve = reserve,
		.eviction = kubelet ? eviction : 0,
		.pods = k->pods_available != LIMIT_MAX ? sub_sat(k->pods_available, eviction)
						       : LIMIT_MAX,
		.pods_eviction = eviction,
	};
}

bool ledger_evicts(const struct ledger_node *n)
{
	return n->eviction != 0 || n->pods < sub_sat(n->available, n->reserve);
}
