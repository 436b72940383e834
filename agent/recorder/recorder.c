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

/* A call under way; one that decided something then waits until the first step of its unit is
 * written, with copies of what it was given. */
struct flight_recorder {
	struct flight_call made;
	struct control before; /* it; what it points to is: */
	double weight[RESOURCE_COUNT][HISTOGRAM_BUCKETS];
	struct usage seen;       /* after it */
	struct flight_line line; /* name NULL: none waits */
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
	assert(t->recorder->line.name == NULL);
	/* Once it is abandoned, the folder is another process's. */
	if (!t->records->abandoned)
		flight_log_flush(&t->recorder->log);
	free(t->recorder);
	t->recorder = NULL;
}

static void add_waiting(struct flight_recorder *r, const struct control_context *x)
{
	if (r->line.name != NULL)
		flight_log_add(&r->log, x->tuning, x->node_milli, &r->line);
	r->line.name = NULL;
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
static void keep(struct flight_recorder *r, const struct control *c)
{
	struct history *h = &r->before.history;

	r->before = *c;
	h->cpu.weight = keep_weights(r->weight[RESOURCE_CPU], &h->cpu);
	h->memory.weight = keep_weights(r->weight[RESOURCE_MEMORY], &h->memory);
	r->made.tape = (struct ledger_tape){0};
}

/* first: the first step that it decided. */
static void add_call(struct managed *m, const struct flight_input *in, size_t first, bool kept,
		     const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	size_t count = x->plan->count - first;
	struct flight_call alone = {0}, *made = count > 0 ? &r->made : &alone;
	struct flight_line line = line_of(m, in->kind, x);

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
	line.call = made;
	if (count == 0) {
		flight_log_add(&r->log, x->tuning, x->node_milli, &line);
		return;
	}
	r->seen = m->control.last;
	r->line = line;
	r->line.seen = &r->seen;
	r->line.before = kept ? &r->before : NULL;
}

void recorded_call(struct managed *m, const struct flight_input *in,
		   const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct control_context with_tape = *x;
	struct flight_line sample;
	size_t first = x->plan->count;
	/* It decides nothing, and is raised before its container, whose call may wait. */
	bool level = m->kind == UNIT_KIND_POD;
	bool kept;

	if (r == NULL) {
		flight_make(&m->control, in, x);
		return;
	}
	if (!level)
		add_waiting(r, x);
	if (is_interesting(m, in->usage))
		m->recording.interesting = x->now;
	/* Of observations and passes there are too many. */
	kept = !level &&
	       ((in->kind != FLIGHT_OBSERVE && in->kind != FLIGHT_REFLEX) || is_watched(m, x));
	if (kept) {
		keep(r, &m->control);
		with_tape.tape = &r->made.tape;
	}
	flight_make(&m->control, in, &with_tape);
	if (x->plan->count > first)
		m->recording.interesting = x->now;
	if (x->plan->count > first || in->kind == FLIGHT_APPLIED) {
		add_call(m, in, first, kept, x);
	} else if (in->kind == (is_watched(m, x) ? FLIGHT_OBSERVE : FLIGHT_REVIEW) &&
		   m->cgroup.cg != NULL) {
		sample = line_of(m, FLIGHT_SAMPLE, x);
		flight_log_add(&r->log, x->tuning, x->node_milli, &sample);
	}
}

void recorder_flush(struct unit_table *t)
{
	struct flight_recorder *r = t->recorder;

	if (r == NULL)
		return;
	message_save(FLIGHT_FILE, flight_log_flush(&r->log), &r->error);
	t->tally->recorder_dropped = r->log.dropped;
}
