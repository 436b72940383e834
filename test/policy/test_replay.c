// SPDX-License-Identifier: Apache-2.0
/*
 * Recorded runs through the laws: each test/golden/NAME.trace must give NAME.verdicts.
 * VSCALED_REGEN=1 writes the verdicts anew; the diff is then the review.
 */
#include "test/check.h"
#include "test/policy/rig.h"
#include "test/policy/trace.h"
#include <errno.h>
#include <glob.h>
#include <inttypes.h>

#define GOLDEN   "test/golden/"
#define TEXT_MAX (64 * 1024)

/* A run in progress: the verdicts go to out. */
struct replay {
	struct trace t;
	struct rig r; /* for its control: the simulator is not asked */
	FILE *out;
	usec_t begin;
	uint32_t observations;
	enum blocked_reason blocked[RESOURCE_COUNT];
};

static void begin(struct replay *p, usec_t at)
{
	rig_init(&p->r, p->t.milli, p->t.bytes, (uint32_t)p->t.cpus);
	p->r.t.history.algorithm = (enum algorithm)p->t.algorithm;
	rig_fill_history(&p->r, p->t.known_milli, p->t.known_bytes,
			 p->t.known_hours * USEC_PER_HOUR);
	p->r.sim.now = at;
	p->r.c.started_at = at;
	p->r.next_review = at + p->r.review_usec;
	p->begin = at;
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		p->blocked[i] = BLOCKED_COUNT;
}

/* Everything is done as asked, and written down. */
static void apply(struct replay *p, struct plan *plan, const struct control_context *x)
{
	double sec = (double)(x->now - p->begin) / USEC_PER_SEC;

	plan_sort(plan);
	for (size_t i = 0; i < plan->count; i++) {
		const struct change *c = &plan->steps[i];

		fprintf(p->out, "%.1f %s %" PRIu64 " -> %" PRIu64 " %s\n", sec, knobs[c->knob].file,
			c->from, c->to, reason_name((enum reason)c->reason));
		control_applied(&p->r.c, c, APPLY_DONE, x);
	}
}

static void report_holds(struct replay *p, const struct control_context *x)
{
	static const char *const names[RESOURCE_COUNT] = {"cpu", "memory"};

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		enum blocked_reason blocked = p->r.c.resource[i].blocked;

		if (blocked == p->blocked[i])
			continue;
		p->blocked[i] = blocked;
		fprintf(p->out, "%.1f %s held: %s\n", (double)(x->now - p->begin) / USEC_PER_SEC,
			names[i], blocked_reason_name(blocked));
	}
}

static void observe(struct replay *p, struct usage *u, usec_t at)
{
	struct change steps[RIG_STEPS];
	struct plan plan = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x;

	if (p->observations++ == 0)
		begin(p, at);
	p->r.now_real += at - p->r.sim.now;
	p->r.tick_usec = at > p->r.sim.now ? at - p->r.sim.now : USEC_PER_SEC;
	p->r.sim.now = at;
	u->limits = p->r.c.kernel;
	u->have |= USAGE_CPU_LIMIT | USAGE_MEM_LIMIT;
	x = rig_context(&p->r, &plan);
	if (at >= p->r.next_sample) {
		p->r.next_sample = at + p->r.sample_usec;
		control_observe(&p->r.c, u, &x);
	} else {
		control_reflex_pass(&p->r.c, u, &x);
	}
	if (at >= p->r.next_review) {
		p->r.next_review = at + p->r.review_usec;
		control_review(&p->r.c, &x);
		report_holds(p, &x);
	}
	apply(p, &plan, &x);
}

static int replay_file(FILE *in, FILE *out)
{
	static struct replay p;
	char line[512];
	struct usage u;
	usec_t at;

	memset(&p, 0, sizeof p);
	p.out = out;
	while (fgets(line, sizeof line, in) != NULL) {
		int r = trace_parse(&p.t, line, &at, &u);

		if (r < 0)
			return r;
		if (r == TRACE_OBSERVATION)
			observe(&p, &u, at);
	}
	fprintf(out,
		"end: cpu %" PRIu64 " memory %" PRIu64 " target %" PRIu64 " peak %" PRIu64 "\n",
		p.r.c.resource[RESOURCE_CPU].limit, p.r.c.resource[RESOURCE_MEMORY].limit,
		p.r.c.recommendation.resource[RESOURCE_CPU].target,
		p.r.c.recommendation.resource[RESOURCE_CPU].peak);
	return p.observations > 0 ? 0 : -ENODATA;
}

static size_t read_whole(const char *path, char *ret)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;

	if (f != NULL) {
		n = fread(ret, 1, TEXT_MAX - 1, f);
		fclose(f);
	}
	ret[n] = '\0';
	return n;
}

static void replay_one(const char *trace)
{
	static char got[TEXT_MAX], want[TEXT_MAX];
	char path[256];
	FILE *in = fopen(trace, "r"), *out = fmemopen(got, sizeof got, "w");
	int r;

	CHECK(in != NULL && out != NULL);
	if (in == NULL || out == NULL)
		return;
	r = replay_file(in, out);
	fclose(in);
	fclose(out);
	CHECK_EQ(r, 0);
	snprintf(path, sizeof path, "%.*s.verdicts", (int)(strlen(trace) - strlen(".trace")),
		 trace);
	if (getenv("VSCALED_REGEN") != NULL) {
		out = fopen(path, "w");
		CHECK(out != NULL && fputs(got, out) >= 0 && fclose(out) == 0);
		return;
	}
	CHECK(read_whole(path, want) > 0);
	if (strcmp(got, want) != 0)
		fprintf(stderr, "%s: got\n%s", path, got);
	CHECK(strcmp(got, want) == 0);
}

TEST(golden)
{
	glob_t g;

	CHECK_EQ(glob(GOLDEN "*.trace", 0, NULL, &g), 0);
	CHECK(g.gl_pathc >= 5);
	for (size_t i = 0; i < g.gl_pathc; i++)
		replay_one(g.gl_pathv[i]);
	globfree(&g);
}

TEST(parser)
{
	static const struct {
		const char *line;
		int want;
	} rows[] = {
		{"# limits x", TRACE_NOTHING},
		{"\n", TRACE_NOTHING},
		{"5 6", -EINVAL}, /* no columns yet */
		{"limits 100 200 2\n", TRACE_SET_UP},
		{"limits 100 200", -EINVAL},
		{"limits 100 200 2 3", -EINVAL},
		{"limits 100 -1 2", -EINVAL},
		{"history 1 2 99999999999999999999", -EINVAL},
		{"columns", -EINVAL},
		{"columns used nothing", -EINVAL},
		{"columns used anon", TRACE_SET_UP},
		{"1000 5 6", TRACE_OBSERVATION},
		{"1000 5", -EINVAL},
		{"1000 5 6 7", -EINVAL},
		{"1000 5 6x", -EINVAL},
		{"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", -EINVAL},
	};
	struct trace t = {0};
	struct usage u;
	usec_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[128];

		snprintf(line, sizeof line, "%s", rows[i].line);
		CHECK_EQ(trace_parse(&t, line, &at, &u), rows[i].want);
	}
	CHECK_EQ(at, 1000);
	CHECK_EQ(u.cpu_usage_usec, 5);
	CHECK_EQ(u.stat.anon, 6);
	CHECK_EQ(u.have, USAGE_CPU | USAGE_MEM_STAT);
}
