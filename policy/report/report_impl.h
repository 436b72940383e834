/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by report.c (whether and when) and report_draft.c (which values). */
#pragma once

#include "policy/report/report.h"
#include "policy/types/bounds.h"

/* What decide works on, and the answer it builds. */
struct draft {
	const struct report_tuning *t;
	const struct report_node *n;
	const struct report_state *s;
	const struct report_facts *f;
	usec_t now;
	bool back;         /* restoring, or taking back what a condition stands on: at once */
	bool growing;      /* memory of the pod */
	bool leads;        /* the spec has to be ahead of use, now */
	bool blind;        /* sent without resourceVersion: only values that change are named */
	usec_t ahead_usec; /* slope that a memory limit has to cover */
	usec_t lower_at;   /* no memory limit is lowered before */
	bool big, up, down, memory_up, memory_later, any;
	bool handed_back;   /* some of it is no longer ours */
	usec_t asked_again; /* when the first refusal that binds ends; 0: none does */
	usec_t later;       /* when the first lease ends; 0: none runs */
	struct report_values want[REPORT_CONTAINERS_MAX];
	struct report_decision *ret;
};

static inline bool limits_ours(const struct report_facts *f)
{
	return f->controlled != CONTROLLED_REQUESTS;
}

/* Does the API ever hear of this resource from us? */
static inline bool ratifiable(const struct report_resource *x)
{
	return x->managed && !x->restart;
}

/* Is headroom that the kubelet did not carry out being cut? Nothing else of the pod is sent then.
 */
static inline bool is_cut(const struct draft *d)
{
	return d->s->put_back && d->s->cut_at != 0 && !d->f->restoring;
}

/* Does one value of a container go back, though others of the pod stay ours? */
static inline bool goes_back(const struct report_resource *x)
{
	return x->back && ratifiable(x);
}

static inline uint64_t quantum_of(size_t r)
{
	return r == RESOURCE_CPU ? CPU_QUANTUM_MILLI : MEM_PAGE_BYTES;
}

/* Of two times of which 0 means never. */
static inline usec_t sooner(usec_t a, usec_t b)
{
	return a == 0 || b == 0 ? MAX(a, b) : MIN(a, b);
}

static inline struct report_values report_spec_of(const struct report_facts *f, size_t i)
{
	struct report_values v;

	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		v.limit[r] = f->containers[i].resource[r].spec_limit;
		v.request[r] = f->containers[i].resource[r].spec_request;
	}
	return v;
}

static inline size_t report_count_of(const struct report_state *s, const struct report_facts *f)
{
	return MIN(s->count, f->container_count);
}

static inline bool report_equal(const struct report_values *a, const struct report_values *b,
				size_t r)
{
	return a->limit[r] == b->limit[r] && a->request[r] == b->request[r];
}

/* --- report_state.c */
/* What was asked beyond what was known, or beyond the last spec that was carried out (from_good;
 * without what somebody else set), is refused: that is what is left. Returns how many values. */
uint32_t report_refuse(const struct report_tuning *t, struct report_state *s, uint32_t resources,
		       bool from_good, usec_t now);
/* After an answer: what was asked before may still be on its way. */
void report_back_to(struct report_state *s);
/* Somebody else changed the spec, memory limits too: what was refused before may be accepted now.
 */
void report_forget_refusals(struct report_state *s, bool memory);

/* --- report_restart.c */
/* May the container be restarted now for the limit that its facts ask for? */
bool restart_due(const struct draft *d, size_t i);
/* Has its limit to go back? Only where the kubelet refused a higher one as infeasible: it did not
 * restart the container then, and does not for the value that it has carried out before. */
bool restart_undone(const struct draft *d, size_t i);
/* Is the request what the kubelet has carried out, with nothing to do for it? */
bool restart_replays_nothing(const struct draft *d);
/* A request that restarts it has its time, unless the answer proves that nothing was done. */
void restart_sent(struct report_memory *m, const struct report_container *c,
		  const struct report_item *item, usec_t now);
void restart_answered(struct report_state *s, enum report_answer_kind kind);
/* A lead that is refused is tried again with less headroom, so many times. */
#define LEAD_CUTS_MAX 2

/* --- report_contest.c */
/* Somebody else lowered a memory limit. Returns REPORT_NEWS_CONTESTED when that is too often. */
uint32_t contest_lowered(const struct report_tuning *t, struct report_state *s, usec_t now);
/* What raises it again is on its way. */
void contest_answered(struct report_state *s, const struct report_patch *patch, usec_t now);

/* --- report_lead.c */
/* Has this container's memory limit to be raised in the spec before use gets there? */
bool draft_leads(const struct draft *d, size_t i);
/* From when on growth of the pod has been over for long enough to lower a memory limit. */
usec_t report_lower_at(const struct report_state *s, const struct report_facts *f);

/*
 * A refusal came. True: it was of headroom, which is no value that the cgroup holds: less of it is
 * asked for, and then none, for a while. Nothing is taken from the cgroup for that, and memory that
 * stays above the spec is told of. False: it is a refusal like any other; a resize that was to be
 * overtaken has to be taken back.
 */
bool report_lead_refused(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* Is nothing that leads to be sent for now? */
bool report_lead_paused(const struct report_state *s, usec_t now);
/* May the kubelet write the headroom in the spec later, below use by then? The pause does not bind
 * a lead of the least headroom then, unless the server refused that too. */
bool report_lead_may_land(const struct report_state *s, const struct report_facts *f, usec_t now);
/* Does the spec hold headroom, sent by a lead, that the kubelet has not carried out? */
bool report_lead_waits(const struct report_state *s, const struct report_facts *f);
/* A raised CPU value of ours that waits along with it and may be the cause. */
bool report_cpu_waits(const struct report_state *s);
/* A condition stands on headroom, and no CPU value of ours can be the cause. */
bool report_lead_stuck(const struct report_tuning *t, const struct report_state *s,
		       const struct report_facts *f, usec_t now);
/* Then: less headroom, the next cut, or denial. Returns REPORT_NEWS_*. */
uint32_t report_lead_cut(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* The kubelet has carried out the spec; before `good` is set to it. */
void report_lead_carried_out(struct report_state *s, const struct report_facts *f);
/* Nothing of a refusal of headroom counts any more. */
void report_lead_forget(struct report_state *s);
/* When the state has to be looked at again for a cut; 0: no need. */
usec_t report_lead_again(const struct report_state *s, usec_t now);

/* Can the resize that the kubelet has not carried out yet be taken back? Only where it left memory
 * limits alone. */
bool report_can_withdraw(const struct report_state *s);

/* --- report_draft.c */
/* The least memory limit that may stand in a request. */
uint64_t draft_floor(const struct draft *d, size_t i);
/* Its memory limit was refused, and that still counts. */
bool draft_bound(const struct draft *d, size_t i);
/* Memory limits that lead, everything else as the spec says. */
void draft_lead(struct draft *d);
/* One resource of one container: what it becomes now, and what has to wait. */
void draft_resource(struct draft *d, size_t i, size_t r);
/* Memory before CPU: a CPU resize replays a memory limit that is about to be raised. */
void draft_leave_cpu(struct draft *d);
/* No body with a memory limit that could land below use. False: one that may not be raised would.
 */
bool draft_make_safe(struct draft *d);
/* Every limit equal to its request would make another class of the pod: one quantum apart. */
void draft_keep_class(struct draft *d);
bool draft_changes(const struct draft *d);
void draft_build(struct draft *d);
