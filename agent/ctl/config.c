// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.h"
#include "agent/annotation/annotation.h"
#include "agent/ctl/ctl.h"

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
	config_free(&config);
	return CTL_OK;
}
