// SPDX-License-Identifier: Apache-2.0
/* vscalectl report: reading and summing, and the outputs for people, spreadsheets and Git; the same
 * reading for vscalectl list. */
#include "agent/ctl/report.h"
#include "agent/base/json.h"
#include "agent/ctl/client.h"
#include "agent/kube/model/names.h"
#include "policy/base/quantity.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a row has of each resource: the highest of its pods. */
static const char *const highest_keys[] = {"request", "limit",  "use_p50", "use_p95", "use_max",
					   "lower",   "target", "upper",   "peak",    "min"};
/* Summed over all pods. */
static const char *const summed_keys[] = {"requested", "over_target", "under_target",
					  "reclaimable"};
static const char *const name_keys[] = {"namespace", "workload", "owner", "container"};

/* As clouds count. */
#define HOURS_PER_MONTH 730
#define RISK_SIZE       40
/* Of the periods of a day; a share of 24 h of goal savings is 2 %. */
#define THROTTLED_PERMILLE 10

/* --- read */

static const char *fault_of(const cJSON *document)
{
	if (!cJSON_IsObject(document))
		return "not a JSON object";
	if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(document, "units")))
		return NULL;
	if (json_amount(document, "version") != REPORT_JSON_VERSION)
		return "not a report of version 1";
	if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(document, "containers")))
		return "it has no containers";
	return NULL;
}

/* NULL: it was taken, and *at is behind it; else why not. */
static const char *take_answer(const char **at, const char *end, cJSON *all)
{
	OWN(drop_json) cJSON *document = NULL;
	const struct span rest = {*at, (size_t)(end - *at)};
	const char *behind = *at, *why;
	struct scan_error fault;
	struct span one;

	if (!scan_value(&rest, &behind, &one) || json_parse(one.s, one.len, &document, &fault) < 0)
		return "not JSON";
	why = fault_of(document);
	if (why != NULL)
		return why;
	json_remove_controls(document);
	cJSON_AddItemToArray(all, STEAL(document));
	*at = behind;
	return NULL;
}

/* The text around an answer, for what is said of it. */
struct place {
	const struct ctl *c;
	const char *source;
	const char *text;
	const char *name; /* of the answer that is due, up to the end of its line; NULL: none */
};

static void tell(const struct place *p, const char *at, const char *why)
{
	size_t line = 1;

	if (p->name != NULL) {
		fprintf(p->c->err, "vscalectl: no report of %.*s: %s\n",
			(int)strcspn(p->name, "\r\n"), p->name, why);
		return;
	}
	for (const char *c = p->text; c < at; c++)
		line += *c == '\n';
	fprintf(p->c->err, "vscalectl: no report in %s:%zu: %s\n", p->source, line, why);
}

/* The next line with which an answer can begin, or the end. */
static const char *next_answer(const char *at)
{
	do {
		at += strcspn(at, "\n");
		at += strspn(at, "\r\n");
	} while (*at != '\0' && *at != '{' && *at != '#');
	return at;
}

size_t report_read(const struct ctl *c, const char *source, const char *text, cJSON *all)
{
	static const char space[] = "\xef\xbb\xbf \t\r\n", empty[] = "it is empty";
	struct place p = {.c = c, .source = source, .text = text};
	const char *at = text + strspn(text, space), *end = at + strlen(at), *why;
	bool due = *at == '\0';
	size_t skipped = 0;

	for (; *at != '\0'; at += strspn(at, space)) {
		bool named = *at == '#';

		why = !named ? take_answer(&at, end, all) : due ? empty : NULL;
		due = named;
		if (why != NULL) {
			tell(&p, at, why);
			skipped++;
		}
		p.name = named ? at + 1 + strspn(at + 1, " ") : NULL;
		if (named || why != NULL)
			at = named ? at + strcspn(at, "\n") : next_answer(at);
	}
	if (due)
		tell(&p, at, empty);
	return skipped + due;
}

/* --- sum up */

static int by_names(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(name_keys); i++)
		r = strcmp(json_text(*x, name_keys[i]), json_text(*y, name_keys[i]));
	return r;
}

/* The same, and by what a rollout makes of the pods. */
static int by_parts(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;
	int r = by_names(a, b);

	return r != 0 ? r : strcmp(json_text(*x, "rollout"), json_text(*y, "rollout"));
}

static void set_amount(cJSON *o, const char *key, uint64_t amount)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	if (item == NULL)
		cJSON_AddNumberToObject(o, key, (double)amount);
	else
		cJSON_SetNumberValue(item, (double)amount);
}

static bool known(uint64_t amount)
{
	return amount != VIEW_NONE && amount != LIMIT_MAX;
}

/* The higher of both, or the lower. */
static void take_bound(cJSON *row, const cJSON *from, const char *key, bool higher)
{
	uint64_t have = json_amount(row, key), other = json_amount(from, key);

	if (known(other) && (!known(have) || (higher ? have < other : have > other)))
		set_amount(row, key, other);
}

static void add(cJSON *row, const char *key, uint64_t amount)
{
	uint64_t have = json_amount(row, key);

	set_amount(row, key, (known(have) ? have : 0) + amount);
}

static void take_sum(cJSON *row, const cJSON *from, const char *key)
{
	uint64_t amount = json_amount(from, key);

	if (known(amount))
		add(row, key, amount);
}

/* What of a is above b; 0 where one is not known. */
static uint64_t above(uint64_t a, uint64_t b)
{
	return known(a) && known(b) && a > b ? a - b : 0;
}

static void take_resource(cJSON *row, const cJSON *container, const char *key)
{
	const cJSON *from = json_object(container, key);
	cJSON *to = cJSON_GetObjectItemCaseSensitive(row, key);
	uint64_t request = json_amount(from, "request"), target = json_amount(from, "target");
	uint64_t requested = known(request) ? request : 0;
	/* A unit requests nothing. */
	bool pod = cJSON_HasObjectItem(container, "namespace");

	if (to == NULL)
		to = cJSON_AddObjectToObject(row, key);
	for (size_t i = 0; i < ARRAY_SIZE(highest_keys); i++)
		take_bound(to, from, highest_keys[i], true);
	take_bound(to, from, "original", false);
	take_bound(to, from, "max", false);
	add(to, "requested", requested);
	add(to, "over_target", above(request, target));
	add(to, "under_target", pod ? above(target, requested) : 0);
	add(to, "reclaimable", above(request, json_amount(from, "upper")));
}

/* part: the row is of one part of a rollout. */
static cJSON *row_new(const cJSON *container, bool part)
{
	cJSON *row = cJSON_CreateObject();

	for (size_t i = 0; i < ARRAY_SIZE(name_keys); i++)
		if (cJSON_HasObjectItem(container, name_keys[i]))
			cJSON_AddStringToObject(row, name_keys[i],
						json_text(container, name_keys[i]));
	if (part)
		cJSON_AddStringToObject(row, "rollout", json_text(container, "rollout"));
	return row;
}

/* That of any pod; Guaranteed of one is more than another's. */
static void take_class(cJSON *row, const cJSON *container)
{
	static const char key[] = "qos_class";
	const char *more = json_text(container, key);

	if (strcmp(more, "-") == 0 ||
	    (cJSON_HasObjectItem(row, key) && strcmp(more, "Guaranteed") != 0))
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(row, key);
	cJSON_AddStringToObject(row, key, more);
}

static void take(cJSON *row, const cJSON *container, bool part)
{
	static const char confidence[] = "confidence_permille";

	add(row, "pods", 1);
	take_class(row, container);
	take_bound(row, container, confidence, false);
	/* Beyond a whole interval of history there is no more to gain. */
	if (known(json_amount(row, confidence)))
		set_amount(row, confidence, MIN(json_amount(row, confidence), (uint64_t)1000));
	take_bound(row, container, "trust_permille", false);
	take_bound(row, container, "throttled_permille", true);
	take_bound(row, container, "counted_usec", false);
	take_sum(row, container, "oom_kills");
	take_resource(row, container, "cpu");
	take_resource(row, container, "memory");
	if (!part)
		return;
	take_bound(row, container, "rollout_percent", true);
	take_sum(row, container, "undos");
}

/* The containers of all documents; *ret_count of them. */
static const cJSON **collect(const cJSON *all, const char *namespace, size_t *ret_count)
{
	const cJSON *document, *container;
	const cJSON **items;
	size_t n = 0;

	cJSON_ArrayForEach (document, all) {
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, "containers");

		n += (size_t)cJSON_GetArraySize(list);
	}
	items = ctl_alloc((n + 1) * sizeof(const cJSON *));
	*ret_count = 0;
	cJSON_ArrayForEach (document, all) {
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, "containers");

		cJSON_ArrayForEach (container, list)
			if (namespace == NULL ||
			    strcmp(json_text(container, "namespace"), namespace) == 0)
				items[(*ret_count)++] = container;
	}
	qsort(items, *ret_count, sizeof(const cJSON *), by_names);
	return items;
}

static void add_rows(cJSON *rows, const cJSON *const *items, size_t count, bool parts)
{
	int (*compare)(const void *, const void *) = parts ? by_parts : by_names;
	cJSON *row = NULL;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(&items[i - 1], &items[i]) != 0) {
			row = row_new(items[i], parts);
			cJSON_AddItemToArray(rows, row);
		}
		take(row, items[i], parts);
	}
}

/* The containers of rollouts: a row for each part, one below the other. */
static void add_rollouts(cJSON *report, const cJSON **items, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (cJSON_HasObjectItem(items[i], "rollout"))
			items[n++] = items[i];
	qsort(items, n, sizeof(const cJSON *), by_parts);
	add_rows(cJSON_AddArrayToObject(report, "rollouts"), items, n, true);
}

static void add_total(cJSON *report, const cJSON *rows, int nodes)
{
	cJSON *total = cJSON_AddObjectToObject(report, "total");
	const cJSON *row;

	set_amount(total, "nodes", (uint64_t)nodes);
	set_amount(total, "rows", (uint64_t)cJSON_GetArraySize(rows));
	set_amount(total, "containers", 0);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		cJSON *o = cJSON_AddObjectToObject(total, resource_names[r]);

		for (size_t i = 0; i < ARRAY_SIZE(summed_keys); i++) {
			set_amount(o, summed_keys[i], 0);
			cJSON_ArrayForEach (row, rows)
				take_sum(o, json_object(row, resource_names[r]), summed_keys[i]);
		}
	}
	cJSON_ArrayForEach (row, rows)
		add(total, "containers", json_amount(row, "pods"));
}

/* What the present size risks, worst first; "": nothing. */
static void risk_of(const cJSON *row, enum resource r, char ret[static RISK_SIZE])
{
	const cJSON *o = json_object(row, resource_names[r]);
	const char *key = r == RESOURCE_CPU ? "throttled_permille" : "oom_kills";
	uint64_t hurt = json_amount(row, key), below = json_amount(o, "under_target");
	bool under = below > json_amount(o, "requested") / 10;

	ret[0] = '\0';
	if (r == RESOURCE_CPU && known(hurt) && hurt >= THROTTLED_PERMILLE)
		snprintf(ret, RISK_SIZE, "throttled%s", under ? ", under" : "");
	else if (r == RESOURCE_MEMORY && known(hurt) && hurt > 0)
		snprintf(ret, RISK_SIZE, "killed %" PRIu64 "%s", hurt, under ? ", under" : "");
	else if (under)
		snprintf(ret, RISK_SIZE, "under-requested");
}

/* Where the sizes go to: a request to the target, a limit to the peak, as far as is allowed. */
static void add_advice(const cJSON *row, enum resource r)
{
	cJSON *o = cJSON_GetObjectItemCaseSensitive(row, resource_names[r]);
	uint64_t target = json_amount(o, "target"), peak = json_amount(o, "peak");
	uint64_t least = json_amount(o, "min"), most = json_amount(o, "max");
	char risk[RISK_SIZE];

	risk_of(row, r, risk);
	if (risk[0] != '\0')
		cJSON_AddStringToObject(o, "risk", risk);
	target = MAX(known(target) ? target : 0, known(least) ? least : 0);
	if (known(json_amount(o, "target")) && cJSON_HasObjectItem(row, "namespace"))
		set_amount(o, "recommended_request", MIN(target, most));
	if (known(peak) && known(json_amount(o, "limit")))
		set_amount(o, "recommended_limit", MIN(MAX(peak, target), most));
}

static void add_price(cJSON *o, const char *to, const char *of, double price)
{
	double cents = rint(price * 100 * json_number(o, of));

	if (price > 0)
		cJSON_AddNumberToObject(o, to, cents / 100);
}

/* What the sums of a row or of all cost in a month. */
static void add_money(const struct ctl *c, cJSON *to)
{
	static const double unit[RESOURCE_COUNT] = {1000, (double)GIB};

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		cJSON *o = cJSON_GetObjectItemCaseSensitive(to, resource_names[r]);
		double price = c->price[r] * HOURS_PER_MONTH / unit[r];

		add_price(o, "saved_per_month", "over_target", price);
		add_price(o, "missing_per_month", "under_target", price);
	}
}

cJSON *report_sum(const struct ctl *c, const cJSON *all)
{
	cJSON *report = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(report, "rows"), *row;
	size_t count;
	OWN(drop_free) const cJSON **items = collect(all, c->namespace, &count);

	add_rows(rows, items, count, false);
	add_total(report, rows, cJSON_GetArraySize(all));
	add_rollouts(report, items, count);
	add_money(c, cJSON_GetObjectItemCaseSensitive(report, "total"));
	cJSON_ArrayForEach (row, rows) {
		add_advice(row, RESOURCE_CPU);
		add_advice(row, RESOURCE_MEMORY);
		add_money(c, row);
	}
	return report;
}

/* --- the command */

static int read_file(const struct ctl *c, const char *path, cJSON *all, size_t *skipped)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	OWN(drop_free) char *text = f != NULL ? ctl_read_stream(f) : NULL;
	int r = errno;

	if (f != NULL && !standard)
		fclose(f);
	if (text == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", path, strerror(r));
	*skipped += report_read(c, standard ? "standard input" : path, text, all);
	return CTL_OK;
}

static int print_report(const struct ctl *c, cJSON *report)
{
	int r = CTL_OK;

	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
		return json_print(c, report);
	if (c->output == OUTPUT_CSV)
		report_csv(c, report);
	else if (c->output == OUTPUT_PATCH)
		r = report_patch(c, report);
	else
		report_table(c, report);
	cJSON_Delete(report);
	return r;
}

int ctl_report(const struct ctl *c)
{
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	cJSON *document = NULL;
	size_t skipped = 0, count;
	int r = CTL_OK;

	if (c->argument_count == 0)
		r = client_call(c, "/v1/report", NULL, &document);
	if (document != NULL)
		cJSON_AddItemToArray(all, document);
	for (int i = 0; r == CTL_OK && i < c->argument_count; i++)
		r = read_file(c, c->arguments[i], all, &skipped);
	if (r != CTL_OK)
		return r;
	count = (size_t)cJSON_GetArraySize(all);
	if (count == 0)
		return ctl_fail(c, CTL_ERROR, "give answers of GET /v1/report", "no report");
	r = print_report(c, report_sum(c, all));
	if (r == CTL_OK && skipped > 0)
		r = ctl_fail(c, CTL_ERROR, NULL,
			     "the report is partial: %zu of %zu answers are left out", skipped,
			     count + skipped);
	return r;
}

/* --- vscalectl list */

static bool is_listed(const struct ctl *c, const cJSON *unit)
{
	const char *name = json_text(unit, "name");

	if (c->namespace != NULL && strcmp(json_text(unit, "namespace"), c->namespace) != 0)
		return false;
	for (int i = 1; i < c->argument_count; i++) {
		size_t length = strlen(c->arguments[i]);

		if (strncmp(name, c->arguments[i], length) == 0 && name[length] == '/')
			return true;
	}
	return c->argument_count < 2;
}

/* The answers of many nodes in one, each unit with the name of its node. */
static int read_lists(const struct ctl *c, cJSON *to)
{
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	size_t skipped = 0;
	cJSON *document, *unit;
	int r = read_file(c, c->arguments[0], all, &skipped);

	cJSON_ArrayForEach (document, all) {
		cJSON *from = cJSON_GetObjectItemCaseSensitive(document, "units");

		while ((unit = cJSON_DetachItemFromArray(from, 0)) != NULL) {
			cJSON_AddStringToObject(unit, "node", json_text(document, "node"));
			cJSON_AddItemToArray(to, unit);
		}
	}
	return r == CTL_OK && skipped > 0 ? CTL_ERROR : r;
}

int ctl_list(const struct ctl *c)
{
	bool many = c->argument_count > 0;
	cJSON *answer = many ? cJSON_CreateObject() : NULL, *units, *next;
	int r = many ? read_lists(c, cJSON_AddArrayToObject(answer, "units"))
		     : client_call(c, "/v1/units", NULL, &answer);

	units = cJSON_GetObjectItemCaseSensitive(answer, "units");
	for (cJSON *unit = units != NULL ? units->child : NULL; unit != NULL; unit = next) {
		next = unit->next;
		if (!is_listed(c, unit))
			cJSON_Delete(cJSON_DetachItemViaPointer(units, unit));
	}
	if (answer != NULL && (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML))
		return json_print(c, answer) ?: r;
	if (answer != NULL)
		render_list(c, answer);
	cJSON_Delete(answer);
	return r;
}

/* --- the table */

/* clang-format off */
static const struct table_column rollout_columns[] = {
	{.title = "ROLLOUT", .text = "{text:namespace}/{text:workload}"},
	{.title = "CONTAINER", .text = "{text:container}"},
	{.title = "SHARE", .text = "{count:rollout_percent} %"},
	{.title = "PART", .text = "{text:rollout}"},
	{.title = "PODS", .text = "{count:pods}"},
	{.title = "24h THROTTLED", .text = "{whole:throttled_permille}"},
	{.title = "24h OOM KILLS", .text = "{count:oom_kills}"},
	{.title = "UNDONE", .text = "{count:undos}"},
	{.title = "COUNTED FOR", .text = "{span:counted_usec}"},
	{.title = "CPU P95", .text = "{amount:cpu.use_p95}"},
	{.title = "MAX", .wide = true, .text = "{amount:cpu.use_max}"},
	{.title = "LIMIT", .text = "{amount:cpu.limit}"},
	{.title = "MEMORY P95", .text = "{amount:memory.use_p95}"},
	{.title = "MAX", .wide = true, .text = "{amount:memory.use_max}"},
	{.title = "LIMIT", .text = "{amount:memory.limit}"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(rollout_columns) <= TABLE_COLUMNS_MAX, "render.h");

static double cpus(const cJSON *total, const char *key)
{
	return json_number(json_object(total, "cpu"), key) / 1000;
}

static double gibibytes(const cJSON *total, const char *key)
{
	return json_number(json_object(total, "memory"), key) / (double)GIB;
}

static const char *resource_of(const cJSON *line)
{
	return cJSON_HasObjectItem(line, "cpu") ? "cpu" : "mem";
}

/* Two lines for each row: of CPU, and of memory. */
/* clang-format off */
static const struct table_column line_columns[] = {
	{.title = "WORKLOAD", .text = "{text:name}", .is_cut = true},
	{.title = "PODS", .text = "[{count:pods}]"},
	{.title = "", .choose = resource_of},
	{.title = "REQUEST", .text = "{narrow:cpu.request|memory.request}[ -> {narrow:cpu.recommended_request|memory.recommended_request}]"},
	{.title = "LIMIT", .text = "{narrow:cpu.limit|memory.limit}[ -> {narrow:cpu.recommended_limit|memory.recommended_limit}]"},
	{.title = "SAVED/MISSING", .text = "{narrow:cpu.over_target|memory.over_target}/{narrow:cpu.under_target|memory.under_target}"},
	{.title = "P50", .wide = true, .text = "{narrow:cpu.use_p50|memory.use_p50}"},
	{.title = "P95", .wide = true, .text = "{narrow:cpu.use_p95|memory.use_p95}"},
	{.title = "MAX", .wide = true, .text = "{narrow:cpu.use_max|memory.use_max}"},
	{.title = "RECLAIMABLE", .wide = true, .text = "{narrow:cpu.reclaimable|memory.reclaimable}"},
	{.title = "24h THROTTLED", .wide = true, .text = "{whole:throttled_permille}"},
	{.title = "OOM KILLS", .wide = true, .text = "{count:oom_kills}"},
	{.title = "COUNTED FOR", .wide = true, .text = "{span:counted_usec}"},
	{.title = "CONFIDENCE", .wide = true, .text = "{whole:confidence_permille}"},
	{.title = "OWNER", .wide = true, .text = "{text:owner}"},
	{.title = "RISK", .text = "{text:cpu.risk|memory.risk}", .is_state = true},
	{.title = "A MONTH", .text = "{money:cpu.saved_per_month|memory.saved_per_month}/{money:cpu.missing_per_month|memory.missing_per_month}"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(line_columns) <= TABLE_COLUMNS_MAX, "render.h");

static void add_line(cJSON *lines, const cJSON *row, enum resource r)
{
	bool first = r == RESOURCE_CPU, pod = cJSON_HasObjectItem(row, "namespace");
	cJSON *line = cJSON_Duplicate(row, true);
	char name[CELL_SIZE];

	if (first)
		snprintf(name, sizeof name, "%s%s%s", pod ? json_text(row, "namespace") : "",
			 pod ? "/" : "", json_text(row, "workload"));
	else
		snprintf(name, sizeof name, " %s", pod ? json_text(row, "container") : "");
	cJSON_DeleteItemFromObject(line, resource_names[!r]);
	if (!first || !pod)
		cJSON_DeleteItemFromObject(line, "pods");
	cJSON_AddItemToArray(lines, line);
	cJSON_AddStringToObject(line, "name", name);
}

static bool has_price(const struct ctl *c)
{
	return c->price[RESOURCE_CPU] > 0 || c->price[RESOURCE_MEMORY] > 0;
}

/* Of both resources. */
static double in_a_month(const cJSON *total, const char *key)
{
	return json_number(json_object(total, "cpu"), key) +
	       json_number(json_object(total, "memory"), key);
}

void report_table(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	const cJSON *rollouts = cJSON_GetObjectItemCaseSensitive(report, "rollouts");
	const cJSON *total = json_object(report, "total"), *row;
	OWN(drop_json) cJSON *lines = cJSON_CreateArray();

	if (cJSON_GetArraySize(rows) == 0) {
		fprintf(c->out,
			"No containers%s%s are watched. With kubernetes.observe: All pods need "
			"no annotation.\n",
			c->namespace ? " of namespace " : "", c->namespace ? c->namespace : "");
		return;
	}
	cJSON_ArrayForEach (row, rows) {
		add_line(lines, row, RESOURCE_CPU);
		add_line(lines, row, RESOURCE_MEMORY);
	}
	render_table(c, line_columns, ARRAY_SIZE(line_columns) - !has_price(c), lines);
	fprintf(c->out,
		"\n%" PRIu64 " containers on %" PRIu64 " nodes request %.2f CPUs and %.2f GiB.\n",
		json_amount(total, "containers"), json_amount(total, "nodes"),
		cpus(total, "requested"), gibibytes(total, "requested"));
	fprintf(c->out,
		"Above the targets: %.2f CPUs and %.2f GiB; below them: %.2f CPUs and %.2f GiB.\n"
		"Above the upper bounds, which come down as confidence grows: %.2f CPUs and %.2f "
		"GiB.\n",
		cpus(total, "over_target"), gibibytes(total, "over_target"),
		cpus(total, "under_target"), gibibytes(total, "under_target"),
		cpus(total, "reclaimable"), gibibytes(total, "reclaimable"));
	if (has_price(c))
		fprintf(c->out, "In a month of %d h: %.2f saved, %.2f missing.\n", HOURS_PER_MONTH,
			in_a_month(total, "saved_per_month"),
			in_a_month(total, "missing_per_month"));
	if (cJSON_GetArraySize(rollouts) == 0)
		return;
	fputc('\n', c->out);
	render_table(c, rollout_columns, ARRAY_SIZE(rollout_columns), rollouts);
}

/* --- csv */

/* Of each resource; a title has no "use_". */
static const char *const csv_keys[] = {"request",          "limit",       "use_p50",
				       "use_p95",          "use_max",     "lower",
				       "target",           "upper",       "over_target",
				       "under_target",     "reclaimable", "recommended_request",
				       "recommended_limit"};
static const char *const csv_last[] = {"throttled_permille", "oom_kills", "counted_usec",
				       "confidence_permille"};

/* Names of Kubernetes need no quotes; a spreadsheet must not take another text for a formula. */
static void put_text(const struct ctl *c, const char *text)
{
	size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-.");

	fprintf(c->out, "%s", text[plain] == '\0' && strcmp(text, "-") != 0 ? text : "");
}

static void put_csv(const struct ctl *c, const cJSON *o, const char *key)
{
	uint64_t amount = json_amount(o, key);

	fputc(',', c->out);
	if (known(amount))
		fprintf(c->out, "%" PRIu64, amount);
}

void report_csv(const struct ctl *c, const cJSON *report)
{
	const cJSON *row;

	fputs("namespace,workload,owner,container,pods", c->out);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		for (size_t i = 0; i < ARRAY_SIZE(csv_keys); i++)
			fprintf(c->out, ",%s_%s_%s", resource_names[r],
				csv_keys[i] + (strncmp(csv_keys[i], "use_", 4) == 0 ? 4 : 0),
				r == RESOURCE_CPU ? "millicores" : "bytes");
	for (size_t i = 0; i < ARRAY_SIZE(csv_last); i++)
		fprintf(c->out, ",%s", csv_last[i]);
	cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(report, "rows")) {
		for (size_t i = 0; i < ARRAY_SIZE(name_keys); i++) {
			fputc(i > 0 ? ',' : '\n', c->out);
			put_text(c, json_text(row, name_keys[i]));
		}
		put_csv(c, row, "pods");
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			for (size_t i = 0; i < ARRAY_SIZE(csv_keys); i++)
				put_csv(c, json_object(row, resource_names[r]), csv_keys[i]);
		for (size_t i = 0; i < ARRAY_SIZE(csv_last); i++)
			put_csv(c, row, csv_last[i]);
	}
	fputc('\n', c->out);
}

/* --- patch */

/* Where the pod's template stands in it. */
static const struct owner {
	const char *kind, *api;
	const char *path[4]; /* below spec */
} owners[] = {
	{"Deployment", "apps/v1", {"template", "spec"}},
	{"StatefulSet", "apps/v1", {"template", "spec"}},
	{"DaemonSet", "apps/v1", {"template", "spec"}},
	{"CronJob", "batch/v1", {"jobTemplate", "spec", "template", "spec"}},
};

static const struct owner *owner_of(const cJSON *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (strcmp(owners[i].kind, json_text(row, "owner")) == 0)
			return &owners[i];
	return NULL;
}

/* What to put into a template for a resource. */
struct template_change {
	char request[QUANTITY_TEXT_SIZE];
	bool set;
	bool limit;        /* the template's limit is set to the same */
	const char *stays; /* why a lower one is not put there; NULL: there is none, or it is put */
};

static bool is_guaranteed(const cJSON *row)
{
	return strcmp(json_text(row, "qos_class"), "Guaranteed") == 0;
}

/* What a request should be: the target. That of a Guaranteed pod is its limit, too, and limits
 * follow the peak; of CPU it is lowered as far as the laws would lower it. */
static uint64_t aim_of(const cJSON *row, enum resource r, uint64_t limit)
{
	bool guaranteed = is_guaranteed(row);
	uint64_t aim =
		json_amount(json_object(row, resource_names[r]), guaranteed ? "peak" : "target");
	uint64_t trust = json_amount(row, "trust_permille");

	if (aim == VIEW_NONE || aim == LIMIT_MAX || !guaranteed || r != RESOURCE_CPU)
		return aim;
	if (trust == VIEW_NONE)
		trust = 0;
	return MAX(aim, scale_permille(limit, rest_permille(trust)));
}

/* Within what the owner, the administrator and the LimitRange allow, if the agent reports that. A
 * minimum stops a decrease; it raises a request only where request and limit are equal. */
static uint64_t allowed(const cJSON *row, const cJSON *resource, uint64_t aim, uint64_t request)
{
	uint64_t min = json_amount(resource, "min"), max = json_amount(resource, "max");

	if (min == VIEW_NONE)
		min = 0;
	if (!is_guaranteed(row))
		min = MIN(min, request);
	aim = MAX(aim, min);
	return MIN(aim, max);
}

/* NULL: a request may be changed to aim. limit: that of the template. */
static const char *stay_of(const cJSON *row, enum resource r, uint64_t aim, uint64_t limit)
{
	const cJSON *o = json_object(row, resource_names[r]);
	uint64_t request = json_amount(o, "request");

	if (is_guaranteed(row) && r == RESOURCE_MEMORY && aim < limit)
		return "in a Guaranteed pod it is also the limit, and a lower one could be "
		       "below a heap setting";
	if (!cJSON_HasObjectItem(row, "qos_class") && request != VIEW_NONE && aim < request &&
	    (request == limit || request == json_amount(o, "limit")))
		return "it equals the limit, the report does not tell the QoS class, and a lower "
		       "one would end Guaranteed";
	return NULL;
}

/* The request that is worth a change: 10 % off, and below the target only where no more is allowed.
 * all: also one that stays, as it is: a file takes the place of that of an earlier run, whose sizes
 * the pods have by now, and without it the template's own would come back. */
static struct template_change change_of(const cJSON *row, enum resource r, bool all)
{
	const cJSON *o = json_object(row, resource_names[r]);
	uint64_t request = json_amount(o, "request"), limit = json_amount(o, "original"), aim;
	struct template_change ret = {.set = false};

	if (request == VIEW_NONE)
		request = 0;
	if (limit == VIEW_NONE)
		limit = json_amount(o, "limit");
	if (limit == VIEW_NONE && is_guaranteed(row))
		limit = request;
	aim = aim_of(row, r, limit);
	if (aim == VIEW_NONE || aim == LIMIT_MAX)
		aim = request;
	else
		aim = allowed(row, o, aim, request);
	if (MAX(request, aim) - MIN(request, aim) > request / 10) {
		if (r == RESOURCE_MEMORY)
			aim = MIN(round_up(aim, MIB), json_amount(o, "max"));
		ret.stays = stay_of(row, r, aim, limit);
		ret.set = ret.stays == NULL;
	}
	if (!ret.set) {
		if (!all || request == 0)
			return ret;
		aim = request;
		ret.set = true;
	}
	ret.limit = is_guaranteed(row) ||
		    (limit != VIEW_NONE && (aim > limit || (all && aim == limit)));
	if (r == RESOURCE_CPU)
		quantity_format_cpu(aim, ret.request, sizeof ret.request);
	else
		quantity_format_bytes(aim, ret.request, sizeof ret.request);
	return ret;
}

static bool same_workload(const cJSON *a, const cJSON *b)
{
	return a != NULL && strcmp(json_text(a, "namespace"), json_text(b, "namespace")) == 0 &&
	       strcmp(json_text(a, "workload"), json_text(b, "workload")) == 0 &&
	       strcmp(json_text(a, "owner"), json_text(b, "owner")) == 0;
}

static void put_head(FILE *f, const cJSON *row, const struct owner *owner, int *ret_in)
{
	int in = 2;

	fprintf(f,
		"---\napiVersion: %s\nkind: %s\nmetadata:\n  name: \"%s\"\n  namespace: \"%s\"\n"
		"spec:\n",
		owner->api, owner->kind, json_text(row, "workload"), json_text(row, "namespace"));
	for (size_t i = 0; i < ARRAY_SIZE(owner->path) && owner->path[i] != NULL; i++, in += 2)
		fprintf(f, "%*s%s:\n", in, "", owner->path[i]);
	fprintf(f, "%*scontainers:\n", in, "");
	*ret_in = in;
}

static void put_change(FILE *f, const cJSON *row, const struct template_change *changes, int in)
{
	bool limits = changes[RESOURCE_CPU].limit || changes[RESOURCE_MEMORY].limit;

	fprintf(f, "%*s- name: \"%s\"\n%*s  resources:\n%*s    requests:\n", in, "",
		json_text(row, "container"), in, "", in, "");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (changes[r].set)
			fprintf(f, "%*s      %s: %s\n", in, "", resource_names[r],
				changes[r].request);
	if (limits)
		fprintf(f, "%*s    limits:\n", in, "");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (changes[r].limit)
			fprintf(f, "%*s      %s: %s\n", in, "", resource_names[r],
				changes[r].request);
}

#define PATCH_MARK "# A size of vscalectl report; its next run replaces this file.\n"

/* A file of the directory, to be written; NULL: the error has been printed. */
static FILE *open_marked(const struct ctl *c, const char *name)
{
	char path[PATH_MAX + NAME_MAX], line[sizeof PATCH_MARK] = "";
	FILE *f;
	int fd;

	snprintf(path, sizeof path, "%s/%s", c->output_dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	f = fd >= 0 ? fdopen(fd, "r+") : NULL;
	if (f == NULL) {
		ctl_fail(c, CTL_ERROR, NULL, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fgets(line, sizeof line, f) == NULL || strcmp(line, PATCH_MARK) == 0) {
		rewind(f);
		if (ftruncate(fd, 0) == 0 && fputs(PATCH_MARK, f) >= 0)
			return f;
	}
	fclose(f);
	ctl_fail(c, CTL_ERROR, "move it away, or name another directory",
		 "%s was not written by vscalectl report", path);
	return NULL;
}

static int close_file(const struct ctl *c, FILE *f)
{
	return fclose(f) == 0
		       ? CTL_OK
		       : ctl_fail(c, CTL_ERROR, NULL, "%s: %s", c->output_dir, strerror(errno));
}

static void put_stays(const struct ctl *c, const cJSON *row, const struct template_change *changes)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (changes[r].stays != NULL)
			fprintf(c->out, "# %s/%s, container %s: the %s request stays: %s.\n",
				json_text(row, "namespace"), json_text(row, "workload"),
				json_text(row, "container"), resource_names[r], changes[r].stays);
}

/* list: of the files, one for each workload; NULL: all goes to c->out. */
static int put_patches(const struct ctl *c, const cJSON *rows, FILE *list)
{
	const cJSON *row, *last = NULL;
	char name[2 * NAME_MAX]; /* one that is too long for a file is an error of open() */
	FILE *f = c->out;
	int in = 0;

	cJSON_ArrayForEach (row, rows) {
		const struct template_change changes[RESOURCE_COUNT] = {
			[RESOURCE_CPU] = change_of(row, RESOURCE_CPU, list != NULL),
			[RESOURCE_MEMORY] = change_of(row, RESOURCE_MEMORY, list != NULL)};
		const struct owner *owner = owner_of(row);

		/* These names are written into YAML and into the name of a file. */
		if (!kube_is_label(json_text(row, "namespace")) ||
		    !kube_is_subdomain(json_text(row, "workload")) ||
		    !kube_is_label(json_text(row, "container"))) {
			fprintf(c->err, "vscalectl: %s/%s: no patch: it is no name of Kubernetes\n",
				json_text(row, "namespace"), json_text(row, "workload"));
			continue;
		}
		put_stays(c, row, changes);
		if (!changes[RESOURCE_CPU].set && !changes[RESOURCE_MEMORY].set)
			continue;
		if (owner == NULL) {
			bool bare = cJSON_GetObjectItemCaseSensitive(row, "owner") == NULL;

			fprintf(c->err, "vscalectl: %s/%s: no patch%s%s\n",
				json_text(row, "namespace"), json_text(row, "workload"),
				bare ? ": it has no controller" : " for its kind, ",
				bare ? "" : json_text(row, "owner"));
			continue;
		}
		if (!same_workload(last, row) && list != NULL) {
			snprintf(name, sizeof name, "%s_%s_%s.yaml", json_text(row, "namespace"),
				 owner->kind, json_text(row, "workload"));
			/* By name alone: the resource may get its namespace after the patch. */
			fprintf(list, "- path: %s\n  target: {kind: %s, name: \"%s\"}\n", name,
				owner->kind, json_text(row, "workload"));
			if (f != c->out && close_file(c, f) != CTL_OK)
				return CTL_ERROR;
			f = open_marked(c, name);
			if (f == NULL)
				return CTL_ERROR;
		}
		if (!same_workload(last, row))
			put_head(f, row, owner, &in);
		last = row;
		put_change(f, row, changes, in);
	}
	return f == c->out ? CTL_OK : close_file(c, f);
}

int report_patch(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	FILE *list;
	int r;

	if (c->output_dir == NULL)
		return put_patches(c, rows, NULL);
	if (mkdir(c->output_dir, 0777) < 0 && errno != EEXIST)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", c->output_dir, strerror(errno));
	list = open_marked(c, "kustomization.yaml");
	if (list == NULL)
		return CTL_ERROR;
	/* Without a name Kustomize refuses a component that has no patches. */
	fputs("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	      "metadata: {name: vscaled-sizes}\npatches:\n",
	      list);
	r = put_patches(c, rows, list);
	return MAX(close_file(c, list), r);
}
