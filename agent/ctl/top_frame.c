// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/top_frame.h"
#include <errno.h>
#include <string.h>

#define BAR_CELLS     8
#define LINES_OF_HEAD 3
/* All columns but the name. */
#define WIDTH_OF_REST 62
#define WARN_PERMILLE 800
#define BAD_PERMILLE  950

const char *const top_sort_names[TOP_SORT_COUNT] = {
	[TOP_CPU] = "cpu",     [TOP_MEMORY] = "memory", [TOP_PRESSURE] = "pressure",
	[TOP_SLACK] = "slack", [TOP_AGE] = "age",       [TOP_NAME] = "name",
};

bool top_sort_key(int key, enum top_sort *ret)
{
	for (int i = 0; i < TOP_SORT_COUNT; i++) {
		if (top_sort_names[i][0] == key) {
			*ret = (enum top_sort)i;
			return true;
		}
	}
	return false;
}

/* ---- what is known of a unit ---- */

static uint64_t use_of(const cJSON *resource)
{
	uint64_t use = json_amount(resource, "use");

	return use == VIEW_NONE ? 0 : use;
}

/* The limit in force; VIEW_NONE: not known. */
static uint64_t known_limit(const cJSON *resource)
{
	uint64_t kernel = json_amount(resource, "kernel");

	return kernel != VIEW_NONE ? kernel : json_amount(resource, "limit");
}

/* The same; LIMIT_MAX: none or not known. */
static uint64_t limit_of(const cJSON *resource)
{
	uint64_t limit = known_limit(resource);

	return limit == VIEW_NONE ? LIMIT_MAX : limit;
}

static uint64_t number_of(const cJSON *resource, const char *key)
{
	uint64_t value = json_amount(resource, key);

	return value == VIEW_NONE || value == LIMIT_MAX ? 0 : value;
}

static uint64_t share_permille(const cJSON *resource)
{
	uint64_t limit = limit_of(resource);

	return limit == LIMIT_MAX || limit == 0 ? 0 : use_of(resource) * 1000 / limit;
}

static const cJSON *last_of(const cJSON *unit)
{
	const cJSON *cpu = json_object(json_object(unit, "cpu"), "last");
	const cJSON *memory = json_object(json_object(unit, "memory"), "last");

	return json_time(memory, "at") > json_time(cpu, "at") ? memory : cpu;
}

/* What a larger value of comes first. */
static uint64_t rank(const cJSON *unit, enum top_sort sort)
{
	const cJSON *cpu = json_object(unit, "cpu"), *memory = json_object(unit, "memory");
	uint64_t limit = limit_of(memory);

	switch (sort) {
	case TOP_MEMORY:
		return use_of(memory);
	case TOP_PRESSURE:
		return number_of(cpu, "psi_some_ppm") + number_of(memory, "psi_some_ppm");
	case TOP_SLACK:
		return limit == LIMIT_MAX || limit < use_of(memory) ? 0 : limit - use_of(memory);
	case TOP_AGE:
		return json_time(last_of(unit), "at");
	default:
		return use_of(cpu);
	}
}

/* ---- which units, in which order ---- */

struct entry {
	const cJSON *unit;
	uint64_t rank;
};

static bool passes(const cJSON *unit, const char *filter)
{
	return filter[0] == '\0' || strstr(json_text(unit, "name"), filter) != NULL;
}

size_t top_count(const cJSON *answer, const char *filter)
{
	const cJSON *unit;
	size_t count = 0;

	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		count += passes(unit, filter);
	return count;
}

static int by_rank(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = (x->rank < y->rank) - (x->rank > y->rank);

	return r != 0 ? r : strcmp(json_text(x->unit, "name"), json_text(y->unit, "name"));
}

static struct entry *sorted(const cJSON *answer, const struct top_view *v, size_t *ret_count)
{
	size_t count = top_count(answer, v->filter), i = 0;
	struct entry *e = calloc(MAX(count, 1u), sizeof *e);
	const cJSON *unit;

	if (e == NULL)
		return NULL;
	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		if (passes(unit, v->filter))
			e[i++] =
				(struct entry){unit, v->sort == TOP_NAME ? 0 : rank(unit, v->sort)};
	qsort(e, count, sizeof *e, by_rank);
	for (i = 0; v->reverse && i < count / 2; i++) {
		struct entry other = e[i];

		e[i] = e[count - 1 - i];
		e[count - 1 - i] = other;
	}
	*ret_count = count;
	return e;
}

/* ---- lines ---- */

static void put_bar(const struct ctl *c, const cJSON *resource)
{
	uint64_t share = MIN(share_permille(resource), UINT64_C(1000));
	int filled = (int)((share * BAR_CELLS + 999) / 1000);
	enum paint p = share >= BAD_PERMILLE    ? PAINT_BAD
		       : share >= WARN_PERMILLE ? PAINT_WARN
						: PAINT_GOOD;

	if (limit_of(resource) == LIMIT_MAX) {
		fprintf(c->out, " %*s ", BAR_CELLS, "");
		return;
	}
	fprintf(c->out, "[%s%.*s%s%.*s]", paint_on(c, p), filled, "########", paint_off(c, p),
		BAR_CELLS - filled, "--------");
}

/* "1.20 GiB" to "1.20G". */
static const char *shorten(char *amount)
{
	char *unit = strchr(amount, ' ');

	if (unit != NULL) {
		unit[0] = unit[1];
		unit[1] = '\0';
	}
	return amount;
}

/* "350m/1", "1.20G/4G" */
static void put_amounts(const struct ctl *c, enum resource which, const cJSON *resource, int width)
{
	char use[HUMAN_SIZE], limit[HUMAN_SIZE], both[2 * HUMAN_SIZE];

	human_amount(which, json_amount(resource, "use"), use);
	human_amount(which, known_limit(resource), limit);
	snprintf(both, sizeof both, "%s/%s", shorten(use), shorten(limit));
	fprintf(c->out, " %-*.*s", width, width, both);
}

/* The end of a long name says more than its begin. */
static void put_name(const struct ctl *c, const char *name, int width)
{
	size_t length = strlen(name);

	if (length <= (size_t)width)
		fprintf(c->out, "%-*s ", width, name);
	else
		fprintf(c->out, "~%s ", name + length - (size_t)width + 1);
}

/* "5s", "12m", "3h", "2d" */
static const char *short_age(usec_t age_usec, char ret[static HUMAN_SIZE])
{
	static const struct {
		usec_t usec, below;
		char name;
	} units[] = {
		{USEC_PER_SEC, 100 * USEC_PER_SEC, 's'},
		{USEC_PER_MIN, 100 * USEC_PER_MIN, 'm'},
		{USEC_PER_HOUR, 48 * USEC_PER_HOUR, 'h'},
		{USEC_PER_DAY, UINT64_MAX, 'd'},
	};
	size_t i = 0;

	while (age_usec >= units[i].below)
		i++;
	snprintf(ret, HUMAN_SIZE, "%llu%c", (unsigned long long)(age_usec / units[i].usec),
		 units[i].name);
	return ret;
}

static void put_last(const struct ctl *c, const cJSON *unit)
{
	const cJSON *last = last_of(unit);
	bool cpu = last == json_object(json_object(unit, "cpu"), "last");
	usec_t at = json_time(last, "at");
	char age[HUMAN_SIZE];

	if (at == 0) {
		fputs(" -", c->out);
		return;
	}
	fprintf(c->out, " %c%s %s", json_amount(last, "to") > json_amount(last, "from") ? '+' : '-',
		cpu ? "cpu" : "mem",
		short_age(c->now_realtime_usec - MIN(at, c->now_realtime_usec), age));
}

static void put_unit(const struct ctl *c, const cJSON *unit, int name_width)
{
	const cJSON *cpu = json_object(unit, "cpu"), *memory = json_object(unit, "memory");

	put_name(c, json_text(unit, "name"), name_width);
	put_bar(c, cpu);
	put_amounts(c, RESOURCE_CPU, cpu, 10);
	put_bar(c, memory);
	put_amounts(c, RESOURCE_MEMORY, memory, 12);
	fprintf(c->out, "%3llu %3llu", /* percent */
		(unsigned long long)number_of(cpu, "throttled_permille") / 10,
		(unsigned long long)(number_of(cpu, "psi_some_ppm") +
				     number_of(memory, "psi_some_ppm")) /
			10000);
	put_last(c, unit);
}

struct sums {
	uint64_t use[RESOURCE_COUNT], limit[RESOURCE_COUNT];
	size_t managed, other;
};

static void add_unit(struct sums *s, const cJSON *unit)
{

	if (strcmp(json_text(unit, "state"), "managed") == 0)
		s->managed++;
	else
		s->other++;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const cJSON *resource = json_object(unit, resource_names[r]);

		if (limit_of(resource) == LIMIT_MAX)
			continue;
		s->use[r] += use_of(resource);
		s->limit[r] += limit_of(resource);
	}
}

static void put_head(const struct ctl *c, const cJSON *answer, const cJSON *status,
		     const char *end_of_line)
{
	const cJSON *cluster = json_object(status, "cluster"), *unit;
	char text[4][HUMAN_SIZE];
	struct sums s = {0};

	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		add_unit(&s, unit);
	fprintf(c->out, "vscaled: %zu managed, %zu not; cpu %s of %s, memory %s of %s%s", s.managed,
		s.other, human_amount(RESOURCE_CPU, s.use[RESOURCE_CPU], text[0]),
		human_amount(RESOURCE_CPU, s.limit[RESOURCE_CPU], text[1]),
		human_amount(RESOURCE_MEMORY, s.use[RESOURCE_MEMORY], text[2]),
		human_amount(RESOURCE_MEMORY, s.limit[RESOURCE_MEMORY], text[3]), end_of_line);
	if (cluster == NULL)
		fprintf(c->out, "%s%s", json_flag(status, "paused") ? "paused" : "", end_of_line);
	else if (json_flag(cluster, "healthy"))
		fprintf(c->out, "API server: ok%s", end_of_line);
	else
		fprintf(c->out, "API server: %.60s%s", json_text(cluster, "trouble"), end_of_line);
}

static void put_titles(const struct ctl *c, const struct top_view *v, int name_width,
		       const char *end_of_line)
{
	char name[TOP_FILTER_SIZE + 16];

	snprintf(name, sizeof name, v->filter[0] != '\0' || v->typing ? "/%s%s" : "NAME", v->filter,
		 v->typing ? "_" : "");
	fprintf(c->out, "%s%-*.*s %-21s%-23sTHR PSI CHANGE%s%s", paint_on(c, PAINT_BOLD),
		name_width, name_width, name, "CPU use/limit", "MEMORY use/limit",
		paint_off(c, PAINT_BOLD), end_of_line);
}

int top_frame(const struct ctl *c, const cJSON *answer, const cJSON *status,
	      const struct top_view *v, const char *end_of_line)
{
	unsigned width = MAX(v->width, (unsigned)TOP_WIDTH_MIN);
	int name_width = (int)(width - WIDTH_OF_REST);
	size_t count = 0, end;
	OWN(drop_free) struct entry *e = sorted(answer, v, &count);

	if (e == NULL)
		return -ENOMEM;
	put_head(c, answer, status, end_of_line);
	put_titles(c, v, name_width, end_of_line);
	end = v->height == 0
		      ? count
		      : MIN(count, v->first + MAX(v->height, LINES_OF_HEAD + 1u) - LINES_OF_HEAD);
	for (size_t i = v->first; i < end; i++) {
		put_unit(c, e[i].unit, name_width);
		fputs(end_of_line, c->out);
	}
	return 0;
}
