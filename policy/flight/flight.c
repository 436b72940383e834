// SPDX-License-Identifier: Apache-2.0
#include "policy/flight/flight.h"
#include <errno.h>
#include <string.h>

/* More containers than a node has. */
#define TARGETS_MAX 65536u

const char *const flight_kind_names[FLIGHT_KIND_COUNT] = {
	"sample", "observe", "reflex", "review", "boost", "applied", "throttled",
};

void flight_make(struct control *c, const struct flight_input *in, const struct control_context *x)
{
	if (in->kind == FLIGHT_OBSERVE)
		control_observe(c, in->usage, x);
	else if (in->kind == FLIGHT_REFLEX)
		control_reflex_pass(c, in->usage, x);
	else if (in->kind == FLIGHT_REVIEW)
		control_review(c, x);
	else if (in->kind == FLIGHT_BOOST)
		control_boost(c, x);
	else if (in->kind == FLIGHT_APPLIED)
		control_applied(c, in->step, in->outcome, x);
	else if (in->kind == FLIGHT_THROTTLED)
		control_throttled(c, in->usage, x);
}

/* ---- what was read may be crafted ---- */

bool flight_possible(const struct flight_call *call)
{
	bool ret = (unsigned)call->step.knob < KNOB_COUNT &&
		   call->tape.count <= LEDGER_TAPE_WORDS &&
		   call->decided_count <= CONTROL_STEPS_MAX;

	for (size_t i = 0; ret && i < call->decided_count; i++)
		ret = (unsigned)call->decided[i].knob < KNOB_COUNT;
	return ret;
}

/* Members that are not of any value. */
/* clang-format off */
#define ONE_OF(member, count) {offsetof(struct control, member), sizeof(((struct control *)0)->member), count}
#define BOOL(member) ONE_OF(member, 2)
static const struct {
	size_t at, size;
	uint32_t count;
} choices[] = {
	ONE_OF(cpu.recent.current, RECENT_SLOTS), ONE_OF(mem.recent.current, RECENT_SLOTS),
	ONE_OF(rule.mode, MODE_COUNT), ONE_OF(rule.goal, GOAL_COUNT), ONE_OF(pod.heap.runtime, HEAP_RUNTIME_COUNT), ONE_OF(boost.phase, BOOST_PHASE_COUNT),
	ONE_OF(boost_now.phase, BOOST_PHASE_COUNT), ONE_OF(mem.trial.phase, MEM_PHASE_COUNT), BOOL(rule.scale_down), BOOL(rule.freeze),
	BOOL(pod.guaranteed), BOOL(pod.qos_near), BOOL(pod.requests_move), BOOL(pod.limits_stay), BOOL(pod.not_ready), BOOL(pod.swaps),
	BOOL(pod.ranges_unknown), BOOL(pod.requests_unknown), BOOL(pod.pod_requests), BOOL(pod.growth_held), BOOL(paused), BOOL(initial_done), BOOL(life.probed),
	BOOL(startup.probed), BOOL(boost.written), BOOL(boost_now.write), BOOL(cpu.evidence.late), BOOL(cpu.evidence.absent), BOOL(cpu.period.echo), BOOL(cpu.trial.active), BOOL(mem.brake.passed),
	BOOL(mem.trial.high_lowered), BOOL(grant_ended), BOOL(denied.ahead), BOOL(freed.ahead), BOOL(asked.ahead), BOOL(denial.verdict.kubelet),
	BOOL(lowered.pod), BOOL(kill.pod), BOOL(kill.applied), BOOL(prior_new), BOOL(prior_known), BOOL(rates_fresh), BOOL(cpu_counted),
	BOOL(resource[0].managed), BOOL(resource[0].at_ceiling), BOOL(resource[0].request_up), ONE_OF(resource[0].blocked, BLOCKED_COUNT),
	ONE_OF(resource[0].pending.reason, REASON_COUNT), ONE_OF(resource[0].last.reason, REASON_COUNT), BOOL(resource[1].managed),
	BOOL(resource[1].at_ceiling), BOOL(resource[1].request_up), ONE_OF(resource[1].blocked, BLOCKED_COUNT),
	ONE_OF(resource[1].pending.reason, REASON_COUNT), ONE_OF(resource[1].last.reason, REASON_COUNT),
};
/* clang-format on */

static bool has_choices(const struct control *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		uint32_t v = 0;

		memcpy(&v, (const uint8_t *)c + choices[i].at, choices[i].size);
		if (v >= choices[i].count)
			return false;
	}
	return true;
}

/* No CPU limit that is not said to be absent has no amount. */
static bool has_amount(const struct limits *l)
{
	return l->cpu_quota_usec == LIMIT_MAX || limit_amount(l, RESOURCE_CPU) != LIMIT_MAX;
}

/* What the laws assert of their state and callers. */
static bool is_valid(const struct control *c, enum flight_kind kind, const struct flight_call *call)
{
	const usec_t before[] = {
		c->last_at,           c->life.started_at,       c->cpu.since_write.base.at,
		c->cpu.burst.base.at, c->cpu.recent.slot_start, c->mem.recent.slot_start,
		c->mem.point[0].at,
	};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (call->now < before[i])
			return false;
	return c->target < TARGETS_MAX && c->page_bytes != 0 && has_amount(&c->kernel) &&
	       (!(call->usage.have & USAGE_CPU_LIMIT) || has_amount(&call->usage.limits)) &&
	       (kind != FLIGHT_APPLIED || call->step.target == c->target);
}

/* ---- once more ---- */

static bool same_step(const struct change *a, const struct change *b)
{
	return a->target == b->target && a->knob == b->knob && a->from == b->from &&
	       a->to == b->to && a->period_usec == b->period_usec &&
	       a->margin_bytes == b->margin_bytes && a->reason == b->reason;
}

static bool same(const struct plan *p, const struct flight_call *call)
{
	for (size_t i = 0; p->count == call->decided_count && i < p->count; i++)
		if (!same_step(&p->steps[i], &call->decided[i]))
			return false;
	return p->count == call->decided_count;
}

static int own_weights(struct histogram *h, const struct histogram_options *o)
{
	const double *weight = h->weight;

	h->options = o;
	h->weight = NULL;
	if (h->from + h->count > HISTOGRAM_BUCKETS || h->min >= HISTOGRAM_BUCKETS ||
	    h->max >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	if (h->count == 0)
		return 0;
	h->weight = malloc(h->count * sizeof *weight);
	if (h->weight == NULL)
		return -ENOMEM;
	memcpy(h->weight, weight, h->count * sizeof *weight);
	return 0;
}

int flight_replay(const struct control *before, const struct flight_node *node,
		  enum flight_kind kind, const struct flight_call *call)
{
	OWN(control_drop) struct control c = *before;
	struct flight_input in = {kind, &call->usage, &call->step, (int)call->outcome};
	struct ledger_tape tape = call->tape;
	/* Its answers are on the tape: it only has to be there. */
	uint32_t count = MIN(c.target, TARGETS_MAX) + 1;
	OWN(drop_free) struct ledger_entry *entries = calloc(count, sizeof *entries);
	struct ledger ledger = {.entries = entries, .count = count};
	struct change decided[CONTROL_STEPS_MAX];
	struct plan plan = {.steps = decided, .capacity = ARRAY_SIZE(decided)};
	struct control_context x = {
		.tuning = &node->tuning,
		.node_milli = node->cpu_milli,
		.tick_usec = call->tick_usec,
		.now = call->now,
		.now_real = call->now_real,
		.plan = &plan,
		.tape = &tape,
	};
	int cpu = own_weights(&c.history.cpu, &histogram_cpu);
	int memory = own_weights(&c.history.memory, &histogram_memory);

	if (cpu < 0 || memory < 0 || entries == NULL)
		return cpu == -EBADMSG || memory == -EBADMSG ? -EBADMSG : -ENOMEM;
	if (!has_choices(&c) || !is_valid(&c, kind, call) || node->tuning.memory.page_bytes == 0)
		return -EBADMSG;
	ledger.node.page_bytes = c.page_bytes;
	if (call->ledger)
		x.ledger = &ledger;
	tape.replays = true;
	flight_make(&c, &in, &x);
	return same(&plan, call) && !tape.spoiled && tape.at == tape.count;
}
