// SPDX-License-Identifier: Apache-2.0
/* The brake: memory.high a gap below memory.max slows an allocator down until the raise has landed
 * (kernel 6.12: a raise half a second late cost 0.4 s, without the brake the process). Without swap
 * a process above memory.high makes no progress, so it holds for a short time only. */
#include "policy/base/arithmetic.h"
#include "policy/laws/mem_law.h"

/* Wanted above this share of memory.max, or when the line would be reached within the time. */
#define NEAR_PERMILLE 800
#define AHEAD_USEC    (3 * USEC_PER_SEC)
/* Charges are counted in batches per CPU: use this close below the line counts as at the line. */
#define TOUCH_BYTES MIB
/* The longest time that an allocator is held, and how long the brake stays off after it
 * (REST_USEC). A kubelet probe gives up after ten seconds, a client after one or two. */
#define BRAKE_USEC (2 * USEC_PER_SEC)
/* The kubelet carries out a resize up to 2 s after it has seen it, and request and watch take up to
 * a second (measured in the lab, docs/performance.md). If the brake ended earlier and the runtime
 * replayed its old limit, the process would be OOM-killed. */
#define BRAKE_REPLAY_USEC (4 * USEC_PER_SEC)
#define REST_USEC         (60 * USEC_PER_SEC)
/* Lifted when not wanted for this long: use that fluctuates around the share must not cause a write
 * every second. */
#define CALM_USEC (10 * USEC_PER_SEC)
/* The writer of a memory.high below what is charged waits for the reclaim. So the line comes down
 * through page cache by one piece per reflex pass, about a millisecond; the next piece follows when
 * that one is reclaimed. */
#define PIECE_BYTES (4 * MIB)

static uint64_t line_of(const struct tuning_memory *t, uint64_t max)
{
	uint64_t gap = mem_gap(t, max);

	return max == LIMIT_MAX || gap >= max ? 0 : round_down(max - gap, MEM_PAGE_BYTES);
}

static bool mem_brake_wanted(const struct mem_law *m, const struct mem_brake_input *in)
{
	uint64_t use = in->use;
	uint64_t ahead = mul_div(m->slope_bps, AHEAD_USEC, USEC_PER_SEC);

	return use > scale_permille(in->max, NEAR_PERMILLE) ||
	       (m->slope_bps > 0 && add_sat(use, ahead) >= in->max);
}

static bool mem_brake_fits(uint64_t line, const struct mem_brake_input *in)
{
	/* The owner's memory.high at or below the line already serves as a brake. */
	return line < in->own && add_sat(in->use, 2 * TOUCH_BYTES) < line;
}

/* As far towards the line as one write may go. */
static uint64_t piece_to(uint64_t line, const struct mem_brake_input *in)
{
	uint64_t piece = round_down(in->current - MIN(in->current, PIECE_BYTES), MEM_PAGE_BYTES);

	return MAX(line, piece);
}

static void mem_brake_put(struct mem_brake *b, uint64_t line)
{
	b->line = line;
	/* The last write may have failed. */
	b->stands = MAX(b->stands, line);
}

static void mem_brake_arm(struct mem_brake *b, uint64_t line, const struct mem_brake_input *in)
{
	mem_brake_put(b, piece_to(line, in));
	b->pressed_at = 0;
	b->wanted_at = in->now;
}

/* On the way down: the last piece is not reclaimed yet. */
static bool waits(const struct mem_brake *b, uint64_t line, const struct mem_brake_input *in)
{
	return line < b->line && in->current > add_sat(b->line, TOUCH_BYTES);
}

/* At the line, and no headroom was made. Reclaimable page cache above the line holds no process. */
static bool pressed(const struct tuning_memory *t, const struct mem_brake *b,
		    const struct mem_brake_input *in)
{
	uint64_t near = in->hit ? mem_gap(t, in->max) : TOUCH_BYTES;
	uint64_t line = line_of(t, in->max);

	return line <= b->line && (add_sat(in->use, near) >= b->line || waits(b, line, in));
}

/* Held for long enough: at the next reflex pass the time would be exceeded. */
static bool held_out(struct mem_brake *b, bool at_line, const struct mem_brake_input *in)
{
	if (!at_line)
		b->pressed_at = 0;
	else if (b->pressed_at == 0)
		b->pressed_at = in->now;
	return at_line && add_sat(in->now - b->pressed_at, in->tick_usec) >
				  (in->replay ? BRAKE_REPLAY_USEC : BRAKE_USEC);
}

/* The line of an armed brake now; 0: disarm it. */
static uint64_t next_line(const struct mem_brake *b, uint64_t line,
			  const struct mem_brake_input *in)
{
	if (line == b->line)
		return line;
	if (line > b->line)
		return line < in->own ? piece_to(line, in) : 0;
	if (waits(b, line, in) || !mem_brake_fits(line, in))
		return b->line < MIN(in->max, in->own) ? b->line : 0;
	return MIN(b->line, piece_to(line, in));
}

void mem_brake_pass(const struct tuning_memory *t, struct mem_law *m,
		    const struct mem_brake_input *in)
{
	struct mem_brake *b = &m->brake;
	uint64_t line = line_of(t, in->max);

	if (b->line == 0) {
		if (mem_brake_wanted(m, in) && in->now >= b->rearm_at && mem_brake_fits(line, in))
			mem_brake_arm(b, line, in);
		return;
	}
	if (mem_brake_wanted(m, in))
		b->wanted_at = in->now;
	if (held_out(b, pressed(t, b, in), in)) {
		mem_brake_failed(m, in->now);
		return;
	}
	if (in->now - b->wanted_at >= CALM_USEC)
		b->line = 0;
	else
		mem_brake_put(b, next_line(b, line, in));
}

void mem_brake_raised(const struct tuning_memory *t, struct mem_law *m,
		      const struct mem_brake_input *in)
{
	uint64_t line = line_of(t, in->max);

	/* The runtime may still replay its limit: growth stays held. */
	if (in->replay && m->brake.line != 0 && line <= m->brake.line)
		return;
	if ((m->brake.line != 0 || in->now >= m->brake.rearm_at) && mem_brake_fits(line, in))
		mem_brake_arm(&m->brake, line, in);
	else
		m->brake.line = 0;
}

bool mem_brake_owns(const struct mem_law *m, uint64_t high)
{
	return m->brake.stands != 0 && high <= m->brake.stands;
}

void mem_brake_failed(struct mem_law *m, usec_t now)
{
	m->brake = (struct mem_brake){
		.stands = m->brake.stands,
		.rearm_at = add_sat(now, REST_USEC),
	};
}
