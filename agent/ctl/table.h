/* SPDX-License-Identifier: Apache-2.0 */
/* A table of JSON objects, one per line, as wide as its cells. */
#pragma once

#include "agent/ctl/render.h"

struct table_column {
	const char *title;
	bool wide;        /* only with -o wide */
	const char *text; /* of the object, for render_text(); NULL: choose() */
	const char *(*choose)(const cJSON *row);
	bool is_state; /* painted as one */
};

#define TABLE_COLUMNS_MAX ((size_t)24)

void render_table(const struct ctl *c, const struct table_column *columns, size_t count,
		  const cJSON *rows);
