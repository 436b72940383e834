/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by report.c (whether and when) and report_draft.c (which values). */
#pragma once

#include "policy/report/report.h"

/* The input of report_decide() and the answer that it builds. */
struct draft {
	const struct report_tuning *t;
	const struct report_node *n;
	const struct report_state *s;
	const struct report_facts *f;
	usec_t now;
	bool back;         /* restoring, or withdrawing what a condition is set on: at once */
	bool growing;      /* memory of the pod */
	bool leads;        /* a lead is needed now */
	usec_t ahead_usec; /* slope that a memory limit has to cover */
	usec_t lower_at;   /* no memory limit is lowered before */
	bool big, up, memory_up, memory_later, any;
	bool handed_back; /* a value of it goes back to its original */
	bool short_of_room;
	bool kept_high;     /* a memory limit is not lowered: server or kubelet does not take it */
	usec_t asked_again; /* when the first refusal that binds ends; 0: none does */
	usec_t later;       /* when the first lease ends; 0: none runs */
	bool window_open;   /* of the node, for decreases ... */
	usec_t window_at;   /* ... and when the next one opens */
	bool window_waits;  /* a decrease waits for it */
	struct report_values want[REPORT_CONTAINERS_MAX];
	struct report_decision *ret;
};

static inline bool limits_ours(const struct report_facts *f)
{
	return f->controlled != CONTROLLED_REQUESTS;
}

/* Is this resource ever sent to the API server? A resource that restarts its container has rules of
 * its own (report_draft.c). */
static inline bool ratifiable(const struct report_resource *x)
{
	return x->managed && !x->restart;
}

/* Is headroom that the kubelet did not carry out being cut? Nothing else of the pod is sent then.
 */
static inline bool is_cut(const struct draft *d)
{
	return d->s->lead == LEAD_CUT_DUE && !d->f->restoring;
}

/* Is a value to be lowered in the spec because of a condition or a refusal? */
static inline bool goes_down(const struct report_state *s)
{
	return s->back != BACK_NONE || s->lead == LEAD_CUT_DUE;
}

/* Does this value go back to its original, though vscaled keeps others of the pod? */
static inline bool goes_back(const struct report_resource *x)
{
	return x->back && ratifiable(x);
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

/* May this request, which had no answer, still be stored? */
bool report_may_land(const struct report_request *e, usec_t now);
/* The value of a resource is that of such a request: it is no external writer's. */
bool report_is_late(const struct report_state *s, const struct report_memory *m,
		    const struct report_values *spec, size_t r, usec_t now);

/* The RESOURCES_* that an external writer has set since `known`, by their owners in facts x; where
 * one is not known, compared with `known` and with what was sent. */
uint32_t report_foreign_values(const struct report_state *s, const struct report_memory *m,
			       const struct report_container *c, const struct report_values *spec,
			       usec_t now);

/* --- report_state.c */
/* What was wanted above `from` is refused, requests alone or limits too: `from` is the ceiling, as
 * another request would end the same way. False: nothing was. */
bool report_refuse_value(struct report_memory *m, size_t r, const struct report_values *want,
			 const struct report_values *from, bool requests, usec_t until);
struct refusal {
	uint32_t resources; /* RESOURCES_* */
	bool requests;      /* what is requested: no limit is the cause */
	bool from_good;
};
/* Records a refusal by the first row that fits: values asked for above the known spec get that spec
 * as their ceiling. With from_good, the last spec that was carried out takes its place, and what an
 * external writer set is left out. False: no value of a row was raised. */
bool report_refuse_first(struct report_state *s, const struct refusal *rows, size_t count,
			 usec_t until);
/* An external writer changed the spec (memory: memory limits too), so what was refused before may
 * be accepted now. */
void report_forget_refusals(struct report_state *s, bool memory);

/* How often a refused lead is tried again with less headroom. */
#define LEAD_CUTS_MAX 2

/* --- report_observe.c */
/* A request is sent; counts one that raises again what an external writer lowered. */
void contest_answered(struct report_state *s, const struct report_patch *patch, usec_t now);

/* --- report_lead.c */
/* Has this container's memory limit to be raised in the spec before use gets there? */
bool draft_leads(const struct draft *d, size_t i);
/* The time from which on a memory limit may be lowered: the pod has not grown for long enough. */
usec_t report_lower_at(const struct report_state *s, const struct report_facts *f);

/* Handles a refusal by the server. True: headroom was refused. The cgroup does not hold headroom,
 * so its limits stay; the lead is tried again with less headroom, and then not at all for a time
 * (report_lead_denied()). False: a refusal like any other; a pending resize that the lead was to
 * overtake must be withdrawn. */
bool report_lead_refused(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* Does the spec hold headroom, sent by a lead, that the kubelet has not carried out? */
bool report_lead_waits(const struct report_state *s, const struct report_facts *f);
/* Is a CPU value that vscaled raised pending too, which may be the cause? */
bool report_cpu_waits(const struct report_state *s);
/* Is a condition one of the last request? One of the generation before says nothing about it. Where
 * the server does not report the observed generation, it counts after up_interval_usec. */
bool report_is_current(const struct report_tuning *t, const struct report_state *s,
		       const struct report_facts *f, usec_t now);
/* Is a condition set on headroom, with no CPU value of vscaled as a possible cause? */
bool report_lead_stuck(const struct report_tuning *t, const struct report_state *s,
		       const struct report_facts *f, usec_t now);
/* Then: the next cut of the headroom, or denial. Returns REPORT_CHANGE_*. */
uint32_t report_lead_cut(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now);
/* The last request is in the spec. */
void report_lead_accepted(struct report_state *s, usec_t now);
/* ... and has raised a memory limit. */
void report_lead_raised(const struct report_tuning *t, struct report_state *s,
			struct report_memory *m, usec_t now);
/* The growth that a memory limit of the container covers when it is sent, by a lead or not:
 * ahead_usec, but at most first_ahead_usec as long as its growth may be one short allocation. */
usec_t report_covers(const struct report_tuning *t, const struct report_memory *m,
		     const struct report_container *c, usec_t ahead_usec, usec_t now);
/* The same for the request that is being drafted. */
usec_t draft_ahead(const struct draft *d, size_t i);
/* The kubelet has carried out the spec; before `good` is set to it. */
void report_lead_carried_out(struct report_state *s, const struct report_facts *f);
/* Forgets every refusal of headroom; what the kubelet does not hold is pending. */
void report_lead_forget(struct report_state *s);
/* When to decide again because of a cut; 0: no need. moot: as the decision says. */
usec_t report_lead_again(const struct report_state *s, bool moot, usec_t now);

/* Can the pending resize be withdrawn? Only when it left memory limits alone. */
bool report_can_withdraw(const struct report_state *s);

/* --- report_draft.c */
/* The least memory limit that may stand in a request. */
uint64_t draft_floor(const struct draft *d, size_t i);
/* Its memory limit was refused, and the refusal still binds. */
bool draft_bound(const struct draft *d, size_t i);
/* The highest limit whose request may go with it, where it has to: `spec` if the node has no room.
 */
uint64_t draft_most(const struct draft *d, size_t i, size_t r);
/* Can the request that has to go with even the least lead not rise for it? */
bool draft_lacks_room(const struct draft *d, size_t i);
/* Memory limits of the lead, everything else as in the spec. */
void draft_lead(struct draft *d);
/* A value of a container is to become another one. */
void draft_note(struct draft *d, size_t r, uint64_t from, uint64_t to);
/* v's memory limit was raised: its request follows as far as the pod's class and a LimitRange's
 * ratio need it. */
void draft_follow(const struct draft *d, const struct report_resource *memory,
		  struct report_values *v);
/* One resource of one container: what it becomes now, and what has to wait. */
void draft_resource(struct draft *d, size_t i, size_t r);
/* Memory before CPU: a CPU resize replays a memory limit that is about to be raised. */
void draft_leave_cpu(struct draft *d);
/* Raises every memory limit of the request that could land below use. False: one of them may not be
 * raised. */
bool draft_make_safe(struct draft *d);
/* If every limit equalled its request, the pod's QoS class would change: one is moved by a quantum.
 */
void draft_keep_class(struct draft *d);
/* The pod's own values beside those of its containers. */
void draft_level(struct draft *d);
/* Names what changes. False: nothing does. */
bool draft_build(struct draft *d);
