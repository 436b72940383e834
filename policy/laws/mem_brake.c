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
 * (REST_USEC). A client gives up after one or two seconds. */
#define BRAKE_USEC (2 * USEC_PER_SEC)
#define REST_USEC  (60 * USEC_PER_SEC)
/* While the runtime may write a limit below use, which would end a process, growth is held until
 * the higher limit is reported as carried out. An update of the runtime took 14 s on a starved
 * node, and the kubelet began none for 20 s (kubelet 1.36, containerd 1.6). A liveness probe ends
 * it sooner. */
#define BRAKE_REPLAY_USEC (40 * USEC_PER_SEC)
/* The gap below such a limit lasts for this: a larger one would slow every growth that another
 * resize meets. */
#define GAP_USEC (15 * USEC_PER_SEC)
/* Above memory.high the kernel delays each thread at its return to user space, for a charge of
 * `bytes` by 64 s x (overage / memory.high)^2 x bytes / 256 KiB and by 2 s at most
 * (mem_cgroup_handle_over_high(), Linux 5.8 to 6.18). With huge pages a charge is 2 MiB. So with
 * an overage of k / 64 of the limit a charge takes k^2 / 8 s. */
#define CHARGE_BYTES      (2 * MIB)
#define OVERAGE_STEPS     64
#define STEP_DELAY_USEC   (USEC_PER_SEC / 8)
#define CHARGE_DELAY_USEC (2 * USEC_PER_SEC)
/* Where the number of threads is not known. */
#define THREADS_DEFAULT 16
/* Lifted when not wanted for this long: use that fluctuates around the share must not cause a write
 * every second. */
#define CALM_USEC (10 * USEC_PER_SEC)
/* The writer of a memory.high below what is charged waits for the reclaim. So the line comes down
 * through page cache by one piece per reflex pass, about a millisecond; the next piece follows when
 * that one is reclaimed. */
#define PIECE_BYTES (4 * MIB)

static usec_t longest_usec(const struct mem_brake_input *in)
{
	usec_t longest = in->replay ? BRAKE_REPLAY_USEC : BRAKE_USEC;

	return in->probe_usec != 0 ? MIN(in->probe_usec, longest) : longest;
}

/* The threads need GAP_USEC, or the brake's time, to allocate this much above memory.high. */
static uint64_t replay_gap(const struct tuning_memory *t, const struct mem_brake_input *in)
{
	uint64_t threads = in->threads != 0 ? in->threads : THREADS_DEFAULT, gap = 0;
	uint64_t step = in->max / OVERAGE_STEPS;
	usec_t held = 0, until = MIN(longest_usec(in), GAP_USEC);

	for (uint64_t k = 0; held < until && gap < in->max; k++) {
		held += mul_div(MIN(k * k * STEP_DELAY_USEC, CHARGE_DELAY_USEC), step,
				CHARGE_BYTES * threads);
		gap += MAX(step, t->page_bytes);
	}
	return MIN(gap, in->max);
}

/* Where a limit may be replayed the line is as low as its time demands, if use leaves room for it,
 * and stays there: growth that is held must not be taken for growth that has ended. */
static uint64_t line_of(const struct tuning_memory *t, const struct mem_brake *b,
			const struct mem_brake_input *in)
{
	uint64_t gap = mem_gap(t, in->max), line;

	if (in->max == LIMIT_MAX || gap >= in->max)
		return 0;
	line = in->max - gap;
	if (in->replay && b->line != 0 && b->of == in->max)
		line = MIN(line, b->aim);
	else if (in->replay)
		line = MIN(line,
			   MAX(in->max - replay_gap(t, in), add_sat(in->use, 3 * TOUCH_BYTES)));
	return round_down(line, t->page_bytes);
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
static uint64_t piece_to(const struct tuning_memory *t, uint64_t line,
			 const struct mem_brake_input *in)
{
	uint64_t piece = round_down(in->current - MIN(in->current, PIECE_BYTES), t->page_bytes);

	return MAX(line, piece);
}

static void mem_brake_put(struct mem_brake *b, uint64_t line)
{
	b->line = line;
	/* The last write may have failed. */
	b->stands = MAX(b->stands, line);
}

static void mem_brake_arm(const struct tuning_memory *t, struct mem_brake *b, uint64_t line,
			  const struct mem_brake_input *in)
{
	mem_brake_put(b, piece_to(t, line, in));
	b->of = in->max;
	b->aim = line;
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
	uint64_t line = line_of(t, b, in);

	return line <= b->line && (add_sat(in->use, near) >= b->line || waits(b, line, in));
}

/* Held for long enough: at the next reflex pass the time would be exceeded. */
static bool held_out(struct mem_brake *b, bool at_line, const struct mem_brake_input *in)
{
	if (!at_line)
		b->pressed_at = 0;
	else if (b->pressed_at == 0)
		b->pressed_at = in->now;
	return at_line && add_sat(in->now - b->pressed_at, in->tick_usec) > longest_usec(in);
}

/* The line of an armed brake now; 0: disarm it. */
static uint64_t next_line(const struct tuning_memory *t, const struct mem_brake *b, uint64_t line,
			  const struct mem_brake_input *in)
{
	if (line == b->line)
		return line;
	if (line > b->line)
		return line < in->own ? piece_to(t, line, in) : 0;
	if (waits(b, line, in) || !mem_brake_fits(line, in))
		return b->line < MIN(in->max, in->own) ? b->line : 0;
	return MIN(b->line, piece_to(t, line, in));
}

void mem_brake_pass(const struct tuning_memory *t, struct mem_law *m,
		    const struct mem_brake_input *in)
{
	struct mem_brake *b = &m->brake;
	uint64_t line = line_of(t, b, in);

	/* It held, and was too slow. */
	b->ended += in->passed && !b->passed && in->now >= b->rearm_at;
	b->passed = in->passed;
	if (b->line == 0) {
		if (mem_brake_wanted(m, in) && in->now >= b->rearm_at && mem_brake_fits(line, in))
			mem_brake_arm(t, b, line, in);
		return;
	}
	if (mem_brake_wanted(m, in) || pressed(t, b, in))
		b->wanted_at = in->now;
	if (held_out(b, pressed(t, b, in), in)) {
		b->ended += in->replay;
		mem_brake_failed(m, in->now);
		return;
	}
	b->of = in->max;
	b->aim = line;
	if (in->now - b->wanted_at >= CALM_USEC)
		b->line = 0;
	else
		mem_brake_put(b, next_line(t, b, line, in));
}

void mem_brake_raised(const struct tuning_memory *t, struct mem_law *m,
		      const struct mem_brake_input *in)
{
	uint64_t line = line_of(t, &m->brake, in);

	/* The runtime may still replay its limit: growth stays held. */
	if (in->replay && m->brake.line != 0 && line <= m->brake.line)
		return;
	if ((m->brake.line != 0 || in->now >= m->brake.rearm_at) && mem_brake_fits(line, in))
		mem_brake_arm(t, &m->brake, line, in);
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
		.passed = m->brake.passed,
		.ended = m->brake.ended,
		.rearm_at = add_sat(now, REST_USEC),
	};
}
