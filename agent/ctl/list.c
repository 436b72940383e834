// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"

/* The later of the two resources' last changes. */
static const char *last_change(const cJSON *unit)
{
	const cJSON *cpu = json_object(json_object(unit, "cpu"), "last");
	const cJSON *memory = json_object(json_object(unit, "memory"), "last");

	if (!cpu && !memory)
		return "-";
	return json_time(cpu, "at") >= json_time(memory, "at")
		       ? "cpu {amount:cpu.last.from} -> {amount:cpu.last.to}, {ago:cpu.last.at}"
		       : "memory {amount:memory.last.from} -> {amount:memory.last.to}, "
			 "{ago:memory.last.at}";
}

/* What is in force comes first: systemd's headroom may stand above what vscaled decided. */
/* clang-format off */
static const struct table_column columns[] = {
	{.title = "NAME", .text = "{text:name}"},
	{.title = "KIND", .wide = true, .text = "{text:kind}"},
	{.title = "MODE", .text = "{text:mode}"},
	{.title = "CPU use/limit", .text = "{amount:cpu.use} / {amount:cpu.kernel|cpu.limit}"},
	{.title = "MEMORY use/limit", .text = "{amount:memory.use} / {amount:memory.kernel|memory.limit}"},
	{.title = "ORIGINAL", .text = "{amount:cpu.original}, {amount:memory.original}"},
	{.title = "TARGET", .wide = true, .text = "{amount:cpu.target}, {amount:memory.target}"},
	{.title = "PEAK", .wide = true, .text = "{amount:cpu.peak}, {amount:memory.peak}"},
	{.title = "CONFIDENCE", .wide = true, .text = "{whole:cpu.confidence_permille}, {whole:memory.confidence_permille}"},
	{.title = "THROTTLED", .wide = true, .text = "{whole:cpu.throttled_permille}"},
	{.title = "BLOCKED", .wide = true, .text = "{text:cpu.hold}, {text:memory.hold}"},
	{.title = "LAST CHANGE", .choose = last_change},
	{.title = "STATE", .text = "{text:state}", .is_state = true},
	{.title = "CGROUP", .wide = true, .text = "{text:cgroup}"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(columns) <= TABLE_COLUMNS_MAX, "render.h");

void render_list(const struct ctl *c, const cJSON *answer)
{
	const cJSON *units = cJSON_GetObjectItemCaseSensitive(answer, "units");

	if (cJSON_GetArraySize(units) == 0 && c->namespace) {
		fprintf(c->out,
			"Nothing in namespace %s is managed here. Pods of this node opt in "
			"by the annotation vscaled.dev/mode.\n",
			c->namespace);
		return;
	}
	if (cJSON_GetArraySize(units) == 0) {
		fprintf(c->out, "Nothing is managed. Name units under units: in the configuration "
				"(man vscaled.yaml), or annotate pods with vscaled.dev/mode.\n");
		return;
	}
	render_table(c, columns, ARRAY_SIZE(columns), units);
}
