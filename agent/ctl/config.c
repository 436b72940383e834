// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.h"
#include "agent/annotation/annotation.h"
#include "agent/ctl/client.h"
#include "agent/ctl/json.h"
#include <string.h>

/* What the configuration takes from a unit that is sized now. NULL: nothing. */
static const char *taken(const struct config *config, const cJSON *unit)
{
	const struct policy_rule *rule = config_rule_for(config, json_text(unit, "name"));

	if (strcmp(json_text(unit, "kind"), unit_kind_names[UNIT_KIND_UNIT]) != 0 ||
	    strcmp(json_text(unit, "mode"), mode_name(MODE_OFF)) == 0 ||
	    strcmp(json_text(unit, "state"), unit_state_names[UNIT_UNMANAGED]) == 0)
		return NULL;
	if (rule == NULL)
		return "it is not named";
	if (rule->mode == MODE_OFF)
		return "its mode is Off";
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const char *blocked = json_text(json_object(unit, resource_names[r]), "hold");

		if (!(rule->resources & (1u << r)) &&
		    strcmp(blocked, blocked_reason_name(BLOCKED_NOT_CONTROLLED)) != 0)
			return r == RESOURCE_CPU ? "cpu is not among its resources"
						 : "memory is not among its resources";
	}
	return NULL;
}

/* Where the daemon runs. */
static void print_handed_back(const struct ctl *c, const struct config *config)
{
	cJSON *answer = NULL;
	const cJSON *unit;

	if (client_probe(c->socket) < 0 || client_call(c, "/v1/units", NULL, &answer) != CTL_OK)
		return;
	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units")) {
		const char *why = taken(config, unit);

		if (why != NULL)
			fprintf(c->out, "a reload hands back %s: %s\n", json_text(unit, "name"),
				why);
	}
	cJSON_Delete(answer);
}

int ctl_config_check(const struct ctl *c)
{
	const char *path = c->argument_count > 0 ? c->arguments[0] : c->config;
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config config;
	int r;

	if (!errors)
		return ctl_fail(c, CTL_ERROR, NULL, "out of memory");
	r = annotation_load_config(path, &config, errors);
	for (size_t i = 0; i < errors->count; i++)
		fprintf(c->err, "%s\n", errors->text[i]);
	if (errors->dropped > 0)
		fprintf(c->err, "%s: %zu more errors\n", path, errors->dropped);
	if (r < 0 && errors->count == 0)
		ctl_fail(c, CTL_ERROR, NULL, "%s cannot be loaded", path);
	free(errors);
	if (r < 0)
		return CTL_ERROR;
	fprintf(c->out, "%s is valid; it names units in %zu rules", path, config.unit_count);
	if (config.pod_rule_count > 0)
		fprintf(c->out, " and pods in %zu", config.pod_rule_count);
	fputc('\n', c->out);
	print_handed_back(c, &config);
	config_free(&config);
	return CTL_OK;
}
