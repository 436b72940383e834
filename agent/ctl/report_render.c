// SPDX-License-Identifier: Apache-2.0
/* The outputs of vscalectl report for people, spreadsheets and Git. */
#include "agent/ctl/render.h"
#include "agent/ctl/report.h"
#include "policy/base/arithmetic.h"
#include "policy/base/quantity.h"
#include <inttypes.h>
#include <string.h>

/* clang-format off */
static const struct table_column columns[] = {
	{.title = "WORKLOAD", .text = "{text:namespace}/{text:workload}"},
	{.title = "OWNER", .wide = true, .text = "{text:owner}"},
	{.title = "CONTAINER", .text = "{text:container}"},
	{.title = "PODS", .text = "{count:pods}"},
	{.title = "CPU request", .text = "{amount:cpu.request}"},
	{.title = "LIMIT", .wide = true, .text = "{amount:cpu.limit}"},
	{.title = "P50", .wide = true, .text = "{amount:cpu.use_p50}"},
	{.title = "P95", .text = "{amount:cpu.use_p95}"},
	{.title = "MAX", .text = "{amount:cpu.use_max}"},
	{.title = "TARGET", .text = "{amount:cpu.target}"},
	{.title = "OVER TARGET", .text = "{amount:cpu.over_target}"},
	{.title = "RECLAIMABLE", .wide = true, .text = "{amount:cpu.reclaimable}"},
	{.title = "MEMORY request", .text = "{amount:memory.request}"},
	{.title = "LIMIT", .wide = true, .text = "{amount:memory.limit}"},
	{.title = "P50", .wide = true, .text = "{amount:memory.use_p50}"},
	{.title = "P95", .text = "{amount:memory.use_p95}"},
	{.title = "MAX", .text = "{amount:memory.use_max}"},
	{.title = "TARGET", .text = "{amount:memory.target}"},
	{.title = "OVER TARGET", .text = "{amount:memory.over_target}"},
	{.title = "RECLAIMABLE", .wide = true, .text = "{amount:memory.reclaimable}"},
	{.title = "24h THROTTLED", .wide = true, .text = "{whole:throttled_permille}"},
	{.title = "24h OOM KILLS", .wide = true, .text = "{count:oom_kills}"},
	{.title = "COUNTED FOR", .wide = true, .text = "{span:counted_usec}"},
	{.title = "CONFIDENCE", .text = "{whole:confidence_permille}"},
};
/* clang-format on */

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

_Static_assert(ARRAY_SIZE(columns) <= TABLE_COLUMNS_MAX, "render.h");

static void put_rollouts(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rollouts");

	if (cJSON_GetArraySize(rows) == 0)
		return;
	fputc('\n', c->out);
	render_table(c, rollout_columns, ARRAY_SIZE(rollout_columns), rows);
}

static double cpus(const cJSON *total, const char *key)
{
	return (double)json_amount(json_object(total, "cpu"), key) / 1000;
}

static double gibibytes(const cJSON *total, const char *key)
{
	return (double)json_amount(json_object(total, "memory"), key) / (double)GIB;
}

void report_table(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	const cJSON *total = json_object(report, "total");

	if (cJSON_GetArraySize(rows) == 0) {
		fprintf(c->out,
			"No containers%s%s are watched. With kubernetes.observe: All pods need "
			"no annotation.\n",
			c->namespace ? " of namespace " : "", c->namespace ? c->namespace : "");
		return;
	}
	render_table(c, columns, ARRAY_SIZE(columns), rows);
	fprintf(c->out,
		"\n%" PRIu64 " containers on %" PRIu64 " nodes request %.2f CPUs and %.2f GiB.\n"
		"Above the targets: %.2f CPUs and %.2f GiB; above the upper bounds, which come "
		"down as "
		"confidence grows: %.2f CPUs and %.2f GiB.\n",
		json_amount(total, "containers"), json_amount(total, "nodes"),
		cpus(total, "requested"), gibibytes(total, "requested"), cpus(total, "over_target"),
		gibibytes(total, "over_target"), cpus(total, "reclaimable"),
		gibibytes(total, "reclaimable"));
	put_rollouts(c, report);
}

/* --- csv */

/* clang-format off */
static const struct {
	const char *title;
	const char *object; /* NULL: the row itself */
	const char *key;
} fields[] = {
	{"pods", NULL, "pods"},
	{"cpu_request_millicores", "cpu", "request"},
	{"cpu_limit_millicores", "cpu", "limit"},
	{"cpu_p50_millicores", "cpu", "use_p50"},
	{"cpu_p95_millicores", "cpu", "use_p95"},
	{"cpu_max_millicores", "cpu", "use_max"},
	{"cpu_lower_millicores", "cpu", "lower"},
	{"cpu_target_millicores", "cpu", "target"},
	{"cpu_upper_millicores", "cpu", "upper"},
	{"cpu_over_target_millicores", "cpu", "over_target"},
	{"cpu_reclaimable_millicores", "cpu", "reclaimable"},
	{"memory_request_bytes", "memory", "request"},
	{"memory_limit_bytes", "memory", "limit"},
	{"memory_p50_bytes", "memory", "use_p50"},
	{"memory_p95_bytes", "memory", "use_p95"},
	{"memory_max_bytes", "memory", "use_max"},
	{"memory_lower_bytes", "memory", "lower"},
	{"memory_target_bytes", "memory", "target"},
	{"memory_upper_bytes", "memory", "upper"},
	{"memory_over_target_bytes", "memory", "over_target"},
	{"memory_reclaimable_bytes", "memory", "reclaimable"},
	{"throttled_permille", NULL, "throttled_permille"},
	{"oom_kills", NULL, "oom_kills"},
	{"counted_usec", NULL, "counted_usec"},
	{"confidence_permille", NULL, "confidence_permille"},
};
/* clang-format on */

/* Names of Kubernetes need no quotes; a spreadsheet must not take another text for a formula. */
static void put_text(const struct ctl *c, const char *text)
{
	size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-.");

	fprintf(c->out, "%s", text[plain] == '\0' && strcmp(text, "-") != 0 ? text : "");
}

void report_csv(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	static const char *const names[] = {"namespace", "workload", "owner", "container"};
	const cJSON *row;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fprintf(c->out, "%s%s", i > 0 ? "," : "", names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fprintf(c->out, ",%s", fields[i].title);
	fputc('\n', c->out);
	cJSON_ArrayForEach (row, rows) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			fputs(i > 0 ? "," : "", c->out);
			put_text(c, json_text(row, names[i]));
		}
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
			const cJSON *o =
				fields[i].object ? json_object(row, fields[i].object) : row;
			uint64_t amount = json_amount(o, fields[i].key);

			fputc(',', c->out);
			if (amount != VIEW_NONE && amount != LIMIT_MAX)
				fprintf(c->out, "%" PRIu64, amount);
		}
		fputc('\n', c->out);
	}
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
 */
static struct template_change change_of(const cJSON *row, enum resource r)
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
		return ret;
	aim = allowed(row, o, aim, request);
	if (MAX(request, aim) - MIN(request, aim) <= request / 10)
		return ret;
	if (r == RESOURCE_MEMORY)
		aim = MIN(round_up(aim, MIB), json_amount(o, "max"));
	ret.stays = stay_of(row, r, aim, limit);
	ret.set = ret.stays == NULL;
	ret.limit = ret.set && (is_guaranteed(row) || (limit != VIEW_NONE && aim > limit));
	if (r == RESOURCE_CPU)
		quantity_format_cpu(aim, ret.request, sizeof ret.request);
	else
		quantity_format_bytes(aim, ret.request, sizeof ret.request);
	return ret;
}

static void put_stay(const struct ctl *c, const cJSON *row, enum resource r, const char *why)
{
	fprintf(c->out, "# %s/%s, container %s: the %s request stays: %s.\n",
		json_text(row, "namespace"), json_text(row, "workload"),
		json_text(row, "container"), resource_names[r], why);
}

static bool same_workload(const cJSON *a, const cJSON *b)
{
	return a != NULL && strcmp(json_text(a, "namespace"), json_text(b, "namespace")) == 0 &&
	       strcmp(json_text(a, "workload"), json_text(b, "workload")) == 0 &&
	       strcmp(json_text(a, "owner"), json_text(b, "owner")) == 0;
}

static void put_head(const struct ctl *c, const cJSON *row, const struct owner *owner, int *ret_in)
{
	int in = 2;

	fprintf(c->out,
		"---\napiVersion: %s\nkind: %s\nmetadata:\n  name: \"%s\"\n  namespace: \"%s\"\n"
		"spec:\n",
		owner->api, owner->kind, json_text(row, "workload"), json_text(row, "namespace"));
	for (size_t i = 0; i < ARRAY_SIZE(owner->path) && owner->path[i] != NULL; i++, in += 2)
		fprintf(c->out, "%*s%s:\n", in, "", owner->path[i]);
	fprintf(c->out, "%*scontainers:\n", in, "");
	*ret_in = in;
}

static void put_change(const struct ctl *c, const cJSON *row, const struct template_change *changes,
		       int in)
{
	bool limits = changes[RESOURCE_CPU].limit || changes[RESOURCE_MEMORY].limit;

	fprintf(c->out, "%*s- name: \"%s\"\n%*s  resources:\n%*s    requests:\n", in, "",
		json_text(row, "container"), in, "", in, "");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (changes[r].set)
			fprintf(c->out, "%*s      %s: %s\n", in, "", resource_names[r],
				changes[r].request);
	if (limits)
		fprintf(c->out, "%*s    limits:\n", in, "");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (changes[r].limit)
			fprintf(c->out, "%*s      %s: %s\n", in, "", resource_names[r],
				changes[r].request);
}

void report_patch(const struct ctl *c, const cJSON *report)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	const cJSON *row, *last = NULL;
	int in = 0;

	cJSON_ArrayForEach (row, rows) {
		const struct template_change changes[RESOURCE_COUNT] = {
			[RESOURCE_CPU] = change_of(row, RESOURCE_CPU),
			[RESOURCE_MEMORY] = change_of(row, RESOURCE_MEMORY)};
		const struct owner *owner = owner_of(row);

		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if (changes[r].stays != NULL)
				put_stay(c, row, r, changes[r].stays);
		if (!changes[RESOURCE_CPU].set && !changes[RESOURCE_MEMORY].set)
			continue;
		if (owner == NULL) {
			fprintf(c->err, "vscalectl: %s/%s: no patch for its kind, %s\n",
				json_text(row, "namespace"), json_text(row, "workload"),
				json_text(row, "owner"));
			continue;
		}
		if (!same_workload(last, row))
			put_head(c, row, owner, &in);
		last = row;
		put_change(c, row, changes, in);
	}
}
