// SPDX-License-Identifier: Apache-2.0
#include "agent/backtest/series.h"
#include "policy/base/quantity.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 64
#define SERIES_MAX  1000
#define NAME_SIZE   512
#define MICRO       1000000
#define NANO        1000000000
/* A gap is longer than so many times the interval before it, and than this. */
#define GAP_INTERVALS 10
#define GAP_MIN_USEC  (10 * USEC_PER_MIN)
/* Far above any machine, far below an overflow. */
#define MEMORY_MAX (UINT64_C(1) << 50)
/* The year 5138 in seconds, 1973 in milliseconds: a larger time has a finer unit. */
#define SECONDS_MAX ((__int128)100000000000 * NANO)

enum role { ROLE_UNUSED, ROLE_TIME, ROLE_SERIES, ROLE_CPU, ROLE_MEMORY, ROLE_COUNT };

/* clang-format off */
static const struct {
	enum role role;
	uint64_t unit;     /* of CPU, in millionths of a core, 0: percent; of memory, in bytes */
	const char *names; /* each between two spaces */
} role_names[] = {
	{ROLE_TIME, 1, " time timestamp ts date datetime date_time unix epoch "},
	{ROLE_SERIES, 1, " series metric labels namespace pod container instance "},
	{ROLE_CPU, MICRO, " cpu cpu_cores cpu_usage cpu_usage_cores cpu_used cores "},
	{ROLE_CPU, MICRO / 1000, " cpu_m cpu_milli cpu_millicores cpu_usage_millicores millicores "},
	{ROLE_CPU, 0, " value percent % cpu_percent cpu_% cpu_usage_percent cpu_usage_% "},
	{ROLE_MEMORY, 1, " memory mem memory_bytes mem_bytes memory_usage memory_usage_bytes mem_usage "
			 "memory_used mem_used memory_working_set memory_working_set_bytes rss "},
	{ROLE_MEMORY, MICRO, " memory_mb mem_mb memory_usage_mb mem_usage_mb "},
	{ROLE_MEMORY, MIB, " memory_mib mem_mib memory_usage_mib mem_usage_mib "},
	{ROLE_MEMORY, GIB, " memory_gib mem_gib memory_usage_gib mem_usage_gib "},
};
/* clang-format on */

struct column {
	const char *title;
	enum role role;
	uint64_t unit; /* 0: percent of a number of CPUs that is not given */
};

struct reader {
	uint32_t cpus;
	char separator;
	struct column column[COLUMNS_MAX];
	size_t columns;
	struct series_file f;
	size_t last; /* series of the line before */
	struct series_error e;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->e.what, sizeof r->e.what, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

/* --- cells */

/* One field, unquoted in place. What ends it, or '"' for a quote that is open at the end. */
static char take_field(char **at, char separator, char **ret)
{
	char *from = *at + strspn(*at, " "), *to = from;
	bool quoted = false;
	char end;

	*ret = from;
	for (; *from != '\0' && (quoted || *from != separator); from++) {
		if (*from == '"' && !(quoted && from[1] == '"')) {
			quoted = !quoted;
			continue;
		}
		from += *from == '"';
		*to++ = *from;
	}
	end = *from;
	while (to > *ret && to[-1] == ' ')
		to--;
	*to = '\0';
	*at = from + 1;
	return quoted ? '"' : end;
}

static int split(struct reader *r, char *at, char *field[static COLUMNS_MAX], size_t *ret)
{
	size_t n = 0;
	char end;

	do {
		if (n == COLUMNS_MAX)
			return wrong(r, "more than %d columns", COLUMNS_MAX);
		end = take_field(&at, r->separator, &field[n++]);
		if (end == '"')
			return wrong(r, "column %zu: a quote is not closed on its line", n);
	} while (end != '\0');
	*ret = n;
	return 0;
}

/* Between semicolons a comma is the decimal point. */
static bool parse_number(const struct reader *r, char *text, __int128 *ret_nano)
{
	char *comma = r->separator == ';' ? strchr(text, ',') : NULL;

	if (comma != NULL)
		*comma = '.';
	return quantity_parse(text, ret_nano) == 0 && *ret_nano >= 0;
}

/* YYYY-MM-DD HH:MM[:SS[.fraction]] with T for the space, and Z, a zone or UTC at the end. */
static bool parse_date(const char *text, usec_t *ret)
{
	struct tm tm = {0};
	const char *at = strptime(text, "%Y-%m-%d", &tm);
	int day = tm.tm_mday;
	usec_t fraction = 0;
	time_t seconds;

	at = at != NULL && (*at == ' ' || *at == 'T') ? strptime(at + 1, "%H:%M", &tm) : NULL;
	if (at != NULL && *at == ':')
		at = strptime(at + 1, "%S", &tm);
	if (at != NULL && *at == '.')
		for (usec_t unit = USEC_PER_SEC / 10; *++at >= '0' && *at <= '9'; unit /= 10)
			fraction += (usec_t)(*at - '0') * unit;
	if (at != NULL && *at != '\0' && strcmp(at, " UTC") != 0)
		at = strptime(at, "%z", &tm);
	if (at == NULL || (*at != '\0' && strcmp(at, " UTC") != 0))
		return false;
	seconds = -tm.tm_gmtoff;
	seconds += timegm(&tm);
	/* A date that is none of the calendar is of another day. */
	if (seconds < 0 || tm.tm_mday != day)
		return false;
	*ret = (usec_t)seconds * USEC_PER_SEC + fraction;
	return true;
}

static bool parse_time(const struct reader *r, char *text, usec_t *ret)
{
	__int128 nano;

	if (strchr(text, ':') != NULL)
		return parse_date(text, ret);
	if (!parse_number(r, text, &nano))
		return false;
	while (nano >= SECONDS_MAX)
		nano /= 1000;
	*ret = (usec_t)(nano / 1000);
	return true;
}

/* --- the first line */

/* "CPU usage (cores)" is cpu_usage_cores. */
static void normalize(char *title)
{
	char *to = title;

	for (const char *at = title; *at != '\0'; at++) {
		char c = *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at;

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '%')
			*to++ = c;
		else if (to > title && to[-1] != '_')
			*to++ = '_';
	}
	*(to > title && to[-1] == '_' ? to - 1 : to) = '\0';
}

static struct column column_of(const struct reader *r, const char *title)
{
	struct column c = {.title = title};
	char word[NAME_SIZE];

	snprintf(word, sizeof word, " %s ", title);
	for (size_t i = 0; i < ARRAY_SIZE(role_names); i++)
		if (strstr(role_names[i].names, word) != NULL)
			c = (struct column){title, role_names[i].role,
					    role_names[i].unit ?: r->cpus * MICRO / 100};
	return c;
}

/* The first column of that role; NULL: none. */
static struct column *find(struct reader *r, enum role role)
{
	for (size_t i = 0; i < r->columns; i++)
		if (r->column[i].role == role)
			return &r->column[i];
	return NULL;
}

static int take_title(struct reader *r, char *title)
{
	size_t used = strlen(r->f.unused);
	const struct column *other;
	struct column c;

	normalize(title);
	c = column_of(r, title);
	other = c.role != ROLE_UNUSED && c.role != ROLE_SERIES ? find(r, c.role) : NULL;
	if (other != NULL)
		return wrong(r, "columns %s and %s are of the same: rename or remove one",
			     other->title, title);
	if (c.role == ROLE_UNUSED)
		snprintf(r->f.unused + used, sizeof r->f.unused - used, "%s%s",
			 used > 0 ? ", " : "", title);
	r->column[r->columns++] = c;
	return 0;
}

static int read_header(struct reader *r, char *line)
{
	struct column *cpu;
	char *field[COLUMNS_MAX];
	size_t n;
	int outcome;

	r->separator = line[strcspn(line, ",;\t")];
	outcome = split(r, line, field, &n);
	for (size_t i = 0; outcome == 0 && i < n; i++)
		outcome = take_title(r, field[i]);
	if (outcome < 0)
		return outcome;
	cpu = find(r, ROLE_CPU);
	if (cpu == NULL || find(r, ROLE_TIME) == NULL)
		return wrong(r, "the first line has no column %s%s%s",
			     cpu != NULL ? "time" : "cpu_cores, cpu_millicores or cpu_percent",
			     r->f.unused[0] != '\0' ? "; columns that are not known: " : "",
			     r->f.unused);
	/* Beside names of series it is of a range query, in cores. */
	if (strcmp(cpu->title, "value") == 0 && find(r, ROLE_SERIES) != NULL)
		cpu->unit = MICRO;
	if (cpu->unit == 0)
		return wrong(r,
			     "column %s: percent need the number of CPUs: --cpus N; a column of "
			     "cores is cpu_cores",
			     cpu->title);
	r->f.memory = find(r, ROLE_MEMORY) != NULL;
	return 0;
}

/* --- the other lines */

/* Nothing ran, or was recorded, in a gap: the sample before it holds as long as the one before. How
 * long one alone at the start holds is not known. */
static const char *place_time(struct series *s, usec_t *at)
{
	usec_t last, usual;

	if (s->count == 0)
		return NULL;
	last = s->samples[s->count - 1].at;
	if (*at < last + s->left_out_usec + BACKTEST_PERIOD_USEC)
		return "the time is not at least 0.1 s after the one before it; sort by time, and "
		       "name "
		       "the column of several series pod, container or series";
	*at -= s->left_out_usec;
	usual = s->count > 1 ? last - s->samples[s->count - 2].at : 0;
	if (*at - last > USEC_PER_DAY ||
	    (usual > 0 && *at - last > MAX(GAP_INTERVALS * usual, GAP_MIN_USEC))) {
		s->count -= usual == 0;
		s->lone += usual == 0;
		s->gaps++;
		s->left_out_usec += *at - last - usual;
		*at = last + usual;
	}
	if (*at - s->samples[0].at > 366 * USEC_PER_DAY)
		return "the time is more than 366 days after the first: cut the file";
	return NULL;
}

static int take_value(struct reader *r, enum role role, char *text, uint64_t *ret)
{
	const struct column *c = find(r, role);
	uint64_t cpus = r->cpus != 0 ? r->cpus : BACKTEST_CPUS_MAX;
	size_t length = strlen(text);
	/* 250m and 512Mi have a unit of their own. */
	bool suffix = length > 0 && isalpha((unsigned char)text[length - 1]);
	uint64_t unit = !suffix ? c->unit : role == ROLE_CPU ? MICRO : 1;
	uint64_t most = (role == ROLE_CPU ? cpus * MICRO : MEMORY_MAX) / unit;
	__int128 v;

	if (!parse_number(r, text, &v))
		return wrong(r, "%s is not a decimal number: %s", c->title, text);
	if (v > (__int128)most * NANO)
		return wrong(r, "%s is above %llu, %s: %s", c->title, (unsigned long long)most,
			     role == ROLE_CPU ? "all CPUs (--cpus N, 16 at most); is its name that "
						"of its unit?"
					      : "1 PiB",
			     text);
	*ret = (uint64_t)(v * unit / NANO);
	return 0;
}

/* A value as tools write none, or what a division by 0 gives. */
static bool is_empty(const char *text)
{
	char *end;

	/* strtod() reads nan, inf and infinity, with a sign, as Python and Go write them. */
	return text[0] == '\0' || strcasecmp(text, "null") == 0 || strcasecmp(text, "na") == 0 ||
	       (strpbrk(text, "0123456789") == NULL && !isfinite(strtod(text, &end)) &&
		*end == '\0');
}

/* Room for one more behind count. */
static int grow(void *array, size_t size, size_t count, size_t *capacity)
{
	size_t more = *capacity != 0 ? 2 * *capacity : 16;
	void *p = *(void **)array;

	if (count < *capacity)
		return 0;
	p = reallocarray(p, more, size);
	if (p == NULL)
		return -ENOMEM;
	*(void **)array = p;
	*capacity = more;
	return 0;
}

static void drop_one(struct series *s)
{
	free(s->name);
	free(s->samples);
}

/* Lines of one series follow each other, or those of all do so in turn. */
static int find_series(struct reader *r, const char *name, struct series **ret)
{
	struct series *s;

	for (size_t i = 0; i < r->f.count; i++, r->last++) {
		r->last = r->last < r->f.count ? r->last : 0;
		*ret = &r->f.series[r->last];
		if (strcmp((*ret)->name, name) == 0)
			return 0;
	}
	if (r->f.count == SERIES_MAX)
		return wrong(r, "more than %d series: take some of them", SERIES_MAX);
	if (grow(&r->f.series, sizeof *s, r->f.count, &r->f.capacity) < 0)
		return -ENOMEM;
	s = &r->f.series[r->f.count];
	*s = (struct series){.name = strdup(name)};
	if (s->name == NULL)
		return -ENOMEM;
	r->last = r->f.count++;
	*ret = s;
	return 0;
}

/* An empty cell: as in the sample before, which holds on where all are empty. */
static int add_sample(struct reader *r, struct series *s, char *const cell[ROLE_COUNT], usec_t at)
{
	const struct backtest_sample *last = s->count > 0 ? &s->samples[s->count - 1] : NULL;
	struct backtest_sample sample = last != NULL ? *last : (struct backtest_sample){0};
	bool no_cpu = is_empty(cell[ROLE_CPU]);
	bool no_memory = r->f.memory && is_empty(cell[ROLE_MEMORY]);
	const char *why;
	int outcome = 0;

	r->f.empty += no_cpu || no_memory;
	if (!no_cpu)
		outcome = take_value(r, ROLE_CPU, cell[ROLE_CPU], &sample.micro_cores);
	if (outcome == 0 && r->f.memory && !no_memory)
		outcome = take_value(r, ROLE_MEMORY, cell[ROLE_MEMORY], &sample.memory_bytes);
	if (outcome < 0 || (no_cpu && no_memory == r->f.memory) ||
	    (last == NULL && (no_cpu || no_memory)))
		return outcome;
	sample.at = at;
	why = place_time(s, &sample.at);
	if (why != NULL)
		return wrong(r, "%s", why);
	outcome = grow(&s->samples, sizeof *s->samples, s->count, &s->capacity);
	if (outcome == 0)
		s->samples[s->count++] = sample;
	return outcome;
}

static int read_row(struct reader *r, char *line)
{
	char *field[COLUMNS_MAX], *cell[ROLE_COUNT] = {0}, name[NAME_SIZE] = "";
	struct series *s;
	usec_t at;
	size_t n;
	int outcome = split(r, line, field, &n);

	if (outcome < 0)
		return outcome;
	if (n != r->columns)
		return wrong(r, "%zu columns, but the first line has %zu", n, r->columns);
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(name);

		cell[r->column[i].role] = field[i];
		if (r->column[i].role == ROLE_SERIES)
			snprintf(name + used, sizeof name - used, "%s%s", used > 0 ? "/" : "",
				 field[i]);
	}
	if (!parse_time(r, cell[ROLE_TIME], &at))
		return wrong(r, "%s is not seconds or YYYY-MM-DD HH:MM:SS: %s",
			     find(r, ROLE_TIME)->title, cell[ROLE_TIME]);
	outcome = find_series(r, name, &s);
	return outcome == 0 ? add_sample(r, s, cell, at) : outcome;
}

/* Leaves out what is too short for a run. */
static int finish(struct reader *r)
{
	struct series_file *f = &r->f;
	size_t lone = 0;

	for (size_t i = f->count; i-- > 0;) {
		if (f->series[i].count >= 2)
			continue;
		lone += f->series[i].lone;
		drop_one(&f->series[i]);
		f->series[i] = f->series[--f->count];
		f->too_short++;
	}
	if (f->count > 0)
		return 0;
	r->e.line += lone == 0;
	return wrong(r, lone == 0 ? "fewer than two samples"
				  : "the time is more than a day after the first");
}

static int read_lines(struct reader *r, char *text)
{
	char *line;
	int outcome = 0;

	if (*text == '\xff' || *text == '\xfe') {
		r->e.line = 1;
		return wrong(r, "it is UTF-16: save it as UTF-8");
	}
	text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	while (outcome == 0 && *text != '\0') {
		line = strsep(&text, "\n");
		line[strcspn(line, "\r")] = '\0';
		r->e.line++;
		/* Grafana names the separator in front. */
		if (r->columns == 0)
			outcome = strncmp(line, "sep=", 4) == 0 ? 0 : read_header(r, line);
		else if (*line != '\0')
			outcome = read_row(r, line);
		if (text == NULL)
			break;
	}
	return outcome == 0 ? finish(r) : outcome;
}

int series_parse(char *text, uint32_t cpus, struct series_file *ret, struct series_error *ret_e)
{
	struct reader r = {.cpus = cpus};
	int outcome = read_lines(&r, text);

	if (outcome == 0) {
		*ret = r.f;
		return 0;
	}
	series_drop(&r.f);
	if (outcome == -EBADMSG)
		*ret_e = r.e;
	return outcome;
}

void series_drop(struct series_file *f)
{
	while (f->count > 0)
		drop_one(&f->series[--f->count]);
	free(f->series);
	*f = (struct series_file){0};
}
