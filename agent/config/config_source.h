/* SPDX-License-Identifier: Apache-2.0 */
/* The file that the configuration in use was read from, and the result of the last try. */
#pragma once

#include "policy/base/base.h"

struct config_source {
	const char *path;   /* borrowed */
	char result[256];   /* "ok", or the first error */
	usec_t loaded_real; /* realtime */
};

void config_source_loaded(struct config_source *s, usec_t now_real);
/* why: borrowed. */
void config_source_failed(struct config_source *s, const char *why);
