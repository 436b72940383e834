// SPDX-License-Identifier: Apache-2.0
#include "agent/recorder/recorder.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include <assert.h>
#include <errno.h>

/* Watched for so long after the last thing of interest. */
#define QUIET_USEC USEC_PER_MIN

/* A raise: its decision, then its steps: of the pod, the container, and memory.high. */
#define CALLS 4

/* One that decided something, with copies of what it was given. */
struct call {
	struct flight_call made;
	struct control before; /* it; what it points to is: */
	double weight[RESOURCE_COUNT][HISTOGRAM_BUCKETS];
	struct usage seen; /* after it */
	struct flight_line line;
};

struct flight_recorder {
	struct call calls[CALLS]; /* that wait for the writes, then the call under way */
	size_t waiting;
	struct flight_log log;
	int error; /* the last one that was reported */
};

void recorder_start(struct unit_table *t)
{
	struct flight_recorder *r;
	int e, none = 0;

	if (!t->config->recorder.enabled)
		return;
	r = calloc(1, sizeof *r);
	e = r == NULL ? -ENOMEM
		      : flight_log_open(&r->log, &t->records->saver, t->records->dir,
					t->config->recorder.size_bytes);
	message_save(FLIGHT_FILE, e, &none);
	if (e < 0) {
		free(r);
		return;
	}
	t->recorder = r;
	UNITS_FOREACH (m, t)
		m->recording.file = 0;
}

void recorder_stop(struct unit_table *t)
{
	if (t->recorder == NULL)
		return;
	assert(t->recorder->waiting == 0);
	/* Once it is abandoned, the folder is another process's. */
	if (!t->records->abandoned)
		flight_log_flush(&t->recorder->log);
	free(t->recorder);
	t->recorder = NULL;
}

void recorder_settle(struct unit_table *t)
{
	struct flight_recorder *r = t->recorder;

	if (r == NULL)
		return;
	for (size_t i = 0; i < r->waiting; i++)
		flight_log_add(&r->log, &t->config->tuning, t->host->cpu_milli, &r->calls[i].line);
	r->waiting = 0;
}

static struct flight_line line_of(struct managed *m, enum flight_kind kind,
				  const struct control_context *x)
{
	return (struct flight_line){
		.kind = kind,
		.name = m->name,
		.number = m->control.target,
		.file = &m->recording.file,
		.now_real = x->now_real,
		.seen = &m->control.last,
	};
}

static void add_sample(struct managed *m, const struct control_context *x)
{
	const struct flight_line line = line_of(m, FLIGHT_SAMPLE, x);

	recorder_settle(m->table);
	flight_log_add(&m->table->recorder->log, x->tuning, x->node_milli, &line);
}

static bool is_interesting(const struct managed *m, const struct usage *u)
{
	const struct control *c = &m->control;

	if (control_hot(c))
		return true;
	return u != NULL &&
	       (control_presses(c, u) ||
		((u->have & USAGE_MEM_EVENTS) && (u->events.oom_kill != c->last.events.oom_kill ||
						  u->events.max != c->last.events.max)));
}

static bool is_watched(const struct managed *m, const struct control_context *x)
{
	return x->now - m->recording.interesting < QUIET_USEC;
}

static double *keep_weights(double *ret, const struct histogram *h)
{
	if (h->count > 0)
		memcpy(ret, h->weight, h->count * sizeof *ret);
	return ret;
}

/* Before a call, so that it can be made again. */
static void keep(struct call *call, const struct control *c)
{
	struct history *h = &call->before.history;

	call->before = *c;
	h->cpu.weight = keep_weights(call->weight[RESOURCE_CPU], &h->cpu);
	h->memory.weight = keep_weights(call->weight[RESOURCE_MEMORY], &h->memory);
	call->made.tape = (struct ledger_tape){0};
}

/* first: the first step that it decided. */
static void add_call(struct managed *m, const struct flight_input *in, size_t first, bool kept,
		     const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call *call = &r->calls[r->waiting++];
	struct flight_call *made = &call->made;
	size_t count = x->plan->count - first;

	made->now = x->now;
	made->now_real = x->now_real;
	made->tick_usec = x->tick_usec;
	made->ledger = x->ledger != NULL;
	made->usage = in->usage != NULL ? *in->usage : (struct usage){0};
	made->step = in->step != NULL ? *in->step : (struct change){0};
	made->outcome = in->outcome;
	made->decided_count = MIN(count, (size_t)CONTROL_STEPS_MAX);
	memset(made->decided, 0, sizeof made->decided);
	for (size_t i = 0; i < made->decided_count; i++)
		made->decided[i] = x->plan->steps[first + i];
	kept &= count > 0 && count == made->decided_count && !made->tape.spoiled;
	call->seen = m->control.last;
	call->line = line_of(m, in->kind, x);
	call->line.seen = &call->seen;
	call->line.call = made;
	call->line.before = kept ? &call->before : NULL;
}

void recorded_call(struct managed *m, const struct flight_input *in,
		   const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct control_context with_tape = *x;
	size_t first = x->plan->count;
	bool kept;

	if (r == NULL) {
		flight_make(&m->control, in, x);
		return;
	}
	if (is_interesting(m, in->usage))
		m->recording.interesting = x->now;
	/* Of observations and passes there are too many. */
	kept = (in->kind != FLIGHT_OBSERVE && in->kind != FLIGHT_REFLEX) || is_watched(m, x);
	if (r->waiting == CALLS)
		recorder_settle(m->table);
	if (kept) {
		keep(&r->calls[r->waiting], &m->control);
		with_tape.tape = &r->calls[r->waiting].made.tape;
	}
	flight_make(&m->control, in, &with_tape);
	if (x->plan->count > first)
		m->recording.interesting = x->now;
	if (x->plan->count > first || in->kind == FLIGHT_APPLIED)
		add_call(m, in, first, kept, x);
	else if (in->kind == (is_watched(m, x) ? FLIGHT_OBSERVE : FLIGHT_REVIEW) &&
		 m->cgroup.cg != NULL)
		add_sample(m, x);
}

void recorder_flush(struct unit_table *t)
{
	struct flight_recorder *r = t->recorder;

	if (r == NULL)
		return;
	message_save(FLIGHT_FILE, flight_log_flush(&r->log), &r->error);
	t->tally->recorder_dropped = r->log.dropped;
}
