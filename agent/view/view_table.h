/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the views: one row for each key of the control API. */
#pragma once

#include "agent/view/view.h"
#include <stddef.h>

enum json_type {
	JSON_TEXT,   /* const char *; NULL: null */
	JSON_FLAG,   /* bool */
	JSON_U32,    /* uint32_t */
	JSON_COUNT,  /* uint64_t */
	JSON_AMOUNT, /* uint64_t; VIEW_NONE: null, LIMIT_MAX: "max" */
	JSON_SIGNED, /* int64_t */
	JSON_TIME,   /* usec_t since the epoch; 0: null, else RFC 3339 in UTC */
};

struct json_field {
	const char *key;
	size_t offset;
	enum json_type type;
	bool brief; /* also in the list */
};

struct json_table {
	const struct json_field *fields;
	size_t count;
};

enum view_table {
	VIEW_STATUS,
	VIEW_UNIT,
	VIEW_RESOURCE,
	VIEW_BOUND,
	VIEW_DECISION,
	VIEW_TRIAL,
	VIEW_BOOST,
	VIEW_COUNTERS,
	VIEW_CLUSTER,
	VIEW_POD_NAME,
	VIEW_POD,
	VIEW_POD_RESOURCE,
	VIEW_ANNOTATION,
	VIEW_REPORT,
	VIEW_TABLE_COUNT,
};
extern const struct json_table view_tables[VIEW_TABLE_COUNT];

/* Sets every amount of a view to VIEW_NONE. */
void view_table_clear(enum view_table table, void *view);
