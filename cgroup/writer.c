// SPDX-License-Identifier: Apache-2.0
#include "cgroup/writer.h"
#include "cgroup/group.h"
#include "cgroup/levels.h"
#include "cgroup/parse.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* kernel/sched/core.c: the shortest and the longest period of a quota. */
#define CPU_PERIOD_MIN_USEC 1000u
#define CPU_PERIOD_MAX_USEC 1000000u

/* "18446744073709551615 18446744073709551615\n" and its NUL. */
#define VALUE_BYTES 44

/* A missing file with a living cgroup is a controller that is off, or an older kernel. */
static int lost(const struct cg *c, int error)
{
	int r;

	if (error != -ENOENT && error != -ENODEV)
		return error;
	r = cg_alive(c);
	return r < 0 ? r : -EOPNOTSUPP;
}

/* A descriptor for this one write: one kept for writing would need the right to write where only
 * reading is wanted. Truncating is for plain files; cgroupfs does not mind. */
static int write_text(const struct cg *c, const char *file, const char *text, size_t len)
{
	OWN(cg_drop_fd) int fd = openat(c->dir, file, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return lost(c, -errno);
	n = write(fd, text, len);
	if (n < 0)
		return lost(c, -errno);
	return (size_t)n == len ? 0 : -EIO;
}

static int write_value(const struct cg *c, enum knob knob, uint64_t value)
{
	char text[VALUE_BYTES];
	int len = value == LIMIT_MAX ? snprintf(text, sizeof text, "max\n")
				     : snprintf(text, sizeof text, "%" PRIu64 "\n", value);

	return write_text(c, knobs[knob].file, text, (size_t)len);
}

static int write_cpu_max(const struct cg *c, const struct cg_cpu_max *max)
{
	char text[VALUE_BYTES];
	int len = max->quota_usec == LIMIT_MAX
			  ? snprintf(text, sizeof text, "max %" PRIu64 "\n", max->period_usec)
			  : snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n",
				     max->quota_usec, max->period_usec);

	return write_text(c, knobs[KNOB_CPU_MAX].file, text, (size_t)len);
}

/* Content of a file now, also of one that was missing at the last read. */
static int read_file(struct cg *c, enum cg_file file, char *text)
{
	c->absent_reads[file] = 0;
	return lost(c, cg_file_read(c, file, text));
}

/* The present value of a one-number file. */
static int read_limit(struct cg *c, enum cg_file file, uint64_t *ret)
{
	char text[CG_TEXT_BYTES];
	int r = read_file(c, file, text);

	return r < 0 ? r : cg_parse_limit(text, (size_t)r, ret);
}

static int read_cpu_max(struct cg *c, struct cg_cpu_max *ret)
{
	char text[CG_TEXT_BYTES];
	int r = read_file(c, CG_FILE_CPU_MAX, text);

	return r < 0 ? r : cg_parse_cpu_max(text, (size_t)r, ret);
}

static int apply_cpu_max(struct cg *c, const struct change *ch)
{
	struct cg_cpu_max want = {ch->to, ch->period_usec}, held;
	uint64_t burst = 0;
	bool lowered = false;
	int r = read_cpu_max(c, &held);

	if (r < 0)
		return r;
	if (want.period_usec == 0)
		want.period_usec = held.period_usec;
	if (want.quota_usec < CPU_QUOTA_MIN_USEC || want.period_usec < CPU_PERIOD_MIN_USEC ||
	    want.period_usec > CPU_PERIOD_MAX_USEC)
		return -EINVAL;
	if (want.quota_usec == held.quota_usec && want.period_usec == held.period_usec)
		return APPLY_UNCHANGED;
	r = read_limit(c, CG_FILE_CPU_BURST, &burst);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	if (burst > want.quota_usec) {
		r = write_value(c, KNOB_CPU_BURST, want.quota_usec);
		if (r < 0)
			return r;
		lowered = true;
	}
	r = write_cpu_max(c, &want);
	if (r < 0 && lowered)
		(void)write_value(c, KNOB_CPU_BURST, burst);
	return r;
}

uint64_t cg_mem_kept(uint64_t bytes)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes > INT64_MAX - page_bytes ? LIMIT_MAX : bytes - bytes % page_bytes;
}

/* cpu.max.burst and memory.high. */
static int apply_value(struct cg *c, const struct change *ch)
{
	bool burst = ch->knob == KNOB_CPU_BURST;
	uint64_t to = burst ? ch->to : cg_mem_kept(ch->to), held;
	int r = read_limit(c, burst ? CG_FILE_CPU_BURST : CG_FILE_MEM_HIGH, &held);

	if (r < 0)
		return r;
	return held == to ? APPLY_UNCHANGED : write_value(c, ch->knob, to);
}

static int apply_mem_max(struct cg *c, const struct change *ch)
{
	uint64_t to = cg_mem_kept(ch->to), held, use;
	int r = read_limit(c, CG_FILE_MEM_MAX, &held);

	if (r < 0)
		return r;
	if (held == to)
		return APPLY_UNCHANGED;
	if (to < held) {
		/* The workload may grow between this and the write: the margin is to cover it. */
		r = read_limit(c, CG_FILE_MEM_CURRENT, &use);
		if (r < 0)
			return r;
		if (use > to || ch->margin_bytes > to - use)
			return APPLY_REFUSED;
	}
	return write_value(c, KNOB_MEM_MAX, to);
}

static int apply_mem_reclaim(struct cg *c, const struct change *ch)
{
	uint64_t left = MIN(ch->to, CG_RECLAIM_CALL_BYTES);

	if (left == 0)
		return APPLY_UNCHANGED;
	while (left > 0) {
		uint64_t step = MIN(left, CG_RECLAIM_STEP_BYTES);
		int r = write_value(c, KNOB_MEM_RECLAIM, step);

		/* A signal ends the kernel's attempt early, like a lack of pages does. */
		if (r == -EAGAIN || r == -EINTR)
			return APPLY_PARTIAL;
		if (r < 0)
			return r;
		left -= step;
	}
	return APPLY_DONE;
}

static int (*const appliers[KNOB_COUNT])(struct cg *, const struct change *) = {
	[KNOB_CPU_MAX] = apply_cpu_max,         [KNOB_CPU_BURST] = apply_value,
	[KNOB_MEM_HIGH] = apply_value,          [KNOB_MEM_MAX] = apply_mem_max,
	[KNOB_MEM_RECLAIM] = apply_mem_reclaim,
};

/* --- two levels, see levels.h --- */

/* What one level holds of the knob; of a burst its quota, since a burst has no "max". */
static int read_held(struct cg *c, enum knob knob, struct cg_cpu_max *ret)
{
	if (knob == KNOB_CPU_MAX || knob == KNOB_CPU_BURST)
		return read_cpu_max(c, ret);
	ret->period_usec = 1;
	return read_limit(c, knob == KNOB_MEM_MAX ? CG_FILE_MEM_MAX : CG_FILE_MEM_HIGH,
			  &ret->quota_usec);
}

static uint64_t period_of(const struct change *ch, const struct cg_cpu_max *held)
{
	return ch->knob == KNOB_CPU_MAX && ch->period_usec != 0 ? ch->period_usec
								: held->period_usec;
}

static bool takes_away(const struct change *ch, const struct cg_cpu_max *held)
{
	uint64_t period = period_of(ch, held);

	if (ch->knob == KNOB_CPU_BURST || ch->to == LIMIT_MAX)
		return false;
	return held->quota_usec == LIMIT_MAX ||
	       (unsigned __int128)ch->to * held->period_usec <
		       (unsigned __int128)held->quota_usec * period;
}

/* systemd rounds a quota up to whole percent of a CPU: that is the scope's form of it. */
static bool is_rounded(const struct change *ch, const struct cg_cpu_max *held)
{
	uint64_t percent = held->period_usec / 100;

	return ch->knob == KNOB_CPU_MAX && percent > 0 && ch->to < LIMIT_MAX - percent &&
	       period_of(ch, held) == held->period_usec &&
	       held->quota_usec == (ch->to + percent - 1) / percent * percent;
}

/* The levels that the change is for, the scope first. */
struct levels {
	struct cg *cg[2];
	bool lower[2];
	size_t count;
};

static int choose_levels(struct cg *c, const struct change *ch, struct levels *ret)
{
	struct cg *all[2] = {c, c->inner};
	struct cg_cpu_max held;
	bool limited = false, lowers = false;

	*ret = (struct levels){0};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int r = read_held(all[i], ch->knob, &held);

		/* Without the file in the inner level, only the scope has the limit. */
		if (r == -EOPNOTSUPP && all[i] != c) {
			*ret = (struct levels){.cg = {c}, .lower = {lowers}, .count = 1};
			return 0;
		}
		if (r < 0)
			return r;
		if (all[i] == c)
			lowers = takes_away(ch, &held);
		/* A level without a limit gets none; if neither has one, the inner level does. */
		if (held.quota_usec == LIMIT_MAX && (all[i] == c || limited))
			continue;
		limited = true;
		if (all[i] == c && is_rounded(ch, &held))
			continue;
		ret->cg[ret->count] = all[i];
		ret->lower[ret->count++] = takes_away(ch, &held);
	}
	return 0;
}

static int write_levels(struct cg *c, const struct change *ch)
{
	struct levels l;
	int outcome = APPLY_UNCHANGED, r = choose_levels(c, ch, &l);

	if (r < 0)
		return r;
	for (size_t i = 0; i < l.count; i++) {
		r = l.lower[i] ? APPLY_UNCHANGED : appliers[ch->knob](l.cg[i], ch);
		if (r < 0)
			return r;
		if (r == APPLY_DONE)
			outcome = r;
	}
	/* One of them was raised, and that one was the limit. */
	if (outcome == APPLY_DONE)
		return outcome;
	for (size_t i = l.count; i-- > 0;) {
		r = l.lower[i] ? appliers[ch->knob](l.cg[i], ch) : APPLY_UNCHANGED;
		if (r < 0 || r == APPLY_REFUSED)
			return outcome == APPLY_DONE ? outcome : r;
		if (r == APPLY_DONE)
			outcome = r;
	}
	return outcome;
}

int cg_write(struct cg *c, const struct change *ch)
{
	int r;

	if ((uint32_t)ch->knob >= KNOB_COUNT)
		return -EINVAL;
	/* What is reclaimed from the scope comes from the inner level. */
	r = c->inner != NULL && ch->knob != KNOB_MEM_RECLAIM ? write_levels(c, ch)
							     : appliers[ch->knob](c, ch);
	if (r == -ENODEV && c->inner != NULL && cg_levels_drop(c) == 0)
		r = appliers[ch->knob](c, ch);
	return r == -ENODEV ? APPLY_GONE : r;
}

int cg_force_mem_max(struct cg *c, uint64_t bytes)
{
	const struct change ch = {.knob = KNOB_MEM_MAX, .to = bytes};
	struct levels l = {.cg = {c}, .count = 1};
	int r = c->inner != NULL ? choose_levels(c, &ch, &l) : 0;

	for (size_t i = l.count; r == 0 && i-- > 0;)
		r = write_value(l.cg[i], KNOB_MEM_MAX, bytes);
	return r;
}

/* --- writers that are stuck in the kernel */

/* A thaw that does not succeed would leave PID 1 frozen. */
#define THAW_TRIES 100

#define LOCAL "memory.events.local"

#define FREEZE_FILE "init.scope/cgroup.freeze"

static int oom_events(const struct cg *c, const char *file, uint64_t *ret)
{
	char text[CG_TEXT_BYTES];
	int len = cg_text_read(c->dir, file, text);

	return len < 0 ? len : cg_parse_mem_ooms(text, (size_t)len, ret);
}

/* A writer may be stuck at either level. An inner level without the file has counted nothing. */
int cg_oom_events(struct cg *c, uint64_t *ret)
{
	uint64_t outer, inner = 0;
	int r = oom_events(c, LOCAL, &outer);

	if (r < 0)
		return r;
	r = c->inner != NULL ? oom_events(c->inner, LOCAL, &inner) : 0;
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = outer + inner;
	return 0;
}

int cg_oom_events_all(struct cg *c, uint64_t *ret)
{
	return oom_events(c, "memory.events", ret);
}

static int stuck_put(int fd, char value)
{
	return pwrite(fd, &value, 1, 0) == 1 ? 0 : -errno;
}

int cg_nudge_pid1(int root)
{
	int fd = openat(root, FREEZE_FILE, O_WRONLY | O_CLOEXEC);
	sigset_t all, before;
	int r;

	if (fd < 0)
		return -errno;
	/* Nothing may be done in between. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = stuck_put(fd, '1');
	for (unsigned i = 0; i < THAW_TRIES && stuck_put(fd, '0') < 0; i++)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd);
	return r;
}

void cg_thaw_pid1(int root)
{
	int fd = openat(root, FREEZE_FILE, O_RDWR | O_CLOEXEC);
	char now;

	if (fd < 0)
		return;
	if (pread(fd, &now, 1, 0) == 1 && now == '1')
		stuck_put(fd, '0');
	close(fd);
}
