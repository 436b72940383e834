// SPDX-License-Identifier: Apache-2.0
#include "policy/flight/flight.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define VERSION 3
#define WORD    sizeof(uint64_t)

static_assert(sizeof(struct control) % WORD == 0, "written as words");
static_assert(sizeof(struct usage) % WORD == 0, "written as words");
static_assert(sizeof(struct change) % WORD == 0, "written as words");
static_assert(sizeof(struct flight_moment) % WORD == 0, "written as words");

uint32_t flight_layout(void)
{
	static const uint32_t sizes[] = {
		VERSION,
		sizeof(struct control),
		sizeof(struct usage),
		sizeof(struct change),
		sizeof(struct tuning),
		offsetof(struct control, cpu),
		offsetof(struct control, mem),
		offsetof(struct control, history),
		offsetof(struct control, last),
		REASON_COUNT,
		BLOCKED_COUNT,
	};
	uint32_t sum = 2166136261; /* FNV-1a */

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		sum = (sum ^ sizes[i]) * 16777619;
	return sum;
}

/* ---- bytes ---- */

static void put_bytes(struct flight_writer *w, const void *bytes, size_t size)
{
	if (w->full || size > w->size - w->at) {
		w->full = true;
		return;
	}
	if (size > 0)
		memcpy(w->data + w->at, bytes, size);
	w->at += size;
}

static int get_bytes(struct flight_reader *r, void *ret, size_t size)
{
	if (size > r->size - r->at)
		return -EBADMSG;
	if (size > 0)
		memcpy(ret, r->data + r->at, size);
	r->at += size;
	return 0;
}

/* Seven bits a byte, the lowest first. */
static void put_number(struct flight_writer *w, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v != 0);
	put_bytes(w, bytes, n);
}

static int get_number(struct flight_reader *r, uint64_t *ret)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (get_bytes(r, &byte, 1) < 0)
			return -EBADMSG;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int get_count(struct flight_reader *r, uint64_t most, uint64_t *ret)
{
	int e = get_number(r, ret);

	return e == 0 && *ret > most ? -EBADMSG : e;
}

static uint64_t word_of(const void *of, size_t i)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)of + i * WORD, WORD);
	return v;
}

static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unfold(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Words that differ: how many; of each the gap since the one before and the difference. */
static void put_words(struct flight_writer *w, const void *before, const void *after, size_t size)
{
	size_t words = size / WORD, differ = 0, last = 0;

	for (size_t i = 0; i < words; i++)
		differ += word_of(before, i) != word_of(after, i);
	put_number(w, differ);
	for (size_t i = 0; i < words; i++) {
		if (word_of(before, i) == word_of(after, i))
			continue;
		put_number(w, i - last);
		put_number(w, fold(word_of(after, i) - word_of(before, i)));
		last = i;
	}
}

/* Onto what was before. */
static int get_words(struct flight_reader *r, void *ret, size_t size)
{
	uint64_t differ, gap = 0, folded = 0, v, at = 0;
	int e = get_count(r, size / WORD, &differ);

	for (uint64_t i = 0; e == 0 && i < differ; i++) {
		e = get_count(r, size / WORD, &gap);
		at += gap;
		if (e == 0)
			e = at < size / WORD ? get_number(r, &folded) : -EBADMSG;
		if (e < 0)
			break;
		v = word_of(ret, at) + unfold(folded);
		memcpy((uint8_t *)ret + at * WORD, &v, WORD);
	}
	return e;
}

/* ---- records ---- */

void flight_put_head(struct flight_writer *w, enum flight_kind kind, uint32_t container)
{
	put_number(w, kind);
	put_number(w, container);
}

int flight_get_head(struct flight_reader *r, enum flight_kind *ret_kind, uint32_t *ret_container)
{
	uint64_t kind, container;

	if (get_count(r, FLIGHT_KIND_COUNT - 1, &kind) < 0 || kind == 0 ||
	    get_count(r, UINT32_MAX, &container) < 0)
		return -EBADMSG;
	*ret_kind = (enum flight_kind)kind;
	*ret_container = (uint32_t)container;
	return 0;
}

void flight_put_name(struct flight_writer *w, const char *name)
{
	size_t length = MIN(strlen(name), (size_t)FLIGHT_NAME_MAX - 1);

	put_number(w, length);
	put_bytes(w, name, length);
}

int flight_get_name(struct flight_reader *r, char *ret)
{
	uint64_t length;
	int e = get_count(r, FLIGHT_NAME_MAX - 1, &length);

	if (e == 0)
		e = get_bytes(r, ret, length);
	if (e == 0)
		ret[length] = '\0';
	return e == 0 && memchr(ret, '\0', length) != NULL ? -EBADMSG : e;
}

static bool has_usage(enum flight_kind kind)
{
	return kind == FLIGHT_SAMPLE || kind == FLIGHT_OBSERVE || kind == FLIGHT_REFLEX;
}

static const struct change no_step;

void flight_put_call(struct flight_writer *w, enum flight_kind kind, struct flight_base *base,
		     const struct flight_call *call)
{
	put_words(w, &base->at, &call->at, sizeof call->at);
	if (has_usage(kind)) {
		put_words(w, &base->usage, &call->usage, sizeof call->usage);
		base->usage = call->usage;
	}
	base->at = call->at;
	if (kind == FLIGHT_SAMPLE)
		return;
	if (kind == FLIGHT_APPLIED) {
		put_words(w, &no_step, &call->step, sizeof call->step);
		put_number(w, fold((uint64_t)call->outcome));
	}
	put_number(w, call->tape.count);
	for (uint32_t i = 0; i < call->tape.count; i++)
		put_number(w, call->tape.word[i]);
	put_number(w, call->decided_count);
	for (size_t i = 0; i < call->decided_count; i++)
		put_words(w, &no_step, &call->decided[i], sizeof no_step);
}

static int get_step(struct flight_reader *r, struct change *ret)
{
	int e;

	*ret = no_step;
	e = get_words(r, ret, sizeof *ret);
	return e == 0 && (unsigned)ret->knob >= KNOB_COUNT ? -EBADMSG : e;
}

static int get_applied(struct flight_reader *r, struct flight_call *ret)
{
	uint64_t outcome = 0;
	int e = get_step(r, &ret->step);

	if (e == 0)
		e = get_number(r, &outcome);
	ret->outcome = (int64_t)unfold(outcome);
	return e;
}

static int get_tape(struct flight_reader *r, struct ledger_tape *ret)
{
	uint64_t count = 0;
	int e = get_count(r, LEDGER_TAPE_WORDS, &count);

	for (uint64_t i = 0; e == 0 && i < count; i++)
		e = get_number(r, &ret->word[i]);
	ret->count = (uint32_t)count;
	return e;
}

static int get_decided(struct flight_reader *r, struct flight_call *ret)
{
	uint64_t count = 0;
	int e = get_count(r, CONTROL_STEPS_MAX, &count);

	for (uint64_t i = 0; e == 0 && i < count; i++)
		e = get_step(r, &ret->decided[i]);
	ret->decided_count = count;
	return e;
}

int flight_get_call(struct flight_reader *r, enum flight_kind kind, struct flight_base *base,
		    struct flight_call *ret)
{
	int e = get_words(r, &base->at, sizeof base->at);

	*ret = (struct flight_call){.tape.replays = true};
	if (e == 0 && has_usage(kind))
		e = get_words(r, &base->usage, sizeof base->usage);
	ret->at = base->at;
	if (has_usage(kind))
		ret->usage = base->usage;
	if (kind == FLIGHT_SAMPLE)
		return e;
	if (e == 0 && kind == FLIGHT_APPLIED)
		e = get_applied(r, ret);
	if (e == 0)
		e = get_tape(r, &ret->tape);
	return e == 0 ? get_decided(r, ret) : e;
}

/* ---- the control ---- */

static const struct control no_control;

/* A control as words: what it points to is written by itself. */
static void without_pointers(struct control *c)
{
	c->history.cpu.options = c->history.memory.options = NULL;
	c->history.cpu.weight = c->history.memory.weight = NULL;
}

void flight_put_state(struct flight_writer *w, const struct control *c)
{
	struct control bare = *c;

	without_pointers(&bare);
	put_words(w, &no_control, &bare, sizeof bare);
	put_bytes(w, c->history.cpu.weight, c->history.cpu.count * sizeof(double));
	put_bytes(w, c->history.memory.weight, c->history.memory.count * sizeof(double));
}

static int get_weights(struct flight_reader *r, const struct histogram_options *o,
		       struct histogram *h)
{
	h->options = o;
	if (h->from + h->count > HISTOGRAM_BUCKETS || h->min >= HISTOGRAM_BUCKETS ||
	    h->max >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	if (h->count == 0)
		return 0;
	h->weight = calloc(h->count, sizeof *h->weight);
	return h->weight != NULL ? get_bytes(r, h->weight, h->count * sizeof *h->weight) : -ENOMEM;
}

/* Members that are not of any value: a file may be crafted. */
/* clang-format off */
#define ONE_OF(member, count) {offsetof(struct control, member), sizeof(((struct control *)0)->member), count}
#define BOOL(member) ONE_OF(member, 2)
static const struct {
	size_t at, size;
	uint32_t count;
} choices[] = {
	ONE_OF(rule.mode, MODE_COUNT), ONE_OF(rule.goal, GOAL_COUNT), ONE_OF(pod.heap.runtime, HEAP_RUNTIME_COUNT), ONE_OF(boost.phase, BOOST_PHASE_COUNT),
	ONE_OF(boost_now.phase, BOOST_PHASE_COUNT), ONE_OF(mem.trial.phase, MEM_PHASE_COUNT), BOOL(rule.scale_down), BOOL(rule.freeze),
	BOOL(pod.guaranteed), BOOL(pod.qos_near), BOOL(pod.requests_move), BOOL(pod.limits_stay), BOOL(pod.not_ready), BOOL(pod.swaps),
	BOOL(pod.ranges_unknown), BOOL(pod.requests_unknown), BOOL(pod.growth_held), BOOL(paused), BOOL(initial_done), BOOL(life.probed),
	BOOL(startup.probed), BOOL(boost.written), BOOL(boost_now.write), BOOL(cpu.evidence.late), BOOL(cpu.trial.active), BOOL(mem.brake.passed),
	BOOL(mem.trial.high_lowered), BOOL(grant_ended), BOOL(denied.ahead), BOOL(freed.ahead), BOOL(asked.ahead), BOOL(denial.verdict.kubelet),
	BOOL(lowered.pod), BOOL(kill.pod), BOOL(kill.applied), BOOL(prior_new), BOOL(prior_known), BOOL(rates_fresh), BOOL(cpu_counted),
	BOOL(resource[0].managed), BOOL(resource[0].at_ceiling), BOOL(resource[0].request_up), ONE_OF(resource[0].blocked, BLOCKED_COUNT),
	ONE_OF(resource[0].pending.reason, REASON_COUNT), ONE_OF(resource[0].last.reason, REASON_COUNT), BOOL(resource[1].managed),
	BOOL(resource[1].at_ceiling), BOOL(resource[1].request_up), ONE_OF(resource[1].blocked, BLOCKED_COUNT),
	ONE_OF(resource[1].pending.reason, REASON_COUNT), ONE_OF(resource[1].last.reason, REASON_COUNT),
};
/* clang-format on */

static int check_choices(const struct control *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		uint32_t v = 0;

		memcpy(&v, (const uint8_t *)c + choices[i].at, choices[i].size);
		if (v >= choices[i].count)
			return -EBADMSG;
	}
	return 0;
}

int flight_get_state(struct flight_reader *r, struct control *c)
{
	int e;

	*c = no_control;
	e = get_words(r, c, sizeof *c);
	without_pointers(c);
	if (e == 0)
		e = get_weights(r, &histogram_cpu, &c->history.cpu);
	if (e == 0)
		e = get_weights(r, &histogram_memory, &c->history.memory);
	if (e == 0)
		e = check_choices(c);
	if (e < 0) {
		control_drop(c);
		*c = no_control;
	}
	return e;
}

bool flight_same(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

bool flight_patches(const struct control *before, const struct control *after)
{
	const struct history *a = &before->history, *b = &after->history;

	return flight_same(&a->cpu, &b->cpu, sizeof a->cpu) &&
	       flight_same(&a->memory, &b->memory, sizeof a->memory);
}

void flight_put_patch(struct flight_writer *w, const struct control *before,
		      const struct control *after)
{
	put_words(w, before, after, sizeof *after);
}

int flight_get_patch(struct flight_reader *r, struct control *c)
{
	struct histogram cpu = c->history.cpu, memory = c->history.memory;
	int e = get_words(r, c, sizeof *c);

	/* A patch does not touch them: what is read may say otherwise. */
	c->history.cpu = cpu;
	c->history.memory = memory;
	return e == 0 ? check_choices(c) : e;
}
