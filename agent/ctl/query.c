// SPDX-License-Identifier: Apache-2.0
/* The commands that query the daemon and print its answer. */
#include "agent/annotation/annotation.h"
#include "agent/config/config.h"
#include "agent/ctl/client.h"
#include "agent/ctl/json.h"
#include "agent/ctl/render.h"
#include "policy/types/reason.h"
#include <inttypes.h>
#include <string.h>

/* Prints the answer as it is, or for people; frees it. */
static int show(const struct ctl *c, int r, cJSON *answer,
		void (*render)(const struct ctl *c, const cJSON *answer))
{
	if (r == CTL_OK && (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML))
		return json_print(c, answer);
	if (r == CTL_OK)
		render(c, answer);
	cJSON_Delete(answer);
	return r;
}

int ctl_status(const struct ctl *c)
{
	cJSON *status = NULL;
	int r = client_call(c, "/v1/status", NULL, &status);

	return show(c, r, status, render_status);
}

/* Leaves the containers of one namespace. */
static void filter(cJSON *units, const char *namespace)
{
	for (int i = cJSON_GetArraySize(units) - 1; namespace && i >= 0; i--)
		if (strcmp(json_text(cJSON_GetArrayItem(units, i), "namespace"), namespace) != 0)
			cJSON_DeleteItemFromArray(units, i);
}

int ctl_list(const struct ctl *c)
{
	cJSON *answer = NULL;
	int r = client_call(c, "/v1/units", NULL, &answer);

	filter(cJSON_GetObjectItemCaseSensitive(answer, "units"), c->namespace);
	return show(c, r, answer, render_list);
}

int ctl_explain(const struct ctl *c)
{
	cJSON *unit = NULL;
	int r = client_call_name(c, "/v1/units/", c->arguments[0], &unit);

	return show(c, r, unit, render_explain);
}

int ctl_config_show(const struct ctl *c)
{
	struct ctl yaml = *c;
	cJSON *config = NULL;
	int r = client_call(c, "/v1/config", NULL, &config);

	/* The configuration is a YAML file: that is its table. */
	if (yaml.output == OUTPUT_TABLE)
		yaml.output = OUTPUT_YAML;
	return r == CTL_OK ? json_print(&yaml, config) : r;
}

/* Asks for all units, or for the one named. */
static int set_paused(const struct ctl *c, const char *path, const char *word)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL;
	bool named = c->argument_count > 0;
	int r;

	if (named ? !cJSON_AddStringToObject(body, "name", c->arguments[0])
		  : !cJSON_AddTrueToObject(body, "all")) {
		cJSON_Delete(body);
		return ctl_fail(c, CTL_ERROR, NULL, "out of memory");
	}
	r = client_call(c, path, body, &answer);
	if (r == CTL_OK && named)
		fprintf(c->out, "%s %s\n", word, c->arguments[0]);
	else if (r == CTL_OK)
		fprintf(c->out, "%s all, %" PRIu64 " units\n", word, json_amount(answer, "units"));
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return r;
}

int ctl_pause(const struct ctl *c)
{
	return set_paused(c, "/v1/pause", "paused");
}

int ctl_resume(const struct ctl *c)
{
	return set_paused(c, "/v1/resume", "resumed");
}

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
