// SPDX-License-Identifier: Apache-2.0
/* From what happened to the journal, and to Events of the pod. */
#include "agent/manage/messages.h"
#include "agent/base/escape.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/metrics/counters.h"
#include "agent/view/view.h"
#include "policy/base/base.h"
#include <stdio.h>
#include <string.h>

void message_add(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

struct event_who message_who(const struct managed *m)
{
	const struct pod *p = m->pod;

	return (struct event_who){
		.namespace = p != NULL ? p->spec->namespace : NULL,
		.pod = p != NULL ? p->spec->name : NULL,
		.container = p != NULL ? pod_container_of(m) : NULL,
		.unit = m->unit,
		.cgroup = m->cgroup.path,
	};
}

struct event_who message_pod(const struct kube_pod *s)
{
	return (struct event_who){.namespace = s->namespace, .pod = s->name};
}

static uint64_t amount(const struct change *s, uint64_t value)
{
	return s->knob == KNOB_CPU_MAX ? cpu_milli_of(value, s->period_usec) : value;
}

/* Auxiliary steps are not logged by themselves: memory.high, reclaim, burst. */
static bool has_entry(const struct change *s)
{
	return s->knob == KNOB_CPU_MAX || s->knob == KNOB_MEM_MAX;
}

void message_step(struct managed *m, const struct change *s, int outcome,
		  const usec_t took[SINCE_COUNT])
{
	const struct control_resource *res = &m->control.resource[knobs[s->knob].resource];

	if (outcome >= 0 &&
	    (!has_entry(s) || s->reason == REASON_DRIFT || outcome == APPLY_GONE ||
	     (outcome == APPLY_UNCHANGED && !reason_sets_limit((enum reason)s->reason))))
		return;
	if (m->table->steps.count == DONE_STEPS_MAX)
		message_steps(m->table);
	m->table->steps.items[m->table->steps.count++] = (struct done_step){
		.unit = m,
		.step = *s,
		.why = outcome == APPLY_DONE || outcome == APPLY_UNCHANGED ? res->last
									   : res->pending,
		.outcome = outcome,
		.took = {took[0], took[1]},
	};
}

/* Memory that the ledger takes back is returned in many small steps: reported as one. */
#define SUM_UP_USEC (10 * USEC_PER_SEC)

/* A limit that climbs within periods has settled when it has not been raised for so long. */
#define SETTLED_USEC USEC_PER_SEC

static void tell_raised(struct managed *m)
{
	struct raised_steps *sum = &m->reported.raised;
	char detail[DECISION_TEXT_BYTES];

	if (sum->at == 0)
		return;
	decision_text(&sum->why, RESOURCE_CPU, detail);
	event_tell(EVENT_LIMIT_RAISED, .who = message_who(m), .resource = RESOURCE_CPU,
		   .from = sum->from, .to = sum->why.to, .reason = sum->why.reason,
		   .detail = detail, .span_usec = (int64_t)sum->took[SINCE_DUE],
		   .own_usec = sum->took[SINCE_WAKE]);
	sum->at = 0;
}

void message_sum_raises(struct managed *m, bool sum)
{
	m->reported.raised.under_way = sum;
	if (m->pod != NULL && m->pod->level != NULL)
		m->pod->level->reported.raised.under_way = sum;
}

void message_summed(struct managed *m, bool now)
{
	char detail[DECISION_TEXT_BYTES];
	struct summed_steps *sum = &m->reported.summed;

	if (now || m->wake->now - m->reported.raised.at >= SETTLED_USEC ||
	    m->wake->now - m->reported.raised.since >= SUM_UP_USEC)
		tell_raised(m);
	if (sum->since == 0 || (!now && m->wake->now - sum->since < SUM_UP_USEC))
		return;
	decision_text(&sum->why, RESOURCE_MEMORY, detail);
	event_tell(EVENT_LIMIT_LOWERED, .who = message_who(m), .resource = RESOURCE_MEMORY,
		   .from = sum->from, .to = sum->why.to, .reason = sum->why.reason,
		   .detail = detail);
	*sum = (struct summed_steps){0};
}

/* PID 1 may write the limit with headroom at every call: these are reported as one, too. */
void message_taken_back(struct managed *m, uint64_t from, uint64_t to)
{
	struct summed_steps *sum = &m->reported.summed;

	if (sum->why.reason != REASON_DRIFT)
		message_summed(m, true);
	if (sum->since == 0)
		sum->since = m->wake->now;
	sum->from = MAX(sum->from, from);
	sum->why = (struct decision){
		.reason = REASON_DRIFT, .to = to, .use = m->control.last.mem_current};
}

static enum event_kind step_kind(const struct done_step *done)
{
	if (done->outcome < 0)
		return EVENT_LIMIT_FAILED;
	if (done->outcome == APPLY_REFUSED)
		return EVENT_LIMIT_REFUSED;
	if (done->step.reason == REASON_SHRINK_UNDONE)
		return EVENT_LIMIT_UNDONE;
	return change_lowers(&done->step) ? EVENT_LIMIT_LOWERED : EVENT_LIMIT_RAISED;
}

/* The same for raises of CPU. What undoes a decrease has its entry at once. */
static bool sum_up_raise(const struct done_step *done)
{
	const struct change *s = &done->step;
	struct managed *m = done->unit;
	struct raised_steps *sum = &m->reported.raised;

	if (s->knob != KNOB_CPU_MAX)
		return false;
	if (!sum->under_way || step_kind(done) != EVENT_LIMIT_RAISED) {
		tell_raised(m);
		return false;
	}
	if (sum->at == 0) {
		sum->since = m->wake->now;
		sum->from = amount(s, s->from);
		memcpy(sum->took, done->took, sizeof sum->took);
	}
	sum->at = m->wake->now;
	sum->why = done->why;
	return true;
}

/* True: it is reported later. Any other change of the limit ends the sum. */
static bool sum_up(const struct done_step *done)
{
	const struct change *s = &done->step;
	struct managed *m = done->unit;
	struct summed_steps *sum = &m->reported.summed;
	bool small = done->outcome == APPLY_DONE && s->knob == KNOB_MEM_MAX && change_lowers(s) &&
		     (s->reason == REASON_GIVEN_BACK || s->reason == REASON_POD_LEVEL);

	if (s->knob == KNOB_MEM_MAX && !(small && sum->why.reason == done->why.reason))
		message_summed(m, true);
	if (!small)
		return false;
	if (sum->since == 0)
		*sum = (struct summed_steps){.since = m->wake->now, .from = s->from};
	sum->why = done->why;
	return true;
}

static void write_step(const struct done_step *done)
{
	const struct change *s = &done->step;
	enum resource r = knobs[s->knob].resource;
	char detail[DECISION_TEXT_BYTES];

	if (sum_up(done) || sum_up_raise(done))
		return;
	decision_text(&done->why, r, detail);
	event_tell(step_kind(done), .who = message_who(done->unit), .resource = r,
		   .from = amount(s, s->from), .to = amount(s, s->to),
		   .reason = (enum reason)s->reason, .detail = has_entry(s) ? detail : NULL,
		   .span_usec = (int64_t)done->took[SINCE_DUE], .own_usec = done->took[SINCE_WAKE],
		   .error = MIN(done->outcome, 0));
}

void message_steps(struct unit_table *t)
{
	for (size_t i = 0; i < t->steps.count; i++)
		write_step(&t->steps.items[i]);
	t->steps.count = 0;
}

void message_headroom(struct managed *m, uint64_t to)
{
	const struct control *c = &m->control;
	char detail[DECISION_TEXT_BYTES];
	struct decision why = {
		.reason = REASON_MEMORY_GROWTH,
		.use = mem_use(&c->last),
		.slope_bps = c->mem.slope_bps,
	};

	decision_text(&why, RESOURCE_MEMORY, detail);
	event_tell(EVENT_PROPERTY_HEADROOM, .who = message_who(m), .resource = RESOURCE_MEMORY,
		   .from = c->kernel.mem_max, .to = to, .reason = why.reason, .detail = detail);
}

void message_ceiling(struct managed *m, enum resource r)
{
	uint64_t ceiling = control_ceiling(&m->control, &m->config->tuning, r, m->host->cpu_milli);
	uint64_t to = r == RESOURCE_CPU ? ceiling : MIN(ceiling, control_unratified(&m->control));
	const char *why = to < ceiling ? blocked_reason_text(BLOCKED_UNRATIFIED) : NULL;
	char text[HUMAN_SIZE];

	event_tell(EVENT_CEILING_REACHED, .who = message_who(m), .resource = r, .to = to,
		   .reason = r == RESOURCE_CPU ? REASON_THROTTLED : REASON_MEMORY_GROWTH,
		   .detail = why);
	if (m->pod != NULL)
		pod_warn(m->pod, "CeilingReached", "Resize", "%s needs more %s than %s: %s",
			 pod_container_of(m), resource_names[r], human_amount(r, to, text),
			 why != NULL ? why
				     : "its ceiling (annotation, LimitRange, node or default)");
}

/* Growth is raised for when it would reach the limit within a second: for a longer time without a
 * look (a busy node) nothing can be promised. */
#define LATE_USEC (1200 * USEC_PER_MSEC)

void message_oom(struct managed *m, uint64_t kills)
{
	const struct oom_kill *k = &m->control.kill;
	char detail[192] = "", at[HUMAN_SIZE + 16] = "", held[HUMAN_SIZE], use[HUMAN_SIZE],
	     span[HUMAN_SIZE];
	const char *by = m->reported.killed_by;
	uint64_t limit = k->at != 0 ? k->limit : m->control.kernel.mem_max;

	if (k->at != 0 && k->limit < k->held) {
		snprintf(detail, sizeof detail,
			 "an external writer had lowered %s from %s; %s in use",
			 k->pod ? "the pod's memory.max" : "memory.max",
			 human_amount(RESOURCE_MEMORY, k->held, held),
			 human_amount(RESOURCE_MEMORY, k->use, use));
	} else if (by != NULL) {
		limit = m->reported.killed_at;
		snprintf(detail, sizeof detail, "for the memory of %s, not for its own limit", by);
	}
	if (k->at == m->wake->now && k->unseen_usec > LATE_USEC) {
		message_add(detail, sizeof detail, "%svscaled had not looked at it for %s",
			    detail[0] != '\0' ? "; " : "", human_span(k->unseen_usec, span));
		m->table->tally->late_kills += kills;
	}
	event_tell(EVENT_OOM_KILL, .who = message_who(m), .from = limit,
		   .detail = detail[0] != '\0' ? detail : NULL, .count = kills);
	if (limit != 0)
		snprintf(at, sizeof at, " at the limit %s",
			 human_amount(RESOURCE_MEMORY, limit, held));
	if (m->pod != NULL)
		pod_warn(m->pod, "OOMKilled", "Resize",
			 "%s was OOM-killed%s%s%s; its own limit is %s now", pod_container_of(m),
			 at, detail[0] != '\0' ? ": " : "", detail,
			 human_amount(RESOURCE_MEMORY, m->control.kernel.mem_max, use));
}

void message_drift(struct managed *m, enum resource r, const struct drift_facts *f,
		   enum event_kind kind, const char *by)
{
	bool again = kind == EVENT_DRIFT_REASSERTED;

	message_summed(m, true);
	event_tell(kind, .who = message_who(m), .resource = r,
		   .from = again ? f->observed : f->expected,
		   .to = again ? f->expected : f->observed, .by = by);
}

void message_managed(struct managed *m)
{
	const struct control_resource *res = m->control.resource;
	char detail[80], cpu[HUMAN_SIZE], memory[HUMAN_SIZE];

	if (m->kind == UNIT_KIND_POD)
		return; /* its containers are reported instead */
	snprintf(detail, sizeof detail, "cpu %s, memory %s",
		 human_amount(RESOURCE_CPU, res[RESOURCE_CPU].original, cpu),
		 human_amount(RESOURCE_MEMORY, res[RESOURCE_MEMORY].original, memory));
	event_tell(EVENT_UNIT_MANAGED, .who = message_who(m), .mode = managed_mode_name(m),
		   .detail = detail);
}

void message_waiting(struct unit_table *t)
{
	UNITS_FOREACH (m, t) {
		enum state_reason reason = managed_reason(m);
		const struct state_row *row = &state_rows[reason];
		char detail[256];

		if (m->kind == UNIT_KIND_POD || managed_mode(m) == MODE_OFF ||
		    !state_is_late(&m->seen, reason, t->wake->now))
			continue;
		snprintf(detail, sizeof detail, "%s: %s", row->text, row->remedy);
		event_tell(EVENT_UNIT_WAITING, .who = message_who(m), .detail = detail);
		if (m->pod != NULL)
			pod_warn(m->pod, "NotSized", "Resize", "%s is not sized: %s",
				 pod_container_of(m), detail);
	}
}

void message_unsaved_baseline(struct unit_table *t, int error)
{
	UNITS_FOREACH (m, t) {
		if (m->cgroup.cg == NULL || m->originals.saved || m->originals.unsaved_reported ||
		    m->control.rule.mode == MODE_OFF)
			continue;
		m->originals.unsaved_reported = true;
		event_tell(EVENT_BASELINE_UNSAVED, .who = message_who(m),
			   .file = t->config->paths.state_dir, .error = error);
	}
}

void message_save(const char *file, int result, int *last)
{
	if (result < 0 && result != *last)
		event_tell(EVENT_STATE_UNSAVED, .file = file, .error = result);
	*last = result;
}

void message_restored(struct managed *m, const struct restore_result *result)
{
	const struct limits *from = &result->from, *to = &result->to;
	enum event_kind kind = result->outcome == RESTORE_LEFT     ? EVENT_RESTORE_LEFT
			       : result->outcome == RESTORE_FAILED ? EVENT_LIMIT_REFUSED
								   : EVENT_RESTORED;
	struct event e = {
		.who = message_who(m),
		.resource = RESOURCE_MEMORY,
		.from = from->mem_max,
		.to = to->mem_max,
		.reason = REASON_RESTORE,
	};

	message_summed(m, true);
	if (kind != EVENT_RESTORED)
		e.detail = result->detail;
	if (kind != EVENT_RESTORED || e.from != e.to)
		event_write(kind, &e);
	e.resource = RESOURCE_CPU;
	e.detail = NULL;
	e.from = cpu_milli_of(from->cpu_quota_usec, from->cpu_period_usec);
	e.to = cpu_milli_of(to->cpu_quota_usec, to->cpu_period_usec);
	if (result->outcome != RESTORE_FAILED && e.from != e.to)
		event_write(EVENT_RESTORED, &e);
}

void message_stray(const char *unit, enum restore_outcome outcome)
{
	static const char *const details[RESTORE_OUTCOME_COUNT] = {
		[RESTORE_RESTORED] = "no longer configured, its original limits are restored",
		[RESTORE_LEFT] =
			"no longer configured, its memory limit is kept: use is above the original",
		[RESTORE_GONE] = "it does not run",
		[RESTORE_FAILED] =
			"no longer configured, its original limits could not be restored yet",
		[RESTORE_PENDING] =
			"no longer configured, its original limits could not be restored yet",
	};

	event_tell(EVENT_UNIT_UNMANAGED, .who.unit = unit, .detail = details[outcome]);
}

void message_config_errors(const char *file, const struct config_errors *errors, bool kept)
{
	for (size_t i = 0; i < errors->count; i++)
		event_tell(EVENT_CONFIG_INVALID, .file = file, .detail = errors->text[i],
			   .kept = kept);
}

void message_unsupported(const char *what, const char *hint, int error)
{
	event_tell(EVENT_HOST_UNSUPPORTED, .detail = what, .hint = hint, .error = error);
}

/* --- memory that the node did not have for a unit: reported once for as long as that lasts --- */

static const char *bytes(uint64_t value, char buf[static HUMAN_SIZE])
{
	return human_amount(RESOURCE_MEMORY, value, buf);
}

static const char *name_of(const struct unit_table *t, uint32_t entry)
{
	const struct managed *m = managed_by_id(t, entry);

	return m != NULL ? m->name : "another one";
}

/* What lacks the memory. */
static const char *where(const struct managed *m)
{
	uint32_t above = m->control.denial.verdict.above;

	if (above == m->cgroup.above && m->pod != NULL && pod_has_budget(m->pod))
		return m->pod->level->name;
	return above == 0 ? "the node" : m->table->memory->above.items[above].path;
}

static void figures(const struct managed *m, char *text, size_t size)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char a[HUMAN_SIZE], b[HUMAN_SIZE];

	bytes(v->available, a);
	bytes(v->reserve, b);
	if (v->above != 0)
		snprintf(text, size, "%s available below the limit of %s", a, where(m));
	else if (v->kubelet)
		snprintf(text, size,
			 "%s available to the kubelet less %s for its eviction threshold and a "
			 "margin",
			 a, b);
	else
		snprintf(text, size, "%s available less %s reserve", a, b);
	message_add(text, size, ", %s granted and not used yet", bytes(v->outstanding, a));
	if (v->kept > 0)
		message_add(text, size, ", %s kept for higher priority, such as %s",
			    bytes(v->kept, a), name_of(m->table, v->kept_for));
	if (v->holder_bytes > 0)
		message_add(text, size, "; the largest unused grant is %s of %s",
			    bytes(v->holder_bytes, a), name_of(m->table, v->holder));
}

bool denied_text(const struct managed *m, char *ret, size_t size)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char desired[HUMAN_SIZE], allowed[HUMAN_SIZE], why[DENIED_TEXT_BYTES];

	if (!control_denied(&m->control, m->wake->now))
		return false;
	figures(m, why, sizeof why);
	snprintf(ret, size, "needs %s, %s has memory for %s: %s", bytes(v->desired, desired),
		 where(m), bytes(v->allowed, allowed), why);
	return true;
}

static void report_denial(struct managed *m)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char why[DENIED_TEXT_BYTES];

	m->table->tally->denials++;
	figures(m, why, sizeof why);
	event_tell(EVENT_MEMORY_DENIED, .who = message_who(m), .resource = RESOURCE_MEMORY,
		   .from = v->allowed, .to = v->desired, .detail = why);
	if (m->pod != NULL && denied_text(m, why, sizeof why))
		pod_warn(m->pod, "MemoryDenied", "Resize", "%s memory: %s", pod_container_of(m),
			 why);
}

void denied_report(struct managed *m)
{
	bool denied = control_denied(&m->control, m->wake->now);

	if (denied && !m->reported.denied)
		report_denial(m);
	m->reported.denied = denied;
}
