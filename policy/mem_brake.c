// SPDX-License-Identifier: Apache-2.0
/*
 * The brake: memory.high a gap below memory.max slows an allocator down until the raise has landed
 * (kernel, 6.12: a raise half a second late cost 0.4 s, without the brake the process). Without
 * swap whoever is held over it for long stands still, so it is held for a short time only.
 */
#include "policy/bounds.h"
#include "policy/mem_control.h"

/* Wanted above this share of memory.max, or when the line would be reached within the time. */
#define NEAR_PERMILLE 800
#define AHEAD_USEC    (3 * USEC_PER_SEC)
/* Charges are counted in batches per CPU: this close below the line is at it. */
#define TOUCH_BYTES MIB
/* As long as an allocator is held at most, and how long it is left alone then. A kubelet probe
 * gives up after ten seconds, a client after one or two. */
#define HOLD_USEC (2 * USEC_PER_SEC)
#define REST_USEC (60 * USEC_PER_SEC)
/* Not wanted for as long: lifted. Breathing around the share must not write every second. */
#define CALM_USEC (10 * USEC_PER_SEC)
/* Arming takes back the page cache above the line, and blocks while it does. */
#define TAKE_BACK_MAX_BYTES (64 * MIB)

static uint64_t line_of(const struct tuning_memory *t, uint64_t max)
{
	uint64_t gap = mem_gap(t, max);

	return max == LIMIT_MAX || gap >= max ? 0 : round_down(max - gap, MEM_PAGE_BYTES);
}

static bool wanted(const struct mem_control *m, const struct mem_brake_input *in)
{
	uint64_t use = in->use;
	uint64_t ahead = mul_div(m->slope_bps, AHEAD_USEC, USEC_PER_SEC);

	return use > scale_permille(in->max, NEAR_PERMILLE) ||
	       (m->slope_bps > 0 && add_sat(use, ahead) >= in->max);
}

static bool fits(uint64_t line, const struct mem_brake_input *in)
{
	/* An own line of the owner's at or below it is brake enough. */
	return line < in->own && add_sat(in->use, 2 * TOUCH_BYTES) < line &&
	       in->current <= add_sat(line, TAKE_BACK_MAX_BYTES);
}

static void arm(struct mem_brake *b, uint64_t line, usec_t now)
{
	b->line = b->stands = line;
	b->pressed_at = 0;
	b->wanted_at = now;
}

/* At the line, and no room was made. Page cache over the line alone holds nobody. */
static bool pressed(const struct tuning_memory *t, const struct mem_brake *b,
		    const struct mem_brake_input *in)
{
	uint64_t near = in->hit ? mem_gap(t, in->max) : TOUCH_BYTES;

	return line_of(t, in->max) <= b->line && add_sat(in->use, near) >= b->line;
}

/* Held for long enough: the look after this one would be too late. */
static bool held_out(struct mem_brake *b, bool at_line, const struct mem_brake_input *in)
{
	if (!at_line)
		b->pressed_at = 0;
	else if (b->pressed_at == 0)
		b->pressed_at = in->now;
	return at_line && add_sat(in->now - b->pressed_at, in->tick_usec) > HOLD_USEC;
}

void mem_brake_look(const struct tuning_memory *t, struct mem_control *m,
		    const struct mem_brake_input *in)
{
	struct mem_brake *b = &m->brake;
	uint64_t line = line_of(t, in->max);

	if (b->line == 0) {
		if (wanted(m, in) && in->now >= b->rearm_at && fits(line, in))
			arm(b, line, in->now);
		return;
	}
	if (wanted(m, in))
		b->wanted_at = in->now;
	if (held_out(b, pressed(t, b, in), in)) {
		mem_brake_failed(m, in->now);
		return;
	}
	if (in->now - b->wanted_at >= CALM_USEC)
		b->line = 0;
	else if (line != b->line)
		b->line = (line > b->line && line < in->own) || fits(line, in) ? line : 0;
	b->stands = b->line != 0 ? b->line : b->stands;
}

void mem_brake_raised(const struct tuning_memory *t, struct mem_control *m,
		      const struct mem_brake_input *in)
{
	uint64_t line = line_of(t, in->max);

	if ((m->brake.line != 0 || in->now >= m->brake.rearm_at) && fits(line, in))
		arm(&m->brake, line, in->now);
	else
		m->brake.line = 0;
}

bool mem_brake_owns(const struct mem_control *m, uint64_t high)
{
	return m->brake.stands != 0 && high <= m->brake.stands;
}

void mem_brake_failed(struct mem_control *m, usec_t now)
{
	m->brake = (struct mem_brake){
		.stands = m->brake.stands,
		.rearm_at = add_sat(now, REST_USEC),
	};
}
