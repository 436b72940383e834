// SPDX-License-Identifier: Apache-2.0
#include "agent/backtest/series.h"
#include <errno.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 3
#define MICRO       1000000
/* Far above any machine, far below an overflow. */
#define MEMORY_MAX (UINT64_C(1) << 50)
/* "YYYY-MM-DD HH:MM:SS" */
#define DATE_SIZE 19

enum form { FORM_CPU, FORM_CPU_MEMORY, FORM_PERCENT };

struct field {
	const char *at;
	size_t size;
};

struct reader {
	uint32_t cpus;
	enum form form;
	struct series s;
	size_t capacity;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits alone, at most this value. */
static bool parse_integer(struct field f, uint64_t most, uint64_t *ret)
{
	uint64_t v = 0;

	if (f.size == 0)
		return false;
	for (size_t i = 0; i < f.size; i++) {
		if (!is_digit(f.at[i]))
			return false;
		v = v * 10 + (uint64_t)(f.at[i] - '0');
		if (v > most)
			return false;
	}
	*ret = v;
	return true;
}

/* Digits with an optional fraction, in millionths; what is finer is cut off. */
static bool parse_micro(struct field f, uint64_t most, uint64_t *ret)
{
	const char *dot = memchr(f.at, '.', f.size);
	size_t whole_size = dot != NULL ? (size_t)(dot - f.at) : f.size;
	uint64_t whole, part = 0;

	if (!parse_integer((struct field){f.at, whole_size}, most, &whole))
		return false;
	if (dot != NULL && whole_size + 1 == f.size)
		return false;
	for (size_t i = whole_size + 1, unit = MICRO / 10; i < f.size; i++, unit /= 10) {
		if (!is_digit(f.at[i]))
			return false;
		part += (uint64_t)(f.at[i] - '0') * unit;
	}
	*ret = whole * MICRO + part;
	return true;
}

/* A date that is none of the calendar reads back as another text. */
static bool parse_date(struct field f, usec_t *ret)
{
	static const char form[] = "%Y-%m-%d %H:%M:%S";
	char text[DATE_SIZE + 1] = "", back[DATE_SIZE + 1];
	struct tm tm = {0};
	time_t seconds;

	if (f.size == DATE_SIZE + 1 && f.at[DATE_SIZE] == 'Z')
		f.size--;
	if (f.size != DATE_SIZE || (f.at[10] != ' ' && f.at[10] != 'T'))
		return false;
	memcpy(text, f.at, DATE_SIZE);
	text[10] = ' ';
	if (strptime(text, form, &tm) == NULL)
		return false;
	seconds = timegm(&tm);
	if (seconds < 0 || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(back, sizeof back, form, &tm) == 0 || strcmp(text, back) != 0)
		return false;
	*ret = (usec_t)seconds * USEC_PER_SEC;
	return true;
}

static bool parse_time(struct field f, usec_t *ret)
{
	const char *dot = memchr(f.at, '.', f.size);

	if (memchr(f.at, ':', f.size) != NULL)
		return parse_date(f, ret);
	if (dot != NULL && f.at + f.size - dot > 4)
		return false;
	return parse_micro(f, UINT64_C(100000000000), ret);
}

/* The columns of a line; 0: more than any form has. */
static size_t split(const char *line, size_t size, struct field field[static COLUMNS_MAX])
{
	size_t n = 0;

	for (;;) {
		const char *comma = memchr(line, ',', size);
		size_t length = comma != NULL ? (size_t)(comma - line) : size;

		if (n == COLUMNS_MAX)
			return 0;
		field[n++] = (struct field){line, length};
		if (comma == NULL)
			return n;
		line += length + 1;
		size -= length + 1;
	}
}

static const char *read_header(struct reader *r, const char *line, size_t size)
{
	static const char *const forms[] = {
		[FORM_CPU] = "time,cpu_cores",
		[FORM_CPU_MEMORY] = "time,cpu_cores,memory_bytes",
		[FORM_PERCENT] = "timestamp,value",
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (size != strlen(forms[i]) || memcmp(line, forms[i], size) != 0)
			continue;
		r->form = (enum form)i;
		r->s.memory = r->form == FORM_CPU_MEMORY;
		if (r->form == FORM_PERCENT && r->cpus == 0)
			return "percent need the number of CPUs: --cpus N";
		return NULL;
	}
	return "the first line is not time,cpu_cores[,memory_bytes] or timestamp,value";
}

/* Nothing ran, or was recorded, in a gap: the sample before it holds as long as the one before. How
 * long one alone at the start holds is not known. */
static const char *place_time(struct series *s, usec_t *at)
{
	usec_t last, usual;

	if (s->count == 0)
		return NULL;
	last = s->samples[s->count - 1].at;
	if (*at < last + s->left_out_usec + BACKTEST_PERIOD_USEC)
		return "the time is not at least 0.1 s after the one before it";
	*at -= s->left_out_usec;
	if (*at - last > USEC_PER_DAY) {
		usual = s->count > 1 ? last - s->samples[s->count - 2].at : 0;
		s->count -= usual == 0;
		s->lone += usual == 0;
		s->gaps++;
		s->left_out_usec += *at - last - usual;
		*at = last + usual;
	}
	if (*at - s->samples[0].at > 366 * USEC_PER_DAY)
		return "the time is more than 366 days after the first";
	return NULL;
}

static const char *read_cpu(const struct reader *r, struct field f, struct backtest_sample *to)
{
	uint32_t cpus = r->cpus != 0 ? r->cpus : BACKTEST_CPUS_MAX;
	uint64_t v;

	if (!parse_micro(f, MICRO, &v))
		return r->form == FORM_PERCENT ? "the value is not a decimal number"
					       : "cpu_cores is not a decimal number";
	if (r->form == FORM_PERCENT) {
		if (v > 100 * MICRO)
			return "the value is above 100 percent";
		v = v * cpus / 100;
	}
	if (v > (uint64_t)cpus * MICRO)
		return "cpu_cores is above the number of CPUs (--cpus N, 16 at most)";
	to->micro_cores = v;
	return NULL;
}

static const char *read_sample(struct reader *r, const char *line, size_t size,
			       struct backtest_sample *to)
{
	struct field f[COLUMNS_MAX];
	const char *wrong;

	if (split(line, size, f) != (r->s.memory ? 3 : 2))
		return "the number of columns is not that of the first line";
	if (!parse_time(f[0], &to->at))
		return "the time is not seconds or YYYY-MM-DD HH:MM:SS";
	wrong = place_time(&r->s, &to->at);
	if (wrong == NULL)
		wrong = read_cpu(r, f[1], to);
	if (wrong == NULL && r->s.memory && !parse_integer(f[2], MEMORY_MAX, &to->memory_bytes))
		wrong = "memory_bytes is not a whole number of at most 1 PiB";
	return wrong;
}

static int add_sample(struct reader *r, const struct backtest_sample *sample)
{
	if (r->s.count == r->capacity) {
		size_t more = r->capacity != 0 ? 2 * r->capacity : 1024;
		void *p = reallocarray(r->s.samples, more, sizeof *r->s.samples);

		if (p == NULL)
			return -ENOMEM;
		r->s.samples = p;
		r->capacity = more;
	}
	r->s.samples[r->s.count++] = *sample;
	return 0;
}

/* One line; -EBADMSG with *what. */
static int read_line(struct reader *r, size_t number, const char *line, size_t size,
		     const char **what)
{
	struct backtest_sample sample = {0};

	if (size > 0 && line[size - 1] == '\r')
		size--;
	*what = number == 1 ? read_header(r, line, size) : read_sample(r, line, size, &sample);
	if (*what != NULL)
		return -EBADMSG;
	return number == 1 ? 0 : add_sample(r, &sample);
}

static int read_lines(struct reader *r, const char *text, size_t size, struct series_error *e)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end != NULL ? (size_t)(end - text) : size;
		int outcome = read_line(r, ++e->line, text, length, &e->what);

		if (outcome < 0)
			return outcome;
		text += end != NULL ? length + 1 : length;
		size -= end != NULL ? length + 1 : length;
	}
	if (r->s.count >= 2)
		return 0;
	e->line += r->s.lone == 0;
	e->what = r->s.lone == 0 ? "fewer than two samples"
				 : "the time is more than a day after the first";
	return -EBADMSG;
}

int series_parse(const char *text, size_t size, uint32_t cpus, struct series *ret,
		 struct series_error *ret_e)
{
	struct reader r = {.cpus = cpus};
	struct series_error e = {0};
	int outcome = read_lines(&r, text, size, &e);

	if (outcome < 0) {
		series_drop(&r.s);
		if (outcome == -EBADMSG)
			*ret_e = e;
		return outcome;
	}
	*ret = r.s;
	return 0;
}

void series_drop(struct series *s)
{
	free(s->samples);
	*s = (struct series){0};
}
