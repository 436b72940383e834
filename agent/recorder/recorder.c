// SPDX-License-Identifier: Apache-2.0
#include "agent/recorder/recorder.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/wake.h"
#include "agent/state/ring.h"
#include "policy/flight/replay.h"
#include <errno.h>

/* Recorded for so long after the last thing of interest. */
#define QUIET_USEC USEC_PER_MIN
/* The ring has a whole control of each recorded container this many times. */
#define STATES_IN_RING 8

struct flight_recorder {
	struct ring ring;
	struct flight_block block; /* as the open block has it */
	uint32_t numbers;          /* given to containers */
	uint32_t active;
	int error;               /* of the last write */
	struct control scratch;  /* of the call under way: before it */
	struct flight_call made; /* the call under way */
	uint8_t bytes[FLIGHT_BYTES_MAX];
};

/* Of one container. */
struct recording {
	uint32_t number;
	uint64_t block; /* that has its name */
	uint64_t state; /* the block of its last FLIGHT_STATE */
	usec_t interesting;
};

/* Of one whose calls are recorded. */
struct recording_active {
	struct control before; /* as the last recorded call left it */
	struct flight_base base;
};

/* One call: what is known before it is made. */
struct call {
	struct managed *m;
	enum flight_kind kind;
	const struct control_context *x;
	const struct usage *usage;
	const struct change *step; /* APPLIED */
	int outcome;
	struct control_context with_tape;
	bool watched;
	size_t planned; /* steps before it */
};

/* Once: not again for the same error. */
static void note_error(int *last, int e)
{
	if (e == -EBUSY)
		return; /* a disk that stands still: what does not fit is lost */
	if (e < 0 && e != *last)
		event_tell(EVENT_STATE_UNSAVED, .file = RECORDER_FILE, .error = e);
	*last = e;
}

void recorder_start(struct unit_table *t)
{
	struct flight_recorder *r;
	int e, none = 0;

	if (!t->config->recorder.enabled)
		return;
	r = calloc(1, sizeof *r);
	e = r == NULL ? -ENOMEM
		      : ring_open(t->records->dir, RECORDER_FILE, t->config->recorder.size_bytes,
				  flight_layout(), &r->ring);
	note_error(&none, e);
	if (e < 0) {
		free(r);
		return;
	}
	r->block.run = t->wake->now_real;
	t->recorder = r;
}

void recorder_stop(struct unit_table *t)
{
	if (t->recorder == NULL)
		return;
	ring_close(&t->recorder->ring);
	free(t->recorder);
	t->recorder = NULL;
}

/* ---- records ---- */

static void new_block(struct flight_recorder *r)
{
	note_error(&r->error, ring_begin(&r->ring, &r->block, sizeof r->block));
}

/* The configuration may have changed, or CPUs. */
static void open_block(struct flight_recorder *r, const struct control_context *x)
{
	struct replay_node *node = &r->block.node;

	if (r->ring.sequence != 0 && node->cpu_milli == x->node_milli &&
	    flight_same(&node->tuning, x->tuning, sizeof node->tuning))
		return;
	node->cpu_milli = x->node_milli;
	node->tuning = *x->tuning;
	new_block(r);
}

static struct flight_writer begin_record(struct flight_recorder *r, const struct managed *m,
					 enum flight_kind kind)
{
	struct flight_writer w = {.data = r->bytes, .size = sizeof r->bytes};

	flight_put_head(&w, kind, m->recording.of->number);
	return w;
}

static bool add_record(struct flight_recorder *r, const struct flight_writer *w)
{
	if (w->full || !ring_has_room(&r->ring, w->at))
		return false;
	ring_add(&r->ring, w->data, w->at);
	return true;
}

static void add_name(struct flight_recorder *r, struct managed *m)
{
	struct recording *rec = m->recording.of;

	while (rec->block != r->ring.sequence) {
		struct flight_writer w = begin_record(r, m, FLIGHT_NAME);

		flight_put_name(&w, m->name);
		if (!add_record(r, &w)) {
			new_block(r);
			continue;
		}
		rec->block = r->ring.sequence;
		if (m->recording.active != NULL)
			m->recording.active->base = (struct flight_base){0};
	}
}

/* control: of STATE and PATCH; call: of the others. A record that does not fit goes to a new block,
 * where it is written anew, as the base has changed. */
static bool add(struct flight_recorder *r, struct managed *m, enum flight_kind kind,
		const struct control *control, const struct flight_call *call)
{
	struct flight_writer w = {0};

	for (int tries = 0; tries < 2 && !w.full; tries++) {
		struct recording_active *active = m->recording.active;
		struct flight_base base = {0};

		add_name(r, m);
		if (active != NULL)
			base = active->base;
		w = begin_record(r, m, kind);
		if (kind == FLIGHT_STATE)
			flight_put_state(&w, control);
		else if (kind == FLIGHT_PATCH)
			flight_put_patch(&w, &active->before, control);
		else if (call != NULL)
			flight_put_call(&w, kind, &base, call);
		if (add_record(r, &w)) {
			if (active != NULL)
				active->base = base;
			return true;
		}
		new_block(r);
	}
	return false;
}

/* ---- which containers ---- */

static void stop(struct flight_recorder *r, struct managed *m)
{
	if (m->recording.active == NULL)
		return;
	add(r, m, FLIGHT_END, NULL, NULL);
	free(m->recording.active);
	m->recording.active = NULL;
}

static bool start(struct flight_recorder *r, struct managed *m, const struct control *state)
{
	if (m->recording.active == NULL) {
		if (r->active >= RECORDER_ACTIVE_MAX)
			return false;
		m->recording.active = calloc(1, sizeof *m->recording.active);
		if (m->recording.active == NULL)
			return false;
		r->active++;
	}
	if (!add(r, m, FLIGHT_STATE, state, NULL)) {
		stop(r, m);
		return false;
	}
	m->recording.of->state = r->ring.sequence;
	m->recording.active->before = *state;
	m->recording.active->base = (struct flight_base){0};
	return true;
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

static bool made_for(struct flight_recorder *r, struct managed *m)
{
	if (m->recording.of != NULL)
		return true;
	m->recording.of = calloc(1, sizeof *m->recording.of);
	if (m->recording.of == NULL)
		return false;
	m->recording.of->number = ++r->numbers;
	return true;
}

/* What others changed in the control since the last recorded call. */
static void catch_up(struct flight_recorder *r, struct managed *m)
{
	const struct recording *rec = m->recording.of;
	const struct control *before = &m->recording.active->before, *now = &m->control;

	if (!flight_patches(before, now) ||
	    rec->state + MAX(r->ring.blocks / STATES_IN_RING, 1u) <= r->ring.sequence)
		start(r, m, now);
	else if (!flight_same(before, now, sizeof *now) && add(r, m, FLIGHT_PATCH, now, NULL))
		m->recording.active->before = *now;
}

/* ---- a call ---- */

/* Is the state before the call kept, so that a call that is recorded for its decision can be made
 * again? Not before a reflex pass, of which there are too many, and not before an observation,
 * which changes the histograms. */
static bool keeps_state(enum flight_kind kind)
{
	return kind != FLIGHT_OBSERVE && kind != FLIGHT_REFLEX;
}

static void fill_made(struct flight_recorder *r, const struct call *call)
{
	const struct control_context *x = call->x;

	r->made = (struct flight_call){
		.at = {x->now, x->now_real, x->tick_usec, x->ledger != NULL},
		.outcome = call->outcome,
	};
	if (call->step != NULL)
		r->made.step = *call->step;
	if (call->usage != NULL)
		r->made.usage = *call->usage;
}

static const struct control_context *before_call(struct flight_recorder *r, struct call *call)
{
	struct managed *m = call->m;
	const struct control_context *x = call->x;
	bool interesting;

	if (r == NULL)
		return x;
	call->planned = x->plan->count;
	interesting = is_interesting(m, call->usage);
	/* Nearly every call: it must cost nothing. */
	if (!interesting && m->recording.active == NULL && !keeps_state(call->kind))
		return x;
	if (!made_for(r, m))
		return x;
	open_block(r, x);
	call->watched = true;
	if (interesting)
		m->recording.of->interesting = x->now;
	if (m->recording.active != NULL)
		catch_up(r, m);
	else if (m->recording.of->interesting == x->now)
		start(r, m, &m->control);
	if (m->recording.active == NULL && !keeps_state(call->kind))
		return x;
	if (m->recording.active == NULL)
		r->scratch = m->control;
	fill_made(r, call);
	call->with_tape = *x;
	call->with_tape.tape = &r->made.tape;
	return &call->with_tape;
}

static bool note_decided(struct flight_recorder *r, const struct call *call, size_t decided)
{
	if (decided > ARRAY_SIZE(r->made.decided))
		return false;
	r->made.decided_count = decided;
	for (size_t i = 0; i < decided; i++)
		r->made.decided[i] = call->x->plan->steps[call->planned + i];
	return true;
}

/* A decision of a container that was not recorded, in a call whose state was not kept: recorded as
 * a call that is not made again, and the container from here on. */
static void add_surprise(struct flight_recorder *r, struct call *call, size_t decided)
{
	struct managed *m = call->m;

	if (!made_for(r, m))
		return;
	open_block(r, call->x);
	m->recording.of->interesting = call->x->now;
	/* The reader reads a call relative to the one before, or to the name. */
	m->recording.of->block = 0;
	fill_made(r, call);
	if (note_decided(r, call, decided))
		add(r, m, call->kind, NULL, &r->made);
	start(r, m, &m->control);
}

static void after_call(struct flight_recorder *r, struct call *call)
{
	struct managed *m = call->m;
	size_t decided;

	if (r == NULL)
		return;
	decided = call->x->plan->count - call->planned;
	if (!call->watched) {
		if (decided > 0)
			add_surprise(r, call, decided);
		return;
	}
	if (decided > 0)
		m->recording.of->interesting = call->x->now;
	if (m->recording.active == NULL && decided > 0 && keeps_state(call->kind))
		start(r, m, &r->scratch);
	/* A boost that decides nothing changes nothing that a patch would not tell. */
	if (m->recording.active == NULL || (call->kind == FLIGHT_BOOST && decided == 0))
		return;
	if (r->made.tape.spoiled || !note_decided(r, call, decided)) {
		stop(r, m);
		return;
	}
	if (add(r, m, call->kind, NULL, &r->made))
		m->recording.active->before = m->control;
	else
		stop(r, m);
}

void recorded_observe(struct managed *m, const struct usage *u, const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call call = {.m = m, .kind = FLIGHT_OBSERVE, .x = x, .usage = u};

	control_observe(&m->control, u, before_call(r, &call));
	after_call(r, &call);
}

void recorded_reflex_pass(struct managed *m, const struct usage *u, const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call call = {.m = m, .kind = FLIGHT_REFLEX, .x = x, .usage = u};

	control_reflex_pass(&m->control, u, before_call(r, &call));
	after_call(r, &call);
}

/* One whose calls are not recorded: what a picture needs. */
static void add_sample(struct flight_recorder *r, struct managed *m,
		       const struct control_context *x)
{
	const struct usage *u = &m->control.last;
	struct flight_call sample = {
		.at = {x->now, x->now_real, x->tick_usec, x->ledger != NULL},
		.usage =
			{
				.have = u->have,
				.cpu_usage_usec = u->cpu_usage_usec,
				.nr_periods = u->nr_periods,
				.nr_throttled = u->nr_throttled,
				.mem_current = u->mem_current,
				.stat.anon = u->stat.anon,
				.events.oom_kill = u->events.oom_kill,
				.limits = u->limits,
			},
	};

	if (m->recording.of != NULL && m->recording.active == NULL && m->cgroup.cg != NULL)
		add(r, m, FLIGHT_SAMPLE, NULL, &sample);
}

void recorded_review(struct managed *m, const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call call = {.m = m, .kind = FLIGHT_REVIEW, .x = x};

	control_review(&m->control, before_call(r, &call));
	after_call(r, &call);
	if (r != NULL)
		add_sample(r, m, x);
}

void recorded_boost(struct managed *m, const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call call = {.m = m, .kind = FLIGHT_BOOST, .x = x};

	control_boost(&m->control, before_call(r, &call));
	after_call(r, &call);
}

void recorded_applied(struct managed *m, const struct change *step, int outcome,
		      const struct control_context *x)
{
	struct flight_recorder *r = m->table->recorder;
	struct call call = {
		.m = m,
		.kind = FLIGHT_APPLIED,
		.x = x,
		.step = step,
		.outcome = outcome,
	};

	control_applied(&m->control, step, outcome, before_call(r, &call));
	after_call(r, &call);
}

void recorder_flush(struct unit_table *t)
{
	struct flight_recorder *r = t->recorder;

	if (r == NULL)
		return;
	r->active = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		if (m->recording.active != NULL &&
		    t->wake->now - m->recording.of->interesting >= QUIET_USEC)
			stop(r, m);
		r->active += m->recording.active != NULL;
	}
	note_error(&r->error, ring_flush(&r->ring));
}
