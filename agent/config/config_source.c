// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config_source.h"
#include <stdio.h>

void config_source_loaded(struct config_source *s, usec_t now_real)
{
	snprintf(s->result, sizeof s->result, "ok");
	s->loaded_real = now_real;
}

void config_source_failed(struct config_source *s, const char *why)
{
	snprintf(s->result, sizeof s->result, "%.*s", (int)sizeof s->result - 1, why);
}
