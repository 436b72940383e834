// SPDX-License-Identifier: Apache-2.0
/* Writes the traces of test/golden/ that come from the simulator: record_traces DIR. They are kept
 * in the tree; this says how they were made. */
#include "test/policy/rig.h"
#include "test/policy/trace.h"
#include <inttypes.h>
#include <stdio.h>

struct scene {
	const char *name;
	const char *what;
	uint64_t milli, bytes;
	uint64_t known_milli, known_bytes, known_hours;
	usec_t tick, span;
	void (*play)(struct sim *s, usec_t t);
	enum algorithm algorithm;
};

/* 180m of 200m, and after 20 s four times as much. */
static void wants_80(struct sim *s, usec_t t)
{
	s->load = sim_steady(1, t < 20 * USEC_PER_SEC ? 180 : 800);
}

static void ramp(struct sim *s, usec_t t)
{
	sim_grow(s, t == 0 ? 1000 * MIB : 20 * MIB, t < 10 * USEC_PER_SEC ? 64 * MIB : 600 * MIB);
}

static void oversized(struct sim *s, usec_t t)
{
	s->load = sim_steady(1, 300);
	sim_grow(s, 1000 * MIB, (180 + t / USEC_PER_MIN % 3 * 10) * MIB);
	if (t == 0)
		s->m.file = 500 * MIB;
}

static void reader(struct sim *s, usec_t)
{
	sim_grow(s, 1000 * MIB, 10 * MIB);
	s->load.cache_bps = 100 * MIB;
	s->load.cache_set = 400 * MIB;
	s->load.cache_matters = true;
}

static void wants_800(struct sim *s, usec_t t)
{
	s->load = sim_steady(4, t < 6 * USEC_PER_MIN ? 800 : 100);
}

static const struct scene scenes[] = {
	{"cpu-20-to-80", "a unit at 20 % that comes to want 80 %, seen every second", 200, GIB, 180,
	 50 * MIB, 24, USEC_PER_SEC, 60 * USEC_PER_SEC, wants_80, ALGORITHM_DEFAULT},
	{"cpu-fast-clock", "the same seen every 100 ms", 200, GIB, 180, 50 * MIB, 24,
	 100 * USEC_PER_MSEC, 25 * USEC_PER_SEC, wants_80, ALGORITHM_DEFAULT},
	{"memory-ramp", "20 MiB/s from 64 to 600 MiB under a limit of 200 MiB", 1000, 200 * MIB,
	 100, 64 * MIB, 1, USEC_PER_SEC, 60 * USEC_PER_SEC, ramp, ALGORITHM_DEFAULT},
	{"oversized", "2 cores and 1 GiB for a use of 300m and 200 MiB", 2000, GIB, 300, 200 * MIB,
	 24, 5 * USEC_PER_SEC, 30 * USEC_PER_MIN, oversized, ALGORITHM_DEFAULT},
	{"cache-reader", "a 400 MiB file read under 64 MiB, waiting for every page", 1000, 64 * MIB,
	 100, 20 * MIB, 1, USEC_PER_SEC, 40 * USEC_PER_SEC, reader, ALGORITHM_DEFAULT},
	{"threshold", "use at 80 % of a CPU under the threshold rule, then at 10 %", 900, GIB, 100,
	 64 * MIB, 1, 5 * USEC_PER_SEC, 10 * USEC_PER_MIN, wants_800, ALGORITHM_THRESHOLD},
};

static void write_head(FILE *f, const struct scene *s)
{
	fprintf(f, "# SPDX-License-Identifier: Apache-2.0\n# %s\n", s->what);
	fprintf(f, "limits %" PRIu64 " %" PRIu64 " 4\n", s->milli, s->bytes);
	fprintf(f, "history %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->known_milli, s->known_bytes,
		s->known_hours);
	if (s->algorithm != ALGORITHM_DEFAULT)
		fprintf(f, "algorithm %d\n", (int)s->algorithm);
	fputs("columns", f);
	for (size_t i = 0; i < trace_field_count(); i++)
		fprintf(f, " %s", trace_fields[i].name);
	fputc('\n', f);
}

static void write_observation(FILE *f, const struct sim *s)
{
	struct usage u;

	sim_observe(s, &u);
	fprintf(f, "%" PRIu64, s->now);
	for (size_t i = 0; i < trace_field_count(); i++)
		fprintf(f, " %" PRIu64, *(uint64_t *)((char *)&u + trace_fields[i].offset));
	fputc('\n', f);
}

static int record(const char *dir, const struct scene *s)
{
	static struct rig r;
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s.trace", dir, s->name);
	f = fopen(path, "w");
	if (f == NULL)
		return 1;
	write_head(f, s);
	rig_init(&r, s->milli, s->bytes, 4);
	r.t.history.algorithm = s->algorithm;
	rig_fill_history(&r, s->known_milli, s->known_bytes, s->known_hours * USEC_PER_HOUR);
	r.tick_usec = s->tick;
	for (usec_t t = 0; t < s->span; t += s->tick) {
		s->play(&r.sim, t);
		rig_tick(&r);
		write_observation(f, &r.sim);
	}
	return fclose(f) != 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: record_traces DIR\n");
		return 64;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++)
		failed |= record(argv[1], &scenes[i]);
	return failed;
}
