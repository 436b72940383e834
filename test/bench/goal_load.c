// SPDX-License-Identifier: Apache-2.0
#include "test/bench/goal_load.h"
#include "policy/backtest/rig.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_SEC      86400
#define SIGMA        0.15
#define PIECE_MIN_US 10000.0
#define PIECE_MAX_US 50000.0
#define CORES_MAX    3.6
#define SAMPLES_MAX  1000000

/* 0 <= x < 1 */
static double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

static double random_normal(uint64_t *state)
{
	double a = random_unit(state), b = random_unit(state);

	return sqrt(-2 * log(a + 1e-18)) * cos(2 * M_PI * b);
}

/* ---- kinds ---- */

/* Drawn once per load. */
struct shape {
	double base;      /* 0.2 to 1 core */
	double high;      /* 2 to 4 times it, or cores */
	double phase;     /* 0 to 1 */
	double every_sec; /* 300 to 1800 */
	double long_sec;  /* 20 to 120 */
	double until;     /* of the running burst */
	uint64_t random;
};

static double diurnal(struct shape *s, double t)
{
	return s->base * (1.2 + sin(2 * M_PI * (t / DAY_SEC + s->phase)));
}

static double bursty(struct shape *s, double t)
{
	if (t >= s->until && random_unit(&s->random) < 1 / s->every_sec)
		s->until = t + s->long_sec * (0.2 + random_unit(&s->random));
	return t < s->until ? s->base * s->high : s->base;
}

static double ramp(struct shape *s, double t)
{
	return s->base * (0.2 + 2 * fmod(t / (DAY_SEC / 4.0) + s->phase, 1));
}

static double batch(struct shape *s, double t)
{
	return fmod(t + s->phase * s->every_sec, s->every_sec) < s->long_sec ? s->high * 0.8
									     : s->base * 0.05;
}

static double step(struct shape *s, double t)
{
	return fmod(t, DAY_SEC / 3.0) < DAY_SEC / 6.0 ? s->base : s->base * 2.5;
}

static double on_off(struct shape *s, double t)
{
	return fmod(t + s->phase * 20, 10 + s->base * 20) < 2 ? s->high * 0.6 : 0.02;
}

/* A collector that runs every seven seconds. */
static double plateau(struct shape *s, double t)
{
	return fmod(t + s->phase * 7, 7) < 1 ? s->base * 1.8 : s->base;
}

static const struct {
	const char *name;
	double (*at)(struct shape *s, double t);
} kinds[] = {{"diurnal", diurnal}, {"bursty", bursty}, {"ramp", ramp},      {"batch", batch},
	     {"step", step},       {"on-off", on_off}, {"plateau", plateau}};

const char *load_kind(size_t i)
{
	return i < ARRAY_SIZE(kinds) ? kinds[i].name : NULL;
}

int load_generate(struct load *l, const char *kind, uint64_t seed)
{
	struct shape s = {.random = seed};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (strcmp(kinds[k].name, kind) != 0)
			continue;
		*l = (struct load){.name = kind,
				   .cores = calloc(DAY_SEC, sizeof *l->cores),
				   .count = DAY_SEC,
				   .step_sec = 1};
		if (l->cores == NULL)
			return -ENOMEM;
		s.base = 0.2 + random_unit(&s.random) * 0.8;
		s.phase = random_unit(&s.random);
		s.long_sec = 20 + random_unit(&s.random) * 100;
		s.every_sec = 300 + random_unit(&s.random) * 1500;
		s.high = 2 + random_unit(&s.random) * 2;
		for (size_t i = 0; i < l->count; i++)
			l->cores[i] = MIN(kinds[k].at(&s, (double)i), CORES_MAX);
		return 0;
	}
	return -EINVAL;
}

/* ---- files ---- */

static int add_line(struct load *l, const char *line)
{
	const char *comma = strrchr(line, ',');
	char *end;
	double value;

	if (comma == NULL || l->count == SAMPLES_MAX)
		return -EBADMSG;
	value = strtod(comma + 1, &end);
	if (end == comma + 1 || !isfinite(value) || value < 0)
		return -EBADMSG;
	l->cores[l->count++] = value;
	return 0;
}

static int scale(struct load *l, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < l->count; i++)
		sum += l->cores[i];
	if (sum <= 0)
		return -EBADMSG;
	for (size_t i = 0; i < l->count; i++)
		l->cores[i] = MIN(l->cores[i] * mean * (double)l->count / sum, CORES_MAX);
	return 0;
}

int load_read(struct load *l, const char *file, double mean)
{
	const char *slash = strrchr(file, '/');
	FILE *f = fopen(file, "re");
	char line[256];
	int r = 0;

	if (f == NULL)
		return -errno;
	*l = (struct load){.name = slash != NULL ? slash + 1 : file,
			   .cores = calloc(SAMPLES_MAX, sizeof *l->cores)};
	if (l->cores == NULL)
		r = -ENOMEM;
	else if (fgets(line, sizeof line, f) == NULL) /* the header */
		r = -EBADMSG;
	while (r == 0 && fgets(line, sizeof line, f) != NULL)
		r = add_line(l, line);
	fclose(f);
	l->step_sec = l->count == 3600 ? 1 : 300;
	if (r == 0)
		r = scale(l, mean);
	if (r < 0)
		load_drop(l);
	return r;
}

void load_drop(struct load *l)
{
	free(l->cores);
	*l = (struct load){0};
}

/* ---- pieces ---- */

void pieces_second(struct pieces *p, const struct load *l, uint64_t second, struct second *ret)
{
	double cores = l->cores[second / l->step_sec % l->count];
	double want = cores * exp(SIGMA * random_normal(&p->random) - SIGMA * SIGMA / 2) * 1e6 +
		      p->carry_usec;

	memset(ret, 0, sizeof *ret);
	while (want > 0) {
		double piece =
			PIECE_MIN_US + random_unit(&p->random) * (PIECE_MAX_US - PIECE_MIN_US);
		uint64_t at;

		/* The last one as often as what is left pays for it. */
		if (piece > want && random_unit(&p->random) * piece > want)
			break;
		at = random_next(&p->random);
		ret->work_usec[at % LOAD_MS][at / LOAD_MS % LOAD_THREADS] += (uint32_t)piece;
		ret->total_usec += (uint64_t)piece;
		want -= piece;
	}
	p->carry_usec = MAX(MIN(want, PIECE_MAX_US), -PIECE_MAX_US);
}
