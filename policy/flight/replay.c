// SPDX-License-Identifier: Apache-2.0
#include "policy/flight/replay.h"
#include <errno.h>

/* More containers than a node has. */
#define TARGETS_MAX 65536

static bool same_step(const struct change *a, const struct change *b)
{
	return a->target == b->target && a->knob == b->knob && a->from == b->from &&
	       a->to == b->to && a->period_usec == b->period_usec &&
	       a->margin_bytes == b->margin_bytes && a->reason == b->reason;
}

static bool same(const struct replay_result *got, const struct flight_call *call)
{
	if (got->decided_count != call->decided_count)
		return false;
	for (size_t i = 0; i < got->decided_count; i++)
		if (!same_step(&got->decided[i], &call->decided[i]))
			return false;
	return true;
}

static int make(struct control *c, enum flight_kind kind, const struct flight_call *call,
		const struct control_context *x)
{
	switch (kind) {
	case FLIGHT_OBSERVE:
		control_observe(c, &call->usage, x);
		return 0;
	case FLIGHT_REFLEX:
		control_reflex_pass(c, &call->usage, x);
		return 0;
	case FLIGHT_REVIEW:
		control_review(c, x);
		return 0;
	case FLIGHT_BOOST:
		control_boost(c, x);
		return 0;
	case FLIGHT_APPLIED:
		control_applied(c, &call->step, (int)call->outcome, x);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* What the laws assert of their state and callers: a file may be crafted. */
static bool is_possible(const struct control *c, enum flight_kind kind,
			const struct flight_call *call)
{
	const usec_t before[] = {
		c->last_at,           c->life.started_at,       c->cpu.since_write.base.at,
		c->cpu.burst.base.at, c->cpu.recent.slot_start, c->mem.recent.slot_start,
		c->mem.point[0].at,
	};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (call->at.now < before[i])
			return false;
	return c->target < TARGETS_MAX &&
	       (kind != FLIGHT_APPLIED || call->step.target == c->target);
}

int replay_call(struct control *c, const struct replay_node *node, enum flight_kind kind,
		const struct flight_call *call, struct replay_result *ret)
{
	struct ledger_tape tape = call->tape;
	/* Its answers are on the tape: it only has to be there. */
	OWN(drop_free) struct ledger_entry *entries = NULL;
	struct ledger ledger = {0};
	struct replay_result got = {0};
	struct plan plan = {.steps = got.decided, .capacity = ARRAY_SIZE(got.decided)};
	struct control_context x = {
		.tuning = &node->tuning,
		.node_milli = node->cpu_milli,
		.tick_usec = call->at.tick_usec,
		.now = call->at.now,
		.now_real = call->at.now_real,
		.plan = &plan,
		.tape = &tape,
	};
	int r;

	if (!is_possible(c, kind, call) || c->page_bytes == 0 ||
	    node->tuning.memory.page_bytes == 0)
		return -EBADMSG;
	if (call->at.ledger) {
		entries = calloc(c->target + 1, sizeof *entries);
		if (entries == NULL)
			return -ENOMEM;
		ledger.node.page_bytes = c->page_bytes;
		ledger.entries = entries;
		ledger.count = c->target + 1;
		x.ledger = &ledger;
	}
	r = make(c, kind, call, &x);
	got.decided_count = plan.count;
	got.same = same(&got, call) && !tape.spoiled && tape.at == tape.count;
	*ret = got;
	return r;
}
