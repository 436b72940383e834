// SPDX-License-Identifier: Apache-2.0
/* The commands that query the daemon and print its answer. */
#include "agent/ctl/client.h"
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

static bool is_raw(const struct ctl *c)
{
	return c->output == OUTPUT_JSON || c->output == OUTPUT_YAML;
}

/* Prints the answer as it is, or for people; frees it. */
static int show(const struct ctl *c, int r, cJSON *answer,
		void (*render)(const struct ctl *c, const cJSON *answer))
{
	if (r == CTL_OK && is_raw(c))
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
